"""Block diagonal matrices: one number per scalar row, one w × w block per contact, w = 3 or 6."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from jaxccp.math import linear3


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BlockDiagonal:
    """One number per scalar row and one block per contact."""

    scalars: Float[Array, " s"]
    """Diagonal entries of the scalar rows."""
    blocks: Float[Array, "c w w"]
    """Diagonal blocks of the contacts."""

    @property
    def width(self) -> int:
        """Number of rows of a contact."""
        return self.blocks.shape[-1]

    def apply(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the product with a flat vector over rows."""
        s = self.scalars.shape[0]
        contacts = jnp.einsum("cij,cj->ci", self.blocks, x[s:].reshape(-1, self.width))
        return jnp.concatenate([self.scalars * x[:s], contacts.reshape(-1)])

    def columns(self, x: Float[Array, "n m"]) -> Float[Array, "n m"]:
        """Return the product with each column of a matrix."""
        s = self.scalars.shape[0]
        contacts = self.blocks @ x[s:].reshape(-1, self.width, x.shape[1])
        return jnp.concatenate([self.scalars[:, None] * x[:s], contacts.reshape(-1, x.shape[1])])

    def dense(self) -> Float[Array, "n n"]:
        """Return the dense matrix."""
        s, width, count = self.scalars.shape[0], self.width, len(self.blocks)
        own = np.repeat(np.eye(count, dtype=bool), width, axis=0)[:, :, None]
        contacts = jnp.where(own, self.blocks.reshape(-1, 1, width), 0.0)
        corner = jnp.where(np.eye(s, dtype=bool), self.scalars, 0.0)
        size = count * width
        return jnp.pad(corner, (0, size)) + jnp.pad(contacts.reshape(size, size), (s, 0))

    def scaled(self, by: Float[Array, " n"]) -> "BlockDiagonal":
        """Return the matrix with its rows multiplied by ``by``, which has one value per contact."""
        s = self.scalars.shape[0]
        return BlockDiagonal(by[:s] * self.scalars, by[s :: self.width, None, None] * self.blocks)

    def transpose(self) -> "BlockDiagonal":
        """Return the transposed matrix."""
        return BlockDiagonal(self.scalars, jnp.swapaxes(self.blocks, 1, 2))

    def __matmul__(self, other: "BlockDiagonal") -> "BlockDiagonal":
        return BlockDiagonal(self.scalars * other.scalars, self.blocks @ other.blocks)

    def plus(self, addend: "BlockDiagonal", shift: Array | float) -> "BlockDiagonal":
        """Return self + addend + shift · I."""
        identity = shift * jnp.eye(self.width, dtype=self.blocks.dtype)
        return BlockDiagonal(
            self.scalars + addend.scalars + shift, self.blocks + addend.blocks + identity
        )

    def inverse(self, definite: bool = False) -> "BlockDiagonal":
        """Return the inverse matrix, block by block.

        Args:
            definite: whether the blocks are symmetric positive definite. Their computed inverses
                are then positive definite too, for any condition number.
        """
        if definite:
            root = linear3.inverse_root if self.width == 3 else _inverse_root
            roots = root(self.blocks)
            blocks = roots @ jnp.swapaxes(roots, 1, 2)
        else:
            blocks = (linear3.inverse if self.width == 3 else jnp.linalg.inv)(self.blocks)
        return BlockDiagonal(1.0 / self.scalars, blocks)


def _inverse_root(a: Float[Array, "c w w"]) -> Float[Array, "c w w"]:
    """Return a matrix K with K Kᵀ = a⁻¹ for each block."""
    identity = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return jnp.swapaxes(solve_triangular(jnp.linalg.cholesky(a), identity, lower=True), 1, 2)


def identity(scalars: int, contacts: int, dtype: jnp.dtype, width: int = 3) -> BlockDiagonal:
    """Return the identity matrix.

    Args:
        scalars: number of scalar rows.
        contacts: number of contacts.
        dtype: dtype of the entries.
        width: rows of a contact.
    """
    eye = jnp.broadcast_to(jnp.eye(width, dtype=dtype), (contacts, width, width))
    return BlockDiagonal(jnp.ones(scalars, dtype), eye)


def diagonal(x: Float[Array, " n"], scalars: int, width: int) -> BlockDiagonal:
    """Return the diagonal matrix of a flat vector over rows.

    Args:
        x: the diagonal.
        scalars: number of scalar rows.
        width: rows of a contact.
    """
    return BlockDiagonal(x[:scalars], jax.vmap(jnp.diag)(x[scalars:].reshape(-1, width)))
