"""Kinds of sensors and what they read of a state; a new one is a function and a line here.

Each gives the values of several sensors of its kind, [n k], by the index of what they are about:
a place in ``qpos`` or ``qvel``, an actuator, a tendon, a frame or a group of bodies.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.inertia import kinetic_energy, potential_energy, world_inertia
from jaxccp.dynamics.rows.row import Step
from jaxccp.dynamics.rows.servo import forces
from jaxccp.io.mjcf.layout import Layout
from jaxccp.io.mjcf.sites import FrameMotion, Sites
from jaxccp.math import quaternion
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

Index = np.ndarray
About = Literal["coordinate", "rate", "actuator", "tendon", "frame", "bodies", "all"]


@dataclass(frozen=True)
class Reading:
    """What sensors read from."""

    model: Model
    state: State
    layout: Layout
    control: Float[Array, " nm"]
    acceleration: Float[Array, "nb 6"] | None
    of: Sites
    """What the sensors are about, if that is a frame, and …"""
    against: Sites
    """… the frames that they see it from, the world's if no other."""
    groups: Bool[np.ndarray, "g nb"]
    magnetic: Float[Array, "3"]

    @cached_property
    def coordinates(self) -> tuple[Array, Array]:
        """``qpos`` and ``qvel``."""
        return self.layout.coordinates(self.model, self.state)

    @cached_property
    def step(self) -> Step:
        motion = joint_motion(self.model, self.state)
        return Step(self.model, self.state, motion, 0.0, self.control)

    @cached_property
    def forces(self) -> Float[Array, " nm"]:
        return forces(self.step)

    @cached_property
    def frames(self) -> tuple[FrameMotion, FrameMotion]:
        """Of what the sensors are about, and of what they see that from."""
        return self.of.motion(self.state), self.against.motion(self.state)

    @cached_property
    def accelerations(self) -> tuple[Array, Array]:
        """Linear, gravity taken off, and angular, of what the sensors are about; world axes."""
        assert self.acceleration is not None
        linear, angular = self.of.accelerations(self.state, self.acceleration)
        return linear - self.model.gravity, angular

    def mean(self, of_bodies: Float[Array, "nb 3"], index: Index) -> Float[Array, "n 3"]:
        """Over the mass of groups of bodies."""
        mass = jnp.where(self.groups[index], self.model.bodies.mass, 0.0)
        return mass @ of_bodies / jnp.sum(mass, axis=1, keepdims=True)


def coordinate(r: Reading, i: Index) -> Array:
    return r.coordinates[0][i][:, None]


def rate(r: Reading, i: Index) -> Array:
    return r.coordinates[1][i][:, None]


def ball_orientation(r: Reading, i: Index) -> Array:
    return r.coordinates[0][i[:, None] + np.arange(4)]


def ball_rate(r: Reading, i: Index) -> Array:
    return r.coordinates[1][i[:, None] + np.arange(3)]


def tendon_length(r: Reading, i: Index) -> Array:
    return r.step.motion.tendon.length[i][:, None]


def tendon_rate(r: Reading, i: Index) -> Array:
    return r.step.motion.tendon.rate[i][:, None]


def tendon_force(r: Reading, i: Index) -> Array:
    """Of all actuators on it together."""
    linkage = r.model.topology.linkage
    return _together(r.forces, i + len(linkage.axes), linkage.driven)


def actuator_length(r: Reading, i: Index) -> Array:
    driven = r.model.topology.linkage.driven[i]
    start = jnp.zeros_like(r.step.coordinate).at[r.layout.places.single[2]].set(r.layout.reference)
    return (r.model.actuators.gear[i] * (r.step.coordinate + start)[driven])[:, None]


def actuator_rate(r: Reading, i: Index) -> Array:
    driven = r.model.topology.linkage.driven[i]
    return (r.model.actuators.gear[i] * r.step.rate[driven])[:, None]


def actuator_force(r: Reading, i: Index) -> Array:
    return r.forces[i][:, None]


def position(r: Reading, i: Index) -> Array:
    of, against = r.frames
    return _into(against, of.position - against.position)[i]


def orientation(r: Reading, i: Index) -> Array:
    of, against = r.frames
    return quaternion.multiply(quaternion.conjugate(against.quaternion), of.quaternion)[i]


def axis(direction: int) -> Callable[[Reading, Index], Array]:
    def along(r: Reading, i: Index) -> Array:
        of, against = r.frames
        return _into(against, quaternion.to_matrix(of.quaternion)[..., direction])[i]

    return along


def linear_velocity(r: Reading, i: Index) -> Array:
    """As seen by what moves and turns with the frame it is seen from."""
    of, against = r.frames
    carried = jnp.cross(against.spin, of.position - against.position)
    return _into(against, of.velocity - against.velocity - carried)[i]


def angular_velocity(r: Reading, i: Index) -> Array:
    of, against = r.frames
    return _into(against, of.spin - against.spin)[i]


def linear_acceleration(r: Reading, i: Index) -> Array:
    return r.accelerations[0][i]


def angular_acceleration(r: Reading, i: Index) -> Array:
    return r.accelerations[1][i]


def accelerometer(r: Reading, i: Index) -> Array:
    return _into(r.frames[0], r.accelerations[0])[i]


def velocimeter(r: Reading, i: Index) -> Array:
    return _into(r.frames[0], r.frames[0].velocity)[i]


def gyro(r: Reading, i: Index) -> Array:
    return _into(r.frames[0], r.frames[0].spin)[i]


def magnetometer(r: Reading, i: Index) -> Array:
    return _into(r.frames[0], jnp.broadcast_to(r.magnetic, r.frames[0].velocity.shape))[i]


def centre(r: Reading, i: Index) -> Array:
    return r.mean(r.state.position, i)


def centre_velocity(r: Reading, i: Index) -> Array:
    return r.mean(r.state.velocity, i)


def angular_momentum(r: Reading, i: Index) -> Array:
    """About the common centre of mass."""
    state, mass = r.state, jnp.where(r.groups[i], r.model.bodies.mass, 0.0)
    arm = state.position - r.mean(state.position, i)[:, None]
    moving = state.velocity - r.mean(state.velocity, i)[:, None]
    tensor = world_inertia(r.model, quaternion.to_matrix(state.quaternion))
    spin = jnp.einsum("bij,bj->bi", tensor, state.angular_velocity)
    spin = jnp.asarray(r.groups[i], spin.dtype) @ spin
    return jnp.einsum("nb,nbi->ni", mass, jnp.cross(arm, moving)) + spin


def clock(r: Reading, i: Index) -> Array:
    return jnp.broadcast_to(r.state.time, (len(i), 1))


def kinetic(r: Reading, i: Index) -> Array:
    return jnp.broadcast_to(kinetic_energy(r.model, r.state), (len(i), 1))


def potential(r: Reading, i: Index) -> Array:
    return jnp.broadcast_to(potential_energy(r.model, r.state), (len(i), 1))


def _into(frame: FrameMotion, vector: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    """World vectors in the axes of frames."""
    return quaternion.rotate(quaternion.conjugate(frame.quaternion), vector)


def _together(force: Float[Array, " nm"], coordinates: Index, driven: Index) -> Array:
    """Sum of the actuators on each of these coordinates."""
    return jnp.where(coordinates[:, None] == driven, force, 0.0).sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Kind:
    """Of sensors."""

    about: About
    read: Callable[[Reading, Index], Array]
    accelerates: bool = False
    """Whether it needs accelerations."""


KINDS = {
    "jointpos": Kind("coordinate", coordinate),
    "jointvel": Kind("rate", rate),
    "ballquat": Kind("coordinate", ball_orientation),
    "ballangvel": Kind("rate", ball_rate),
    "tendonpos": Kind("tendon", tendon_length),
    "tendonvel": Kind("tendon", tendon_rate),
    "tendonactfrc": Kind("tendon", tendon_force),
    "actuatorpos": Kind("actuator", actuator_length),
    "actuatorvel": Kind("actuator", actuator_rate),
    "actuatorfrc": Kind("actuator", actuator_force),
    "framepos": Kind("frame", position),
    "framequat": Kind("frame", orientation),
    "framexaxis": Kind("frame", axis(0)),
    "frameyaxis": Kind("frame", axis(1)),
    "framezaxis": Kind("frame", axis(2)),
    "framelinvel": Kind("frame", linear_velocity),
    "frameangvel": Kind("frame", angular_velocity),
    "framelinacc": Kind("frame", linear_acceleration, accelerates=True),
    "frameangacc": Kind("frame", angular_acceleration, accelerates=True),
    "accelerometer": Kind("frame", accelerometer, accelerates=True),
    "velocimeter": Kind("frame", velocimeter),
    "gyro": Kind("frame", gyro),
    "magnetometer": Kind("frame", magnetometer),
    "subtreecom": Kind("bodies", centre),
    "subtreelinvel": Kind("bodies", centre_velocity),
    "subtreeangmom": Kind("bodies", angular_momentum),
    "clock": Kind("all", clock),
    "e_kinetic": Kind("all", kinetic),
    "e_potential": Kind("all", potential),
}
"""By the name that MuJoCo gives it."""
