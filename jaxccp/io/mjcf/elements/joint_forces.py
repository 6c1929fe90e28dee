"""Forces along the joints of a file."""

from typing import Any

import numpy as np

from jaxccp.io.mjcf.files.source import Source


def acts_on_free_joint(source: Source, joint: int) -> bool:
    """Tell whether a free joint has armature, damping, dry friction or stiffness."""
    first = source.m.jnt_dofadr[joint]
    columns = ("dof_armature", "dof_damping", "dof_dampingpoly", "dof_frictionloss")
    forces = (np.any(source.column(name)[first : first + 6]) for name in columns)
    return any(forces) or bool(source.m.jnt_stiffness[joint])


def axis_forces(source: Source, joint: int, dof: int) -> dict[str, Any]:
    """Return the forces along one degree of freedom of a joint, as keyword arguments of an axis.

    Args:
        source: the compiled file.
        joint: the file's number of the joint.
        dof: the file's number of the degree of freedom.
    """
    m = source.m
    return {
        "stiffness": 0.0
        if source.is_disabled("SPRING", "PASSIVE")
        else float(m.jnt_stiffness[joint]),
        "damping": 0.0 if source.is_disabled("DAMPER", "PASSIVE") else float(m.dof_damping[dof]),
        "damping_polynomial": damping_polynomial(source, "dof_dampingpoly", dof),
        "armature": float(m.dof_armature[dof]),
        "friction": 0.0
        if source.is_disabled("FRICTIONLOSS", "CONSTRAINT")
        else float(m.dof_frictionloss[dof]),
    }


def ball_forces(source: Source, joint: int, dof: int) -> dict[str, Any]:
    """Return the forces about the three axes of a rotation, as keyword arguments of a ball.

    Args:
        source: the compiled file.
        joint: the file's number of the joint.
        dof: the file's number of the first degree of freedom of the rotation.

    Raises:
        ValueError: a compiled model has different forces about the axes.
    """
    first, *others = (axis_forces(source, joint, dof + axis) for axis in range(3))
    if any(forces != first for forces in others):
        raise ValueError(
            "armature, damping and dry friction must be the same about the three axes of a ball or "
            "of a free joint; three hinges can have their own"
        )
    return first


def damping_polynomial(source: Source, column: str, index: int) -> tuple[float, float]:
    """Return the coefficients of |v| and v² of the polynomial damping.

    Args:
        source: the compiled model; that of an older MuJoCo has no such damping.
        column: name of its field.
        index: index of the degree of freedom or of the tendon.
    """
    values = source.column(column)
    if not len(values) or source.is_disabled("DAMPER", "PASSIVE"):
        return 0.0, 0.0
    first, second = (float(value) for value in values[index])
    return first, second
