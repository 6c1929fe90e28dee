"""The projection on the Coulomb cone ‖λ_t‖ ≤ μ λ_n of a contact, and its derivatives."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.execution.jitted import jitted
from jaxccp.math import safe
from jaxccp.math.components import components


@jitted
def project_coulomb(x: Float[Array, "c 3"], mu: Float[Array, " c"]) -> Float[Array, "c 3"]:
    """Return the Euclidean projection of each contact's impulse on its Coulomb cone.

    Tasora & Anitescu, "A matrix-free cone complementarity approach", CMAME 200 (2011), eq. 34.

    Args:
        x: normal and tangential components of each impulse.
        mu: friction coefficient of each contact.
    """
    normal, first, second = components(x)
    # By components, and products with reciprocals, which are few: compiled programs compute sums
    # and products where they need them, but sums along an axis, quotients and roots in loops of
    # their own.
    square = first * first + second * second
    reciprocal = safe.reciprocal_root(square)
    length = square * reciprocal
    on_surface = (normal + mu * length) / (1.0 + mu * mu)
    inside, polar = regions(normal, length, mu)
    tangential = jnp.where(inside, 1.0, jnp.where(polar, 0.0, mu * on_surface * reciprocal))
    normal = jnp.where(inside, normal, jnp.where(polar, 0.0, on_surface))
    return jnp.concatenate([normal[:, None], tangential[:, None] * x[:, 1:]], axis=1)


def regions(normal: Array, length: Array, mu: Array) -> tuple[Array, Array]:
    """Return two masks, [c] each: the points inside their cones, and those in the polar cones.

    Points in the polar cone project to the apex. With μ = 0 the cone is a ray without an inside, so
    that a contact without friction never sticks.

    Args:
        normal: x_n of each point [c].
        length: ‖x_t‖ of each point [c].
        mu: friction coefficient of each cone [c].
    """
    inside = (length <= mu * normal) & (normal >= 0) & (mu > 0)
    return inside, (mu * length <= -normal) & ~inside


@jitted
def coulomb_spectrum(
    x: Float[Array, "c 3"], mu: Float[Array, " c"]
) -> tuple[Float[Array, "c 3"], Float[Array, "c 3 3"]]:
    """Return eigenvalues and eigenvectors (columns) of the Jacobian of :func:`project_coulomb` at
    ``x``.

    On the surface the eigenvectors are the generator (1, μ t)/√(1+μ²) with eigenvalue 1, the
    tangential perpendicular (0, t⊥) with μ p_n/‖x_t‖, and the cone's normal with 0; inside they are
    1 and in the polar cone 0, with any basis. The eigenvalues lie in [0, 1].

    Args:
        x: normal and tangential components of each impulse.
        mu: friction coefficient of each contact.
    """
    normal, tangent = x[:, 0], x[:, 1:]
    length = safe.norm(tangent)
    inside, polar = regions(normal, length, mu)
    on_surface = (normal + mu * length) / (1.0 + mu * mu)
    unit = safe.normalize(tangent, jnp.asarray([1.0, 0.0], x.dtype))
    scale = 1.0 / jnp.sqrt(1.0 + mu * mu)
    zero = jnp.zeros_like(scale)
    generator = jnp.concatenate([scale[:, None], (mu * scale)[:, None] * unit], axis=1)
    outward = jnp.concatenate([-(mu * scale)[:, None], scale[:, None] * unit], axis=1)
    across = jnp.stack([zero, -unit[:, 1], unit[:, 0]], axis=1)
    surface = jnp.stack([zero + 1.0, safe.divide(mu * on_surface, length), zero], axis=1)
    values = jnp.where(
        inside[:, None], 1.0, jnp.where(polar[:, None], 0.0, jnp.clip(surface, 0.0, 1.0))
    )
    return values, jnp.stack([generator, across, outward], axis=2)


@jitted
def coulomb_slope(x: Float[Array, "c 3"], mu: Float[Array, " c"]) -> Float[Array, "c 2"]:
    """Return the derivative of μ‖u_t‖ in u_t at the solution λ = Π(x), x = λ − ρ ũ.

    It is μ times the direction of sliding. It is 0 where the contact sticks: there the direction of
    u_t is only rounding error.

    Args:
        x: λ − ρ ũ of each contact.
        mu: friction coefficient of each contact.
    """
    tangent = x[:, 1:]
    sticks, _ = regions(x[:, 0], safe.norm(tangent), mu)
    direction = safe.normalize(-tangent, jnp.zeros(2, x.dtype))
    return jnp.where(sticks[:, None], 0.0, mu[:, None] * direction)
