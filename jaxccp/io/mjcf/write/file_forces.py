"""Numbers of a file's joints, tendons and actuators, computed from a changed model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from jaxccp.io.mjcf.elements.joints import HINGE, SLIDE, WIDTH
from jaxccp.io.mjcf.elements.registry import Elements
from jaxccp.io.mjcf.files.source import Source
from jaxccp.model.model import Model

FORCES = {"damping": "dof_damping", "armature": "dof_armature", "friction": "dof_frictionloss"}
"""Columns of axes with forces, and MuJoCo's columns of degrees of freedom for them."""
TENDON = {
    "stiffness": "tendon_stiffness",
    "damping": "tendon_damping",
    "damping_polynomial": "tendon_dampingpoly",
    "armature": "tendon_armature",
    "friction": "tendon_frictionloss",
    "rest": "tendon_lengthspring",
}
"""Columns of tendons with forces, and MuJoCo's columns for them."""

Numbers = dict[str, Float[np.ndarray, "..."]]
"""Numbers by the names of MuJoCo's columns; ``body_inertia`` has matrices in the axes of the
body."""


def equal(a: Any, b: Any, dtype: Any) -> Bool[np.ndarray, "..."]:
    """Return the mask of numbers that are equal up to rounding.

    Args:
        a: numbers.
        b: numbers to compare with.
        dtype: dtype of the model.
    """
    first, second = np.asarray(a, float), np.asarray(b, float)
    with np.errstate(invalid="ignore"):
        size = np.minimum(np.abs(first), np.abs(second))
        bound = 64 * float(np.finfo(dtype).eps) * np.maximum(1e-3, size)
        return (np.abs(first - second) <= bound) | (first == second)


@dataclass(frozen=True)
class ModelChange:
    """A model as loaded, and the same model with other numbers."""

    before: Model
    """The model as loaded."""
    after: Model
    """The changed model."""

    def number(self, table: str, name: str, rows: Any) -> Float[np.ndarray, "..."] | None:
        """Return rows of a column of the changed model; None if they equal those of the loaded
        model.

        Args:
            table: name of a table of the model.
            name: name of the table's column.
            rows: indices of rows of the table.
        """
        columns = [getattr(getattr(model, table), name) for model in (self.before, self.after)]
        old, new = (np.asarray(column, float)[rows] for column in columns)
        return None if equal(old, new, columns[0].dtype).all() else new

    def limits(self, row: int, margin: float) -> Float[np.ndarray, "2"] | None:
        """Return the range of an axis or a tendon as MuJoCo has it; None if the limits of the
        changed model equal those of the loaded model.

        Args:
            row: index of the row of the axes.
            margin: distance of the limits from the ends of the range.
        """
        if all(self.number("axes", end, row) is None for end in ("lower", "upper")):
            return None
        axes = self.after.axes
        return np.array([float(axes.lower[row]) - margin, float(axes.upper[row]) + margin])


def write_forces(out: Numbers, source: Source, elements: Elements, models: ModelChange) -> None:
    """Write the forces along joints; a joint with several axes gets the mean of their values.

    Args:
        out: numbers of the file, changed in place.
        source: the compiled file.
        elements: parts of the model for the elements of the file.
        models: the model as loaded, and changed.
    """
    m, names = source.m, elements.axes.names
    linkage = models.before.topology.linkage
    for joint in range(m.njnt):
        dof, at = int(m.jnt_dofadr[joint]), int(m.jnt_qposadr[joint])
        width = WIDTH[int(m.jnt_type[joint])]
        if not names[dof]:
            continue
        axes = [linkage.axis(name) for name in names[dof : dof + width]]
        for name, column in FORCES.items():
            if (value := models.number("axes", name, axes)) is not None:
                out[column][dof : dof + width] = value.mean()
        if (value := models.number("axes", "stiffness", axes)) is not None:
            out["jnt_stiffness"][joint] = value.mean()
        value = models.number("axes", "damping_polynomial", axes)
        if value is not None and "dof_dampingpoly" in out:
            out["dof_dampingpoly"][dof : dof + width] = value.mean(axis=0)
        start = float(m.qpos0[at]) if width == 1 else 0.0
        if width < 6 and (value := models.limits(axes[0], m.jnt_margin[joint])) is not None:
            out["jnt_range"][joint] = value + start if width == 1 else (0.0, value[1])
        if width > 1:
            continue
        if (value := models.number("axes", "rest", axes[0])) is not None:
            out["qpos_spring"][at] = value + start


def write_tendons(out: Numbers, source: Source, elements: Elements, models: ModelChange) -> None:
    """Write the forces along tendons.

    Args:
        out: numbers of the file, changed in place.
        source: the compiled file.
        elements: parts of the model for the elements of the file.
        models: the model as loaded, and changed.
    """
    linkage = models.before.topology.linkage
    for tendon, name in elements.tendons.items():
        row = len(linkage.axes) + linkage.tendon(name)
        for field, column in TENDON.items():
            value = models.number("axes", field, row)
            if value is not None and column in out:
                out[column][tendon] = value
        if (value := models.limits(row, source.m.tendon_margin[tendon])) is not None:
            out["tendon_range"][tendon] = value


def write_actuators(out: Numbers, source: Source, elements: Elements, models: ModelChange) -> None:
    """Write gains, biases, gears, limits and filter time constants of actuators.

    Args:
        out: numbers of the file, changed in place.
        source: the compiled file.
        elements: parts of the model for the elements of the file.
        models: the model as loaded, and changed.
    """
    m, after = source.m, models.after.actuators
    for row, index in enumerate(elements.driven):
        gear = models.number("actuators", "gear", row)
        if gear is not None:
            used = np.flatnonzero(out["actuator_gear"][index])
            out["actuator_gear"][index, used[0] if len(used) else 0] = gear
        if (gain := models.number("actuators", "gain", row)) is not None:
            out["actuator_gainprm"][index, 0] = gain
        terms = ("offset", "stiffness", "damping", "gear")
        if any(models.number("actuators", name, row) is not None for name in terms):
            numbers = (after.offset, after.stiffness, after.damping, after.gear)
            offset, stiffness, damping, gear = (float(column[row]) for column in numbers)
            joint = int(m.actuator_trnid[index, 0])
            tendon = int(m.actuator_trntype[index]) == int(source.mujoco.mjtTrn.mjTRN_TENDON)
            if not tendon and m.jnt_type[joint] in (HINGE, SLIDE):
                # The file's coordinate is that of the model plus qpos0.
                offset += stiffness * gear * float(m.qpos0[m.jnt_qposadr[joint]])
            out["actuator_biasprm"][index, :3] = offset, -stiffness, -damping
        for name, column in (
            ("force_limits", "actuator_forcerange"),
            ("control_limits", "actuator_ctrlrange"),
        ):
            old, value = (
                np.asarray(getattr(model.actuators, name), float)[row]
                for model in (models.before, models.after)
            )
            if not equal(old, value, after.gain.dtype).all():
                out[column][index] = value
    activations = models.before.activations
    for place, row in enumerate(activations.actuators if activations is not None else ()):
        value = models.number("activations", "time_constant", place)
        if value is not None:
            out["actuator_dynprm"][elements.driven[row], 0] = value
