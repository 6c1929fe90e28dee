"""Linear algebra of few unknowns as unrolled loops, which are cheap to compile and to batch."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.math import safe


def solve(a: Float[Array, "n n"], b: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Return a⁻¹ b by Gauss–Jordan elimination without pivoting.

    ``a`` must be symmetric positive definite, or nearly so. A pivot below the rounding error, 100
    eps max |a|, is raised to it, so that a singular ``a`` gives no NaN.
    """
    n = a.shape[0]
    size = lax.stop_gradient(jnp.max(jnp.abs(a), initial=0.0))
    floor = 100 * float(jnp.finfo(a.dtype).eps) * size + float(jnp.finfo(a.dtype).tiny)
    rows = jnp.concatenate([a, b], axis=1)
    for k in range(n):
        pivot = rows[k] / jnp.maximum(rows[k, k], floor)
        rows = (rows - rows[:, k, None] * pivot).at[k].set(pivot)
    return rows[:, n:]


def plus_diagonal(a: Float[Array, "n n"], d: Float[Array, " n"]) -> Float[Array, "n n"]:
    """Return a + diag(d) in n additions.

    A sum of two matrices would take n² additions, and XLA would compute ``d`` n times.
    """
    at = np.arange(len(d))
    return a.at[at, at].add(d, unique_indices=True, indices_are_sorted=True)


def symmetric(lower: Float[Array, "*b n n"]) -> Float[Array, "*b n n"]:
    """Return the symmetric matrices with these lower triangles; what is above is not read."""
    return jnp.tril(lower) + jnp.swapaxes(jnp.tril(lower, -1), -1, -2)


def complete(a: Float[Array, "n k"]) -> Float[Array, "n n"]:
    """Return an orthogonal matrix whose first columns span those of ``a``, by Householder
    reflections.

    Zero columns of ``a`` must come last, and count as missing. The other columns of the result are
    orthogonal to those of ``a``. They are continuous in ``a`` except where the diagonal entry of a
    column, after the reflections before it, passes −0.6 times the column's length; with columns
    along the axes of the frame it is 0 or ±1 times that. Their span is continuous everywhere.
    """
    n, k = a.shape
    basis = jnp.eye(n, dtype=a.dtype)
    for j in range(k):
        x = jnp.where(jnp.arange(n) < j, 0.0, a[:, j])
        length = safe.norm(x)
        v = x.at[j].add(jnp.where(x[j] < -0.6 * length, -length, length))
        scale = safe.divide(jnp.asarray(2.0, a.dtype), v @ v)
        a = a - scale * jnp.outer(v, v @ a)
        basis = basis - scale * jnp.outer(basis @ v, v)
    return basis
