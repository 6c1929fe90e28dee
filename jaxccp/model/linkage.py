"""Joints, axes and actuators as tables: numbers that can be differentiated, and static facts."""

from dataclasses import dataclass
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.model.joints.axis import Motion
from jaxccp.model.routing import Routing
from jaxccp.names import index


@dataclass(frozen=True, eq=False)
class Linkage(ByContent):
    """What cannot be differentiated: who is connected to whom, and which rows there are."""

    joints: tuple[str, ...]
    """Names."""
    bodies: np.ndarray
    """First and second body of each joint [nj 2]."""
    tree: tuple[np.ndarray, np.ndarray]
    """Joints that place the bodies one after the other, from the fixed ones outwards, and whether
    each places its second body; the others close loops."""
    axes: tuple[str, ...]
    """Names: the joint's where it has one axis, else ``joint.0``, ``joint.1``, …; a ball has
    three."""
    motions: tuple[Motion, ...]
    """Of each axis [na]."""
    slots: np.ndarray
    """Axes of each joint in their order, na where it has no more [nj most]."""
    routing: Routing
    """Tendons. What acts along coordinates counts the axes first, then the tendons."""
    sprung: np.ndarray
    """Coordinates with stiffness, damping, armature or a force law."""
    lower: np.ndarray
    """Coordinates with a lower limit."""
    upper: np.ndarray
    """Coordinates with an upper limit."""
    balls: np.ndarray
    """First axes of balls with a limit of their angle, which is the upper one of these axes."""
    rubbed: np.ndarray
    """Coordinates with dry friction."""
    actuators: tuple[str, ...]
    """Names."""
    driven: np.ndarray
    """Coordinate that each actuator drives [nm]."""
    servos: np.ndarray
    """Actuators whose force depends on the motion."""
    bounded: np.ndarray
    """Which of the servos have a limit of force."""

    @cached_property
    def place(self) -> tuple[np.ndarray, np.ndarray]:
        """Joint and slot of each axis [na]."""
        joints, places = np.nonzero(self.slots < len(self.axes))
        order = np.argsort(self.slots[joints, places])
        return joints[order], places[order]

    @property
    def owner(self) -> np.ndarray:
        """Joint of each axis [na]."""
        return self.place[0]

    @cached_property
    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """Joint and column (after those of its axes) of each equality row, 6 nj − na of them."""
        free = np.sum(self.slots < len(self.axes), axis=1)
        joints, columns = np.nonzero(np.arange(6) >= free[:, None])
        return joints, columns

    @cached_property
    def loops(self) -> np.ndarray:
        """Joints that close loops."""
        return np.setdiff1d(np.arange(len(self.joints)), self.tree[0])

    @cached_property
    def closing(self) -> np.ndarray:
        """Scalar rows that forbid motion, but for those of joints in trees."""
        tendons = np.arange(len(self.held[0]), self.forbidden)
        return np.concatenate([np.flatnonzero(np.isin(self.held[0], self.loops)), tendons])

    @cached_property
    def beside(self) -> np.ndarray:
        """Scalar rows of joints that close loops and of tendons, beginning with ``closing``."""
        return np.flatnonzero(np.isin(self.row_owner, [*self.loops, len(self.joints)]))

    @property
    def linked(self) -> bool:
        """Whether there is anything here at all."""
        return bool(self.joints or self.routing.tendons)

    @property
    def forbidden(self) -> int:
        """Scalar rows that forbid motion: of joints and of tendons of constant length. They come
        first."""
        return len(self.held[0]) + len(self.routing.held)

    @property
    def rows(self) -> int:
        """Scalar rows that all of this makes."""
        return len(self.row_owner)

    @cached_property
    def row_owner(self) -> np.ndarray:
        """Joint of each scalar row, the number of joints for those along tendons."""
        along = self._row_coordinate[len(self.held[0]) :]
        tendons = np.full(len(self.routing.tendons), len(self.joints))
        return np.concatenate([self.held[0], np.concatenate([self.owner, tendons])[along]])

    @cached_property
    def row_tendon(self) -> np.ndarray:
        """Tendon of each scalar row, the number of tendons for those that belong to a joint."""
        tendon = self._row_coordinate - len(self.axes)
        return np.where(tendon < 0, len(self.routing.tendons), tendon)

    @cached_property
    def row_sense(self) -> np.ndarray:
        """1 for each scalar row, -1 for those of upper limits, whose rates are −q̇."""
        first = len(self.held[0]) + sum(map(len, (self.routing.held, self.sprung, self.lower)))
        sense = np.ones(self.rows)
        sense[first : first + len(self.upper)] = -1
        return sense

    @cached_property
    def _row_coordinate(self) -> np.ndarray:
        """Coordinate that each scalar row acts along, -1 for what joints forbid."""
        limited = (self.lower, self.upper, self.balls)
        along = (self.sprung, *limited, self.rubbed, self.driven[self.servos])
        forbidden = np.full(len(self.held[0]), -1)
        return np.concatenate([forbidden, len(self.axes) + self.routing.held, *along]).astype(int)

    @cached_property
    def equalities(self) -> np.ndarray:
        """Which scalar rows are equalities; the others have bounds."""
        bounded = sum(map(len, (self.lower, self.upper, self.balls, self.rubbed)))
        return np.concatenate(
            [
                np.ones(len(self.held[0]) + len(self.routing.held) + len(self.sprung), bool),
                np.zeros(bounded, bool),
                ~self.bounded,
            ]
        )

    def joint(self, name: str) -> int:
        """Index of a joint by name."""
        return index("the model", "joint", self.joints, name)

    def axis(self, name: str) -> int:
        """Index of an axis by name."""
        return index("the model", "axis", self.axes, name)

    def tendon(self, name: str) -> int:
        """Index of a tendon by name."""
        return index("the model", "tendon", self.routing.tendons, name)

    def actuator(self, name: str) -> int:
        """Index of an actuator by name."""
        return index("the model", "actuator", self.actuators, name)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Joints:
    """Where the joints are: their frame in each of the two bodies."""

    anchor: Float[Array, "nj 2 3"]
    """Origin, from the centre of mass, in body axes [m]."""
    frame: Float[Array, "nj 2 4"]
    """Orientation, (w, x, y, z)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Axes:
    """Degrees of freedom and what acts along coordinates: these, then the tendons. See
    :class:`jaxccp.model.coordinate.Coordinate`."""

    direction: Float[Array, "na 3"]
    """Unit, in the joint's frame."""
    point: Float[Array, "na 3"]
    """A point of the axis, in the joint's frame [m]."""
    lower: Float[Array, " na+nt"]
    upper: Float[Array, " na+nt"]
    """Of a ball its first axis has that of its angle."""
    stiffness: Float[Array, " na+nt"]
    rest: Float[Array, " na+nt"]
    damping: Float[Array, " na+nt"]
    armature: Float[Array, " na+nt"]
    friction: Float[Array, " na+nt"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Actuators:
    """What drives the axes; see :class:`jaxccp.model.actuator.Actuator`."""

    gain: Float[Array, " nm"]
    offset: Float[Array, " nm"]
    stiffness: Float[Array, " nm"]
    damping: Float[Array, " nm"]
    gear: Float[Array, " nm"]
    force_limits: Float[Array, "nm 2"]
    control_limits: Float[Array, "nm 2"]
