"""Broad phases: methods that find the pairs of a group that are near enough to touch.

A method is one file with one function and one line in ``BROAD``.
"""

from collections.abc import Callable

from jaxccp.collision.broad.all_pairs import all_pairs
from jaxccp.collision.broad.candidates import Candidates
from jaxccp.collision.broad.cells import cells
from jaxccp.collision.broad.overlaps import overlaps
from jaxccp.collision.manifold import Geometry
from jaxccp.model.model import Model
from jaxccp.model.pair_group import PairGroup

BROAD: dict[str, Callable[[Model, Geometry, PairGroup], Candidates]] = {
    "all-pairs": all_pairs,
    "overlaps": overlaps,
    "cells": cells,
}
"""The methods by name. Methods that search accept pairs of convex shapes on moving bodies only."""
CELLS_MIN_POINTS = 20_000
"""Smallest number of candidate points of one kernel for which cells are searched. For spheres,
which have one point per pair, cells then take two thirds of the time of all pairs, and two seconds
longer to compile (experiments/broad_phase). A point of any other kernel costs more."""
BOXES_MIN_POINTS = 200
"""Smallest number of candidate points for which boxes are compared before a kernel with several
points per pair. In a stack of ten boxes, 360 points, detection then takes half the time."""


def choose_broad_phase(name: str, points: int, pairs: int) -> str:
    """Return the name of the broad-phase method for the pairs of a kernel.

    Args:
        name: a method, or ``"auto"``, which decides by the other arguments.
        points: number of candidate points of all pairs together.
        pairs: number of pairs of moving shapes.

    Raises:
        ValueError: no method has that name.
    """
    if name == "auto":
        if points >= CELLS_MIN_POINTS:
            return "cells"
        return "overlaps" if points >= BOXES_MIN_POINTS and points > pairs else "all-pairs"
    if name not in BROAD:
        *names, last = BROAD
        raise ValueError(f"broad_phase must be auto, {', '.join(names)} or {last}, not {name!r}")
    return name


__all__ = [
    "BOXES_MIN_POINTS",
    "BROAD",
    "CELLS_MIN_POINTS",
    "Candidates",
    "all_pairs",
    "cells",
    "choose_broad_phase",
    "overlaps",
]
