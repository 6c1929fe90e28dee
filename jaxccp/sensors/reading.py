"""What sensors read from, and what a kind of sensor is."""

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
from jaxccp.sensors.coordinates import Coordinates
from jaxccp.sensors.detail import Detail, Meeting

Index = np.ndarray
About = Literal["axis", "ball", "joint", "tendon", "actuator", "frame", "body", "bodies", "all"]
"""What a sensor is about, and so what its index counts: axes, first axes of balls, joints, tendons,
actuators, the sensors themselves (frame), bodies, groups of bodies, or nothing (all)."""
Needs = Literal["", "acceleration", "report", "both"]
Counts = Literal["", "body", "subtree", "pairs"]
"""Whose shapes a sensor counts unless it is told: those of its frame's body, and of what hangs on
it, or those that it is told."""


@dataclass(frozen=True)
class Reading:
    """What sensors read from, computed when the first of them asks."""

    model: Model
    state: State
    layout: Coordinates
    control: Float[Array, " nm"]
    acceleration: Float[Array, "nb 6"] | None
    report: StepReport | None
    of: Sites
    """What the sensors are about, if that is a frame, and …"""
    against: Sites
    """… the frames that they see it from, the world's if no other."""
    groups: Bool[np.ndarray, "g nb"]
    magnetic: Float[Array, "3"]
    counted: tuple[Detail | Meeting | None, ...]
    """Of each sensor."""

    @cached_property
    def coordinates(self) -> Float[Array, " k"]:
        """The coordinates of all axes, then of all tendons; hinges and slides are counted as
        ``qpos`` does."""
        ours = self.step.coordinate
        return ours.at[self.layout.places.single[2]].add(self.layout.reference)

    @cached_property
    def step(self) -> Step:
        motion = joint_motion(self.model, self.state)
        return Step(self.model, self.state, motion, 0.0, self.control)

    @cached_property
    def forces(self) -> Float[Array, " nm"]:
        """The forces of the actuators, before their gears [N, N m]."""
        return actuator_forces(self.step)

    @cached_property
    def frames(self) -> tuple[FrameMotion, FrameMotion]:
        """The frames of what the sensors are about, and of what they see that from."""
        return self.of.motion(self.state), self.against.motion(self.state)

    @cached_property
    def accelerations(self) -> tuple[Array, Array]:
        """Linear, gravity taken off, and angular, of what the sensors are about; world axes."""
        assert self.acceleration is not None
        linear, angular = self.of.accelerations(self.state, self.acceleration)
        return linear - self.model.gravity, angular

    @cached_property
    def details(self) -> dict[int, Detail]:
        """What sensors count, by their places."""
        return {i: one for i, one in enumerate(self.counted) if isinstance(one, Detail)}

    @cached_property
    def meetings(self) -> dict[int, Meeting]:
        """What contact sensors show, by their places."""
        return {i: one for i, one in enumerate(self.counted) if isinstance(one, Meeting)}

    @property
    def acting(self) -> StepReport:
        """The report of the step that led to the state."""
        assert self.report is not None
        return self.report

    @property
    def contacts(self) -> ContactData:
        """The contacts of that step. Raises ``ValueError`` where it did not record them."""
        if self.acting.contact_data is None:
            raise ValueError(
                "sensors of contacts and carried forces read the report's contact_data, which is "
                "None: give the stepper contact_data=True"
            )
        return self.acting.contact_data

    def mean(self, of_bodies: Float[Array, "nb 3"], index: Index) -> Float[Array, "n 3"]:
        """Return the mean over the mass of groups of bodies."""
        mass = jnp.where(self.groups[index], self.model.bodies.mass, 0.0)
        return mass @ of_bodies / jnp.sum(mass, axis=1, keepdims=True)


@dataclass(frozen=True)
class Kind:
    """A kind of sensor."""

    about: About
    read: Callable[[Reading, Index], Array]
    """Values [n k] of several sensors of the kind, by the index of what they are about."""
    needs: Needs = ""
    """What beyond a state it reads; without it the sensor is left out."""
    counts: Counts = ""


def into(frame: FrameMotion, vector: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    """World vectors in the axes of frames."""
    return quaternion.rotate(quaternion.conjugate(frame.quaternion), vector)
