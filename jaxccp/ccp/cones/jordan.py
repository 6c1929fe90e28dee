"""Arithmetic of the second-order cone Q = {x : x₀ ≥ ‖x_t‖} in three dimensions.

The Jordan product, its inverse, the distance to the boundary along a direction, and the scaling
of Nesterov & Todd, Math. Oper. Res. 22 (1997), as in Vandenberghe, "The CVXOPT linear and
quadratic cone program solvers" (2010), section 4. Arrays of c vectors, one cone each.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import safe

Vectors = Float[Array, "c 3"]


def product(a: Vectors, b: Vectors) -> Vectors:
    """Return the Jordan product a ∘ b = (aᵀb, a₀ b_t + b₀ a_t)."""
    first = jnp.sum(a * b, axis=1, keepdims=True)
    return jnp.concatenate([first, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:]], axis=1)


def divide(a: Vectors, b: Vectors) -> Vectors:
    """Return the x with a ∘ x = b, for ``a`` inside Q."""
    first = (a[:, 0] * b[:, 0] - jnp.sum(a[:, 1:] * b[:, 1:], axis=1)) / determinant(a)
    rest = (b[:, 1:] - first[:, None] * a[:, 1:]) / a[:, :1]
    return jnp.concatenate([first[:, None], rest], axis=1)


def determinant(a: Vectors) -> Float[Array, " c"]:
    """Return a₀² − ‖a_t‖², kept positive where rounding has put ``a`` on the boundary of Q."""
    length = safe.norm(a[:, 1:])
    floor = jnp.finfo(a.dtype).eps * jnp.abs(a[:, 0])
    gap = jnp.maximum(a[:, 0] - length, floor)
    return jnp.maximum(gap * (a[:, 0] + length), jnp.finfo(a.dtype).tiny)


def scaling(x: Vectors, s: Vectors) -> tuple[Float[Array, "c 3 3"], Float[Array, "c 3 3"]]:
    """Return the symmetric W with W⁻¹ x = W s, and W⁻¹, for ``x`` and ``s`` inside Q."""
    root_x, root_s = jnp.sqrt(determinant(x)), jnp.sqrt(determinant(s))
    x, s = x / root_x[:, None], s / root_s[:, None]
    flip = jnp.asarray([1.0, -1.0, -1.0], x.dtype)
    half = jnp.sqrt(0.5 * (1.0 + jnp.sum(x * s, axis=1)))
    w = (x + flip * s) / (2.0 * half)[:, None]
    size = jnp.sqrt(root_x / root_s)
    return (
        _hyperbolic(w) * size[:, None, None],
        _hyperbolic(flip * w) / size[:, None, None],
    )


def _hyperbolic(w: Vectors) -> Float[Array, "c 3 3"]:
    """Return [[w₀, w_tᵀ], [w_t, I + w_t w_tᵀ / (1 + w₀)]] for w with determinant 1."""
    tangent = w[:, 1:]
    corner = tangent[:, :, None] * tangent[:, None, :] / (1.0 + w[:, :1, None])
    corner = corner + jnp.eye(2, dtype=w.dtype)
    return jnp.concatenate(
        [w[:, None, :], jnp.concatenate([tangent[:, :, None], corner], axis=2)], axis=1
    )


def reach(x: Vectors, d: Vectors) -> Float[Array, " c"]:
    """Return the largest t ≥ 0 with x + t d in Q, inf if that holds for every t.

    Args:
        x: points inside Q.
        d: directions.
    """
    a = d[:, 0] ** 2 - jnp.sum(d[:, 1:] ** 2, axis=1)
    b = x[:, 0] * d[:, 0] - jnp.sum(x[:, 1:] * d[:, 1:], axis=1)
    c = determinant(x)
    # Roots of a t² + 2 b t + c, c > 0, without cancellation.
    discriminant = b * b - a * c
    q = -(b + jnp.where(b >= 0, 1.0, -1.0) * jnp.sqrt(jnp.maximum(discriminant, 0.0)))
    roots = jnp.stack([safe.divide(q, a), safe.divide(c, q)])
    valid = (roots > 0) & (discriminant >= 0)
    boundary = jnp.min(jnp.where(valid, roots, jnp.inf), axis=0)
    apex = jnp.where(d[:, 0] < 0, safe.divide(-x[:, 0], d[:, 0]), jnp.inf)
    return jnp.minimum(boundary, apex)
