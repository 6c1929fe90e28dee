"""The static facts of a body of elements: its fixed coordinates, and the coordinates of its
frames."""

from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent, cached_table

MIN_TILES, MIN_TILE = 3, 12
"""Number of tiles below which a matrix is factorised as a whole, and smallest width of a tile;
smaller ones cost as much."""


@dataclass(frozen=True, eq=False)
class Layout(ByContent):
    """The layout of n vector coordinates: positions of nodes, and gradients there."""

    rows: np.ndarray
    """Vector coordinates that each element joins [e k], of the n."""
    fixed: np.ndarray
    """Mask of the components that never change [n 3]."""
    positions: np.ndarray
    """Mask of the vector coordinates that are positions [n]; the others do not change where the
    body is translated."""
    frames: np.ndarray
    """The position of each frame [nf], a row of the n."""
    slopes: tuple[tuple[int, np.ndarray], ...] = ()
    """The gradients that rotate the frames, two at most: the frames' axis (0, 1, 2) that is along
    the gradient, exactly for the first, and for each frame the row of the n. Without, frames keep
    their orientation."""
    order: np.ndarray | None = None
    """The order of the n in the velocities, so that those that an element joins are near one
    another; as they are numbered when None."""

    between: tuple[np.ndarray, np.ndarray] | None = None
    """Additional frames of constant orientation: the vector coordinates [m k] of which the position
    of each is a weighted sum, and the weights [m k]."""

    skin: np.ndarray | None = None
    """Frames of the patches by which the body is drawn [k 4]; as :attr:`jaxccp.Family.skin`."""

    @property
    def count(self) -> int:
        """Number of frames of the body."""
        return len(self.frames) + (0 if self.between is None else len(self.between[0]))

    @cached_table
    def free(self) -> np.ndarray:
        """Component that each velocity moves, counted row by row [nv]."""
        every = np.arange(self.fixed.size).reshape(self.fixed.shape)
        if self.order is not None:
            every = every[self.order]
        return every[~self.fixed.reshape(-1)[every]]

    @cached_table
    def columns(self) -> np.ndarray:
        """The velocities that move each frame [nf w]; nv for one that is fixed."""
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
    def element_columns(self) -> np.ndarray:
        """The velocity of each component of each element's coordinates [e 3k]; nv for a fixed
        one."""
        return self._numbers(self.rows)

    def _numbers(self, rows: np.ndarray) -> np.ndarray:
        components = 3 * rows[:, :, None] + np.arange(3)
        return self.number[components.reshape(len(rows), -1)]

    @cached_table
    def number(self) -> np.ndarray:
        """The velocity of each component [3n]; nv for one that is fixed."""
        table = np.full(self.fixed.size, len(self.free))
        table[self.free] = np.arange(len(self.free))
        return table

    @cached_table
    def reach(self) -> int:
        """Largest distance of two velocities of an element."""
        used = [columns[columns < len(self.free)] for columns in self.element_columns]
        return max(int(np.ptp(columns)) if len(columns) else 0 for columns in used)

    @cached_table
    def tiles(self) -> tuple[int, int]:
        """Number and width of the tiles in which all matrices are block tridiagonal; one tile where
        the band is not narrow."""
        count, width = len(self.free), max(self.reach, MIN_TILE)
        return (-(-count // width), width) if count >= MIN_TILES * width else (1, count)

    @cached_table
    def tile_entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tile, row and column [e 3k 3k] of each entry of the elements' matrices.

        A tile is that left of the diagonal and that on it, side by side; its number is beyond the
        last for entries that are in none.
        """
        number, width = self.tiles
        row, column = np.broadcast_arrays(
            self.element_columns[:, :, None], self.element_columns[:, None, :]
        )
        tile = row // width
        across = column - (tile - 1) * width
        inside = (row < len(self.free)) & (column < len(self.free)) & (across < 2 * width)
        return np.where(inside, tile, number), row % width, np.where(inside, across, 0)
