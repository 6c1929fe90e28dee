"""Test the look-up of a pair of kinds in the table of kernels."""

import pytest

from jaxccp.collision import PAIRS, lookup


def test_lookup_finds_both_orders():
    pair, swapped = lookup("sphere", "box")
    assert pair is PAIRS["sphere", "box"] and not swapped
    pair, swapped = lookup("box", "sphere")
    assert pair is PAIRS["sphere", "box"] and swapped


@pytest.mark.parametrize("kinds", [("plane", "plane"), ("box", "torus")])
def test_lookup_names_what_is_missing_and_how_to_add_it(kinds):
    with pytest.raises(ValueError, match=rf"{kinds[0]}.*{kinds[1]}.*PAIRS"):
        lookup(*kinds)
