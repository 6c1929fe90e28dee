"""Rates of momentum at constant velocities of the degrees of freedom: what curves cost."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.screws import Screws, field_at
from jaxccp.math.linear3 import cross
from jaxccp.model.dofs import Dofs

FAST = 0.5
"""Angle that a body turns in a step [rad] above which what its tree's curves change is left out the
more, the faster it is: velocities no longer tell where it is on its curve, and energy might grow
without end. Without these changes it shrinks."""


def momentum_rate(
    screws: Screws,
    twist: Float[Array, "nb 6"],
    position: Float[Array, "nb 3"],
    mass: BodyMass,
    velocity: Float[Array, " nv"],
    h: Float[Array, ""] | float,
) -> Float[Array, "nb 6"]:
    """Ṗ of the bodies on joints with the twists J v, M J̇ v and the gyroscopic torque, while v stays
    the same over a step of ``h`` [s]; less where that is no small angle (:data:`FAST`). Zero for
    bodies that are a tree of their own: they rotate as free bodies do."""
    dofs = screws.dofs
    change = mass.apply(twist_rate(screws, twist, position, velocity))
    gyroscopic = cross(twist[:, 3:], mass.apply(twist)[:, 3:])
    change = change + jnp.pad(gyroscopic, ((0, 0), (3, 0)))
    member = jnp.asarray(dofs.trees, change.dtype)
    return (trust(dofs, twist[:, 3:], h) @ member)[:, None] * change


def twist_rate(
    screws: Screws,
    twist: Float[Array, "nb 6"],
    position: Float[Array, "nb 3"],
    velocity: Float[Array, " nv"],
) -> Float[Array, "nb 6"]:
    """J̇ v of bodies on joints with the twists J v.

    The fields of a tree's axes add up once they are given at one place, which may be any: the
    centre of one of its bodies, near which positions have few digits to lose.
    """
    dofs, rate = screws.dofs, velocity[:, None]
    turning, shifting = (rate * part for part in _axis_rates(screws, twist, position, velocity))
    place = lax.stop_gradient(position)[dofs.first]
    shifting = shifting + cross(turning, place[dofs.child] - screws.origin)
    fields = jnp.concatenate([shifting, turning], axis=1)
    linear, angular = jnp.split(jnp.asarray(dofs.moves, position.dtype) @ fields, 2, axis=1)
    linear = linear + cross(angular, position - place) + cross(twist[:, 3:], twist[:, :3])
    return jnp.concatenate([linear, angular], axis=1)


def jacobian_rate(
    screws: Screws,
    twist: Float[Array, "nb 6"],
    position: Float[Array, "nb 3"],
    velocity: Float[Array, " nv"],
) -> Float[Array, "nb 6 nv"]:
    """J̇ of bodies on joints with the twists J v."""
    turning, shifting = _axis_rates(screws, twist, position, velocity)
    field = field_at(shifting, turning, position, screws.origin)
    still = jnp.zeros_like(screws.linear)
    field = field + field_at(still, screws.angular, twist[:, :3], still)
    moves = jnp.asarray(screws.dofs.moves, position.dtype)[:, None]
    turned = jnp.broadcast_to(turning.T, field.shape)
    return moves * jnp.concatenate([field, turned], axis=1)


def _axis_rates(
    screws: Screws,
    twist: Float[Array, "nb 6"],
    position: Float[Array, "nb 3"],
    velocity: Float[Array, " nv"],
) -> tuple[Array, Array]:
    """Rates of ``screws.angular`` and of ``screws.linear`` at a fixed point.

    The axis of a degree of freedom moves with what carries it, so that its velocity field changes
    by the cross product of the carrier's twist and its own (Featherstone, Rigid Body Dynamics
    Algorithms, 2008, section 2.9).
    """
    child, within = screws.dofs.child, jnp.asarray(screws.dofs.within, velocity.dtype)
    # The twist of what the axis moves, less what is not its carrier's: axes through one point.
    linear, angular = twist[child, :3], twist[child, 3:]
    spin = angular - within @ (velocity[:, None] * screws.angular)
    speed = linear + cross(angular, screws.origin - position[child])
    speed = speed - within @ (velocity[:, None] * screws.linear)
    turning = cross(spin, screws.angular)
    return turning, cross(spin, screws.linear) + cross(speed, screws.angular)


def trust(
    dofs: Dofs, spin: Float[Array, "nb 3"], h: Float[Array, ""] | float
) -> Float[Array, " nt"]:
    """Return, for each tree, how much of the change of momentum on curves is allowed for: 1 but
    where one of its bodies turns by more than :data:`FAST` in a step of ``h``."""
    square = jnp.where(jnp.asarray(dofs.trees), jnp.sum(spin * spin, axis=1), 0.0)
    return FAST**2 / jnp.maximum(h * h * jnp.max(square, axis=1), FAST**2)
