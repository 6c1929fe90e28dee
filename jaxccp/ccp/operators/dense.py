"""The Delassus operator stored as a dense matrix."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.operators.operator import Delassus
from jaxccp.math.array_input import Dimension, as_floats

LARGEST = 1500
"""Largest number of rows of a dense matrix that is made for iterations; single products with it may
cost more."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseDelassus(Delassus):
    """The Delassus operator N stored as a dense matrix."""

    matrix: Float[Array, "n n"]
    """N."""

    @property
    def rows(self) -> int:
        return np.shape(self.matrix)[-1]

    def checked(self, dtype: jnp.dtype) -> "DenseDelassus":
        rows = Dimension("rows", self.rows)
        return DenseDelassus(as_floats("delassus.matrix", self.matrix, [rows, rows], dtype))

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.matrix @ lam

    def diagonal(self) -> Float[Array, " n"]:
        return jnp.diagonal(self.matrix)

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        start = jnp.arange(scalars, self.rows, width)[:, None] + jnp.arange(width)
        return self.diagonal()[:scalars], self.matrix[start[:, :, None], start[:, None, :]]

    def dense(self) -> Float[Array, "n n"]:
        return self.matrix

    def scaled(self, s: Float[Array, " n"]) -> "DenseDelassus":
        return DenseDelassus(s[:, None] * self.matrix * s)


def densified(delassus: Delassus) -> Delassus:
    """Return the operator as a dense matrix, unless it has more than :data:`LARGEST` rows."""
    return DenseDelassus(delassus.dense()) if delassus.rows <= LARGEST else delassus
