"""Actuators: servos, whose force depends on the motion, are box rows; other forces are applied."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.rows.law import law_wrenches
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math import safe
from jaxccp.model.actuators.activation import commands
from jaxccp.model.linkage import Actuators
from jaxccp.model.tendons.routing import polynomial


def servo(step: Step) -> Rows:
    """Return rows of the force F − k x⁺ − d ẋ⁺ in [f_lo, f_hi], with F = gain · command + offset
    and x = gear · q. The command is the actuator's activation, or else its control within limits.

    They are rows like those of springs (:func:`jaxccp.dynamics.rows.spring.spring`) in the box h
    f_lo ≤ λ ≤ h f_hi: α = h d + h² k, E = 1/α, b = −h (F − k x)/α. Inside the box λ is the impulse
    of the implicit servo; at a bound the force is f_lo or f_hi.

    With α = 0 the force does not depend on the new rate: F is then an applied force
    (:func:`applied_wrenches`). The row has almost no effect; it is kept, in the box h (f − F), for
    derivatives with respect to k and d.
    """
    linkage, h = step.model.topology.linkage, step.h
    actuators = jax.tree.map(lambda leaf: leaf[linkage.servos], step.model.actuators)
    alpha: Array = h * actuators.damping + h * h * actuators.stiffness
    static_force: Array = _static_force(step)[linkage.servos]
    jacobian, bodies = step.jacobian(linkage.actuated[linkage.servos])
    is_rate_dependent = ~rate_independent(actuators)
    lower, upper = actuators.force_limits.T
    free = is_rate_dependent | ((lower < static_force) & (static_force < upper))
    explicit_force = jnp.where(is_rate_dependent, 0.0, static_force)
    available = jnp.where(free, jnp.stack([lower - explicit_force, upper - explicit_force]), 0.0)
    return Rows.compliant(
        actuators.gear[:, None, None] * jacobian,
        bodies,
        alpha,
        jnp.where(is_rate_dependent, -h * static_force, 0.0),
        *_impulse_limits(available, h),
    )


def _impulse_limits(force_limits: Float[Array, "2 n"], h: Array | float) -> Float[Array, "2 n"]:
    """Return h f. Where f is infinite the result is infinite, too, and has no derivative in h,
    which would be 0 · ∞."""
    bounded = ~jnp.isinf(force_limits)
    return jnp.where(bounded, h * jnp.where(bounded, force_limits, 0.0), force_limits)


def rate_independent(actuators: Actuators) -> Bool[Array, " nm"]:
    """Return the mask of the actuators without stiffness and damping, whose force does not depend
    on the motion."""
    return (actuators.stiffness == 0) & (actuators.damping == 0)


def _static_force(step: Step) -> Float[Array, " nm"]:
    """Return gain · command + offset − k · gear · q of each actuator: its force at rate 0, before
    its gear and its limits [N, N m]."""
    actuators, axes = step.model.actuators, step.model.topology.linkage.actuated
    return _command(step) - actuators.stiffness * (actuators.gear * step.coordinate[axes])


def _command(step: Step) -> Array:
    """Return gain · command + offset of every actuator [N, N m]."""
    model, actuators = step.model, step.model.actuators
    command = commands(actuators, model.activations, step.state, step.control)
    return actuators.gain * command + actuators.offset


def explicit_forces(step: Step) -> Float[Array, " nm"]:
    """Return the force of each actuator on its axis or tendon at the start of the step [N, N m]."""
    return step.model.actuators.gear * actuator_forces(step)


def actuator_forces(step: Step) -> Float[Array, " nm"]:
    """Return the force of each actuator at the start of the step, before it is multiplied by the
    gear [N, N m]."""
    actuators, axes = step.model.actuators, step.model.topology.linkage.actuated
    speed = actuators.gear * step.rate[axes]
    force = _static_force(step) - actuators.damping * speed
    limits = actuators.force_limits
    # As in MuJoCo the sum along a tendon is limited first, then each force.
    return safe.clip(_within_tendon_limits(step, force), limits[:, 0], limits[:, 1])


def coordinate_forces(step: Step, force: Float[Array, " nm"]) -> Float[Array, " k"]:
    """Return the sum of the actuators' forces along each axis, then each tendon [N, N m].

    Sums along axes are kept within the axes' limits. As in MuJoCo's ``actuatorfrcrange``, a limit
    includes the forces of actuators on tendons; the excess is subtracted along the axis.

    Args:
        step: the model and its motion.
        force: force of each actuator along its coordinate [N, N m].
    """
    model, linkage = step.model, step.model.topology.linkage
    count, routing = len(linkage.axes), linkage.routing
    total = jnp.zeros(count + len(routing.tendons), force.dtype).at[linkage.actuated].add(force)
    limited = np.flatnonzero(linkage.summed < count)
    if not len(limited):
        return total
    axis_force = total[:count]
    if len(routing.terms):
        tendon, axis = routing.terms.T
        slope = polynomial(model.tendons.polynomial, step.motion.coordinate[axis])[1]
        axis_force = axis_force.at[axis].add(slope * total[count + tendon])
    low, high = model.axes.actuator_limits[limited].T
    axes = linkage.summed[limited]
    return total.at[axes].add(safe.clip(axis_force[axes], low, high) - axis_force[axes])


def _within_tendon_limits(step: Step, force: Float[Array, " nm"]) -> Float[Array, " nm"]:
    """Return actuators' forces before their gears, scaled down if their sum along a tendon exceeds
    its limits [N, N m]."""
    linkage = step.model.topology.linkage
    limited = np.flatnonzero(linkage.summed >= len(linkage.axes))
    if not len(limited):
        return force
    shares = linkage.summed[limited][:, None] == linkage.actuated
    low, high = step.model.axes.actuator_limits[limited].T
    total = jnp.asarray(shares, force.dtype) @ force
    scale = safe.divide(safe.clip(total, low, high), total)
    exceeded = (total < low) | (total > high)
    return force * jnp.prod(jnp.where(shares & exceeded[:, None], scale[:, None], 1.0), axis=0)


def applied_wrenches(step: Step) -> Float[Array, "nb 6"]:
    """Return the wrenches on the bodies of actuators without feedback and of force laws, world axes
    [N, N m]."""
    linkage, actuators = step.model.topology.linkage, step.model.actuators
    force = explicit_forces(step)
    if len(linkage.servos):
        servos = jax.tree.map(lambda leaf: leaf[linkage.servos], actuators)
        limits, static_force = servos.force_limits, _static_force(step)[linkage.servos]
        clipped = servos.gear * safe.clip(static_force, limits[:, 0], limits[:, 1])
        force = force.at[linkage.servos].set(jnp.where(rate_independent(servos), clipped, 0.0))
    if len(linkage.summed):
        total = coordinate_forces(step, force)
        motors = step.body_wrenches(np.arange(len(total)), total)
    else:
        motors = step.body_wrenches(linkage.actuated, force)
    return motors + law_wrenches(step) if step.model.tendons.has_force_laws else motors
