"""Inputs of sensors, and the contract of a kind of sensor."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.contact_data import ContactData
from jaxccp.dynamics.rows.row import Step
from jaxccp.dynamics.rows.servo import actuator_forces
from jaxccp.dynamics.step_report import StepReport
from jaxccp.math import quaternion
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.sites import FrameMotion, Sites
from jaxccp.model.state import State
from jaxccp.sensors.mujoco_coordinates import Coordinates
from jaxccp.sensors.sensor_scope import ContactSelection, SensorScope

Index = np.ndarray
"""Index of the axes, bodies, frames, … that sensors are about [n]."""
About = Literal["axis", "ball", "joint", "tendon", "actuator", "frame", "body", "bodies", "all"]
"""Kind of thing a sensor is about, which its index counts: axes, first axes of balls, joints,
tendons, actuators, the sensors themselves (frame), bodies, groups of bodies, or nothing (all)."""
Needs = Literal["", "acceleration", "report", "both"]
"""Inputs besides the state that a sensor reads."""
Counts = Literal["", "body", "subtree", "pairs"]
"""Default shapes of a sensor: those of its frame's body, of this and its descendants, or none, for
pairs that must be given."""


@dataclass(frozen=True)
class Reading:
    """Inputs of sensors; what several of them need is computed once."""

    model: Model
    """The model."""
    state: State
    """The state."""
    layout: Coordinates
    """MuJoCo's coordinates, in which joints are read."""
    control: Float[Array, " nm"]
    """Control of each actuator."""
    acceleration: Float[Array, "nb 6"] | None
    """Accelerations of the bodies, world axes [m/s², rad/s²]."""
    report: StepReport | None
    """Report of the step that led to the state."""
    subjects: Sites
    """Frames that the sensors are about."""
    references: Sites
    """Frames that the sensors' readings are relative to, the world's by default."""
    groups: Bool[np.ndarray, "g nb"]
    """Bodies of each group."""
    magnetic: Float[Array, "3"]
    """Magnetic field, world axes."""
    scopes: tuple[SensorScope | ContactSelection | None, ...]
    """What each sensor measures of the model."""

    @cached_property
    def coordinates(self) -> Float[Array, " k"]:
        """Coordinates of all axes, then of all tendons, with the zeros of ``qpos``."""
        coordinate = self.step.coordinate
        return coordinate.at[self.layout.places.single[2]].add(self.layout.reference)

    @cached_property
    def step(self) -> Step:
        """Motion of joints and tendons."""
        motion = joint_motion(self.model, self.state)
        return Step(self.model, self.state, motion, 0.0, self.control)

    @cached_property
    def forces(self) -> Float[Array, " nm"]:
        """Forces of the actuators, before their gears [N, N m]."""
        return actuator_forces(self.step)

    @cached_property
    def frames(self) -> tuple[FrameMotion, FrameMotion]:
        """Motions of the sensors' frames, and of their reference frames."""
        return self.subjects.motion(self.state), self.references.motion(self.state)

    @cached_property
    def accelerations(self) -> tuple[Array, Array]:
        """Linear accelerations less gravity, and angular ones, of the sensors' frames; world
        axes."""
        assert self.acceleration is not None
        linear, angular = self.subjects.accelerations(self.state, self.acceleration)
        return linear - self.model.gravity, angular

    @cached_property
    def sensor_scopes(self) -> dict[int, SensorScope]:
        """Scopes of sensors, by their index."""
        return {i: scope for i, scope in enumerate(self.scopes) if isinstance(scope, SensorScope)}

    @cached_property
    def contact_selections(self) -> dict[int, ContactSelection]:
        """Selections of contact sensors, by their index."""
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
        """Return the mean of a vector over the mass of groups of bodies.

        Args:
            of_bodies: vector of each body.
            index: index of each group.
        """
        mass = jnp.where(self.groups[index], self.model.bodies.mass, 0.0)
        return mass @ of_bodies / jnp.sum(mass, axis=1, keepdims=True)


@dataclass(frozen=True)
class Kind:
    """A kind of sensor: what it is about and how it is read."""

    about: About
    """Kind of thing that it is about."""
    read: Callable[[Reading, Index], Array]
    """Values [n k] of several sensors of the kind, by the index of what they are about."""
    needs: Needs = ""
    """Inputs besides the state; without them the sensor is left out."""
    counts: Counts = ""
    """Shapes that it counts by default."""


def rotate_into(frame: FrameMotion, vector: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    """Return world vectors in the axes of frames.

    Args:
        frame: the frames.
        vector: a vector for each.
    """
    return quaternion.rotate(quaternion.conjugate(frame.quaternion), vector)
