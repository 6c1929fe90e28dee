"""What is fixed about a body of elements: which coordinates are held, and where its frames are."""

from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent, cached_table

FEWEST_TILES, LEAST_TILE = 3, 12
"""Fewer tiles than these are factored as one matrix; smaller ones cost as much."""


@dataclass(frozen=True, eq=False)
class Layout(ByContent):
    """The layout of n vector coordinates: positions of nodes, and gradients there."""

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
    """The order of the n in the velocities, so that those that an element joins are near one
    another; as they are numbered when None."""

    between: tuple[np.ndarray, np.ndarray] | None = None
    """More frames, which do not turn: the vector coordinates [m k] of which each is a weighted sum,
    and the weights [m k]."""

    skin: np.ndarray | None = None
    """Frames of the patches by which the body is drawn [k 4]; as :attr:`jaxccp.Family.skin`."""

    @property
    def count(self) -> int:
        """How many frames there are."""
        return len(self.frames) + (0 if self.between is None else len(self.between[0]))

    @cached_table
    def free(self) -> np.ndarray:
        """Component that each velocity moves, counted row by row [nv]."""
        every = np.arange(self.held.size).reshape(self.held.shape)
        if self.order is not None:
            every = every[self.order]
        return every[~self.held.reshape(-1)[every]]

    @cached_table
    def columns(self) -> np.ndarray:
        """The velocities that move each frame [nf w]; nv for one that is held."""
        rows = np.stack([self.frames, *(rows for _, rows in self.slopes)], axis=1)
        parts = [self._numbers(rows)]
        if self.between is not None:
            parts.append(self._numbers(self.between[0]))
        width = max(part.shape[1] for part in parts)
        none = len(self.free)
        return np.concatenate(
            [
                np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=none)
                for part in parts
            ]
        )

    @cached_table
    def places(self) -> np.ndarray:
        """The velocity of each component of each element's coordinates [e 3k]; nv for one held."""
        return self._numbers(self.rows)

    def _numbers(self, rows: np.ndarray) -> np.ndarray:
        components = 3 * rows[:, :, None] + np.arange(3)
        return self.number[components.reshape(len(rows), -1)]

    @cached_table
    def number(self) -> np.ndarray:
        """The velocity of each component [3n]; nv for one that is held."""
        table = np.full(self.held.size, len(self.free))
        table[self.free] = np.arange(len(self.free))
        return table

    @cached_table
    def reach(self) -> int:
        """How far apart the velocities of an element are at most."""
        own = [place[place < len(self.free)] for place in self.places]
        return max(int(np.ptp(place)) if len(place) else 0 for place in own)

    @cached_table
    def tiles(self) -> tuple[int, int]:
        """How many tiles of which width make all matrices block tridiagonal; one where the band is
        not narrow."""
        count, width = len(self.free), max(self.reach, LEAST_TILE)
        return (-(-count // width), width) if count >= FEWEST_TILES * width else (1, count)

    @cached_table
    def tile_entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tile, row and column [e 3k 3k] of each entry of the elements' matrices, a tile being the
        left and the own one side by side; a tile beyond the last for entries that are in none."""
        number, width = self.tiles
        row, column = np.broadcast_arrays(self.places[:, :, None], self.places[:, None, :])
        tile = row // width
        across = column - (tile - 1) * width
        inside = (row < len(self.free)) & (column < len(self.free)) & (across < 2 * width)
        return np.where(inside, tile, number), row % width, np.where(inside, across, 0)
