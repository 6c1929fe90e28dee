"""Actuators for the joints of a URDF, which has none."""

from collections.abc import Collection
from typing import Any, Literal

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.files.origin import Origin
from jaxccp.io.mjcf.import_report import ImportReport

UrdfActuators = Literal["position", "torque"]

FULL_EFFORT_ANGLE = 0.1
"""Error of a hinge at which its position servo reaches its effort limit [rad]."""
FULL_EFFORT_LENGTH = 0.01
"""Error of a slide at which its position servo reaches its effort limit [m]."""
DAMPING_RATIO = 1.0
"""Damping ratio of a position servo with the inertia that its joint has at ``qpos0``."""


def add_urdf_actuators(
    spec: Any,
    mujoco: Any,
    joints: Collection[str],
    kind: UrdfActuators,
    origin: Origin,
    report: ImportReport,
) -> None:
    """Add an actuator for each joint that does not mimic another; it has the joint's name.

    Args:
        spec: MuJoCo's specification of the URDF.
        mujoco: the package.
        joints: names of the joints with a single axis.
        kind: ``torque`` for motors, whose control is the force [N or N m]; ``position`` for servos,
            whose control is the coordinate [m or rad].
        origin: origin of the model, for messages.
        report: lists motors without a limit.

    Raises:
        InputError: a servo's joint has no effort limit, from which its stiffness would come.
    """
    mimics = {equality.name1 for equality in spec.equalities}
    driven = [joint for joint in spec.joints if joint.name in joints and joint.name not in mimics]
    unlimited = [joint.name for joint in driven if not joint.actfrcrange[1] > 0]
    if unlimited and kind == "position":
        raise InputError(
            origin.label,
            f"no effort limit, from which stiffness would come, of {', '.join(unlimited)}",
            "give <limit effort=…>, or take actuators='torque'",
        )
    for joint in driven:
        effort = float(joint.actfrcrange[1])
        name = joint.name
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        if kind == "position":
            hinge = joint.type == mujoco.mjtJoint.mjJNT_HINGE
            reach = FULL_EFFORT_ANGLE if hinge else FULL_EFFORT_LENGTH
            actuator.set_to_position(kp=effort / reach, dampratio=DAMPING_RATIO)
            actuator.forcerange = (-effort, effort)
            if joint.range[0] < joint.range[1]:
                actuator.ctrlrange = joint.range
        else:
            actuator.set_to_motor()
            if effort > 0:
                actuator.ctrlrange = (-effort, effort)
            else:
                report.approximate(f"motor {name!r}", "its joint has no effort limit: nor has it")
