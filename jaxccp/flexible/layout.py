"""What is fixed about a body of elements: which coordinates are held, and where its frames are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Layout(ByContent):
    """Of n vector coordinates: positions of nodes, and gradients there."""

    rows: np.ndarray
    """Vector coordinates that each element joins [e k], of the n."""
    held: np.ndarray
    """Components that never change [n 3], bool."""
    positions: np.ndarray
    """The vector coordinates that are positions [n], bool; the others do not change where the body
    is moved without being turned."""
    frames: np.ndarray
    """The position of each frame [nf], a row of the n."""
    slopes: tuple[tuple[int, np.ndarray], ...] = ()
    """The gradients that turn the frames, two at most: the frames' axis (0, 1, 2) that is along the
    gradient, exactly for the first, and for each frame the row of the n. Without, none turns.
    """
    order: np.ndarray | None = None
    """The n in an order in which those that an element joins are near one another."""

    @cached_property
    def free(self) -> np.ndarray:
        """Components that move, counted row by row [nv]."""
        return np.flatnonzero(~self.held)

    @cached_property
    def columns(self) -> np.ndarray:
        """The velocities that move each frame [nf w]; nv for one that is held."""
        rows = np.stack([self.frames, *(rows for _, rows in self.slopes)], axis=1)
        return self._numbers(rows)

    @cached_property
    def places(self) -> np.ndarray:
        """The velocity of each component of each element's coordinates [e 3k]; nv for one held."""
        return self._numbers(self.rows)

    def _numbers(self, rows: np.ndarray) -> np.ndarray:
        components = 3 * rows[:, :, None] + np.arange(3)
        return self.number[components.reshape(len(rows), -1)]

    @cached_property
    def number(self) -> np.ndarray:
        """The velocity of each component [3n]; nv for one that is held."""
        table = np.full(self.held.size, len(self.free))
        table[self.free] = np.arange(len(self.free))
        return table
