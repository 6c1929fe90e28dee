"""Block-sparse matrices whose blocks lie near the diagonal if the contacts are reordered.

Piles and stacks are graphs without shortcuts. In 34 of 39 recorded problems all couplings are
within 17 contacts in the reverse Cuthill–McKee order (Cuthill & McKee, ACM 1969; George, 1971), so
that factors cost a fraction of those of the full matrix. In tiles of the width of the band the
matrix is block tridiagonal: :mod:`jaxccp.ccp.operators.band_cholesky` and
:mod:`jaxccp.ccp.operators.band_lu` eliminate one tile after another.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

MIN_TILE = 8
"""Contacts of the smallest tiles; smaller ones cost as much."""
MIN_TILES = 4
"""Number of tiles below which a band does not pay."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Band:
    """An order of the contacts, and the blocks of the matrix in it, by tiles.

    Blocks are in the k tiles on the diagonal and the ones beside it, each of t × t contacts.
    """

    position: Int[Array, " c"]
    """Position of each contact in the order of the band."""
    contact: Int[Array, " k*t"]
    """Contact at each position; c beyond the last."""
    block: Int[Array, "3 k t t"]
    """Index of the matrix block at each place: in each row of tiles that left of the diagonal, on
    it and right of it; e where there is none."""

    @staticmethod
    def of(row: np.ndarray, column: np.ndarray, contacts: int) -> "Band | None":
        """Find the band of e blocks, a symmetric pattern; this does not work under ``jit``.

        Args:
            row: contact of each block's rows.
            column: contact of each block's columns.
            contacts: number of contacts.

        Returns:
            The band, or None where it is so wide that factors by tiles do not pay.

        Raises:
            ValueError: two blocks have the same row and column.
        """
        if contacts < MIN_TILES * MIN_TILE:
            return None
        # Imported here, because scipy takes long to import.
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        pattern = csr_matrix((np.ones(len(row)), (row, column)), (contacts,) * 2)
        order = reverse_cuthill_mckee(pattern, symmetric_mode=True)
        position = np.empty(contacts, np.int32)
        position[order] = np.arange(contacts)
        p, q = position[row], position[column]
        tile = max(int(np.max(np.abs(p - q), initial=0)), MIN_TILE)
        if contacts < MIN_TILES * tile:
            return None
        count = -(-contacts // tile)
        contact = np.full(count * tile, contacts, np.int32)
        contact[:contacts] = order
        block = np.full((3, count, tile, tile), len(row), np.int32)
        at = q // tile - p // tile + 1, p // tile, p % tile, q % tile
        block[at] = np.arange(len(row))
        if not np.array_equal(block[at], np.arange(len(row))):
            raise ValueError("two blocks at the same row and column: add them up")
        return Band(jnp.asarray(position), jnp.asarray(contact), jnp.asarray(block))

    @property
    def tile(self) -> int:
        """Number t of contacts across a tile."""
        return self.block.shape[-1]

    def ordered(self, x: Float[Array, " n"]) -> Float[Array, "k 3*t"]:
        """Return a vector cut into tiles in the band's order; the last tile is padded with
        zeros."""
        filled = jnp.concatenate([x.reshape(-1, 3), jnp.zeros((1, 3), x.dtype)])
        return filled[self.contact].reshape(self.block.shape[1], -1)

    def restored(self, tiles: Float[Array, "k 3*t"]) -> Float[Array, " n"]:
        """Return the vector from its ``tiles``, the inverse of :meth:`ordered`."""
        return tiles.reshape(-1, 3)[self.position].reshape(-1)

    def tiles(
        self, entries: Float[Array, "e 3 3"], diagonal: Float[Array, "c 3 3"]
    ) -> Float[Array, "3 k 3*t 3*t"]:
        """Return the tiles of a matrix, left of the diagonal, on it and right of it; the last one
        is filled up with the identity.

        Args:
            entries: blocks of the matrix, at the rows and columns of :meth:`of`.
            diagonal: blocks to add on the diagonal.
        """
        # A gather, because a scatter costs more than the factors: XLA writes one block at a time.
        count, tile = self.block.shape[1], self.tile
        filled = jnp.concatenate([entries, jnp.zeros((1, 3, 3), entries.dtype)])
        corner = jnp.concatenate([diagonal, jnp.eye(3, dtype=entries.dtype)[None]])[self.contact]
        corner = corner.reshape(count, tile, 1, 3, 3)
        on_diagonal = jnp.eye(tile, dtype=bool)[:, :, None, None]
        left, middle, right = filled[self.block]
        tiles = jnp.stack([left, middle + jnp.where(on_diagonal, corner, 0.0), right])
        return jnp.moveaxis(tiles, 4, 3).reshape(3, count, 3 * tile, 3 * tile)
