"""Velocity-product terms: rates of twists and momenta at constant velocities of the degrees of
freedom."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.trees.screws import Screws, field_at
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics.dofs import Dofs

SMALL_ANGLE = 0.5
"""Rotation of a body in a step [rad] above which the velocity-product terms of its tree are
reduced.

In larger steps these terms are inaccurate, and energy might grow without bound; without them it
shrinks. A body that turns about its axis of symmetry on its only hinge does not count: its mass
stays where it is.
"""


def momentum_rate(
    screws: Screws,
    twist: Float[Array, "nb 6"],
    position: Float[Array, "nb 3"],
    mass: BodyMass,
    velocity: Float[Array, " nv"],
    h: Float[Array, ""] | float,
) -> Float[Array, "nb 6"]:
    """Return the rate of jointed bodies' momenta at constant velocities, M J̇ v and the gyroscopic
    torque [N, N m].

    It is reduced if one of the bodies :attr:`jaxccp.model.kinematics.dofs.Dofs.swept` of the tree
    rotates by more than :data:`SMALL_ANGLE` in the step. It is zero for a body without joints,
    which is in no tree: its rotation is torque-free.

    Args:
        screws: the degrees of freedom.
        twist: twists J v of the bodies.
        position: centres of mass.
        mass: mass operator of the bodies.
        velocity: v.
        h: length of the step [s].
    """
    dofs = screws.dofs
    change = mass.apply(twist_rate(screws, twist, position, velocity))
    gyroscopic = cross(twist[:, 3:], mass.apply(twist)[:, 3:])
    change = change + jnp.pad(gyroscopic, ((0, 0), (3, 0)))
    member = jnp.asarray(dofs.trees, change.dtype)
    return (small_angle_weight(dofs, twist[:, 3:], h) @ member)[:, None] * change


def twist_rate(
    screws: Screws,
    twist: Float[Array, "nb 6"],
    position: Float[Array, "nb 3"],
    velocity: Float[Array, " nv"],
) -> Float[Array, "nb 6"]:
    """Return J̇ v of jointed bodies [m/s², rad/s²].

    The velocity fields of a tree's axes are summed at a common point. Any point would do; the
    centre of one of the tree's bodies keeps the rounding errors small.

    Args:
        screws: the degrees of freedom.
        twist: twists J v of the bodies.
        position: centres of mass.
        velocity: v.
    """
    dofs, rate = screws.dofs, velocity[:, None]
    axis_rate, origin_rate = (
        rate * part for part in _axis_rates(screws, twist, position, velocity)
    )
    reference = lax.stop_gradient(position)[dofs.first]
    origin_rate = origin_rate + cross(axis_rate, reference[dofs.child] - screws.origin)
    fields = jnp.concatenate([origin_rate, axis_rate], axis=1)
    linear, angular = jnp.split(jnp.asarray(dofs.supports, position.dtype) @ fields, 2, axis=1)
    linear = linear + cross(angular, position - reference) + cross(twist[:, 3:], twist[:, :3])
    return jnp.concatenate([linear, angular], axis=1)


def jacobian_rate(
    screws: Screws,
    twist: Float[Array, "nb 6"],
    position: Float[Array, "nb 3"],
    velocity: Float[Array, " nv"],
) -> Float[Array, "nb 6 nv"]:
    """Return J̇ of jointed bodies.

    Args:
        screws: the degrees of freedom.
        twist: twists J v of the bodies.
        position: centres of mass.
        velocity: v.
    """
    axis_rate, origin_rate = _axis_rates(screws, twist, position, velocity)
    field = field_at(origin_rate, axis_rate, position, screws.origin)
    zero = jnp.zeros_like(screws.linear)
    field = field + field_at(zero, screws.angular, twist[:, :3], zero)
    movable = jnp.asarray(screws.dofs.supports, position.dtype)[:, None]
    rotational = jnp.broadcast_to(axis_rate.T, field.shape)
    return movable * jnp.concatenate([field, rotational], axis=1)


def _axis_rates(
    screws: Screws,
    twist: Float[Array, "nb 6"],
    position: Float[Array, "nb 3"],
    velocity: Float[Array, " nv"],
) -> tuple[Array, Array]:
    """Return the rates of ``screws.angular``, and of ``screws.linear`` at a fixed point.

    The body that carries an axis moves it: the rate of the axis's velocity field is the cross
    product of the carrier's twist and the field (Featherstone, Rigid Body Dynamics Algorithms,
    2008, section 2.9).
    """
    child, within = screws.dofs.child, jnp.asarray(screws.dofs.within, velocity.dtype)
    # Twist of the carrier: that of the moved body without this axis and later axes of the same
    # joint.
    linear, angular = twist[child, :3], twist[child, 3:]
    spin = angular - within @ (velocity[:, None] * screws.angular)
    speed = linear + cross(angular, screws.origin - position[child])
    speed = speed - within @ (velocity[:, None] * screws.linear)
    axis_rate = cross(spin, screws.angular)
    return axis_rate, cross(spin, screws.linear) + cross(speed, screws.angular)


def small_angle_weight(
    dofs: Dofs, spin: Float[Array, "nb 3"], h: Float[Array, ""] | float
) -> Float[Array, " nt"]:
    """Return the weight of each tree's velocity-product terms, in (0, 1].

    It is less than 1 if a body of the tree rotates by more than :data:`SMALL_ANGLE` in the step,
    other than one that turns about its own axis of symmetry (:attr:`Dofs.swept`).

    Args:
        dofs: degrees of freedom, with the bodies of each tree.
        spin: angular velocities of the bodies [rad/s].
        h: length of the step [s].
    """
    square = jnp.where(jnp.asarray(dofs.swept), jnp.sum(spin * spin, axis=1), 0.0)
    return SMALL_ANGLE**2 / jnp.maximum(h * h * jnp.max(square, axis=1), SMALL_ANGLE**2)
