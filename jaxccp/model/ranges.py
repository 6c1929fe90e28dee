"""Ranges of numbers that users give: a lower and an upper bound."""

from typing import Any

import numpy as np


def check_range(what: str, bounds: Any, strict: bool = False, remedy: str = "") -> None:
    """Check that a range consists of a lower and an upper number.

    Args:
        what: name of the quantity, with which an error message begins.
        bounds: the value that the user has passed.
        strict: whether the two numbers must differ.
        remedy: end of the error message.

    Raises:
        ValueError: it is not two numbers, or the lower one is above the upper one.
    """
    pair = np.asarray(bounds, float)
    if pair.shape != (2,) or not (pair[0] < pair[1] if strict else pair[0] <= pair[1]):
        relation = "<" if strict else "≤"
        raise ValueError(
            f"{what} must be (lower, upper) with lower {relation} upper, not {bounds!r}{remedy}"
        )
