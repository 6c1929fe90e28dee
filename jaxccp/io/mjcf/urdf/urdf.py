"""URDF files as MuJoCo reads them, with settings for what a URDF does not contain."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.files.origin import Origin
from jaxccp.io.mjcf.files.packages import Locator
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.urdf.actuators import UrdfActuators, add_urdf_actuators
from jaxccp.io.mjcf.urdf.inertias import mend_inertias
from jaxccp.io.mjcf.urdf.meshes import aliased, place_meshes
from jaxccp.io.mjcf.urdf.mimics import couple_mimics
from jaxccp.names import unknown


@dataclass(frozen=True)
class UrdfOptions:
    """Settings that a URDF does not contain; :func:`jaxccp.load` describes them."""

    packages: Mapping[str, Path] = field(default_factory=dict)
    """Folders of packages by name."""
    floating: bool = False
    """Whether the root link moves freely."""
    actuators: UrdfActuators | None = None
    """Kind of actuators for the joints; None: no actuators."""

    def check(self, origin: Origin) -> None:
        """Raise an error for an unknown kind of actuators, and for any option with a source that is
        not a URDF.

        Raises:
            InputError: the message names the option.
        """
        kinds = get_args(UrdfActuators)
        if self.actuators is not None and self.actuators not in kinds:
            what = f"actuators: {unknown(self.actuators, kinds)}"
            raise InputError(origin.label, what, "choose one of them")
        if origin.urdf:
            return
        used = {"packages": self.packages, "floating": self.floating, "actuators": self.actuators}
        names = ", ".join(name for name, value in used.items() if value)
        if names:
            what = f"{names} can be said of a URDF only, which this is not"
            raise InputError(origin.label, what, "leave it out")


def read_urdf(mujoco: Any, origin: Origin, options: UrdfOptions, report: ImportReport) -> Any:
    """Return MuJoCo's specification of a URDF, ready for compilation.

    Args:
        mujoco: the package.
        origin: the URDF.
        options: settings that a URDF does not contain.
        report: lists what is left out and what is assumed.

    Raises:
        InputError: the options do not fit the URDF, or it is xacro that has not been expanded.
    """
    urdf = aliased(origin.text)
    if urdf.xacro:
        what = f"is xacro that has not been expanded ({urdf.xacro})"
        raise InputError(origin.label, what, "expand it: xacro robot.urdf.xacro > robot.urdf")
    spec = mujoco.MjSpec.from_string(urdf.text)
    couple_mimics(spec, mujoco, urdf, report)
    place_meshes(spec, mujoco, urdf, Locator(origin.folder, options.packages), report)
    bolted = [body for body in spec.worldbody.bodies if not body.joints]
    if options.floating:
        if not bolted:
            raise InputError(
                origin.label, "floating: no link is bolted to the world", "leave it out"
            )
        for body in bolted:
            body.add_freejoint()
    elif "world" not in urdf.links:
        for body in bolted:
            report.approximate(
                f"link {body.name!r}",
                "bolted to the world, of which the file says nothing; floating=True (--floating) "
                "sets it free",
            )
    mend_inertias(spec, report)
    _mend_limits(spec, mujoco, urdf.joints, report)
    if options.actuators is not None:
        add_urdf_actuators(spec, mujoco, urdf.joints, options.actuators, origin, report)
    return spec


def _mend_limits(spec: Any, mujoco: Any, kinds: Mapping[str, str], report: ImportReport) -> None:
    """Limit the joints as URDF has it, where MuJoCo reads their limits otherwise.

    Continuous joints get none. A limit of another joint that is not given is 0; if its limits are
    equal, as where none is given, or in reverse order, the joint gets none, as in MuJoCo.

    Args:
        spec: MuJoCo's specification of the URDF.
        mujoco: the package.
        kinds: types of the joints with a single axis, by name.
        report: lists joints whose limits are equal or in reverse order.
    """
    for joint in spec.joints:
        kind = kinds.get(joint.name)
        if kind is None:
            continue
        lower, upper = (float(limit) for limit in joint.range)
        if kind != "continuous" and lower < upper:
            joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
            continue
        if kind != "continuous":
            what = "are in reverse order" if lower > upper else "leave no room to move"
            report.approximate(
                f"joint {joint.name!r}",
                f"its lower limit {lower:g} and its upper limit {upper:g} (0 where not given) "
                f"{what}: it has no limits, as in MuJoCo",
            )
        joint.limited, joint.range = mujoco.mjtLimited.mjLIMITED_FALSE, (0.0, 0.0)
