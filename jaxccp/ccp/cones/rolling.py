"""Contacts that also resist spinning and rolling: six rows and three bounds on one normal impulse.

The rows are the normal, two tangents, the spin about the normal and the rolling about the two
tangents; the impulses obey

    ‖λ_t‖ ≤ μ λ_n,   |λ_s| ≤ σ λ_n,   ‖λ_r‖ ≤ ρ λ_n,

Chrono's spinning and rolling friction (Tasora & Anitescu, "A complementarity-based rolling
friction model for rigid contacts", Meccanica 48, 2013). σ and ρ are lengths where the angular
rows are angular velocities; rows times a length ℓ with σ/ℓ and ρ/ℓ are the same problem in m/s.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.math import safe

WIDTH = 6
"""The number of rows of a contact."""
TANGENTS, ROLLS = slice(1, 3), slice(4, 6)
"""Rows of sliding and of rolling."""
SUBSETS = np.array(list(np.ndindex(2, 2, 2)), float)
"""All subsets of the three bounds, as masks."""


def arms(rows: Float[Array, "c 6 12"]) -> Float[Array, " c"]:
    """Return the lever arm ℓ [m] of each contact: ℓ times its rolling rows have the norm of its
    tangential rows, both whitened; 1 where either are zero.

    Args:
        rows: rows of W: normal, two tangents, spin and two rolls of each contact.
    """
    tangents, rolls = (jnp.sum(rows[:, part] ** 2, axis=(1, 2)) for part in (TANGENTS, ROLLS))
    mobile = (tangents > 0) & (rolls > 0)
    return jnp.sqrt(jnp.where(mobile, tangents, 1.0) / jnp.where(mobile, rolls, 1.0))


def _groups(x: Float[Array, "c 5"]) -> tuple[Array, Array, Array]:
    """Return the rows of sliding, spinning and rolling."""
    return x[:, :2], x[:, 2:3], x[:, 3:]


def _lengths(x: Float[Array, "c 5"]) -> Float[Array, "c 3"]:
    """Return the norms of the three groups of rows: sliding, spinning, rolling."""
    tangent, spin, roll = _groups(x)
    return jnp.stack([safe.norm(tangent), jnp.abs(spin[:, 0]), safe.norm(roll)], axis=1)


def _spread(groups: Float[Array, "c 3"]) -> Float[Array, "c 5"]:
    """Return one value for each of the five rows, from one for each group: sliding, spinning,
    rolling."""
    return groups[:, np.array([0, 0, 1, 2, 2])]


def _limits(mu: Float[Array, " c"], rolling: Float[Array, "c 2"]) -> Float[Array, "c 3"]:
    """Return the coefficients (μ, σ, ρ) of sliding, spinning and rolling friction."""
    return jnp.concatenate([mu[:, None], rolling], axis=1)


def _active(
    x: Float[Array, "c 6"], limits: Float[Array, "c 3"]
) -> tuple[Bool[Array, "c 3"], Float[Array, " c"]]:
    """Return the bounds that the projection of ``x`` lies on, and its normal impulse n.

    n is the root of the increasing function n − x₀ − Σᵢ kᵢ (aᵢ − kᵢ n)₊, with the limits kᵢ and the
    lengths aᵢ of the three groups; where it is negative the projection is the apex. The function
    with the terms of any subset of i, instead of the positive parts, is larger, so that n is the
    largest root over all subsets. A bound with a coefficient of 0 always counts as active, so that
    such rows never stick.
    """
    lengths = _lengths(x[:, 1:])

    def root(subset: Array) -> Array:
        """Return the root of the function with the terms of a subset of the groups."""
        above = jnp.sum(subset * limits * lengths, axis=-1)
        return (x[:, 0] + above) / (1.0 + jnp.sum(subset * limits * limits, axis=-1))

    normal = jnp.max(root(jnp.asarray(SUBSETS, x.dtype)[:, None]), axis=0)
    active = (lengths > limits * jnp.maximum(normal, 0.0)[:, None]) | (limits == 0)
    # Compute the root of the active subset itself: subsets that tie have other derivatives.
    return active, root(active.astype(x.dtype))


def project(
    x: Float[Array, "c 6"], mu: Float[Array, " c"], rolling: Float[Array, "c 2"]
) -> Float[Array, "c 6"]:
    """Return the Euclidean projection of each contact's impulse on the intersection of its three
    cones.

    Args:
        x: normal, two tangents, spin and two rolls of each impulse.
        mu: friction coefficient of each contact.
        rolling: coefficients of spinning and rolling of each contact.
    """
    limits = _limits(mu, rolling)
    normal = jnp.maximum(_active(x, limits)[1], 0.0)
    most, length = limits * normal[:, None], _lengths(x[:, 1:])
    share = jnp.where(length > most, safe.divide(most, length), 1.0)
    return jnp.concatenate([normal[:, None], _spread(share) * x[:, 1:]], axis=1)


def _directions(x: Float[Array, "c 5"]) -> tuple[Array, Array, Array]:
    """Return the unit vectors of the three groups; a fixed one where a group is zero."""
    tangent, spin, roll = _groups(x)
    first = jnp.asarray([1.0, 0.0], x.dtype)
    return (
        safe.normalize(tangent, first),
        jnp.where(spin < 0, -1.0, jnp.ones_like(spin)),
        safe.normalize(roll, first),
    )


def spectrum(
    x: Float[Array, "c 6"], mu: Float[Array, " c"], rolling: Float[Array, "c 2"]
) -> tuple[Float[Array, "c 6"], Float[Array, "c 6 6"]]:
    """Return eigenvalues and eigenvectors (columns) of the Jacobian of :func:`project` at ``x``.

    Let aᵢ be the length and x̂ᵢ the direction of group i, n the normal impulse of the projection,
    and A the set of active bounds. The vector (1, kᵢ x̂ᵢ for i in A) has eigenvalue 1. Vectors in
    the span of e_n and these x̂ᵢ that are perpendicular to it have eigenvalue 0. Vectors of a group
    i in A that are perpendicular to x̂ᵢ have eigenvalue kᵢ n / aᵢ. All other vectors have
    eigenvalue 1. At the apex every eigenvalue is 0.

    Args:
        x: normal, two tangents, spin and two rolls of each impulse.
        mu: friction coefficient of each contact.
        rolling: coefficients of spinning and rolling of each contact.
    """
    limits = _limits(mu, rolling)
    active, normal = _active(x, limits)
    tangent, spin, roll = _directions(x[:, 1:])
    generator = jnp.concatenate(
        [jnp.ones_like(mu)[:, None], jnp.where(active, limits, 0.0)], axis=1
    )
    g = generator / safe.norm(generator)[:, None]
    # A reflection that maps ± e₀ to g: orthonormal, and e_i itself if bound i is not active.
    first = jnp.eye(4, dtype=x.dtype)[0]
    complement = jnp.eye(4, dtype=x.dtype)[:, 1:] - (
        (g + first)[:, :, None] * (g[:, None, 1:] / (1.0 + g[:, :1, None]))
    )
    frame = jnp.concatenate([g[:, :, None], complement], axis=2)

    zero = jnp.zeros((x.shape[0], 1, 1), x.dtype)

    def stacked(*parts: Array) -> Array:
        """Return columns of six rows, from their parts for the normal, tangents, spin and rolls."""
        return jnp.concatenate(parts, axis=1)

    two = jnp.concatenate([zero, zero], axis=1)
    unit = zero + 1.0
    basis = jnp.concatenate(
        [
            stacked(unit, two, zero, two),
            stacked(zero, tangent[:, :, None], zero, two),
            stacked(zero, two, spin[:, :, None], two),
            stacked(zero, two, zero, roll[:, :, None]),
        ],
        axis=2,
    )
    quarter_rotation = jnp.asarray([[0.0, -1.0], [1.0, 0.0]], x.dtype)
    across = jnp.concatenate(
        [
            stacked(zero, (tangent @ quarter_rotation.T)[:, :, None], zero, two),
            stacked(zero, two, zero, (roll @ quarter_rotation.T)[:, :, None]),
        ],
        axis=2,
    )
    vectors = jnp.concatenate([jnp.einsum("cij,cjk->cik", basis, frame), across], axis=2)
    share = safe.divide(limits * normal[:, None], _lengths(x[:, 1:]))
    bound_values = jnp.where(active, 0.0, 1.0).astype(x.dtype)
    across_values = jnp.where(active, jnp.clip(share, 0.0, 1.0), 1.0)[:, np.array([0, 2])]
    values = jnp.concatenate(
        [jnp.ones_like(bound_values[:, :1]), bound_values, across_values], axis=1
    )
    return jnp.where((normal > 0)[:, None], values, 0.0), vectors


def shift(
    u: Float[Array, "c 5"], mu: Float[Array, " c"], rolling: Float[Array, "c 2"]
) -> Float[Array, " c"]:
    """Return De Saxcé's shift μ‖u_t‖ + σ|u_s| + ρ‖u_r‖ of each contact.

    Args:
        u: tangential, spinning and rolling velocities of each contact.
        mu: friction coefficient of each contact.
        rolling: coefficients of spinning and rolling of each contact.
    """
    return jnp.sum(_limits(mu, rolling) * _lengths(u), axis=1)


def slope(
    x: Float[Array, "c 6"], mu: Float[Array, " c"], rolling: Float[Array, "c 2"]
) -> Float[Array, "c 5"]:
    """Return the derivative of :func:`shift` in u at the solution λ = Π(x), x = λ − D ũ with
    the step size D; 0 in groups that stick.

    Args:
        x: λ − D ũ of each contact.
        mu: friction coefficient of each contact.
        rolling: coefficients of spinning and rolling of each contact.
    """
    limits = _limits(mu, rolling)
    active, _ = _active(x, limits)
    directions = jnp.concatenate(_directions(x[:, 1:]), axis=1)
    return -_spread(jnp.where(active, limits, 0.0)) * directions
