"""Linear systems of equality constraints, which may be redundant."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

REFINEMENTS = 1
"""Steps of iterative refinement."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Saddle:
    """The saddle-point system w − Aᵀ λ = p, A w = −r of m rows on v unknowns.

    Its solution w is the vector nearest to p with A w = −r. Rows may be redundant: those of a
    planar loop constrain every body's motion out of the plane twice. Then λ is the solution with
    the smallest Σ (scale λ)², and offsets r that contradict each other are met in the least-squares
    sense, in units of ``scale``.
    """

    rows: Float[Array, "m v"]
    """A."""
    inverse: Float[Array, "v+m v+m"]
    """A generalised inverse of [[I, Aᵀ], [A, 0]], by which (p, −r) gives (w, −λ)."""

    @staticmethod
    def of(rows: Float[Array, "m v"], scale: Float[Array, " m"]) -> "Saddle":
        """Return the factorised system.

        Each row is divided by its ``scale``. Rows are redundant where eigenvalues of A Aᵀ of these
        rows are zero to within rounding (see :func:`pseudo_inverse`).

        Args:
            rows: A.
            scale: typical length ≥ 0 of each row when it is not redundant, by which it is divided;
                0 leaves the row as it is.
        """
        a = lax.stop_gradient(rows)
        unit = lax.stop_gradient(jnp.where(scale > 0, 1.0 / jnp.where(scale > 0, scale, 1.0), 1.0))
        even = unit[:, None] * a
        gram = unit[:, None] * pseudo_inverse(even @ even.T) * unit
        across = a.T @ gram
        inverse = jnp.block(
            [[jnp.eye(a.shape[1], dtype=a.dtype) - across @ a, across], [across.T, -gram]]
        )
        return Saddle(rows, inverse)

    def solve(
        self, p: Float[Array, "v k"], r: Float[Array, "m k"]
    ) -> tuple[Float[Array, "v k"], Float[Array, "m k"]]:
        """Return w and λ for k right-hand sides. The result is differentiable, also with respect to
        A.

        The derivative is another solve with the same factors, which are not differentiated.

        Args:
            p: right-hand sides of the unknowns.
            r: offsets of the rows.
        """
        rows, inverse, count = self.rows, lax.stop_gradient(self.inverse), len(p)

        def matvec(x: Array) -> Array:
            w, negative = x[:count], x[count:]
            return jnp.concatenate([w + rows.T @ negative, rows @ w])

        def solve(matvec, b: Array) -> Array:
            x = inverse @ b
            for _ in range(REFINEMENTS):
                x = x + inverse @ (b - matvec(x))
            return x

        b = jnp.concatenate([p, -r])
        x = lax.custom_linear_solve(matvec, b, solve, symmetric=True)
        return x[:count], -x[count:]


def pseudo_inverse(a: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the pseudo-inverse of a symmetric positive semidefinite matrix with entries around 1:
    eigenvalues below eps^0.75 (2e-12, in float32 6e-6) count as 0."""
    values: Array
    values, vectors = jnp.linalg.eigh(a)
    kept = values > float(jnp.finfo(a.dtype).eps) ** 0.75
    inverse = jnp.where(kept, 1.0 / jnp.where(kept, values, 1.0), 0.0)
    return jnp.einsum("ij,j,kj->ik", vectors, inverse, vectors)
