"""A tendon that is a sum of functions of joint coordinates: gears, differentials, MJCF's fixed
tendons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxccp.model.tendons.tendon import Tendon


@dataclass(frozen=True)
class Coupling(Tendon):
    """A tendon of length Σ p_k(q_k) over axes k, with polynomials p_k of their coordinates.

    With an imposed ``length`` it couples the axes. It corresponds to MJCF's ``tendon/fixed``; with
    {y: 1, x: −p} and length 0 it corresponds to ``equality/joint`` y = p(x).
    """

    terms: Mapping[Any, float | Sequence[float]]
    """A factor, or the coefficients of a polynomial with the lowest degree first, by the name or
    index of each axis."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.terms:
            raise ValueError("Coupling: name one axis at least")
        for axis in self.terms:
            coefficients = self.polynomial(axis)
            if (
                coefficients.ndim != 1
                or not len(coefficients)
                or not np.isfinite(coefficients).all()
            ):
                raise ValueError(
                    f"Coupling: axis {axis!r} needs a finite factor or the coefficients of a "
                    f"polynomial, not {self.terms[axis]!r}"
                )
        own = {axis: tuple(self.polynomial(axis).tolist()) for axis in self.terms}
        object.__setattr__(self, "terms", own)

    def polynomial(self, axis: int | str) -> np.ndarray:
        """Return the coefficients of an axis's term, lowest degree first."""
        term = self.terms[axis]
        return np.array(term if np.ndim(term) else [0.0, term], float)


def gear(follower: int | str, leader: int | str, ratio: float) -> Coupling:
    """Return a coupling that keeps the coordinate of one axis at ``ratio`` times that of another.

    Args:
        follower: name or index of the driven axis.
        leader: name or index of the driving axis.
        ratio: coordinate of the follower per coordinate of the leader.

    Raises:
        ValueError: both are the same axis.
    """
    if follower == leader:
        raise ValueError(f"gear: {follower!r} is one axis, which cannot drive itself; name two")
    return Coupling({follower: 1.0, leader: -ratio}, length=0.0)
