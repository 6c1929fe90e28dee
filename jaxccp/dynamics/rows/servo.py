"""Actuators: servos, whose force depends on the motion, are box rows; other forces are applied."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.rows.law import pushed
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math import safe
from jaxccp.model.activation import commands
from jaxccp.model.linkage import Actuators
from jaxccp.model.routing import polynomial


def servo(step: Step) -> Rows:
    """Force F + −k x⁺ − d ẋ⁺ in [f_lo, f_hi], F = gain · control + offset, x = gear · q.

    As the spring (:func:`jaxccp.dynamics.rows.spring.spring`), with the box h f_lo ≤ λ ≤ h f_hi:
    α = h d + h² k, E = 1/α, b = −h (F − k x)/α. Inside the box λ is the implicit servo's impulse,
    at a bound the axis lags behind what the servo wants. Where α is 0 nothing depends on the new
    rate: the force is an applied one (:func:`applied`), and the row, with what the box leaves to
    it, is there for the derivative in α.
    """
    linkage, h = step.model.topology.linkage, step.h
    actuators = jax.tree.map(lambda leaf: leaf[linkage.servos], step.model.actuators)
    alpha: Array = h * actuators.damping + h * h * actuators.stiffness
    wanted: Array = _at_rest(step)[linkage.servos]
    jacobian, bodies = step.along(linkage.actuated[linkage.servos])
    acts = ~at_no_rate(actuators)
    lower, upper = actuators.force_limits.T
    free = acts | ((lower < wanted) & (wanted < upper))
    applied = jnp.where(acts, 0.0, wanted)
    left = jnp.where(free, jnp.stack([lower - applied, upper - applied]), 0.0)
    return Rows.compliant(
        actuators.gear[:, None, None] * jacobian,
        bodies,
        alpha,
        jnp.where(acts, -h * wanted, 0.0),
        *_impulse_limits(left, h),
    )


def _impulse_limits(force_limits: Float[Array, "2 n"], h: Array | float) -> Float[Array, "2 n"]:
    """h f, infinite where f is, there without the derivative 0 · ∞ in h."""
    bounded = jnp.isfinite(force_limits)
    return jnp.where(bounded, h * jnp.where(bounded, force_limits, 0.0), force_limits)


def at_no_rate(actuators: Actuators) -> Bool[Array, " nm"]:
    """Return which of these actuators have forces that do not depend on the motion, although their
    model has rows for them."""
    return (actuators.stiffness == 0) & (actuators.damping == 0)


def _at_rest(step: Step) -> Float[Array, " nm"]:
    """Return what the force of each actuator would be at rate 0 and without limits [N, N m]."""
    actuators, axes = step.model.actuators, step.model.topology.linkage.actuated
    return _command(step) - actuators.stiffness * (actuators.gear * step.coordinate[axes])


def _command(step: Step) -> Array:
    """gain · command + offset of every actuator [N, N m]."""
    model, actuators = step.model, step.model.actuators
    command = commands(actuators, model.activations, step.state, step.control)
    return actuators.gain * command + actuators.offset


def explicit(step: Step) -> Float[Array, " nm"]:
    """Force that each actuator's axis or tendon feels as things stand [N, N m]."""
    return step.model.actuators.gear * forces(step)


def forces(step: Step) -> Float[Array, " nm"]:
    """Force of each actuator as things stand, before its gear."""
    actuators, axes = step.model.actuators, step.model.topology.linkage.actuated
    speed = actuators.gear * step.rate[axes]
    force = _at_rest(step) - actuators.damping * speed
    limits = actuators.force_limits
    return _shared(step, jnp.clip(force, limits[:, 0], limits[:, 1]))


def coordinate_forces(step: Step, force: Float[Array, " nm"]) -> Float[Array, " k"]:
    """Return the sum of actuators' forces along all axes, then all tendons, within the limits of
    sums along axes [N, N m].

    A limit is of what an axis feels of actuators on couplings, too, as MuJoCo's
    ``actuatorfrcrange`` is; what is beyond it is taken off along the axis.

    Args:
        step: the model and its motion.
        force: force of each actuator along its coordinate [N, N m].
    """
    model, linkage = step.model, step.model.topology.linkage
    count, routing = len(linkage.axes), linkage.routing
    total = jnp.zeros(count + len(routing.tendons), force.dtype).at[linkage.actuated].add(force)
    which = np.flatnonzero(linkage.summed < count)
    if not len(which):
        return total
    felt = total[:count]
    if len(routing.terms):
        tendon, axis = routing.terms.T
        slope = polynomial(model.tendons.polynomial, step.motion.coordinate[axis])[1]
        felt = felt.at[axis].add(slope * total[count + tendon])
    low, high = model.axes.actuator_limits[which].T
    axes = linkage.summed[which]
    return total.at[axes].add(jnp.clip(felt[axes], low, high) - felt[axes])


def _shared(step: Step, force: Float[Array, " nm"]) -> Float[Array, " nm"]:
    """Return actuators' forces before their gears, scaled where their sum along a tendon would be
    beyond its limits [N, N m]."""
    linkage = step.model.topology.linkage
    which = np.flatnonzero(linkage.summed >= len(linkage.axes))
    if not len(which):
        return force
    shares = linkage.summed[which][:, None] == linkage.actuated
    low, high = step.model.axes.actuator_limits[which].T
    total = jnp.asarray(shares, force.dtype) @ force
    scale = safe.divide(jnp.clip(total, low, high), total)
    beyond = (total < low) | (total > high)
    return force * jnp.prod(jnp.where(shares & beyond[:, None], scale[:, None], 1.0), axis=0)


def applied(step: Step) -> Float[Array, "nb 6"]:
    """Forces and torques on the bodies (world) of the actuators that do not feed back, and of
    force laws."""
    linkage, actuators = step.model.topology.linkage, step.model.actuators
    force = explicit(step)
    if len(linkage.servos):
        servos = jax.tree.map(lambda leaf: leaf[linkage.servos], actuators)
        limits, wanted = servos.force_limits, _at_rest(step)[linkage.servos]
        still = servos.gear * jnp.clip(wanted, limits[:, 0], limits[:, 1])
        force = force.at[linkage.servos].set(jnp.where(at_no_rate(servos), still, 0.0))
    if len(linkage.summed):
        total = coordinate_forces(step, force)
        motors = step.push(np.arange(len(total)), total)
    else:
        motors = step.push(linkage.actuated, force)
    return motors + pushed(step) if step.model.tendons.ruled else motors
