"""The tables of joints and actuators, made from those added to a builder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import jax.numpy as jnp
import numpy as np

from jaxccp.model.actuators.activation import Range
from jaxccp.model.actuators.actuator import columns
from jaxccp.model.coordinate import COMPLIANT, PARAMETERS, Coordinate
from jaxccp.model.joints import Axis, Ball, Hinge, Joint
from jaxccp.model.kinematics.spanning_tree import spanning_tree
from jaxccp.model.linkage import Actuators, Axes, Joints, Linkage
from jaxccp.model.tendons.routing import Tendons
from jaxccp.scene.actuator_limits import ActuatorSpec, split_limits
from jaxccp.scene.actuator_limits import sum_limit_table as limits_of_sums
from jaxccp.scene.tables.tendon_tables import TendonSpec, route_tendons

PARALLEL = 0.1
"""Smallest singular value of the unit vectors along a joint's hinges below which they count as
dependent: two at an angle of 8°."""


@dataclass
class JointSpec:
    """A joint that was added to a builder: the bodies it connects, and its frame on each of
    them."""

    name: str
    """Name of the joint."""
    joint: Joint
    """Kind of joint, with its axes."""
    bodies: tuple[int, int]
    """First and second body."""
    anchor: np.ndarray
    """Origin of the frame on each body, in body axes [2 3] [m]."""
    frame: np.ndarray
    """Orientation of the frame on each body, (w, x, y, z) [2 4]."""
    closes_loop: bool
    """Whether it closes a loop, even if nothing else connects its bodies."""
    axes: tuple[str, ...]
    """Names of its axes, three for a ball."""


@dataclass
class _Freedom:
    """One degree of freedom of a joint: its name, its axis and its direction."""

    name: str
    axis: Axis
    direction: np.ndarray


def joint_tables(
    joint_specs: Sequence[JointSpec],
    tendon_specs: Sequence[TendonSpec],
    actuator_specs: Sequence[ActuatorSpec],
    actuator_limits: Mapping[str, Range],
    fixed: np.ndarray,
    carried: np.ndarray,
) -> tuple[Joints, Axes, Tendons, Actuators, Linkage]:
    """Return the tables of joints, tendons and actuators, in JAX's current default precision.

    Args:
        joint_specs: the joints.
        tendon_specs: the tendons.
        actuator_specs: the actuators.
        actuator_limits: lowest and highest force of all actuators of an axis or tendon together [N,
            N m], by its name.
        fixed: mask of the bodies that do not move [nb].
        carried: mask of the bodies that are frames of a family [nb].

    Returns:
        The numbers of joints, axes, tendons and actuators, and the topology of all of them.
    """
    owned = [_freedoms(spec) for spec in joint_specs]
    freedoms = [freedom for own in owned for freedom in own]
    coordinates = [*(f.axis for f in freedoms), *(spec_.tendon for spec_ in tendon_specs)]
    column = partial(_column, coordinates)
    limits, ball = _limits(coordinates)
    names = tuple(f.name for f in freedoms)
    bodies = np.array([spec_.bodies for spec_ in joint_specs], np.int32).reshape(-1, 2)
    pairs = np.repeat(bodies, np.array([len(axes) for axes in owned], int), axis=0)
    routing, tendons = route_tendons(tendon_specs, names, pairs, ~fixed)
    named = [*names, *routing.tendons]
    polynomial = column("damping_polynomial")
    ruled = np.zeros(len(coordinates))
    ruled[len(names) + tendons.laws.index] = 1
    actuator_specs, sums = split_limits(actuator_specs, tendon_specs, actuator_limits)
    summed, sum_limits = limits_of_sums(sums, named)
    actuators_ = [spec_.actuator for spec_ in actuator_specs]
    forces = np.array([a.force_limits for a in actuators_ if a.feeds_back], float).reshape(-1, 2)
    bounded = np.array([np.isfinite(force).any() for force in forces], bool)
    linkage = Linkage(
        joints=tuple(spec_.name for spec_ in joint_specs),
        bodies=bodies,
        tree=spanning_tree(
            bodies, fixed, carried, np.array([spec.closes_loop for spec in joint_specs], bool)
        ),
        axes=names,
        motions=tuple(f.axis.motion for f in freedoms),
        slots=_axis_slots(owned),
        has_parallel_hinges=any(_are_parallel(spec.joint.axes) for spec in joint_specs),
        routing=routing,
        compliant=np.flatnonzero(
            sum(column(name) for name in COMPLIANT) + polynomial.sum(axis=1) + ruled
        ),
        rotors=np.flatnonzero(column("armature")),
        lower=np.flatnonzero(np.isfinite(limits[:, 0])),
        upper=np.flatnonzero(np.isfinite(limits[:, 1]) & ~ball),
        balls=np.flatnonzero(np.isfinite(limits[:, 1]) & ball)[::3],
        dry_friction=np.flatnonzero(column("friction") + column("stribeck_friction")),
        stribeck=bool(column("stribeck_friction").any()),
        rate_damping=bool(polynomial.any() or column("power_damping").any()),
        actuators=tuple(spec_.name for spec_ in actuator_specs),
        actuated=np.array([named.index(spec_.axis) for spec_ in actuator_specs], np.int32),
        servos=np.flatnonzero([servo.feeds_back for servo in actuators_]),
        bounded=bounded,
        summed=summed,
    )

    def table(values: np.ndarray):
        return jnp.asarray(values, float)

    joints = Joints(
        table(np.array([spec_.anchor for spec_ in joint_specs]).reshape(-1, 2, 3)),
        table(np.array([spec_.frame for spec_ in joint_specs]).reshape(-1, 2, 4)),
    )
    axes = Axes(
        table(np.array([f.direction for f in freedoms]).reshape(-1, 3)),
        table(np.array([f.axis.point for f in freedoms], float).reshape(-1, 3)),
        table(limits[:, 0]),
        table(limits[:, 1]),
        *(table(column(name)) for name in PARAMETERS),
        actuator_limits=table(sum_limits),
    )
    numbers = columns([spec_.actuator for spec_ in actuator_specs])
    actuators = Actuators(**{name: table(values) for name, values in numbers.items()})
    return joints, axes, tendons, actuators, linkage


def _axis_slots(owned: Sequence[Sequence[_Freedom]]) -> np.ndarray:
    """Return the indices of each joint's axes, padded with the number of all axes [nj k]."""
    counts = np.array([len(axes) for axes in owned], int)
    slots = np.arange(counts.max(initial=0)) + (np.cumsum(counts) - counts)[:, None]
    inside = np.arange(slots.shape[1]) < counts[:, None]
    return np.where(inside, slots, counts.sum()).astype(np.int32)


def _are_parallel(axes: Sequence[Axis]) -> bool:
    """Return whether the directions of a joint's hinges are linearly dependent, or nearly so;
    more than three always are."""
    hinges = [axis.direction for axis in axes if isinstance(axis, Hinge)]
    return bool(hinges) and (len(hinges) > 3 or np.linalg.svd(np.stack(hinges))[1][-1] < PARALLEL)


def _limits(coordinates: Sequence[Coordinate]) -> tuple[np.ndarray, np.ndarray]:
    """Return the limits of each coordinate [n 2], infinite without one, and the mask of balls.

    The lower limit of a ball's angle is 0, and so needs no row: here it is −∞.
    """
    unlimited = (-np.inf, np.inf)
    limits = np.array(
        [unlimited if c.limits is None else c.limits for c in coordinates], float
    ).reshape(-1, 2)
    ball = np.array([isinstance(c, Ball) for c in coordinates], bool)
    limits[ball, 0] = -np.inf
    return limits, ball


def _column(coordinates: Sequence[Coordinate], name: str) -> np.ndarray:
    """Return one number of each coordinate, as an array of floats."""
    values = np.array([getattr(c, name) for c in coordinates], float)
    return values if len(values) else np.zeros((0, *np.shape(getattr(Coordinate, name))))


def _freedoms(spec: JointSpec) -> list[_Freedom]:
    """Return the degrees of freedom of a joint; a ball has three."""
    parts: list[tuple[Axis, np.ndarray]] = []
    for axis in spec.joint.axes:
        if isinstance(axis, Ball):
            same = 3 * (axis.stiffness,)
            stiffnesses = same if axis.stiffnesses is None else axis.stiffnesses
            axes_ = [replace(axis, stiffness=k, stiffnesses=None) for k in stiffnesses]
            parts += list(zip(axes_, np.eye(3), strict=True))
        else:
            parts.append((axis, axis.direction))
    names = spec.axes or axis_names(spec.name, len(parts))
    return [
        _Freedom(name, axis, direction)
        for name, (axis, direction) in zip(names, parts, strict=True)
    ]


def axis_names(joint: str, count: int) -> tuple[str, ...]:
    """Return the default names of a joint's axes.

    Args:
        joint: name of the joint.
        count: number of its axes.
    """
    return (joint,) if count == 1 else tuple(f"{joint}.{i}" for i in range(count))


def axis_motions(joint_specs: Sequence[JointSpec]) -> dict[str, str]:
    """Return the kind of motion of each axis, by the name of the axis."""
    return {
        freedom.name: freedom.axis.motion for spec in joint_specs for freedom in _freedoms(spec)
    }
