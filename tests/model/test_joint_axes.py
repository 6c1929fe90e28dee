"""Test that joints of several axes refuse what is no axis, or is one of another kind."""

from collections.abc import Callable
from typing import Any

import pytest

from jaxccp.model import Compound, Cylindrical, Hinge, Planar, Slide, Universal
from jaxccp.scene import ModelBuilder

X, Y = (1, 0, 0), (0, 1, 0)
BAD: dict[str, Callable] = {
    "universal of tuples": lambda: Universal(X, Y),  # pyright: ignore[reportArgumentType]
    "universal of slides": lambda: Universal(Slide(X), Slide(Y)),  # pyright: ignore[reportArgumentType]
    "universal of None": lambda: Universal(None),  # pyright: ignore[reportArgumentType]
    "planar of hinges": lambda: Planar(Hinge(X), Hinge(Y)),  # pyright: ignore[reportArgumentType]
    "planar of a tuple": lambda: Planar(hinge=X),  # pyright: ignore[reportArgumentType]
    "cylindrical of a tuple": lambda: Cylindrical(X),  # pyright: ignore[reportArgumentType]
    "compound of tuples": lambda: Compound([X]),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD)
def test_bad_axes(make: Callable) -> None:
    with pytest.raises(ValueError, match=r"an axis must be a (Hinge|Slide).*, not "):
        make()


def test_axes_of_a_generator() -> None:
    assert Compound(Hinge(axis) for axis in (X, Y)) == Compound((Hinge(X), Hinge(Y)))  # pyright: ignore[reportArgumentType]


def test_parallel_axes() -> None:
    with pytest.raises(ValueError, match=r"Universal: .* must be at right angles"):
        Universal(Hinge(X), Hinge(X))


@pytest.mark.parametrize("axis", [Hinge((0, 0, 1)), Slide((0, 0, 1))])
def test_an_axis_is_no_joint(axis: Any) -> None:
    builder = ModelBuilder()
    body = builder.add_body(1.0, (1, 1, 1))
    with pytest.raises(
        TypeError, match=r"joint 'j': joint must be a joint, such as Revolute\(…\), .* not "
    ):
        builder.add_joint(axis, 0, body, name="j")
    with pytest.raises(ValueError, match=r"give a sequence of axes, Compound\(\["):
        Compound(axis)
