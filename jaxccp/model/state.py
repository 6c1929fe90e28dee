"""The state of a system."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Memory:
    """Impulses of the last step, to start the next solve from; no part of the mechanics."""

    shapes: Int[Array, "c 2"]
    """First and second shape of each contact, -1 where there was none."""
    feature: Int[Array, " c"]
    """Geometric feature that touched, -1 where there was no contact."""
    impulse: Float[Array, "c w"]
    """In world coordinates [N·s], so that a change of tangent frame does not matter; with
    spinning and rolling friction the angular impulse follows [N·m·s]."""
    scalars: Float[Array, " s"]
    """Of the scalar rows: joints and what acts along their axes."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rotors:
    """How fast the rotors of axes and tendons turn. Between steps the bodies move on, and their
    twists no longer give these rates exactly; what is changed of the twists adds to them."""

    rate: Float[Array, " k"]
    """At the end of the last step, of all axes, then of all tendons [m/s, rad/s]."""
    twist: Float[Array, "nb 6"]
    """Of the bodies, as the last step left them."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """Poses and twists of all bodies, the fixed ones included."""

    position: Float[Array, "nb 3"]
    """Centres of mass, world [m]."""
    quaternion: Float[Array, "nb 4"]
    """Orientations, (w, x, y, z), unit."""
    velocity: Float[Array, "nb 3"]
    """Of the centres of mass, world [m/s]."""
    angular_velocity: Float[Array, "nb 3"]
    """World axes [rad/s]."""
    time: Float[Array, ""]
    """[s]"""
    turns: Float[Array, " na"]
    """Coordinate of each axis when last looked at: tells how often a hinge has gone round, and
    where to look for coordinates; all else about them is in the poses."""
    rotors: Rotors
    memory: Memory

    @property
    def twist(self) -> Float[Array, "nb 6"]:
        """Linear and angular velocities, world."""
        return jnp.concatenate([self.velocity, self.angular_velocity], axis=1)
