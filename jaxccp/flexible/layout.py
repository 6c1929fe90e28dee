"""The static data of a body of elements: its fixed coordinates, and the coordinates of its
frames."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent, cached_table

MIN_TILES, MIN_TILE = 3, 12
"""Smallest number of tiles for which a matrix is factorised by tiles, and smallest width of a tile;
narrower tiles cost the same."""


@dataclass(frozen=True, eq=False)
class Layout(ByContent):
    """The layout of n vector coordinates, which are positions of nodes and derivatives of the
    position there.

    A vector coordinate has three components. Those that are not fixed are the family's coordinates
    q; their rates are the velocities v.
    """

    rows: np.ndarray
    """Indices of the vector coordinates of each element [e k]."""
    fixed: np.ndarray
    """Mask of the components that are fixed [n 3]."""
    positions: np.ndarray
    """Mask of the vector coordinates that are positions [n]; a translation of the body does not
    change the others."""
    frames: np.ndarray
    """Index of the vector coordinate that is the position of each frame [nf]."""
    slopes: tuple[tuple[int, np.ndarray], ...] = ()
    """The gradients that rotate the frames, two at most. Each is an axis of the frames (0, 1, 2),
    and for each frame the index of the vector coordinate that the axis follows: the first axis
    exactly, the second as far as they are perpendicular. Without gradients, frames keep their
    orientation."""
    order: np.ndarray | None = None
    """Order of the n vector coordinates in the velocities, which puts those of an element near one
    another. None keeps their numbering."""

    between: tuple[np.ndarray, np.ndarray] | None = None
    """Additional frames of constant orientation. The position of each is a weighted sum: the
    indices of its vector coordinates [m k], and their weights [m k]."""

    skin: np.ndarray | None = None
    """Frames of the patches to draw [k 4], as in :attr:`jaxccp.Family.skin`."""

    @property
    def count(self) -> int:
        """Number nf + m of frames of the body."""
        return len(self.frames) + (0 if self.between is None else len(self.between[0]))

    @cached_table
    def free(self) -> np.ndarray:
        """Component of each velocity, as an index into the flattened n × 3 components [nv]."""
        every = np.arange(self.fixed.size).reshape(self.fixed.shape)
        if self.order is not None:
            every = every[self.order]
        return every[~self.fixed.reshape(-1)[every]]

    @cached_table
    def columns(self) -> np.ndarray:
        """Indices of the velocities that move each frame [nf+m w]; nv for fixed components, and to
        fill up shorter rows."""
        rows = np.stack([self.frames, *(rows for _, rows in self.slopes)], axis=1)
        parts = [self._velocity_indices(rows)]
        if self.between is not None:
            parts.append(self._velocity_indices(self.between[0]))
        width = max(part.shape[1] for part in parts)
        none = len(self.free)
        return np.concatenate(
            [
                np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=none)
                for part in parts
            ]
        )

    @cached_table
    def frame_freedoms(self) -> np.ndarray:
        """Masks of the frames whose position can change, and of those that can turn [nf+m 2]."""
        moves = self.columns < len(self.free)
        freedoms = np.stack([moves[:, :3].any(axis=1), moves[:, 3:].any(axis=1)], axis=1)
        if self.between is not None:
            rows, weights = self.between
            parts = self._velocity_indices(rows).reshape(*rows.shape, 3) < len(self.free)
            moved = (parts.any(axis=2) & (np.abs(weights) > 1e-12)).any(axis=1)
            freedoms[len(self.frames) :] = np.stack([moved, np.zeros_like(moved)], axis=1)
        return freedoms

    @cached_table
    def element_columns(self) -> np.ndarray:
        """Index of the velocity of each component of each element's vector coordinates [e 3k]; nv
        for fixed components."""
        return self._velocity_indices(self.rows)

    def _velocity_indices(self, rows: np.ndarray) -> np.ndarray:
        """Return the index of the velocity of each component of these vector coordinates [n 3k];
        nv for fixed components."""
        components = 3 * rows[:, :, None] + np.arange(3)
        return self.number[components.reshape(len(rows), -1)]

    @cached_table
    def number(self) -> np.ndarray:
        """Index of the velocity of each component [3n]; nv for fixed components."""
        table = np.full(self.fixed.size, len(self.free))
        table[self.free] = np.arange(len(self.free))
        return table

    @cached_table
    def reach(self) -> int:
        """Half-bandwidth: the largest difference of the indices of two velocities of one
        element."""
        used = [columns[columns < len(self.free)] for columns in self.element_columns]
        return max(int(np.ptp(columns)) if len(columns) else 0 for columns in used)

    @cached_table
    def tiles(self) -> tuple[int, int]:
        """Number and width of the tiles in which all matrices are block tridiagonal; a single tile
        if the band is not narrow."""
        count, width = len(self.free), max(self.reach, MIN_TILE)
        return (-(-count // width), width) if count >= MIN_TILES * width else (1, count)

    @cached_table
    def tile_entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tile, row and column of each entry of the elements' matrices, each [e 3k 3k].

        Each row of tiles is stored as the tile left of the diagonal and the tile on it, side by
        side. Entries outside have a tile number beyond the last.
        """
        number, width = self.tiles
        row, column = np.broadcast_arrays(
            self.element_columns[:, :, None], self.element_columns[:, None, :]
        )
        tile = row // width
        across = column - (tile - 1) * width
        inside = (row < len(self.free)) & (column < len(self.free)) & (across < 2 * width)
        return np.where(inside, tile, number), row % width, np.where(inside, across, 0)


def node_indices(what: str, nodes: int | Iterable[int] | np.ndarray, count: int) -> np.ndarray:
    """Return the indices of chosen nodes as an array.

    Args:
        what: beginning of error messages.
        nodes: index of one node, indices, or a mask of all nodes.
        count: number of nodes.

    Raises:
        ValueError: a node does not exist, an index is no whole number, indices are nested, or a
            mask has another length.
    """
    if isinstance(nodes, Iterable) and not isinstance(nodes, np.ndarray | str):
        nodes = list(nodes)
    chosen = np.atleast_1d(np.asarray(nodes))
    if chosen.dtype == bool:
        if chosen.shape != (count,):
            raise ValueError(f"{what}: a mask must have {count} entries, not shape {chosen.shape}")
        return np.flatnonzero(chosen)
    if chosen.size and (chosen.ndim > 1 or not np.issubdtype(chosen.dtype, np.integer)):
        raise ValueError(f"{what}: nodes must be whole numbers, or a mask, not {chosen.tolist()}")
    outside = chosen[(chosen < 0) | (chosen >= count)]
    if len(outside):
        raise ValueError(f"{what}: there is no node {outside[0]}, but {count}, from 0")
    return chosen.astype(int)
