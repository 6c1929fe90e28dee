"""Broad phases: which pairs of a group are near enough to be looked at.

A method is one file with one function and one line in ``BROAD``.
"""

from collections.abc import Callable

from jaxccp.collision.broad.all_pairs import all_pairs
from jaxccp.collision.broad.candidates import Candidates
from jaxccp.collision.broad.cells import cells
from jaxccp.collision.broad.overlaps import overlaps
from jaxccp.collision.manifold import Geometry
from jaxccp.model.model import Model, PairGroup

BROAD: dict[str, Callable[[Model, Geometry, PairGroup], Candidates]] = {
    "all-pairs": all_pairs,
    "overlaps": overlaps,
    "cells": cells,
}
"""By name; what searches takes pairs of convex shapes on bodies that move."""
MANY = 20_000
"""Points of the pairs of one kernel from which on cells are searched: of balls, which have one a
pair, they then take two thirds of the time of all pairs, and two seconds longer to compile
(experiments/broad_phase). A point of other kernels costs more than that of balls."""
SOME = 200
"""Points from which on boxes are compared before a kernel that finds several a pair: detection in
a stack of ten boxes, 360 points, then takes half the time."""


def resolve(name: str, points: int, pairs: int) -> str:
    """The method for so many pairs of moving shapes with so many candidate points together;
    ``"auto"`` decides by these numbers.

    Raises ``ValueError`` for a name that is no method.
    """
    if name == "auto":
        if points >= MANY:
            return "cells"
        return "overlaps" if points >= SOME and points > pairs else "all-pairs"
    if name not in BROAD:
        *others, last = BROAD
        raise ValueError(f"broad_phase must be auto, {', '.join(others)} or {last}, not {name!r}")
    return name


__all__ = ["BROAD", "MANY", "SOME", "Candidates", "all_pairs", "cells", "overlaps", "resolve"]
