"""The state of a model: poses and twists of bodies, coordinates and activations."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.model.family import FamilyState


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rotors:
    """Rates of the rotors (``armature``) along axes and tendons.

    They are part of the solution of the last step. The step then moves the bodies, and the same
    twists give slightly different rates of the coordinates although no force has acted on the
    rotors. So the rates are stored.
    """

    rate: Float[Array, " k"]
    """Rate of each axis, then of each tendon, at the end of the last step [m/s, rad/s]."""
    twist: Float[Array, "nb 6"]
    """Twist of each body at the end of the last step. If the twists change before the next step,
    the rotor rates change accordingly."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """Poses and twists of all bodies, including the fixed ones, with rates of rotors, activations
    and the time.

    The motion also depends on how far smooth contacts are stretched and, with steppers of second
    order, on a filtered acceleration. The stepper's carry has both."""

    position: Float[Array, "nb 3"]
    """Centre of mass of each body, world [m]."""
    quaternion: Float[Array, "nb 4"]
    """Orientation of each body, a unit quaternion (w, x, y, z)."""
    velocity: Float[Array, "nb 3"]
    """Velocity of each centre of mass, world [m/s]."""
    angular_velocity: Float[Array, "nb 3"]
    """Angular velocity of each body, world axes [rad/s]."""
    time: Float[Array, ""]
    """Time [s]."""
    joint_positions: Float[Array, " na"]
    """Coordinate of each axis [m, rad]; the angle of a hinge includes whole revolutions. Those of
    joints that close loops, and in maximal coordinates of all, follow from the poses: a step starts
    their computation here. Set coordinates by :func:`jaxccp.forward_kinematics`, or by
    ``layout.state`` of a loaded model, which place the bodies: steppers begin with the coordinates
    of the poses, and of other numbers here keep whole revolutions alone."""
    rotors: Rotors
    """Rates of the rotors along axes and tendons."""
    families: tuple[FamilyState, ...] = ()
    """States of the model's families, which determine the poses and twists of their frames."""
    activation: Float[Array, " ma"] | None = None
    """Activations of the actuators that have one
    (:class:`jaxccp.model.actuators.activation.Activations`); None where there are none."""

    @property
    def twist(self) -> Float[Array, "nb 6"]:
        """Velocity of the centre of mass, then angular velocity of each body, world axes."""
        return jnp.concatenate([self.velocity, self.angular_velocity], axis=-1)
