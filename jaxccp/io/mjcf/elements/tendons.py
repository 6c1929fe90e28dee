"""Tendons of a file that have an effect, and equality constraints between joints."""

import numpy as np

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements.bodies import BodyMap
from jaxccp.io.mjcf.elements.joint_forces import damping_polynomial
from jaxccp.io.mjcf.elements.joints import HINGE, SLIDE, Axes, limits_inside
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.model.tendons import Coupling, TendonPath
from jaxccp.scene.builder import ModelBuilder

FORCES = (
    "tendon_limited",
    "tendon_stiffness",
    "tendon_damping",
    "tendon_dampingpoly",
    "tendon_frictionloss",
    "tendon_armature",
)
"""Columns of a tendon's forces and limits that are read."""
COLUMNS = {
    "tendon_springyield": "a spring that yields",
    "tendon_stiffnesspoly": "a stiffness that depends on the length",
}
"""Columns of MuJoCo that must be 0, with descriptions; tendons of this package have no such
effect."""


def add_tendons(
    source: Source,
    builder: ModelBuilder,
    body_map: BodyMap,
    axes: Axes,
    report: ImportReport,
) -> dict[int, str]:
    """Add the file's tendons that have an effect or a sensor to a builder.

    Args:
        source: the compiled file.
        builder: the builder.
        body_map: places of the file's bodies in the model.
        axes: names of the axes of the file's joints.
        report: the report of tendons that are left out.

    Returns:
        The names of the tendons that were added, by the file's number.

    Raises:
        InputError: a tendon has impossible numbers.
    """
    m = source.m
    trn = int(source.mujoco.mjtTrn.mjTRN_TENDON)
    pulled = {int(m.actuator_trnid[i, 0]) for i in np.flatnonzero(m.actuator_trntype == trn)}
    kind = int(source.mujoco.mjtObj.mjOBJ_TENDON)
    sensed = {int(i) for i in m.sensor_objid[m.sensor_objtype == kind]}
    bilateral = _bilateral_lengths(source, report)
    names: dict[int, str] = {}
    for tendon in range(m.ntendon):
        effective = tendon in pulled or tendon in bilateral or _has_forces(source, tendon)
        if not (effective or tendon in sensed):
            continue
        label = source.label("tendon", tendon)
        for column, what in COLUMNS.items():
            values = source.column(column)
            if len(values) and np.any(values[tendon]):
                report.ignore(label, f"{what} is not supported")
        try:
            made = _tendon(source, body_map, axes, tendon, bilateral.get(tendon))
        except ValueError as error:
            raise InputError(source.path, f"{label}: {error}", "correct it") from None
        if isinstance(made, str):
            if effective:
                report.ignore(label, made)
            continue
        name = source.name("tendon", tendon)
        if not name or name in axes.names:
            taken = (*axes.names, *names.values())
            name = source.unused_name("tendon", name or f"tendon{tendon}", taken)
        builder.add_tendon(made, name)
        names[tendon] = name
    return names


def _has_forces(source: Source, tendon: int) -> bool:
    """Tell whether a tendon itself has forces or limits, apart from actuators and constraints."""
    return any(np.any(source.column(name)[tendon : tendon + 1]) for name in (*FORCES, *COLUMNS))


def _bilateral_lengths(source: Source, report: ImportReport) -> dict[int, float]:
    """Return the lengths at which equality constraints hold tendons, by number of the tendon."""
    m, lengths = source.m, {}
    if source.is_disabled("EQUALITY", "CONSTRAINT"):
        return lengths
    kind = int(source.mujoco.mjtEq.mjEQ_TENDON)
    for index in np.flatnonzero((m.eq_type == kind) & (m.eq_active0 != 0)):
        tendon = int(m.eq_obj1id[index])
        if m.eq_obj2id[index] >= 0:
            label = source.label("equality", int(index))
            report.ignore(label, "a tendon that follows another is not supported")
        else:
            lengths[tendon] = float(m.tendon_length0[tendon] + m.eq_data[index, 0])
    return lengths


def _tendon(
    source: Source, body_map: BodyMap, axes: Axes, tendon: int, length: float | None
) -> Coupling | TendonPath | str:
    """Return a tendon, held at a length if one is given, or a description of what is not
    supported."""
    m, wraps = source.m, source.mujoco.mjtWrap
    run = slice(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
    kinds, ids, factors = m.wrap_type[run], m.wrap_objid[run], m.wrap_prm[run]
    spring = m.tendon_lengthspring[tendon]
    springs = not source.is_disabled("SPRING", "PASSIVE")
    if springs and m.tendon_stiffness[tendon] and spring[0] != spring[1]:
        return "a spring with a dead band is not supported"
    forces = {
        "length": length,
        "stiffness": float(m.tendon_stiffness[tendon]) if springs else 0.0,
        "rest": float(spring[0]),
        "damping": 0.0
        if source.is_disabled("DAMPER", "PASSIVE")
        else float(m.tendon_damping[tendon]),
        "damping_polynomial": damping_polynomial(source, "tendon_dampingpoly", tendon),
        "armature": float(source.column("tendon_armature")[tendon : tendon + 1].sum()),
        "friction": 0.0
        if source.is_disabled("FRICTIONLOSS", "CONSTRAINT")
        else float(m.tendon_frictionloss[tendon]),
    }
    if m.tendon_limited[tendon] and not source.is_disabled("LIMIT", "CONSTRAINT"):
        forces["limits"] = limits_inside(m.tendon_range[tendon], float(m.tendon_margin[tendon]))
    if np.all(kinds == int(wraps.mjWRAP_JOINT)):
        terms = _terms(source, axes, ids, factors)
        return terms if isinstance(terms, str) else Coupling(terms, **forces)
    if np.all(kinds == int(wraps.mjWRAP_SITE)):
        points = [_point(source, body_map, int(site)) for site in ids]
        return TendonPath(points, **forces)
    return "pulleys and wrapping are not supported"


def _terms(
    source: Source, axes: Axes, joints: np.ndarray, factors: np.ndarray
) -> dict[str, tuple[float, float]] | str:
    """Return a tendon's length as polynomials of the model's coordinates, which are 0 at
    ``qpos0``."""
    m = source.m
    terms: dict[str, tuple[float, float]] = {}
    for joint, factor in zip(joints, factors, strict=True):
        if m.jnt_type[joint] not in (SLIDE, HINGE):
            return "only hinges and slides can be in a tendon"
        name = axes.names[m.jnt_dofadr[joint]]
        if not name:
            return "nodes of flexible bodies cannot be in a tendon"
        constant, total = terms.get(name, (0.0, 0.0))
        start = float(m.qpos0[m.jnt_qposadr[joint]])
        terms[name] = (constant + float(factor) * start, total + float(factor))
    return terms


def _point(source: Source, body_map: BodyMap, site: int) -> tuple[int, np.ndarray]:
    body = int(source.m.site_bodyid[site])
    return int(body_map.body[body]), body_map.point(body, source.m.site_pos[site])


def joint_coupling(source: Source, axes: Axes, index: int) -> Coupling | str:
    """Return the coupling for an equality constraint between joints, y = p(x) relative to
    ``qpos0``.

    Args:
        source: the compiled file.
        axes: names of the axes of the file's joints.
        index: the file's number of the constraint.

    Returns:
        The coupling, or what is not supported.
    """
    m = source.m
    joints = [int(joint) for joint in (m.eq_obj1id[index], m.eq_obj2id[index]) if joint >= 0]
    if any(m.jnt_type[joint] not in (SLIDE, HINGE) for joint in joints):
        return "only hinges and slides can be coupled"
    names = [axes.names[m.jnt_dofadr[joint]] for joint in joints]
    if not all(names):
        return "nodes of flexible bodies cannot be coupled"
    polynomial = np.array(m.eq_data[index, :5])
    if len(names) == 1:
        return Coupling({names[0]: 1.0}, length=float(polynomial[0]))
    return Coupling({names[0]: 1.0, names[1]: tuple(-polynomial)}, length=0.0)
