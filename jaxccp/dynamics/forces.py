"""Forces on the bodies that are no rows, summed; a new one is a function and a line in FORCES."""

from functools import reduce

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.drag import drag
from jaxccp.dynamics.rows.row import Step
from jaxccp.dynamics.rows.servo import applied
from jaxccp.model.model import Model
from jaxccp.model.state import State


def gravity(model: Model, state: State, step: Step | None) -> Float[Array, "nb 6"]:
    """The weights."""
    acceleration = jnp.concatenate([model.gravity, jnp.zeros_like(model.gravity)])
    mass = jnp.where(jnp.asarray(model.topology.free), model.bodies.mass, 0.0)
    return mass[:, None] * acceleration


def fluid(model: Model, state: State, step: Step | None) -> Float[Array, "nb 6"] | None:
    """Drag."""
    return None if model.fluid is None else drag(model.fluid, state)


def actuation(model: Model, state: State, step: Step | None) -> Float[Array, "nb 6"] | None:
    """Motors without feedback, and of force laws what no row does."""
    acts = model.topology.linkage.actuators or model.tendons.ruled
    return applied(step) if step is not None and acts else None


FORCES = (gravity, fluid, actuation)
"""Each gives forces [N] and torques [N m] on the bodies (world), or None where there are none."""


def total_force(
    model: Model, state: State, step: Step | None, force: Float[Array, "nb 6"] | None
) -> Float[Array, "nb 6"]:
    """Forces [N] and torques [N m] on the bodies (world) of all FORCES and ``force``, those that
    are applied; zero for fixed bodies. ``step``: what acts along joints, None where nothing does.
    """
    parts = [*(each(model, state, step) for each in FORCES), force]
    total = reduce(jnp.add, (part for part in parts if part is not None))
    return jnp.where(jnp.asarray(model.topology.moves)[:, None], total, 0.0)
