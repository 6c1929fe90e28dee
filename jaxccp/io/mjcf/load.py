"""Load a model file: the model, its initial state, its coordinates, sensors and keyframes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from jaxccp.execution.trees import is_traced
from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements.fluid_boxes import read_fluid
from jaxccp.io.mjcf.elements.read_sensors import read_sensors
from jaxccp.io.mjcf.elements.registry import add_elements
from jaxccp.io.mjcf.files.origin import Origin
from jaxccp.io.mjcf.files.packages import check_packages
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.keyframes import (
    Keyframe,
    keyframe_state,
    keyframes,
    note_open_keyframes,
)
from jaxccp.io.mjcf.layout import layout
from jaxccp.io.mjcf.loop_closing import close_state_loops
from jaxccp.io.mjcf.unsupported import note_unsupported
from jaxccp.io.mjcf.urdf.actuators import UrdfActuators
from jaxccp.io.mjcf.urdf.urdf import UrdfOptions
from jaxccp.model import Combination, Model, State
from jaxccp.model.sites import Sites
from jaxccp.scene import ModelBuilder
from jaxccp.sensors import Coordinates, Sensors


@dataclass(frozen=True)
class LoadOptions:
    """The source of a model and the options it was loaded with."""

    origin: Origin
    """Source of the model."""
    options: UrdfOptions
    """Settings for a URDF."""
    softness: bool
    """Whether contacts have the softness of the file."""


@dataclass(frozen=True)
class Loaded:
    """A model read from a file, ready to be simulated."""

    source: str
    """Description of the source, such as "MJCF file arm.xml", "URDF string" or "MjSpec 'arm'"."""
    model: Model
    """The model."""
    state: State
    """The state at the file's ``qpos0``, at rest; or, if loops are open there, the nearest state in
    which they are closed."""
    layout: Coordinates
    """Conversion between states of the model and MuJoCo's coordinates."""
    sensors: Sensors
    """Sensors of the file, for :meth:`jaxccp.sensors.Sensors.values`."""
    keyframes: dict[str, Keyframe]
    """The file's keyframes by name, or by number if they have none."""
    timestep: float
    """The file's time step, or MuJoCo's default [s]."""
    ignored: tuple[str, ...]
    """Elements that were left out, one line each; empty unless that was allowed."""
    approximated: tuple[str, ...]
    """Elements whose effect differs from MuJoCo's, and assumptions about what a URDF does not
    contain."""
    reading: LoadOptions = field(repr=False)
    """Source and options, to read the file again."""

    @property
    def sites(self) -> Sites:
        """Sites of the model, in the file's order."""
        return self.model.sites

    def keyframe(self, name: str) -> State:
        """Return the state of a keyframe; or, if loops are open there, the nearest state in which
        they are closed.

        ``approximated`` lists the keyframes with open loops.

        Args:
            name: name of the keyframe.

        Raises:
            ValueError: the file has no such keyframe, or its loops cannot be closed.
        """
        if name not in self.keyframes:
            names = ", ".join(self.keyframes) or "none"
            raise ValueError(f"no keyframe named {name!r}; the file has {names}")
        key = self.keyframes[name]
        return close_state_loops(
            self.model, keyframe_state(self.model, self.state, self.layout, key)
        )[0]


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
    """Load an MJCF or URDF model, with MuJoCo's compiler, in JAX's current default precision.

    Under ``jit`` it is read when the program is traced, and is a constant of it.

    Args:
        model: path of a file, XML as a string, or MuJoCo's ``MjSpec`` or ``MjModel`` of one.
        packages: for a URDF, folders of packages by name, for ``package://`` paths. Other packages
            are searched for in the URDF's folder, the folders above it and those of
            ``ROS_PACKAGE_PATH``, by the folder's name and its ``package.xml``.
        floating: whether a URDF's root link moves freely; it is bolted to the world otherwise.
        actuators: for a URDF, the actuators to add to each joint: ``"torque"`` motors, whose
            control is the force [N or N m], or ``"position"`` servos, whose control is the
            coordinate [m or rad]. Both have the effort limits of the file
            (:mod:`jaxccp.io.mjcf.urdf.actuators` describes the stiffness).
        allow_unsupported: leave out what cannot be simulated and list it in the result, in place of
            raising.
        max_contacts: see :meth:`jaxccp.ModelBuilder.build`.
        softness: whether contacts get the compliance and damping of the file's ``solref`` and
            ``solimp`` (:mod:`jaxccp.io.mjcf.elements.softness`); otherwise they are rigid.

    Raises:
        UnsupportedError: the file has elements that cannot be simulated, or collision meshes that
            cannot be read; names them all.
        InputError: the file cannot be read, does not describe a mechanism, or is not a URDF
            although options of a URDF are given.
    """
    options = UrdfOptions(check_packages(packages or {}), floating, actuators)
    arguments = (model, options, allow_unsupported, max_contacts, softness)
    if is_traced(jnp.zeros(())):  # under jit, where the checks of poses need numbers too
        with jax.ensure_compile_time_eval():
            return _read(*arguments)
    return _read(*arguments)


def _read(
    model: str | Path | Any,
    options: UrdfOptions,
    allow_unsupported: bool,
    max_contacts: int | None,
    softness: bool,
) -> Loaded:
    """Load a model; arguments and errors are those of :func:`load`.

    Args:
        model: path, XML, or MuJoCo's description.
        options: settings for a URDF.
        allow_unsupported: whether to leave out what cannot be simulated.
        max_contacts: capacity for contacts.
        softness: whether contacts have the softness of the file.
    """
    report = ImportReport()
    source = Source(model, options, report)
    reading = LoadOptions(source.origin, options, softness)
    report.refuse_ignored(source.path, allow_unsupported)
    builder = ModelBuilder(gravity=source.gravity, combination=Combination(friction="max"))
    try:
        parts = add_elements(source, builder, softness, report)
        note_unsupported(source, report)
        fluid = read_fluid(source, parts.body_map, parts.nodes, report)
        report.refuse_ignored(source.path, allow_unsupported)
        built, state = builder.build_open(max_contacts)
        state, was_open = close_state_loops(built, state)
        if was_open is not None:
            report.approximate(
                was_open.what, f"{was_open.error:.3g} m or rad open at qpos0; closed in the state"
            )
        places = layout(source, parts, built)
        keys = keyframes(source)
        note_open_keyframes(built, state, places, keys, report)
        sensors = read_sensors(source, parts, places, built)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(source.path, str(error), "correct the file") from None
    return Loaded(
        source=str(source.origin),
        model=replace(built, fluid=fluid),
        state=state,
        layout=places,
        sensors=sensors,
        keyframes=keys,
        timestep=float(source.m.opt.timestep),
        ignored=tuple(report.ignored),
        approximated=tuple(report.approximated),
        reading=reading,
    )
