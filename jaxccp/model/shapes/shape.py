"""The interface of collision shapes."""

from typing import ClassVar, Protocol

import numpy as np
from jaxtyping import Float

from jaxccp.model.inputs.check import is_number


class Shape(Protocol):
    """A geometric primitive in the axes of its frame; its constructor checks it."""

    kind: ClassVar[str]
    """Name in the registry and in the table of pairs."""

    @property
    def size(self) -> tuple[float, float, float]:
        """Dimensions of the shape [m]; their meaning depends on its kind. Those of a convex mesh,
        and the third one of a height field, are factors."""
        ...

    @property
    def radius(self) -> float:
        """Radius of the ball swept over the core [m]; of a cylinder, its own radius."""
        ...

    def inertia(self, mass: float) -> Float[np.ndarray, "3 3"]:
        """Return the inertia about the centre of mass of the uniform solid with that mass [kg
        m²]."""
        ...


def require_positive(shape: str, name: str, value: float) -> None:
    """Check that a length of a shape is positive.

    Args:
        shape: name of the shape, for the message.
        name: name of the dimension.
        value: the length [m].

    Raises:
        ValueError: the length is no single number, not positive or not finite.
    """
    if not (is_number(value) and np.isfinite(value) and value > 0):
        raise ValueError(f"{shape}: {name} must be a positive length in metres, not {value!r}")
