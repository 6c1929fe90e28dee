"""Inputs of the laws of smooth contacts: effective masses, radii and moduli."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.math import safe
from jaxccp.model.model import Model
from jaxccp.model.smooth import SmoothContacts, SmoothSurfaces

ROUND = {
    "sphere": True,
    "plane": False,
    "box": False,
    "capsule": True,
    "cylinder": False,
    "ellipsoid": False,
    "convex": False,
    "height_field": False,
}
"""Whether the curvature of each kind of shape is 1/radius; the others count as flat."""


def law_inputs(
    model: Model, table: SmoothSurfaces, contacts: Contacts, approach: Float[Array, " c"]
) -> SmoothContacts:
    """Return the inputs of the contact laws for each contact; slots without a contact get harmless
    numbers.

    Args:
        model: masses and shapes.
        table: materials of the surfaces.
        contacts: the contacts.
        approach: speed at which the surfaces met [m/s].
    """
    topology, live = model.topology, contacts.live
    free, carried = jnp.asarray(topology.free), jnp.asarray(topology.family_frames)
    mass = jnp.where(carried, table.frame_mass, model.bodies.mass)
    inverse_mass = safe.divide(jnp.where(free | carried, 1.0, 0.0), mass)
    mobility = jnp.sum(inverse_mass[contacts.bodies], axis=1)

    is_round = np.array([ROUND[kind] for kind in topology.shapes], bool)
    radius = jnp.where(is_round, model.shapes.radius, 1.0)
    curvature = jnp.sum(jnp.where(is_round, 1 / radius, 0.0)[contacts.shapes], axis=1)
    flat = curvature == 0
    effective = jnp.where(flat, table.flat_radius, 1 / jnp.where(flat, 1.0, curvature))

    rigid, poisson = jnp.isinf(table.young_modulus), table.poisson_ratio
    young = jnp.where(rigid, 1.0, table.young_modulus)
    plane = jnp.where(rigid, jnp.inf, young / (1 - poisson**2))
    shear = jnp.where(rigid, jnp.inf, young / (2 * (2 - poisson) * (1 + poisson)))
    coefficients = table.coefficients
    return SmoothContacts(
        overlap=jnp.where(live, -contacts.gap, 1.0),
        mass=1 / jnp.where(live & (mobility > 0), mobility, 1.0),
        radius=effective,
        restitution=jnp.where(live, contacts.restitution, 1.0),
        approach=approach,
        characteristic_speed=table.characteristic_speed,
        young=_in_series(*shape_values(plane, contacts)),
        shear=_in_series(*shape_values(shear, contacts)),
        coefficients=None
        if coefficients is None
        else _in_series(*shape_values(coefficients, contacts)),
    )


def shape_values(column: Array, contacts: Contacts, fill: float = 1.0) -> tuple[Array, Array]:
    """Return an entry of ``column`` for the first and for the second shape of each contact.

    Args:
        column: number of each shape.
        contacts: the contacts.
        fill: number for slots without a contact.
    """
    live = contacts.live.reshape(-1, *[1] * (column.ndim - 1))
    first, second = (column[contacts.shapes[:, side]] for side in (0, 1))
    return jnp.where(live, first, fill), jnp.where(live, second, fill)


def _in_series(a: Array, b: Array) -> Array:
    """Return 1 / (1/a + 1/b), for a and b that may be 0 or infinite."""
    rigid_a, rigid_b = jnp.isinf(a), jnp.isinf(b)
    finite_a, finite_b = jnp.where(rigid_a, 1.0, a), jnp.where(rigid_b, 1.0, b)
    return jnp.where(
        rigid_a, b, jnp.where(rigid_b, a, safe.divide(finite_a * finite_b, finite_a + finite_b))
    )
