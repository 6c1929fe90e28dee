"""Pairs of shapes that may touch, grouped by the kernel that handles them."""

from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class PairGroup(ByContent):
    """The pairs of shapes that one collision kernel handles."""

    kinds: tuple[str, str]
    """The kinds of the first pair's shapes, by which the kernel is looked up. If the kernel handles
    several kinds, other pairs of the group may have other kinds."""
    first: np.ndarray
    """Index of the first shape of each pair."""
    second: np.ndarray
    """Index of the second shape of each pair."""
    pair_friction: np.ndarray
    """Row of each pair in ``Shapes.pair_friction``, -1 if it has none."""
    broad: str = "all-pairs"
    """Name of the broad phase, one of :data:`jaxccp.collision.broad.BROAD`."""
    room: tuple[int, int] | None = None
    """Capacity for pairs that the broad phase tests, and for pairs that it passes to the kernel.
    None: every pair is passed to the kernel, without a search."""
