"""A block of tetrahedra in a regular grid."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

# Corner i of a cell is at (i & 1, i >> 1 & 1, i >> 2 & 1).
_EVEN = np.array([[0, 1, 2, 4], [3, 1, 7, 2], [5, 1, 4, 7], [6, 2, 7, 4], [1, 7, 2, 4]])
_MIRRORED = np.array([[1, 0, 5, 3], [2, 0, 3, 6], [4, 0, 6, 5], [7, 3, 5, 6], [0, 3, 6, 5]])


def box_of_tetrahedra(
    half_extents: Sequence[float] | np.ndarray, cells: Sequence[int]
) -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "e 4"]]:
    """Return points [m] and elements of a box about the origin.

    Each cell has five tetrahedra, mirrored from cell to cell so that faces match.

    Args:
        half_extents: half the edges along x, y and z [m].
        cells: number of cells along x, y and z.

    Raises:
        ValueError: an extent or a number of cells is not positive.
    """
    half, count = np.array(half_extents, float), np.array(cells)
    if half.shape != (3,) or not (np.isfinite(half).all() and (half > 0).all()):
        raise ValueError(f"half_extents [m] must be 3 positive numbers, not {half_extents!r}")
    integral = np.issubdtype(count.dtype, np.integer)
    if count.shape != (3,) or not integral or (count < 1).any():
        raise ValueError(f"cells must be 3 whole numbers of at least 1, not {cells!r}")
    grid = np.stack(np.meshgrid(*map(np.arange, count + 1), indexing="ij"), axis=-1)
    points = (2.0 * grid.reshape(-1, 3) / count - 1.0) * half
    stride = np.array([(count[1] + 1) * (count[2] + 1), count[2] + 1, 1])
    origin = np.stack(np.meshgrid(*map(np.arange, count), indexing="ij"), axis=-1).reshape(-1, 3)
    corner = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)])
    mirrored = origin.sum(axis=1)[:, None, None] % 2 == 1
    node = (origin[:, None] + corner) @ stride
    local = np.where(mirrored, _MIRRORED, _EVEN)
    return points, np.take_along_axis(node[:, None], local, axis=2).reshape(-1, 4).astype(np.int32)
