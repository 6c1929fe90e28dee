"""Inputs of sensors, and the contract of a kind of sensor."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.contact.contact_data import ContactData
from jaxccp.dynamics.rows.row import Step
from jaxccp.dynamics.rows.servo import actuator_forces
from jaxccp.dynamics.step_report import StepReport
from jaxccp.math import quaternion
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.sites import FrameMotion, Sites
from jaxccp.model.state import State
from jaxccp.sensors.coordinates.coordinates import Coordinates
from jaxccp.sensors.sensor_scope import ContactSelection, SensorScope

Index = np.ndarray
"""Indices of the axes, bodies, frames or other things that n sensors read [n]."""
About = Literal["axis", "ball", "joint", "tendon", "actuator", "frame", "body", "bodies", "all"]
"""Kind of thing that a sensor reads, which its index counts: axes, first axes of balls, joints,
tendons, actuators, the sensors themselves (frame), bodies, groups of bodies, or nothing (all)."""
Needs = Literal["", "acceleration", "report", "both"]
"""Input besides the state that a sensor needs."""
Counts = Literal["", "body", "subtree", "pairs"]
"""Default shapes of a sensor: those of its frame's body; those of this body and its descendants; or
none, for sensors that need explicit pairs."""


@dataclass(frozen=True)
class Reading:
    """Inputs of all sensors; quantities that several sensors use are computed once."""

    model: Model
    """The model."""
    state: State
    """The state."""
    layout: Coordinates
    """Layout of MuJoCo's coordinates, in which joints are read."""
    control: Float[Array, " nm"]
    """Control of each actuator."""
    acceleration: Float[Array, "nb 6"] | None
    """Accelerations of the bodies, world axes [m/s², rad/s²]."""
    report: StepReport | None
    """Report of the step that led to the state."""
    subjects: Sites
    """Frame of each sensor."""
    references: Sites
    """Frame that each sensor's reading is relative to; by default the world's."""
    groups: Bool[np.ndarray, "g nb"]
    """Mask of the bodies in each group of bodies."""
    magnetic: Float[Array, "3"]
    """Magnetic field, world axes, in any unit."""
    scopes: tuple[SensorScope | ContactSelection | None, ...]
    """Shapes and bodies that each sensor measures, if its kind needs them."""

    @cached_property
    def coordinates(self) -> Float[Array, " k"]:
        """Coordinates of all axes, offset as in ``qpos``, then of all tendons [m, rad]."""
        coordinate = self.step.coordinate
        return coordinate.at[self.layout.places.single[2]].add(self.layout.reference)

    @cached_property
    def step(self) -> Step:
        """State, motion of joints and tendons, and control, as inputs of actuator forces; the
        step's length is 0."""
        motion = joint_motion(self.model, self.state)
        return Step(self.model, self.state, motion, 0.0, self.control)

    @cached_property
    def forces(self) -> Float[Array, " nm"]:
        """Forces of the actuators, not multiplied by their gears [N, N m]."""
        return actuator_forces(self.step)

    @cached_property
    def frames(self) -> tuple[FrameMotion, FrameMotion]:
        """Motions of the sensors' frames, then those of their reference frames."""
        return self.subjects.motion(self.state), self.references.motion(self.state)

    @cached_property
    def accelerations(self) -> tuple[Array, Array]:
        """Linear accelerations minus gravity [m/s²] and angular ones [rad/s²] of the sensors'
        frames, world axes."""
        assert self.acceleration is not None
        linear, angular = self.subjects.accelerations(self.state, self.acceleration)
        return linear - self.model.gravity, angular

    @cached_property
    def sensor_scopes(self) -> dict[int, SensorScope]:
        """Scopes of sensors, by the index of the sensor."""
        return {i: scope for i, scope in enumerate(self.scopes) if isinstance(scope, SensorScope)}

    @cached_property
    def contact_selections(self) -> dict[int, ContactSelection]:
        """Selections of contact sensors, by the index of the sensor."""
        return {
            i: selection
            for i, selection in enumerate(self.scopes)
            if isinstance(selection, ContactSelection)
        }

    @property
    def step_report(self) -> StepReport:
        """Report of the step that led to the state."""
        assert self.report is not None
        return self.report

    @property
    def contacts(self) -> ContactData:
        """Contacts of that step.

        Raises:
            ValueError: the step did not record them.
        """
        if self.step_report.contact_data is None:
            raise ValueError(
                "sensors of contacts and carried forces read the report's contact_data, which is "
                "None: give the stepper contact_data=True"
            )
        return self.step_report.contact_data

    def mean(self, of_bodies: Float[Array, "nb 3"], index: Index) -> Float[Array, "n 3"]:
        """Return the mass-weighted mean of a vector over each group of bodies.

        Args:
            of_bodies: vector of each body.
            index: index of each group.
        """
        mass = jnp.where(self.groups[index], self.model.bodies.mass, 0.0)
        return mass @ of_bodies / jnp.sum(mass, axis=1, keepdims=True)


@dataclass(frozen=True)
class Kind:
    """A kind of sensor: what it reads from the model, and how."""

    about: About
    """Kind of thing that a sensor of this kind reads."""
    read: Callable[[Reading, Index], Array]
    """Function that returns the values [n k] of n sensors of this kind, given the indices of what
    they read."""
    needs: Needs = ""
    """Input needed besides the state; sensors are left out if it is missing."""
    counts: Counts = ""
    """Shapes that a sensor measures by default."""
    relative: bool = False
    """Whether readings are relative to a reference frame (``Sensor.against``)."""


def rotate_into(frame: FrameMotion, vector: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    """Return world vectors in the axes of frames.

    Args:
        frame: the frames.
        vector: a vector for each.
    """
    return quaternion.rotate(quaternion.conjugate(frame.quaternion), vector)
