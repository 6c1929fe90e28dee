"""From a model file to a model, its initial state and the layout of its coordinates."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements import add_elements
from jaxccp.io.mjcf.fluid_boxes import read_fluid
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.keyframes import (
    Keyframe,
    keyframe_state,
    keyframes,
    note_open_keyframes,
)
from jaxccp.io.mjcf.layout import layout
from jaxccp.io.mjcf.loop_closing import settled
from jaxccp.io.mjcf.origin import Origin
from jaxccp.io.mjcf.packages import check_packages
from jaxccp.io.mjcf.read_sensors import Names, sensors
from jaxccp.io.mjcf.source import Source
from jaxccp.io.mjcf.unsupported import note_unsupported
from jaxccp.io.mjcf.urdf import UrdfOptions
from jaxccp.io.mjcf.urdf_actuators import UrdfActuators
from jaxccp.model import Combination, Model, State
from jaxccp.model.sites import Sites
from jaxccp.scene import ModelBuilder
from jaxccp.sensors import Coordinates, Sensors


@dataclass(frozen=True)
class Reading:
    """A reading has what it takes to read a file once more, as it was read."""

    origin: Origin
    options: UrdfOptions
    softness: bool


@dataclass(frozen=True)
class Loaded:
    """A model file, ready to be simulated."""

    source: str
    """What was read: "MJCF file arm.xml", "URDF string", "MjSpec 'arm'" and the like."""
    model: Model
    state: State
    """At the file's ``qpos0``, or as near to it as loops are closed; at rest."""
    layout: Coordinates
    """Between our states and MuJoCo's coordinates."""
    sensors: Sensors
    keyframes: dict[str, Keyframe]
    """By name, or number where the file gives none."""
    timestep: float
    """Length of a step that the file has, MuJoCo's default where it says nothing [s]."""
    ignored: tuple[str, ...]
    """What is left out; empty unless that was allowed."""
    approximated: tuple[str, ...]
    """What acts otherwise than in MuJoCo, or is assumed since a URDF does not say it."""
    reading: Reading = field(repr=False)
    """How the file was read."""

    @property
    def sites(self) -> Sites:
        """``model.sites``, in the file's order."""
        return self.model.sites

    def keyframe(self, name: str) -> State:
        """The state of a keyframe, or the one nearest to it in which loops are closed;
        ``approximated`` has the keyframes that leave any open.

        Raises ``ValueError`` for a name the file does not have, or if nothing closes the loops.
        """
        if name not in self.keyframes:
            known = ", ".join(self.keyframes) or "none"
            raise ValueError(f"no keyframe named {name!r}; the file has {known}")
        key = self.keyframes[name]
        return settled(self.model, keyframe_state(self.model, self.state, self.layout, key))[0]


def load(
    model: str | Path | Any,
    *,
    packages: Mapping[str, str | Path] | None = None,
    floating: bool = False,
    actuators: UrdfActuators | None = None,
    allow_unsupported: bool = False,
    max_contacts: int | None = None,
    softness: bool = False,
) -> Loaded:
    """Read an MJCF or URDF model, by MuJoCo's compiler, in JAX's current default precision.

    Args:
        model: path of a file, XML as a string, or MuJoCo's ``MjSpec`` or ``MjModel`` of one.
        packages: of a URDF, folders of packages by name, for ``package://`` paths. Those that are
            not given are searched for in the URDF's folder, those above it and the folders of
            ``ROS_PACKAGE_PATH``, by the folder's name and its ``package.xml``.
        floating: whether a URDF's root link moves freely; it is bolted to the world otherwise.
        actuators: of a URDF, for each joint a ``"torque"`` motor, whose control is the force [N or
            N m], or a ``"position"`` servo, whose control is the coordinate [m or rad], with the
            effort limits of the file (:mod:`jaxccp.io.mjcf.urdf_actuators` has the stiffness).
        allow_unsupported: leave out what cannot be simulated and list it in the result, in place
            of raising.
        max_contacts: as :meth:`jaxccp.ModelBuilder.build` has it.
        softness: give contacts the compliance and damping that the file's ``solref`` and
            ``solimp`` stand for (:mod:`jaxccp.io.mjcf.softness`); they are rigid otherwise.

    Raises:
        UnsupportedError: the file has elements that cannot be simulated, or collision meshes that
            cannot be read; names them all.
        InputError: the file cannot be read, describes no mechanism, or is no URDF, with options
            that go with one.
    """
    options = UrdfOptions(check_packages(packages or {}), floating, actuators)
    report = ImportReport()
    source = Source(model, options, report)
    reading = Reading(source.origin, options, softness)
    report.settle(source.path, allow_unsupported)
    gravity = [0.0, 0.0, 0.0] if source.off("GRAVITY") else source.m.opt.gravity
    builder = ModelBuilder(gravity=gravity, combination=Combination(friction="max"))
    try:
        parts = add_elements(source, builder, softness, report)
        note_unsupported(source, report)
        fluid = read_fluid(source, parts.frames, parts.nodes, report)
        report.settle(source.path, allow_unsupported)
        built, state = builder.build_open(max_contacts)
        state, was_open = settled(built, state)
        if was_open is not None:
            report.approximate(
                was_open.what, f"{was_open.error:.3g} m or rad open at qpos0; closed in the state"
            )
        places = layout(source, parts.frames, parts.driven, parts.nodes, parts.flexible, built)
        keys = keyframes(source)
        note_open_keyframes(built, state, places, keys, report)
        named = Names(parts.frames, parts.axes, parts.tendons, parts.driven.tolist(), parts.shapes)
        sensing = sensors(source, named, places, built)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(source.path, str(error), "correct the file") from None
    return Loaded(
        str(source.origin),
        replace(built, fluid=fluid),
        state,
        places,
        sensing,
        keys,
        float(source.m.opt.timestep),
        tuple(report.ignored),
        tuple(report.approximated),
        reading,
    )
