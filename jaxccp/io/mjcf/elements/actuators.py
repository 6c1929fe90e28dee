"""Actuators of a file on joints and tendons, with a force affine in control, coordinate and
rate."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Int

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements.bodies import subtree
from jaxccp.io.mjcf.elements.joints import BALL, FREE, HINGE, SLIDE, Axes
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.model.actuators.activation import Activation
from jaxccp.model.actuators.actuator import Actuator, Range
from jaxccp.scene.builder import ModelBuilder

FOREVER = (-np.inf, np.inf)
FILTERS = {"FILTER": "filter", "FILTEREXACT": "filterexact"}
LEFT_OUT = {"MUSCLE": "muscles are", "USER": "dynamics of a user's own are"}
COLUMNS = {
    "actuator_armature": "a rotor of its own",
    "actuator_damping": "a damping of its own",
    "actuator_dampingpoly": "a damping that depends on the rate",
    "actuator_delay": "a delay",
}
"""Columns of MuJoCo that must be 0, with descriptions; actuators of this package have no such
effect."""


def add_actuators(
    source: Source,
    builder: ModelBuilder,
    axes: Axes,
    tendons: dict[int, str],
    report: ImportReport,
) -> np.ndarray:
    """Add the file's actuators to a builder.

    Args:
        source: the compiled file.
        builder: the builder.
        axes: names of the axes of the file's joints.
        tendons: names of the tendons that were added, by the file's number.
        report: collects the actuators that are left out.

    Returns:
        The file's number of each actuator that was added.

    Raises:
        InputError: an actuator has impossible numbers.
    """
    if source.is_disabled("ACTUATION"):
        return np.zeros(0, np.int32)
    added = []
    for index in range(len(source.m.actuator_trntype)):
        label = source.label("actuator", index)
        try:
            made = _actuator(source, axes, tendons, index)
        except ValueError as error:
            message = str(error).removeprefix("Actuator: ")
            raise InputError(source.path, f"{label}: {message}", "correct it") from None
        if isinstance(made, str):
            report.ignore(label, made)
            continue
        actuator, axis = made
        if actuator.activation is not None and source.column("actuator_actearly")[index]:
            report.approximate(label, "acts by the activation at the start of a step, not its end")
        if _disabled(source, index):
            actuator = _idle(actuator)
        elif _wraps(source, index):
            report.approximate(label, "its setpoint does not wrap beyond half a turn")
        name = source.name("actuator", index)
        name = name or source.unused_name("actuator", f"actuator{len(added)}")
        builder.add_actuator(actuator, axis, name)
        added.append(index)
    _limit_sums(source, builder, axes, tendons)
    _note_unlimited(source, added, report)
    return np.array(added, np.int32)


def _disabled(source: Source, index: int) -> bool:
    """Tell whether an actuator belongs to a group that ``actuatorgroupdisable`` disables."""
    group = int(source.m.actuator_group[index])
    return 0 <= group < 31 and bool(source.m.opt.disableactuator >> group & 1)


def _idle(actuator: Actuator) -> Actuator:
    """Return an actuator without force, whose activation stays as it is."""
    held = actuator.activation and replace(actuator.activation, dynamics="integrator")
    numbers = dict.fromkeys(("gain", "offset", "stiffness", "damping"), 0.0)
    return replace(actuator, **numbers, control_limits=(0.0, 0.0), activation=held)


def _wraps(source: Source, index: int) -> bool:
    """Tell whether an actuator is a servo of a ball, whose setpoint MuJoCo 3.17 takes to be the
    angle nearest to the actuator's among those that differ by full turns."""
    m, mujoco = source.m, source.mujoco
    if m.actuator_trntype[index] != int(mujoco.mjtTrn.mjTRN_JOINT):
        return False
    dynamics = mujoco.mjtDyn.mjDYN_NONE, mujoco.mjtDyn.mjDYN_INTEGRATOR
    gain, bias = float(m.actuator_gainprm[index, 0]), float(m.actuator_biasprm[index, 1])
    return bool(
        m.jnt_type[m.actuator_trnid[index, 0]] == BALL
        and m.actuator_dyntype[index] in map(int, dynamics)
        and m.actuator_gaintype[index] == int(mujoco.mjtGain.mjGAIN_FIXED)
        and m.actuator_biastype[index] == int(mujoco.mjtBias.mjBIAS_AFFINE)
        and gain == -bias != 0
    )


def _limit_sums(source: Source, builder: ModelBuilder, axes: Axes, tendons: dict[int, str]) -> None:
    """Limit the sum of the forces of all actuators of a joint or tendon (``actuatorfrcrange``)."""
    m = source.m
    for joint in np.flatnonzero(m.jnt_actfrclimited):
        name = axes.names[m.jnt_dofadr[joint]]
        if name and m.jnt_type[joint] in (HINGE, SLIDE):
            low, high = m.jnt_actfrcrange[joint]
            builder.limit_actuators(name, (float(low), float(high)))
    for tendon in np.flatnonzero(source.column("tendon_actfrclimited")):
        if tendon in tendons:
            low, high = m.tendon_actfrcrange[tendon]
            builder.limit_actuators(tendons[int(tendon)], (float(low), float(high)))


def _note_unlimited(source: Source, added: list[int], report: ImportReport) -> None:
    """Note the actuators on spatial tendons that a joint's ``actuatorfrcrange`` limits in MuJoCo.

    These are the tendons with sites on both sides of the joint.

    Args:
        source: the compiled file.
        added: the file's numbers of the actuators that were added.
        report: collects the limits that are left out.
    """
    m, paths = source.m, int(source.mujoco.mjtWrap.mjWRAP_SITE)
    on_tendon = m.actuator_trntype == int(source.mujoco.mjtTrn.mjTRN_TENDON)
    for joint in np.flatnonzero(m.jnt_actfrclimited):
        moved = subtree(source, int(m.jnt_bodyid[joint]))
        for index in added:
            tendon = int(m.actuator_trnid[index, 0])
            if not on_tendon[index] or _disabled(source, index):
                continue
            run = slice(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
            beyond = moved[m.site_bodyid[m.wrap_objid[run][m.wrap_type[run] == paths]]]
            if beyond.any() and not beyond.all():
                label = source.label("joint", int(joint))
                what = f"its actuatorfrcrange does not limit {source.label('actuator', index)}"
                instead = "limit the actuator by forcerange"
                report.ignore(label, f"{what}, which is on a spatial tendon", instead)


def _actuator(
    source: Source, axes: Axes, tendons: dict[int, str], index: int
) -> tuple[Actuator, str] | str:
    """Return an actuator and the name of its axis or tendon, or a description of what is not
    supported."""
    m, mujoco = source.m, source.mujoco
    trn, gains, biases = mujoco.mjtTrn, mujoco.mjtGain, mujoco.mjtBias
    drives = int(m.actuator_trntype[index])
    target = int(m.actuator_trnid[index, 0])
    plugins = source.column("actuator_plugin")
    if len(plugins) and plugins[index] >= 0:
        name = source.element("actuator", index).plugin.plugin_name
        return f"the plugin {name or 'of an extension'} is not supported"
    if drives == int(trn.mjTRN_BODY):
        return "adhesion is not supported"
    if drives not in (int(trn.mjTRN_JOINT), int(trn.mjTRN_JOINTINPARENT), int(trn.mjTRN_TENDON)):
        return "only actuators on joints and tendons are supported"
    if drives == int(trn.mjTRN_TENDON) and target not in tendons:
        return "its tendon is not supported"
    activation = _activation(source, index)
    if isinstance(activation, str):
        return activation
    gain, bias = m.actuator_gainprm[index], np.array(m.actuator_biasprm[index])
    kinds = {int(gains.mjGAIN_FIXED): True, int(gains.mjGAIN_AFFINE): not np.any(gain[1:3])}
    if not kinds.get(int(m.actuator_gaintype[index]), False):
        return "only a constant gain is supported"
    kind = m.actuator_biastype[index]
    if kind == int(biases.mjBIAS_NONE):
        bias[:] = 0.0
    elif kind != int(biases.mjBIAS_AFFINE):
        return "only an affine bias is supported"
    if bias[1] > 0 or bias[2] > 0:
        return "a force that grows with the coordinate or rate is not supported"
    for column, what in COLUMNS.items():
        values = source.column(column)
        if len(values) and np.any(values[index]):
            return f"{what} is not supported"
    if drives == int(trn.mjTRN_TENDON):
        limits = _range(m.actuator_forcelimited[index], m.actuator_forcerange[index])
        gear = float(m.actuator_gear[first_rows(m, "outadr")[index], 0])
        actuator, driven = _affine(source, index, gain, bias, gear, limits), tendons[target]
    else:
        made = _joint_actuator(source, axes, index, gain, bias)
        if isinstance(made, str):
            return made
        actuator, driven = made
    return replace(actuator, activation=activation), driven


def first_rows(m: Any, address: str) -> Int[np.ndarray, " n"]:
    """Return the row of the first control or output of each of a compiled model's actuators.

    Args:
        m: the compiled model.
        address: ``"ctrladr"`` for controls, ``"outadr"`` for outputs; versions of MuJoCo whose
            actuators have one of each lack them.
    """
    rows = getattr(m, f"actuator_{address}", None)
    return np.arange(len(m.actuator_trntype)) if rows is None else np.asarray(rows)


def _activation(source: Source, index: int) -> Activation | str | None:
    """Return the activation dynamics of an actuator, None if it has none, or a description of what
    is not supported."""
    m = source.m
    kind = source.mujoco.mjtDyn(m.actuator_dyntype[index]).name.removeprefix("mjDYN_")
    if kind == "NONE":
        return None
    limits = _range(m.actuator_actlimited[index], m.actuator_actrange[index])
    if kind == "INTEGRATOR":
        return Activation("integrator", limits=limits)
    if kind not in FILTERS:
        return f"{LEFT_OUT.get(kind, f'dynamics of type {kind.lower()} are')} not supported"
    constant = max(float(m.actuator_dynprm[index, 0]), float(source.mujoco.mjMINVAL))
    return Activation(FILTERS[kind], constant, limits)


def _joint_actuator(
    source: Source, axes: Axes, index: int, gain: np.ndarray, bias: np.ndarray
) -> tuple[Actuator, str] | str:
    """Return an actuator of a joint and the name of its axis, or a description of what is not
    supported."""
    m = source.m
    joint = m.actuator_trnid[index, 0]
    dof = m.jnt_dofadr[joint]
    single = m.jnt_type[joint] in (HINGE, SLIDE)
    # Of a ball MuJoCo reads three gears, of a free joint six.
    gears = m.actuator_gear[first_rows(m, "outadr")[index]]
    gears = gears[: 6 if m.jnt_type[joint] == FREE else 3]
    components = np.zeros(1, int) if single else np.flatnonzero(gears)
    if not axes.names[dof]:
        return (
            "nodes of flexible bodies cannot be driven"
            if single
            else "a free joint cannot be driven"
        )
    if len(components) != 1:
        return "a joint of several axes can be driven along one of them only"
    if m.jnt_type[joint] == FREE and bias[1]:
        return "a free joint has no length that a servo could act on"
    if not single and m.actuator_trntype[index] != int(source.mujoco.mjtTrn.mjTRN_JOINT):
        return "a ball can be driven in its own axes only"
    gear = float(gears[components[0]])
    limits = _range(m.actuator_forcelimited[index], m.actuator_forcerange[index])
    if single:
        # MuJoCo's actuator length is zero at joint coordinate 0, that of this package at qpos0.
        bias[0] += bias[1] * gear * m.qpos0[m.jnt_qposadr[joint]]
    return _affine(source, index, gain, bias, gear, limits), axes.names[dof + components[0]]


def _affine(
    source: Source, index: int, gain: np.ndarray, bias: np.ndarray, gear: float, limits: Range
) -> Actuator:
    m = source.m
    row = first_rows(m, "ctrladr")[index]
    limited = m.actuator_ctrllimited[row] and not source.is_disabled("CLAMPCTRL")
    controls = _range(limited, m.actuator_ctrlrange[row])
    numbers = (float(gain[0]), float(bias[0]), float(-bias[1]), float(-bias[2]))
    return Actuator(*numbers, gear, limits, controls)


def _range(limited: bool, bounds: np.ndarray) -> Range:
    return (float(bounds[0]), float(bounds[1])) if limited else FOREVER
