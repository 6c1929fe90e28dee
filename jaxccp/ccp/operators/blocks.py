"""Block diagonal matrices: one number per scalar row, one w × w block per contact, w = 3 or 6."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from jaxccp.math import linear3


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BlockDiagonal:
    """One number per scalar row and one block per contact."""

    scalars: Float[Array, " s"]
    blocks: Float[Array, "c w w"]

    @property
    def width(self) -> int:
        return self.blocks.shape[-1]

    def apply(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        s = self.scalars.shape[0]
        contacts = jnp.einsum("cij,cj->ci", self.blocks, x[s:].reshape(-1, self.width))
        return jnp.concatenate([self.scalars * x[:s], contacts.reshape(-1)])

    def columns(self, x: Float[Array, "n m"]) -> Float[Array, "n m"]:
        """The product with each column of a matrix."""
        return jax.vmap(self.apply, 1, 1)(x)

    def scaled(self, by: Float[Array, " n"]) -> "BlockDiagonal":
        """Rows times ``by``, which has one value per contact."""
        s = self.scalars.shape[0]
        return BlockDiagonal(by[:s] * self.scalars, by[s :: self.width, None, None] * self.blocks)

    def transpose(self) -> "BlockDiagonal":
        return BlockDiagonal(self.scalars, jnp.swapaxes(self.blocks, 1, 2))

    def __matmul__(self, other: "BlockDiagonal") -> "BlockDiagonal":
        return BlockDiagonal(self.scalars * other.scalars, self.blocks @ other.blocks)

    def plus(self, other: "BlockDiagonal", shift: Array | float) -> "BlockDiagonal":
        """self + other + shift · I."""
        identity = shift * jnp.eye(self.width, dtype=self.blocks.dtype)
        return BlockDiagonal(
            self.scalars + other.scalars + shift, self.blocks + other.blocks + identity
        )

    def inverse(self, definite: bool = False) -> "BlockDiagonal":
        """The inverse; ``definite``: of symmetric positive definite blocks, so that it is such
        itself whatever their condition, to rounding of its own largest entry."""
        if definite:
            root = linear3.inverse_root if self.width == 3 else _inverse_root
            roots = root(self.blocks)
            blocks = roots @ jnp.swapaxes(roots, 1, 2)
        else:
            blocks = (linear3.inverse if self.width == 3 else jnp.linalg.inv)(self.blocks)
        return BlockDiagonal(1.0 / self.scalars, blocks)


def _inverse_root(a: Float[Array, "c w w"]) -> Float[Array, "c w w"]:
    """K with K Kᵀ = a⁻¹."""
    one = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return jnp.swapaxes(solve_triangular(jnp.linalg.cholesky(a), one, lower=True), 1, 2)


def identity(scalars: int, contacts: int, dtype: jnp.dtype, width: int = 3) -> BlockDiagonal:
    """The identity."""
    eye = jnp.broadcast_to(jnp.eye(width, dtype=dtype), (contacts, width, width))
    return BlockDiagonal(jnp.ones(scalars, dtype), eye)


def diagonal(x: Float[Array, " n"], scalars: int, width: int) -> BlockDiagonal:
    """The diagonal matrix of a flat vector."""
    return BlockDiagonal(x[:scalars], jax.vmap(jnp.diag)(x[scalars:].reshape(-1, width)))
