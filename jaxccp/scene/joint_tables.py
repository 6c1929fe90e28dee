"""The tables of joints and actuators, from those that were added to a builder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from jaxccp.model.activation import Range
from jaxccp.model.actuator import columns
from jaxccp.model.coordinate import COMPLIANT, FORCES, Coordinate
from jaxccp.model.joints import Axis, Ball, Joint
from jaxccp.model.linkage import Actuators, Axes, Joints, Linkage
from jaxccp.model.routing import Tendons
from jaxccp.model.tree import spanning_tree
from jaxccp.scene.actuator_limits import ActuatorSpec, limited
from jaxccp.scene.actuator_limits import table as limits_of_sums
from jaxccp.scene.tendon_tables import TendonSpec, routed


@dataclass
class JointSpec:
    """A joint as it was added: the bodies it connects, and its frame on each of them."""

    name: str
    joint: Joint
    bodies: tuple[int, int]
    anchor: np.ndarray
    """Origin of the frame on each body, in body axes [2 3] [m]."""
    frame: np.ndarray
    """Orientation of the frame on each body, (w, x, y, z) [2 4]."""
    closes_loop: bool
    """Whether it closes a loop even where nothing else connects its bodies."""
    axes: tuple[str, ...]
    """Names of its axes, three for a ball."""


@dataclass
class _Freedom:
    name: str
    axis: Axis
    direction: np.ndarray


def tables(
    joint_specs: Sequence[JointSpec],
    tendon_specs: Sequence[TendonSpec],
    actuator_specs: Sequence[ActuatorSpec],
    actuator_limits: Mapping[str, Range],
    fixed: np.ndarray,
    carried: np.ndarray,
) -> tuple[Joints, Axes, Tendons, Actuators, Linkage]:
    """The tables of joints, tendons and actuators, in JAX's current default precision.

    Args:
        joint_specs: the joints.
        tendon_specs: the tendons.
        actuator_specs: the actuators.
        actuator_limits: lowest and highest force of all actuators of an axis or tendon together
            [N, N m], by its name.
        fixed: mask of the bodies that do not move [nb].
        carried: mask of the bodies that are frames of a family [nb].

    Returns:
        The numbers of joints, axes, tendons and actuators, and the static facts of all of them.
    """
    freedoms: list[_Freedom] = []
    owned: list[list[int]] = []
    for one in joint_specs:
        its = _freedoms(one)
        owned.append(list(range(len(freedoms), len(freedoms) + len(its))))
        freedoms += its
    most = max((len(axes) for axes in owned), default=0)
    slots = np.full((len(joint_specs), most), len(freedoms), np.int32)
    for row, axes in zip(slots, owned, strict=True):
        row[: len(axes)] = axes
    coordinates = [*(f.axis for f in freedoms), *(one.tendon for one in tendon_specs)]
    limits = np.array([c.limits or (-np.inf, np.inf) for c in coordinates], float).reshape(-1, 2)
    ball = np.array([isinstance(c, Ball) for c in coordinates], bool)
    limits[ball, 0] = -np.inf

    def column(name: str) -> np.ndarray:
        values = np.array([getattr(c, name) for c in coordinates], float)
        return values if len(values) else np.zeros((0, *np.shape(getattr(Coordinate, name))))

    names = tuple(f.name for f in freedoms)
    bodies = np.array([one.bodies for one in joint_specs], np.int32).reshape(-1, 2)
    pairs = np.array([bodies[j] for j, axes in enumerate(owned) for _ in axes], np.int32)
    routing, tendons = routed(tendon_specs, names, pairs.reshape(-1, 2), ~fixed)
    named = [*names, *routing.tendons]
    polynomial = column("damping_polynomial")
    ruled = np.zeros(len(coordinates))
    ruled[len(names) + tendons.laws.index] = 1
    actuator_specs, sums = limited(actuator_specs, tendon_specs, actuator_limits)
    summed, sum_limits = limits_of_sums(sums, named)
    pushing = [one.actuator for one in actuator_specs]
    forces = np.array([a.force_limits for a in pushing if a.feeds_back], float).reshape(-1, 2)
    bounded = np.array([np.isfinite(force).any() for force in forces], bool)
    linkage = Linkage(
        tuple(one.name for one in joint_specs),
        bodies,
        spanning_tree(
            bodies, fixed, carried, np.array([spec.closes_loop for spec in joint_specs], bool)
        ),
        names,
        tuple(f.axis.motion for f in freedoms),
        slots,
        routing,
        np.flatnonzero(sum(column(name) for name in COMPLIANT) + polynomial.sum(axis=1) + ruled),
        np.flatnonzero(np.isfinite(limits[:, 0])),
        np.flatnonzero(np.isfinite(limits[:, 1]) & ~ball),
        np.flatnonzero(np.isfinite(limits[:, 1]) & ball)[::3],
        np.flatnonzero(column("friction") + column("stribeck_friction")),
        bool(column("stribeck_friction").any()),
        bool(polynomial.any() or column("power_damping").any()),
        tuple(one.name for one in actuator_specs),
        np.array([named.index(one.axis) for one in actuator_specs], np.int32),
        np.flatnonzero([servo.feeds_back for servo in pushing]),
        bounded,
        summed,
    )

    def table(values: np.ndarray):
        return jnp.asarray(values, float)

    joints = Joints(
        table(np.array([one.anchor for one in joint_specs]).reshape(-1, 2, 3)),
        table(np.array([one.frame for one in joint_specs]).reshape(-1, 2, 4)),
    )
    axes = Axes(
        table(np.array([f.direction for f in freedoms]).reshape(-1, 3)),
        table(np.array([f.axis.point for f in freedoms], float).reshape(-1, 3)),
        table(limits[:, 0]),
        table(limits[:, 1]),
        *(table(column(name)) for name in FORCES),
        actuator_limits=table(sum_limits),
    )
    numbers = columns([one.actuator for one in actuator_specs])
    actuators = Actuators(**{name: table(values) for name, values in numbers.items()})
    return joints, axes, tendons, actuators, linkage


def _freedoms(spec: JointSpec) -> list[_Freedom]:
    """The axes of a joint, three of them for a ball."""
    parts: list[tuple[Axis, np.ndarray]] = []
    for axis in spec.joint.axes:
        if isinstance(axis, Ball):
            own = axis.stiffnesses or 3 * (axis.stiffness,)
            alike = [replace(axis, stiffness=k, stiffnesses=None) for k in own]
            parts += list(zip(alike, np.eye(3), strict=True))
        else:
            parts.append((axis, axis.direction))
    names = spec.axes or axis_names(spec.name, len(parts))
    return [
        _Freedom(name, axis, direction)
        for name, (axis, direction) in zip(names, parts, strict=True)
    ]


def axis_names(joint: str, count: int) -> tuple[str, ...]:
    """Return the names that the axes of a joint have unless they are given.

    Args:
        joint: its name.
        count: how many axes it has.
    """
    return (joint,) if count == 1 else tuple(f"{joint}.{i}" for i in range(count))


def axis_motions(joint_specs: Sequence[JointSpec]) -> dict[str, str]:
    """The kind of motion of each axis, by the axis's name."""
    return {freedom.name: freedom.axis.motion for one in joint_specs for freedom in _freedoms(one)}
