"""Joints of a file: those of one body become one joint with several axes; free bodies mostly need
none."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements.bodies import BodyMap
from jaxccp.io.mjcf.elements.cables import Springs
from jaxccp.io.mjcf.elements.joint_forces import acts_on_free_joint, axis_forces, ball_forces
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.model.joints import Axis, Ball, Compound, Hinge, Slide
from jaxccp.names import unused
from jaxccp.scene.builder import ModelBuilder
from jaxccp.scene.frames import IDENTITY, ORIGIN, to_matrix
from jaxccp.scene.tables.joint_tables import axis_names

FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's types of joints."""
WIDTH = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}
"""Number of degrees of freedom by MuJoCo's type of joint."""
COLUMNS = {
    "jnt_springyield": "a spring that yields",
    "jnt_stiffnesspoly": "a stiffness that depends on the coordinate",
}
"""Columns of MuJoCo that must be 0, with descriptions; joints of this package have no such
effect."""


@dataclass(frozen=True)
class Axes:
    """The axes of the model for the file's joints."""

    names: tuple[str, ...]
    """Name of the model's axis for each degree of freedom of the file; empty for those of nodes of
    flexible bodies, and of bodies that are free without a joint."""
    joints: frozenset[str]
    """Names of the model's joints."""


def add_joints(
    source: Source,
    builder: ModelBuilder,
    body_map: BodyMap,
    nodes: Bool[np.ndarray, " n"],
    cables: Springs,
    report: ImportReport,
) -> Axes:
    """Add the file's joints to a builder.

    Args:
        source: the compiled file.
        builder: the builder.
        body_map: places of the file's bodies in the model.
        nodes: mask of the file's bodies that are nodes of flexible bodies; their joints are
            skipped.
        cables: stiffness of the balls between links of cables.
        report: the report of what is left out.

    Returns:
        The names of the axes that were added.

    Raises:
        InputError: a joint has impossible numbers.
    """
    m = source.m
    names = [""] * m.nv
    used: set[str] = set()
    _note_unsupported(source, report)
    for body in np.flatnonzero((np.asarray(m.body_jntnum) > 0) & ~nodes):
        joints = np.arange(m.body_jntnum[body]) + m.body_jntadr[body]
        if m.jnt_type[joints[0]] == FREE and not acts_on_free_joint(source, joints[0]):
            continue
        name = unused(_name(source, int(body), joints), used)
        used.add(name)
        start = m.jnt_dofadr[joints[0]]
        for axis in _axis_names(source, joints, name):
            names[start] = unused(axis, names)
            start += 1
        its = tuple(names[m.jnt_dofadr[joints[0]] : start])
        _add(source, builder, body_map, int(body), joints, (name, its), cables)
    return Axes(tuple(names), frozenset(used))


def _name(source: Source, body: int, joints: np.ndarray) -> str:
    """Return the name of a body's joint in the model: that of the file's joint if there is only
    one, else the body's."""
    kind, index = ("joint", int(joints[0])) if len(joints) == 1 else ("body", body)
    return source.name(kind, index) or source.unused_name(kind, f"{kind}{index}")


def _axis_names(source: Source, joints: np.ndarray, name: str) -> list[str]:
    """Return the names of the axes of a body's joints.

    Args:
        source: the compiled file.
        joints: the file's joints of the body; their axes are named for them.
        name: name of the model's joint; axes of joints without a name have it with a number.
    """
    widths = [WIDTH[int(source.m.jnt_type[joint])] for joint in joints]
    numbered = axis_names(name, sum(widths))
    names: list[str] = []
    for joint, width in zip(joints, widths, strict=True):
        label = source.name("joint", int(joint))
        own = numbered[len(names) :][:width]
        free = (source.unused_name("joint", name) for name in own)
        names += axis_names(label, width) if label else free
    return names


def _add(
    source: Source,
    builder: ModelBuilder,
    body_map: BodyMap,
    body: int,
    joints: np.ndarray,
    names: tuple[str, tuple[str, ...]],
    cables: Springs,
) -> None:
    """Add all joints of one body as one joint; ``names`` are its name and those of its axes."""
    m = source.m
    origin, axes = _origin(source, joints), []
    for joint in joints:
        try:
            axes += _axes(source, int(joint), origin, cables.get(int(joint)))
        except ValueError as error:
            label = source.label("joint", int(joint))
            raise InputError(source.path, f"{label}: {error}", "correct it") from None
    parent = int(m.body_parentid[body])
    if m.jnt_type[joints[0]] == FREE:
        pose = m.qpos0[m.jnt_qposadr[joints[0]] :]
        start = pose[:3], pose[3:7]
    else:
        rotation = m.body_quat[body]
        start = body_map.pose(parent, m.body_pos[body] + to_matrix(rotation) @ origin, rotation)
    try:
        builder.add_joint(
            Compound(tuple(axes)),
            int(body_map.body[parent]),
            int(body_map.body[body]),
            frames=(start, body_map.pose(body, origin, np.array(IDENTITY))),
            name=names[0],
            collide=True,
            axes=names[1],
        )
    except ValueError as error:
        label = source.label("body", body)
        raise InputError(source.path, f"{label}: {error}", "give it other joints") from None


def _note_unsupported(source: Source, report: ImportReport) -> None:
    """Note effects of the file's joints that joints here do not have, and limits of no effect."""
    m = source.m
    for joint in range(m.njnt):
        for column, what in COLUMNS.items():
            values = source.column(column)
            if len(values) and np.any(values[joint]):
                report.ignore(source.label("joint", joint), f"{what} is not supported")
        largest = m.jnt_range[joint, 1] - m.jnt_margin[joint]
        if m.jnt_type[joint] == BALL and m.jnt_limited[joint] and largest > np.pi:
            report.approximate(
                source.label("joint", joint),
                "its limit is beyond 180°, which no ball reaches: none",
            )


def _origin(source: Source, joints: np.ndarray) -> np.ndarray:
    """Return the origin of the joints' common frame, in the body's frame [m]: the centre of the
    ball joint if there is one, else 0."""
    balls = [joint for joint in joints if source.m.jnt_type[joint] == BALL]
    return np.array(source.m.jnt_pos[balls[0]]) if balls else np.zeros(3)


def _axes(
    source: Source, joint: int, origin: np.ndarray, springs: tuple[float, float, float] | None
) -> list[Axis]:
    """Return the axes of one of the file's joints; ``springs`` is the stiffness of a cable's joint
    [N m/rad]."""
    m, kind, dof = source.m, source.m.jnt_type[joint], int(source.m.jnt_dofadr[joint])
    if kind == FREE:
        # The joint's frame has the initial orientation of the body; slides are along world axes.
        world = to_matrix(m.qpos0[m.jnt_qposadr[joint] + 3 :][:4])
        slides = [
            Slide(tuple(direction), **axis_forces(source, joint, dof + axis))
            for axis, direction in enumerate(world)
        ]
        return [*slides, Ball(**ball_forces(source, joint, dof + 3))]
    if kind == BALL:
        limits, common = _ball_limits(source, joint), ball_forces(source, joint, dof)
        if springs is None:
            return [Ball(limits=limits, **common)]
        stiffness = common.pop("stiffness")
        about = tuple(stiffness + spring for spring in springs)
        return [Ball(limits=limits, stiffnesses=about, **common)]
    return [_single(source, joint, origin, axis_forces(source, joint, dof))]


def _ball_limits(source: Source, joint: int) -> tuple[float, float] | None:
    """Return the limits (0, largest angle) of a ball [rad]; None without one that it can reach."""
    m = source.m
    if not m.jnt_limited[joint] or source.is_disabled("LIMIT", "CONSTRAINT"):
        return None
    limits = 0.0, limits_inside(m.jnt_range[joint], float(m.jnt_margin[joint]))[1]
    return limits if limits[1] <= np.pi else None


def _single(source: Source, joint: int, origin: np.ndarray, common: dict[str, Any]) -> Axis:
    """Return a hinge or slide; its coordinate is the file's coordinate minus ``qpos0``."""
    m, at = source.m, source.m.jnt_qposadr[joint]
    limits = None
    if m.jnt_limited[joint] and not source.is_disabled("LIMIT", "CONSTRAINT"):
        limits = limits_inside(m.jnt_range[joint] - m.qpos0[at], float(m.jnt_margin[joint]))
    make = Slide if m.jnt_type[joint] == SLIDE else Hinge
    return make(
        tuple(m.jnt_axis[joint]),
        limits=limits,
        rest=float(m.qpos_spring[at] - m.qpos0[at]),
        point=tuple(m.jnt_pos[joint] - origin) if make is Hinge else ORIGIN,
        **common,
    )


def limits_inside(bounds: np.ndarray, margin: float) -> tuple[float, float]:
    """Return limits reduced by a margin at both ends.

    Args:
        bounds: lower and upper end of the range.
        margin: distance of the limits from its ends.

    Raises:
        ValueError: the range has no room for both margins.
    """
    lower, upper = float(bounds[0]) + margin, float(bounds[1]) - margin
    if not lower < upper:
        raise ValueError(
            f"range {bounds} with margin {margin} leaves no room to move: widen it, or fix what "
            "cannot move"
        )
    return lower, upper
