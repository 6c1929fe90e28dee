"""Tables of joints, axes and actuators: numbers that can be differentiated, and static data."""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent, cached_table
from jaxccp.model.joints.axis import Motion
from jaxccp.model.tendons.routing import Routing
from jaxccp.names import index


@dataclass(frozen=True, eq=False)
class Linkage(ByContent):
    """The static data of joints, tendons and actuators: what they connect.

    A coordinate belongs to an axis or to a tendon: first come the na axes, then the nt tendons.
    """

    joints: tuple[str, ...]
    """Name of each joint."""
    bodies: np.ndarray
    """First and second body of each joint [nj 2]."""
    tree: tuple[np.ndarray, np.ndarray]
    """The tree joints (those of a spanning tree), ordered from the root outwards, and whether the
    child of each is its second body. All other joints close loops."""
    axes: tuple[str, ...]
    """Name of each axis: the joint's if it has one axis, else ``joint.0``, ``joint.1``, …; a ball
    has three."""
    motions: tuple[Motion, ...]
    """Kind of each axis [na]."""
    slots: np.ndarray
    """Axes of each joint in their order, padded with na [nj k]; k is the largest number of axes of
    a joint."""
    has_parallel_hinges: bool
    """Whether two hinges of some joint were nearly parallel, or three in a plane, or there were
    more, when the model was built. Then the angular velocity alone does not give their rates."""
    routing: Routing
    """The tendons."""
    compliant: np.ndarray
    """Coordinates with stiffness, any damping, armature or a force law."""
    rotors: np.ndarray
    """Coordinates with armature."""
    lower: np.ndarray
    """Coordinates with a lower limit."""
    upper: np.ndarray
    """Coordinates with an upper limit."""
    balls: np.ndarray
    """First axis of each ball with a limit. The upper limit of this axis is the limit of the ball's
    angle."""
    dry_friction: np.ndarray
    """Coordinates with dry friction."""
    stribeck: bool
    """Whether any dry friction falls with the rate."""
    rate_damping: bool
    """Whether any damping depends on the rate."""
    actuators: tuple[str, ...]
    """Name of each actuator."""
    actuated: np.ndarray
    """Coordinate that each actuator acts along [nm]."""
    servos: np.ndarray
    """Index of each actuator whose force depends on the motion."""
    bounded: np.ndarray
    """Mask over :attr:`servos`: whether the force of each has a limit."""
    summed: np.ndarray
    """Coordinates along which the sum of several actuators' forces has a limit, in ascending
    order."""

    @cached_table
    def place(self) -> tuple[np.ndarray, np.ndarray]:
        """The joint of each axis, and the slot of the axis in that joint [na, na]."""
        joints, places = np.nonzero(self.slots < len(self.axes))
        order = np.argsort(self.slots[joints, places])
        return joints[order], places[order]

    @property
    def has_slides(self) -> bool:
        """Tell whether any axis is a slide."""
        return "slide" in self.motions

    @property
    def owner(self) -> np.ndarray:
        """The joint of each axis [na]."""
        return self.place[0]

    @cached_table
    def bilateral(self) -> tuple[np.ndarray, np.ndarray]:
        """The constrained motions of all joints: the joint of each, and its number, each [6 nj −
        na].

        A joint with k axes has the constrained motions k to 5.
        """
        free = np.sum(self.slots < len(self.axes), axis=1)
        joints, columns = np.nonzero(np.arange(6) >= free[:, None])
        return joints, columns

    @cached_table
    def loops(self) -> np.ndarray:
        """Joints that close loops."""
        return np.setdiff1d(np.arange(len(self.joints)), self.tree[0])

    @property
    def linked(self) -> bool:
        """True if the model has any joint or tendon."""
        return bool(self.joints or self.routing.tendons)

    def joint(self, name: str) -> int:
        """Return the index of a joint by name; ``ValueError`` if there is none."""
        return index("the model", "joint", self.joints, name)

    def axis(self, name: str) -> int:
        """Return the index of an axis by name; ``ValueError`` if there is none."""
        return index("the model", "axis", self.axes, name)

    def tendon(self, name: str) -> int:
        """Return the index of a tendon by name; ``ValueError`` if there is none."""
        return index("the model", "tendon", self.routing.tendons, name)

    def actuator(self, name: str) -> int:
        """Return the index of an actuator by name; ``ValueError`` if there is none."""
        return index("the model", "actuator", self.actuators, name)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Joints:
    """The frame of each joint on each of its two bodies."""

    anchor: Float[Array, "nj 2 3"]
    """Origin of the frame, from the body's centre of mass, in body axes [m]."""
    frame: Float[Array, "nj 2 4"]
    """Orientation of the frame in body axes, (w, x, y, z)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Axes:
    """Geometry of the na axes, and the forces along all coordinates: the axes, then the nt tendons.

    :class:`jaxccp.model.coordinate.Coordinate` describes these numbers and their units.
    """

    direction: Float[Array, "na 3"]
    """Unit vector along each axis, in the joint's frame."""
    point: Float[Array, "na 3"]
    """A point of each axis, in the joint's frame [m]."""
    lower: Float[Array, " na+nt"]
    """Lower limits."""
    upper: Float[Array, " na+nt"]
    """Upper limits. For a ball, the limit of its angle [rad] is in the entry of its first axis."""
    stiffness: Float[Array, " na+nt"]
    """Stiffnesses of springs [N/m, N m/rad]."""
    rest: Float[Array, " na+nt"]
    """Coordinates at which the springs are relaxed [m, rad]."""
    damping: Float[Array, " na+nt"]
    """Damping coefficients [N s/m, N m s/rad]."""
    armature: Float[Array, " na+nt"]
    """Inertias of the rotors [kg, kg m²]."""
    friction: Float[Array, " na+nt"]
    """Dry friction at high rates [N, N m]."""
    stribeck_friction: Float[Array, " na+nt"]
    """Excess of dry friction at rest [N, N m]."""
    stribeck_velocity: Float[Array, " na+nt"]
    """Rates over which that excess fades [m/s, rad/s]."""
    damping_polynomial: Float[Array, "na+nt 2"]
    """Coefficients of damping that grows with the rate and its square."""
    power_damping: Float[Array, " na+nt"]
    """Force at unit rate of damping that grows with a power of the rate [N, N m]."""
    damping_power: Float[Array, " na+nt"]
    """Exponents of that damping."""
    actuator_limits: Float[Array, "k 2"]
    """Lowest and highest sum of the actuator forces along the coordinates :attr:`Linkage.summed`
    [N, N m]. Along an axis the forces include their gears, along a tendon they do not."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Actuators:
    """Data of the nm actuators; see :class:`jaxccp.model.actuators.actuator.Actuator`."""

    gain: Float[Array, " nm"]
    """Forces per unit of control."""
    offset: Float[Array, " nm"]
    """Constant parts of the forces [N, N m]."""
    stiffness: Float[Array, " nm"]
    """Stiffnesses of the springs against the actuators' coordinates [N/m, N m/rad]."""
    damping: Float[Array, " nm"]
    """Damping coefficients against the rates of these coordinates [N s/m, N m s/rad]."""
    gear: Float[Array, " nm"]
    """Ratios of the actuators' coordinates to those of the axes or tendons."""
    force_limits: Float[Array, "nm 2"]
    """Lowest and highest forces [N, N m]."""
    control_limits: Float[Array, "nm 2"]
    """Lowest and highest controls."""
