"""Equality constraints: joints that close loops."""

from collections.abc import Collection

import numpy as np
from jaxtyping import Bool

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements.bodies import NOWHERE, BodyMap
from jaxccp.io.mjcf.elements.joints import Axes
from jaxccp.io.mjcf.elements.tendons import joint_coupling
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.model.joints import Fixed, Spherical
from jaxccp.names import unused
from jaxccp.scene.builder import ModelBuilder
from jaxccp.scene.frames import IDENTITY
from jaxccp.scene.loop_closure import CLOSURE_TOLERANCE

Frame = tuple[np.ndarray, np.ndarray]
TORQUE_SCALE = 10
"""Column of a weld's data that scales torques relative to forces."""


def add_equalities(
    source: Source,
    builder: ModelBuilder,
    body_map: BodyMap,
    axes: Axes,
    tendons: Collection[str],
    nodes: Bool[np.ndarray, " n"],
    report: ImportReport,
) -> None:
    """Add the equality constraints that are initially active.

    Connections and welds become joints that close loops, so that bodies keep the coordinates of the
    file. Constraints between joints become tendons.

    Args:
        source: the compiled file.
        builder: the builder.
        body_map: places of the file's bodies in the model.
        axes: names of the axes of the file's joints.
        tendons: names of the tendons that were added.
        nodes: mask of the file's bodies that are nodes of flexible bodies; those on the surface can
            be connected.
        report: collects the constraints that are left out.

    Raises:
        InputError: a constraint connects bodies that cannot move against each other.
    """
    m, types = source.m, source.mujoco.mjtEq
    if source.is_disabled("EQUALITY", "CONSTRAINT"):
        return
    used = {*axes.names, *axes.joints, *tendons}
    coupling, tendon = int(types.mjEQ_JOINT), int(types.mjEQ_TENDON)
    connect, weld = int(types.mjEQ_CONNECT), int(types.mjEQ_WELD)
    for index in range(m.neq):
        label, kind = source.label("equality", index), int(m.eq_type[index])
        if not m.eq_active0[index]:
            report.approximate(label, "is not active, and cannot become so")
            continue
        if kind == tendon:
            continue  # a property of the tendon
        if kind == coupling:
            made = joint_coupling(source, axes, index)
            if isinstance(made, str):
                report.ignore(label, made)
            else:
                builder.add_tendon(made, _name(source, index, used))
            continue
        if kind not in (connect, weld):
            name = types(kind).name.removeprefix("mjEQ_").lower()
            report.ignore(label, f"equality constraints of type {name} are not supported")
            continue
        # Without torque a weld does not constrain the orientation.
        rigid = kind == weld and m.eq_data[index][TORQUE_SCALE] != 0
        bodies, ends = _ends(source, body_map, index, kind == weld)
        refused = _node(body_map, nodes, bodies, rigid)
        if refused:
            report.ignore(label, *refused)
            continue
        welded = [int(m.body_weldid[body]) for body in bodies]
        if welded[0] == welded[1]:
            _check_closure(source, label, ends, rigid)
            continue
        builder.add_joint(
            Fixed() if rigid else Spherical(),
            int(body_map.body[bodies[0]]),
            int(body_map.body[bodies[1]]),
            frames=ends,
            name=_name(source, index, used),
            collide=True,
            closes_loop=True,
        )


def _node(
    body_map: BodyMap, nodes: Bool[np.ndarray, " n"], bodies: tuple[int, int], rigid: bool
) -> tuple[str, str] | None:
    """Return the reason why a node of a flexible body cannot be constrained, and a remedy; None if
    it can."""
    for body in bodies:
        if body_map.body[body] == NOWHERE:
            return f"{body_map.labels[body]} is a node inside a body", "hold one of its surface"
        if nodes[body] and rigid:
            return f"{body_map.labels[body]} is a node, which does not turn", "connect it instead"
    return None


def _name(source: Source, index: int, used: set[str]) -> str:
    """Return the name of a constraint's joint or tendon, and add it to those that are used."""
    label = source.name("equality", index) or source.unused_name("equality", str(index))
    name = unused(f"equality {label}", used)
    used.add(name)
    return name


def _ends(
    source: Source, body_map: BodyMap, index: int, weld: bool
) -> tuple[tuple[int, int], tuple[Frame, Frame]]:
    """Return the two bodies of the file, and the frames on the model's bodies that the constraint
    makes coincide; a connection only concerns their origins."""
    m = source.m
    first, second = int(m.eq_obj1id[index]), int(m.eq_obj2id[index])
    if m.eq_objtype[index] == int(source.mujoco.mjtObj.mjOBJ_SITE):
        bodies = int(m.site_bodyid[first]), int(m.site_bodyid[second])
        sites = [(m.site_pos[site], m.site_quat[site]) for site in (first, second)]
        return bodies, _in_bodies(body_map, bodies, sites)
    data = m.eq_data[index]
    rotation = data[6:10] / np.linalg.norm(data[6:10]) if weld else np.array(IDENTITY)
    # The data of a connection begin with the point in the first body, those of a weld in the
    # second.
    points = (data[3:6], data[0:3]) if weld else (data[0:3], data[3:6])
    local = [(points[0], rotation), (points[1], np.array(IDENTITY))]
    return (first, second), _in_bodies(body_map, (first, second), local)


def _in_bodies(body_map: BodyMap, bodies: tuple[int, int], local: list) -> tuple[Frame, Frame]:
    first, second = (body_map.pose(body, *end) for body, end in zip(bodies, local, strict=True))
    return first, second


def _check_closure(source: Source, label: str, ends: tuple[Frame, Frame], rigid: bool) -> None:
    """Check that a constraint is closed if its two bodies cannot move relative to each other."""
    gap = np.linalg.norm(ends[0][0] - ends[1][0])
    misalignment = 1.0 - abs(ends[0][1] @ ends[1][1]) if rigid else 0.0
    if gap > CLOSURE_TOLERANCE or misalignment > CLOSURE_TOLERANCE**2:
        raise InputError(
            source.path,
            f"{label}: its bodies cannot move against each other and are {gap:.3g} m apart there",
            "take the constraint out, or give one of them a joint",
        )
