"""Joints: all those of one body are one joint with several axes; a free body mostly needs none."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.bodies import Frames
from jaxccp.io.mjcf.cables import Springs
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.source import Source
from jaxccp.model.joints import Axis, Ball, Compound, Hinge, Slide
from jaxccp.scene.builder import ModelBuilder
from jaxccp.scene.frames import IDENTITY, ORIGIN, to_matrix
from jaxccp.scene.joint_tables import axis_names

FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's types of joints."""
WIDTH = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}
"""Degrees of freedom."""
COLUMNS = {
    "jnt_springyield": "a spring that yields",
    "jnt_stiffnesspoly": "a stiffness that depends on the coordinate",
    "jnt_actgravcomp": "gravity compensation by actuators",
}
"""What acts along a joint and is not taken over unless it is zero."""


@dataclass(frozen=True)
class Axes:
    """Axes say where the file's joints are in ours."""

    names: tuple[str, ...]
    """Axes of ours, by degree of freedom of the file's; empty for bodies that are simply free."""


def add_joints(
    source: Source,
    builder: ModelBuilder,
    frames: Frames,
    nodes: Bool[np.ndarray, " n"],
    cables: Springs,
    report: ImportReport,
) -> Axes:
    """Add the joints of all bodies but ``nodes`` of flexible ones; ``cables`` has what bends and
    twists the balls between the links of cables."""
    m = source.m
    names = [""] * m.nv
    taken: set[str] = set()
    _note_unsupported(source, report)
    for body in np.flatnonzero((np.asarray(m.body_jntnum) > 0) & ~nodes):
        own = np.arange(m.body_jntnum[body]) + m.body_jntadr[body]
        if m.jnt_type[own[0]] == FREE and not _acts(source, own[0]):
            continue
        name = _unique(_name(source, int(body), own), taken)
        taken.add(name)
        start = m.jnt_dofadr[own[0]]
        for axis in _axis_names(source, own, name):
            names[start] = _unique(axis, names)
            start += 1
        its = tuple(names[m.jnt_dofadr[own[0]] : start])
        _add(source, builder, frames, int(body), own, (name, its), cables)
    return Axes(tuple(names))


def _unique(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "+"
    return name


def _name(source: Source, body: int, own: np.ndarray) -> str:
    """One joint has its own name, several together have the body's."""
    kind, index = ("joint", int(own[0])) if len(own) == 1 else ("body", body)
    return source.name(kind, index) or f"{kind}{index}"


def _axis_names(source: Source, own: np.ndarray, name: str) -> list[str]:
    """Return the names of the axes of a body's joints: those of the file's joints.

    Args:
        source: the compiled file.
        own: the file's joints of the body.
        name: of our joint, which stands for them; those without a name are numbered after it.
    """
    widths = [WIDTH[int(source.m.jnt_type[joint])] for joint in own]
    numbered = axis_names(name, sum(widths))
    names: list[str] = []
    for joint, width in zip(own, widths, strict=True):
        given = source.name("joint", int(joint))
        names += axis_names(given, width) if given else numbered[len(names) :][:width]
    return names


def _add(
    source: Source,
    builder: ModelBuilder,
    frames: Frames,
    body: int,
    own: np.ndarray,
    names: tuple[str, tuple[str, ...]],
    cables: Springs,
) -> None:
    """Add the joints of one body as one; ``names`` are that of it and those of its axes."""
    m = source.m
    origin, axes = _origin(source, own), []
    for joint in own:
        try:
            axes += _axes(source, int(joint), origin, cables.get(int(joint)))
        except ValueError as error:
            label = source.label("joint", int(joint))
            raise InputError(source.path, f"{label}: {error}", "correct it") from None
    parent = int(m.body_parentid[body])
    if m.jnt_type[own[0]] == FREE:
        pose = m.qpos0[m.jnt_qposadr[own[0]] :]
        start = pose[:3], pose[3:7]
    else:
        turned = m.body_quat[body]
        start = frames.pose(parent, m.body_pos[body] + to_matrix(turned) @ origin, turned)
    try:
        builder.add_joint(
            Compound(tuple(axes)),
            int(frames.body[parent]),
            int(frames.body[body]),
            frames=(start, frames.pose(body, origin, np.array(IDENTITY))),
            name=names[0],
            collide=True,
            axes=names[1],
        )
    except ValueError as error:
        label = source.label("body", body)
        raise InputError(source.path, f"{label}: {error}", "give it other joints") from None


def _note_unsupported(source: Source, report: ImportReport) -> None:
    """Note what acts along joints in ways that ours do not know."""
    m = source.m
    for joint in range(m.njnt):
        dof = m.jnt_dofadr[joint]
        for column, what in COLUMNS.items():
            values = source.column(column)
            index = dof if column.startswith("dof") else joint
            if len(values) and np.any(values[index]):
                report.ignore(source.label("joint", joint), f"{what} is not supported")


def _acts(source: Source, joint: int) -> bool:
    """Whether anything acts along a free joint."""
    m, dof = source.m, source.m.jnt_dofadr[joint]
    along = (m.dof_armature[dof], m.dof_damping[dof], m.dof_frictionloss[dof])
    rated = any(damping_polynomial(source, "dof_dampingpoly", dof))
    return bool(np.any(along) or m.jnt_stiffness[joint] or rated)


def _origin(source: Source, own: np.ndarray) -> np.ndarray:
    """Return where the frame of the joints of one body is in the body's: where its ball is, if
    any."""
    balls = [joint for joint in own if source.m.jnt_type[joint] == BALL]
    return np.array(source.m.jnt_pos[balls[0]]) if balls else np.zeros(3)


def _axes(
    source: Source, joint: int, origin: np.ndarray, springs: tuple[float, float, float] | None
) -> list[Axis]:
    """Axes of one of the file's joints; ``springs`` are those of a cable [N m/rad]."""
    m, kind, common = source.m, source.m.jnt_type[joint], _common(source, joint)
    if kind == FREE:
        # The joint's frame is turned as the body is at first; the slides are the world's axes.
        world = to_matrix(m.qpos0[m.jnt_qposadr[joint] + 3 :][:4])
        return [*(Slide(tuple(direction), **common) for direction in world), Ball(**common)]
    if kind == BALL:
        limits = _ball_limits(source, joint)
        if springs is None:
            return [Ball(limits=limits, **common)]
        stiffness = common.pop("stiffness")
        about = tuple(stiffness + own for own in springs)
        return [Ball(limits=limits, stiffnesses=about, **common)]
    return [_single(source, joint, origin, common)]


def _ball_limits(source: Source, joint: int) -> tuple[float, float] | None:
    """Zero and the largest angle."""
    m = source.m
    if not m.jnt_limited[joint] or source.off("LIMIT", "CONSTRAINT"):
        return None
    return 0.0, within(m.jnt_range[joint], float(m.jnt_margin[joint]))[1]


def _common(source: Source, joint: int) -> dict[str, Any]:
    """What acts along every axis of a joint."""
    m, dof = source.m, source.m.jnt_dofadr[joint]
    return {
        "stiffness": 0.0 if source.off("SPRING", "PASSIVE") else float(m.jnt_stiffness[joint]),
        "damping": 0.0 if source.off("DAMPER", "PASSIVE") else float(m.dof_damping[dof]),
        "damping_polynomial": damping_polynomial(source, "dof_dampingpoly", dof),
        "armature": float(m.dof_armature[dof]),
        "friction": 0.0
        if source.off("FRICTIONLOSS", "CONSTRAINT")
        else float(m.dof_frictionloss[dof]),
    }


def _single(source: Source, joint: int, origin: np.ndarray, common: dict[str, Any]) -> Axis:
    """A hinge or slide; its coordinate is the file's less that at ``qpos0``."""
    m, at = source.m, source.m.jnt_qposadr[joint]
    limits = None
    if m.jnt_limited[joint] and not source.off("LIMIT", "CONSTRAINT"):
        limits = within(m.jnt_range[joint] - m.qpos0[at], float(m.jnt_margin[joint]))
    make = Slide if m.jnt_type[joint] == SLIDE else Hinge
    return make(
        tuple(m.jnt_axis[joint]),
        limits=limits,
        rest=float(m.qpos_spring[at] - m.qpos0[at]),
        point=tuple(m.jnt_pos[joint] - origin) if make is Hinge else ORIGIN,
        **common,
    )


def damping_polynomial(source: Source, column: str, index: int) -> tuple[float, float]:
    """Return the coefficients of |v| and v² of a damping that depends on the rate v.

    Args:
        source: the compiled model; that of an older MuJoCo has no such damping.
        column: name of its field.
        index: of the degree of freedom, or the tendon.
    """
    values = source.column(column)
    if not len(values) or source.off("DAMPER", "PASSIVE"):
        return 0.0, 0.0
    first, second = (float(value) for value in values[index])
    return first, second


def within(between: np.ndarray, margin: float) -> tuple[float, float]:
    """Limits that a range and its margin leave."""
    lower, upper = float(between[0]) + margin, float(between[1]) - margin
    if not lower < upper:
        raise ValueError(
            f"range {between} with margin {margin} leaves no room to move: widen it, or fix what "
            "cannot move"
        )
    return lower, upper
