"""Actuators: servos, whose force depends on the motion, are box rows; other forces are applied."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.law import pushed
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.model.activation import commands


def servo(step: Step) -> Rows:
    """Force F + −k x⁺ − d ẋ⁺ in [f_lo, f_hi], F = gain · control + offset, x = gear · q.

    As the spring (:func:`jaxccp.dynamics.rows.spring.spring`), with the box h f_lo ≤ λ ≤ h f_hi:
    α = h d + h² k, E = 1/α, b = −h (F − k x)/α. Inside the box λ is the implicit servo's impulse,
    at a bound the axis lags behind what the servo wants.
    """
    index = step.model.topology.linkage.servos
    actuators, h = jax.tree.map(lambda leaf: leaf[index], step.model.actuators), step.h
    axes = step.model.topology.linkage.actuated[index]
    alpha: Array = h * actuators.damping + h * h * actuators.stiffness
    x = actuators.gear * step.coordinate[axes]
    wanted: Array = _command(step)[index] - actuators.stiffness * x
    jacobian, bodies = step.along(axes)
    along: Array = actuators.gear[:, None, None] * jacobian
    acts = alpha > 0
    alpha = jnp.where(acts, alpha, 1.0)
    return Rows(
        jnp.where(acts[:, None, None], along, 0.0),
        bodies,
        jnp.where(acts, -h * wanted / alpha, 0.0),
        1.0 / alpha,
        *_impulse_limits(actuators.force_limits, h).T,
    )


def _impulse_limits(force_limits: Float[Array, "n 2"], h: Array | float) -> Float[Array, "n 2"]:
    """h f, infinite where f is, there without the derivative 0 · ∞ in h."""
    bounded = jnp.isfinite(force_limits)
    return jnp.where(bounded, h * jnp.where(bounded, force_limits, 0.0), force_limits)


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
    x = actuators.gear * step.coordinate[axes]
    speed = actuators.gear * step.rate[axes]
    force = _command(step) - actuators.stiffness * x - actuators.damping * speed
    limits = actuators.force_limits
    return jnp.clip(force, limits[:, 0], limits[:, 1])


def applied(step: Step) -> Float[Array, "nb 6"]:
    """Forces and torques on the bodies (world) of the actuators that do not feed back, and of
    force laws."""
    linkage = step.model.topology.linkage
    motors = step.push(linkage.actuated, explicit(step).at[linkage.servos].set(0.0))
    return motors + pushed(step) if step.model.tendons.ruled else motors
