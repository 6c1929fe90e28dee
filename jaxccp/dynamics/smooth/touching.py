"""Smooth contacts as their laws see them."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.math import safe
from jaxccp.model.model import Model
from jaxccp.model.smooth import SmoothSurfaces, Touch

ROUND = ("sphere", "capsule")
"""Shapes whose radius is that of their curvature. All others are flat where they touch."""


def touches(
    model: Model, table: SmoothSurfaces, contacts: Contacts, approach: Float[Array, " c"]
) -> Touch:
    """The contacts as laws see them. Rows that are no contact are of some harmless one."""
    topology, live = model.topology, contacts.live
    free, carried = jnp.asarray(topology.free), jnp.asarray(topology.carried)
    mass = jnp.where(carried, table.frame_mass, model.bodies.mass)
    light = safe.divide(jnp.where(free | carried, 1.0, 0.0), mass)
    mobility = jnp.sum(light[contacts.bodies], axis=1)

    is_round = np.isin(topology.shapes, ROUND)
    radius = jnp.where(is_round, model.shapes.radius, 1.0)
    curvature = jnp.sum(jnp.where(is_round, 1 / radius, 0.0)[contacts.shapes], axis=1)
    flat = curvature == 0
    effective = jnp.where(flat, table.flat_radius, 1 / jnp.where(flat, 1.0, curvature))

    rigid, poisson = jnp.isinf(table.young_modulus), table.poisson_ratio
    young = jnp.where(rigid, 1.0, table.young_modulus)
    plane = jnp.where(rigid, jnp.inf, young / (1 - poisson**2))
    shear = jnp.where(rigid, jnp.inf, young / (2 * (2 - poisson) * (1 + poisson)))
    given = table.coefficients
    return Touch(
        overlap=jnp.where(live, -contacts.gap, 1.0),
        mass=1 / jnp.where(live, mobility, 1.0),
        radius=effective,
        restitution=jnp.where(live, contacts.restitution, 1.0),
        approach=approach,
        characteristic_speed=table.characteristic_speed,
        young=_in_series(*sides(plane, contacts)),
        shear=_in_series(*sides(shear, contacts)),
        coefficients=None if given is None else _in_series(*sides(given, contacts)),
    )


def sides(column: Array, contacts: Contacts, fill: float = 1.0) -> tuple[Array, Array]:
    """Return the numbers of the first and of the second shape of each contact; ``fill`` where there
    is none."""
    live = contacts.live.reshape(-1, *[1] * (column.ndim - 1))
    first, second = (column[contacts.shapes[:, side]] for side in (0, 1))
    return jnp.where(live, first, fill), jnp.where(live, second, fill)


def _in_series(a: Array, b: Array) -> Array:
    """1 / (1/a + 1/b), for a and b that may be 0 or infinite."""
    rigid_a, rigid_b = jnp.isinf(a), jnp.isinf(b)
    own_a, own_b = jnp.where(rigid_a, 1.0, a), jnp.where(rigid_b, 1.0, b)
    return jnp.where(rigid_a, b, jnp.where(rigid_b, a, safe.divide(own_a * own_b, own_a + own_b)))
