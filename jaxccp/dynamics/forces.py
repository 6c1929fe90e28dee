"""Applied forces on the bodies, summed; a new kind is a function and a line in FORCES. Forces along
coordinates are those of :func:`coordinate_wrenches`."""

from functools import reduce

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.drag import drag
from jaxccp.dynamics.rows.damping import damping_coefficients
from jaxccp.dynamics.rows.row import Step
from jaxccp.dynamics.rows.servo import applied_wrenches, coordinate_forces, explicit_forces
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.tendons.functions import force_and_slopes


def gravity(model: Model, state: State, step: Step | None) -> Float[Array, "nb 6"]:
    """Return gravity's wrench on each body [N, N m].

    Args:
        model: the model, with masses and gravity.
        state: unused.
        step: unused.
    """
    acceleration = jnp.concatenate([model.gravity, jnp.zeros_like(model.gravity)])
    mass = jnp.where(jnp.asarray(model.topology.free), model.bodies.mass, 0.0)
    return mass[:, None] * acceleration


def fluid(model: Model, state: State, step: Step | None) -> Float[Array, "nb 6"] | None:
    """Return the fluid's wrench on each body [N, N m], or None without a fluid.

    Args:
        model: the model, with its fluid.
        state: poses and velocities.
        step: unused.
    """
    return None if model.fluid is None else drag(model.fluid, state)


def actuation(model: Model, state: State, step: Step | None) -> Float[Array, "nb 6"] | None:
    """Return the wrench of motors without feedback and of force laws on each body, or None.

    Args:
        model: the model.
        state: unused.
        step: motion along the joints; None leaves these forces out.
    """
    has_actuation = model.topology.linkage.actuators or model.tendons.has_force_laws
    return applied_wrenches(step) if step is not None and has_actuation else None


FORCES = (gravity, fluid, actuation)
"""The kinds of force. Each returns forces [N] and torques [N m] on the bodies (world), or None."""


def total_force(
    model: Model, state: State, step: Step | None, force: Float[Array, "nb 6"] | None
) -> Float[Array, "nb 6"]:
    """Return the sum of all FORCES and of an applied force on each body [N, N m], world axes.

    Args:
        model: the model.
        state: poses and velocities.
        step: motion along the joints, for motors and force laws; None leaves these out.
        force: applied force [N] and torque [N m] on each body, or None.

    Returns:
        The sum; zero for bodies that cannot move.
    """
    parts = [*(force_(model, state, step) for force_ in FORCES), force]
    total = reduce(jnp.add, (part for part in parts if part is not None))
    return jnp.where(jnp.asarray(model.topology.movable)[:, None], total, 0.0)


def coordinate_wrenches(step: Step) -> Float[Array, "nb 6"]:
    """Return the wrench on each body of springs, dampers, force laws and actuators [N, N m], world
    axes."""
    axes, linkage = step.model.axes, step.model.topology.linkage
    damping = axes.damping
    if linkage.rate_damping:
        damping, _ = damping_coefficients(axes, step.rate)
    force = -axes.stiffness * (step.coordinate - axes.rest) - damping * step.rate
    force = force + coordinate_forces(step, explicit_forces(step))
    tendon, laws = step.motion.tendon, step.model.tendons.laws
    law_force = force_and_slopes(laws, tendon.length, tendon.rate, step.state.time)[:, 0]
    force = force.at[len(linkage.axes) :].add(law_force)
    return step.body_wrenches(np.arange(force.shape[0]), force)
