"""The Delassus operator over contacts, stored as its non-zero blocks."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators import band_cholesky, band_lu
from jaxccp.ccp.operators.band import Band
from jaxccp.ccp.operators.blocks import BlockDiagonal
from jaxccp.ccp.operators.dense import ASYMMETRY
from jaxccp.ccp.operators.factors import Factors
from jaxccp.ccp.operators.operator import Delassus, NeighbourMax, check_indices
from jaxccp.execution import trees
from jaxccp.math.array_input import Dimension, as_floats


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BlockSparseDelassus(Delassus):
    """The Delassus operator of a problem of contacts only, as its non-zero 3 × 3 blocks (both
    triangles)."""

    entries: Float[Array, "b 3 3"]
    """The blocks."""
    row: Int[Array, " b"]
    """Contact of each block's rows, ascending."""
    column: Int[Array, " b"]
    """Contact of each block's columns."""
    contacts: int = field(metadata={"static": True})
    """Number of contacts."""
    band: Band | None = None
    """Order of the contacts in which the blocks lie near the diagonal; None: not known."""

    @property
    def rows(self) -> int:
        return 3 * self.contacts

    def checked(self, dtype: jnp.dtype) -> "BlockSparseDelassus":
        row, column = jnp.asarray(self.row), jnp.asarray(self.column)
        blocks = Dimension("blocks", row.size)
        entries = as_floats("delassus.entries", self.entries, [blocks, 3, 3], dtype)
        check_indices("delassus.row", row, self.contacts)
        check_indices("delassus.column", column, self.contacts)
        if not trees.is_traced((entries, row, column)):
            n, i, j = np.asarray(entries), np.asarray(row), np.asarray(column)
            if i.shape != j.shape or (np.diff(i) < 0).any():
                raise ValueError(
                    "delassus.row must ascend, and delassus.column must have as many entries"
                )
            x, z = np.random.default_rng(0).normal(size=(2, self.contacts, 3))
            with np.errstate(invalid="ignore", over="ignore"):  # a solve reports such entries
                there = np.sum(z[i][:, :, None] * n * x[j][:, None])
                back = np.sum(x[i][:, :, None] * n * z[j][:, None])
                # With random vectors the difference is about as large as the norm of N − Nᵀ.
                unequal = abs(there - back) > ASYMMETRY * np.linalg.norm(n)
            if unequal:
                raise ValueError(
                    "delassus.entries must be those of a symmetric matrix, with both triangles: "
                    "give the transpose of each block (i, j) as block (j, i)"
                )
        return replace(self, entries=entries, row=row, column=column)

    @property
    def factor_rows(self) -> int:
        return self.rows if self.band is None else 0

    def factorised(
        self,
        left: BlockDiagonal,
        right: BlockDiagonal,
        complement: BlockDiagonal,
        ridge: Array | float,
        symmetric: bool,
    ) -> Factors:
        """Factorise by the tiles of the band, where there is one; see :meth:`Delassus.factorised`.

        Args:
            left: L.
            right: R.
            complement: C.
            ridge: number added to the diagonal.
            symmetric: whether the matrix is symmetric positive definite.
        """
        if self.band is None:
            return super().factorised(left, right, complement, ridge, symmetric)
        entries = left.blocks[self.row] @ self.entries @ right.blocks[self.column]
        diagonal = complement.blocks + ridge * jnp.eye(3, dtype=entries.dtype)
        tiles = self.band.tiles(entries, diagonal)
        return (band_cholesky if symmetric else band_lu).factorised(tiles, self.band)

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        # Blocks along the last axis: XLA compiles one loop, but many for a batched product.
        multipliers = lam.reshape(-1, 3)[self.column].T
        products = jnp.sum(jnp.moveaxis(self.entries, 0, 2) * multipliers, axis=1)
        return jax.ops.segment_sum(
            products.T, self.row, self.contacts, indices_are_sorted=True
        ).reshape(-1)

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        diagonal = jnp.where((self.row == self.column)[:, None, None], self.entries, 0.0)
        return self.entries[:0, 0, 0], jax.ops.segment_sum(
            diagonal, self.row, self.contacts, indices_are_sorted=True
        )

    def diagonal(self) -> Float[Array, " n"]:
        return jnp.diagonal(self.blocks(0)[1], axis1=1, axis2=2).reshape(-1)

    def dense(self) -> Float[Array, "n n"]:
        tiles = jnp.zeros((self.contacts, 3, self.contacts, 3), self.entries.dtype)
        return tiles.at[self.row, :, self.column, :].add(self.entries).reshape(self.rows, -1)

    def scaled(self, s: Float[Array, " n"]) -> "BlockSparseDelassus":
        blocks = s.reshape(-1, 3)
        left, right = blocks[self.row][:, :, None], blocks[self.column][:, None]
        return replace(self, entries=left * self.entries * right)

    def neighbour_maximum(self, scalars: int) -> NeighbourMax:
        nonzero = jnp.any(self.entries != 0, axis=(1, 2)) & (self.row != self.column)

        def through_entries(x: Array) -> Array:
            neighbours = jnp.where(nonzero, x[self.column], 0)
            largest = jax.ops.segment_max(
                neighbours, self.row, self.contacts, indices_are_sorted=True
            )
            return jnp.maximum(largest, 0)

        return through_entries

    def bound(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c 3 3"]]:
        single, blocks = self.blocks(scalars)
        present = jnp.any(self.entries != 0, axis=(1, 2)).astype(blocks.dtype)
        count = jax.ops.segment_sum(present, self.row, self.contacts)
        return single, count[:, None, None] * blocks
