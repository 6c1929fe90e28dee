"""The Delassus operator stored as a dense matrix."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.operators.operator import Delassus
from jaxccp.execution import trees
from jaxccp.math.array_input import Dimension, as_floats

LARGEST = 1500
"""Largest number of rows of a dense matrix that is made for iterations; single products with it may
cost more."""
ASYMMETRY = 1e-2
"""Largest entry of N − Nᵀ that counts as rounding, as a fraction of the largest entry of N. In
single precision J M⁻¹ Jᵀ of an ill-conditioned M comes near it."""


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
        matrix = as_floats("delassus.matrix", self.matrix, [rows, rows], dtype)
        if not trees.is_traced(matrix):
            n = np.asarray(matrix)
            with np.errstate(invalid="ignore"):  # a solve reports entries that are not finite
                difference = n - n.T
                largest = max(n.max(initial=0.0), -n.min(initial=0.0))
                unequal = difference.max(initial=0.0) > ASYMMETRY * largest
            if unequal:
                i, j = np.unravel_index(difference.argmax(), n.shape)
                raise ValueError(
                    f"delassus.matrix must be symmetric, but its entries ({i}, {j}) and ({j}, {i}) "
                    f"are {n[i, j]} and {n[j, i]}; 0.5 * (n + n.T) of a matrix n is symmetric"
                )
        return DenseDelassus(matrix)

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
