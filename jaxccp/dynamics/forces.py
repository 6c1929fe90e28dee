"""Applied forces on the bodies, and the wrenches of forces along coordinates."""

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


def total_force(
    model: Model, state: State, step: Step | None, force: Float[Array, "nb 6"] | None
) -> Float[Array, "nb 6"]:
    """Return the sum of gravity, drag, motors without feedback, force laws and an applied force on
    each body [N, N m], world axes.

    Args:
        model: the model.
        state: poses and velocities.
        step: motion along the joints, for motors and force laws; None leaves these out.
        force: applied force [N] and torque [N m] on each body, or None.

    Returns:
        The sum; zero for bodies that cannot move.
    """
    acceleration = jnp.concatenate([model.gravity, jnp.zeros_like(model.gravity)])
    mass = jnp.where(jnp.asarray(model.topology.free), model.bodies.mass, 0.0)
    total = mass[:, None] * acceleration
    if model.fluid is not None:
        total = total + drag(model.fluid, state)
    if step is not None and (model.topology.linkage.actuators or model.tendons.has_force_laws):
        total = total + applied_wrenches(step)
    if force is not None:
        total = total + force
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
