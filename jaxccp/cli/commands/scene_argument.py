"""The scene of a command, a built-in one by name or a model file, and its options."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from jaxccp.cli.known_names import MODEL_FILES, SCENES, UrdfActuators
from jaxccp.cli.options import (
    CONTACT_SOLVERS,
    choice_of,
    contact_solver,
    is_set,
    positive,
    present,
    unknown,
)

SCENE_STEP = 1e-3
"""Default length of a step of scenes [s]."""


def is_model(scene: str) -> bool:
    """Tell whether a scene is a model file, by its suffix."""
    return Path(scene).suffix.lower() in MODEL_FILES


def scene_or_model(value: str) -> str:
    """Check, as an option callback, that a value is a built-in scene or an existing model file.

    Raises:
        typer.BadParameter: the value is neither.
        typer.Exit: the model file does not exist; with code 2.
    """
    if is_model(value):
        present(Path(value))
        return value
    if value in SCENES:
        return value
    if Path(value).suffix or Path(value).exists():
        raise typer.BadParameter(
            f"{value!r} is no model file: those are MJCF, which ends in .xml or .mjcf, and URDF, "
            f"in .urdf; the built-in scenes are {', '.join(SCENES)}"
        )
    raise typer.BadParameter(f"{unknown(value, SCENES)} A model file ends in .xml, .mjcf or .urdf.")


def check_file_option(name: str, value: object, from_file: bool) -> None:
    """Check an option that is only for model files.

    Args:
        name: name of the option.
        value: value of the option; a path must exist.
        from_file: whether the command is given a model file.

    Raises:
        typer.BadParameter: the option is set for a built-in scene.
    """
    if value and not from_file:
        raise typer.BadParameter("goes with model files, not scenes", param_hint=name)
    if isinstance(value, Path):
        present(value)


def check_scene_option(name: str, context: typer.Context, from_file: bool) -> None:
    """Check an option that is only for built-in scenes.

    Args:
        name: name of the option.
        context: context of the command, which tells whether the option was given.
        from_file: whether the command is given a model file.

    Raises:
        typer.BadParameter: the option was given for a model file.
    """
    if from_file and is_set(context, name.removeprefix("--")):
        raise typer.BadParameter("goes with built-in scenes, not model files", param_hint=name)


@dataclass(frozen=True)
class FileOptions:
    """Options for a model file: how it is read, and the initial state."""

    keyframe: str | None = None
    """Name of the keyframe with the initial state."""
    init: Path | None = None
    """File of the initial coordinates and rates."""
    load: dict[str, Any] = field(default_factory=dict)
    """Arguments of :func:`jaxccp.load` that were given (:func:`loading_of`)."""

    def check(self, from_file: bool, motion: bool = False) -> "FileOptions":
        """Return these options after a check that none is given for a built-in scene, and none
        contradicts another.

        Args:
            from_file: whether the command is given a model file, or a motion of one.
            motion: whether it is given a recorded motion, which has a start.

        Raises:
            typer.BadParameter: an option is not allowed; the message names it.
        """
        check_file_option("--keyframe", self.keyframe, from_file)
        check_file_option("--init", self.init, from_file)
        for name, value in self.load.items():
            option = "package" if name == "packages" else name.replace("_", "-")
            check_file_option(f"--{option}", value, from_file)
        if self.keyframe is not None and self.init is not None:
            raise typer.BadParameter("does not go with --init", param_hint="--keyframe")
        if self.keyframe is not None and motion:
            raise typer.BadParameter("does not go with a motion", param_hint="--keyframe")
        return self


def _packages(options: list[str] | None) -> dict[str, Path]:
    """Return the folders of packages by name.

    Raises:
        typer.BadParameter: an option is not NAME=DIR.
    """
    packages = {}
    for option in options or ():
        name, equals, path = option.partition("=")
        if not (name and equals and path):
            raise typer.BadParameter(f"{option!r} is not NAME=DIR", param_hint="--package")
        packages[name] = Path(path)
    return packages


def loading_of(
    package: list[str] | None,
    floating: bool,
    actuators: UrdfActuators | None,
    allow_unsupported: bool,
) -> dict[str, Any]:
    """Return the arguments of :func:`jaxccp.load` that the options of a model file give.

    Args:
        package: folders of a URDF's packages, each NAME=DIR.
        floating: whether the root link of a URDF moves freely.
        actuators: kind of actuators for the joints of a URDF.
        allow_unsupported: whether elements that cannot be simulated are left out.

    Raises:
        typer.BadParameter: a package is not NAME=DIR.
    """
    arguments = {
        "packages": _packages(package),
        "floating": floating,
        "actuators": actuators,
        "allow_unsupported": allow_unsupported,
    }
    return {name: value for name, value in arguments.items() if value}


def step_count(duration: float, dt: float) -> int:
    """Return the number of steps of ``dt`` [s] in a duration [s].

    Raises:
        typer.BadParameter: the duration is shorter than a step.
    """
    steps = round(duration / dt)
    if steps < 1:
        raise typer.BadParameter(
            f"{duration} s is no step of {dt} s; make it longer", param_hint="--duration"
        )
    return steps


SceneArgument = Annotated[
    str,
    typer.Argument(
        metavar=f"[{'|'.join(SCENES)}|FILE]",
        callback=scene_or_model,
        help="Built-in scene, or an MJCF or URDF file (which needs mujoco).",
    ),
]
InitOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.npz",
        help="Initial qpos and, if not 0, qvel and act of a model file, as in MuJoCo; mocap_pos "
        "and mocap_quat, if not those of the file. By default qpos0 at rest.",
    ),
]
UnsupportedOption = Annotated[
    bool,
    typer.Option(
        "--allow-unsupported",
        help="Leave out elements of a model file that cannot be simulated, and list them.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        min=0, max=2**32 - 1, help="Seed of the random initial state of a built-in scene."
    ),
]
DurationOption = Annotated[float, typer.Option(callback=positive, help="Simulated time [s].")]
StepOption = Annotated[
    float | None,
    typer.Option(
        "--dt",
        callback=positive,
        show_default=False,
        help=f"Length of a step [s]; by default the model file's, or {SCENE_STEP} for a scene.",
    ),
]
KeyframeOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Keyframe of a model file with the initial state; its controls are held throughout "
        "unless others are given.",
    ),
]
PackageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--package",
        metavar="NAME=DIR",
        help="Folder of a package in the paths of a URDF (package://NAME/…); other packages are "
        "searched for near the file and in ROS_PACKAGE_PATH. May be repeated.",
    ),
]
FloatingOption = Annotated[
    bool,
    typer.Option("--floating", help="Let a URDF's root link move freely; by default it is fixed."),
]
ActuatorsOption = Annotated[
    UrdfActuators | None,
    typer.Option(
        "--actuators",
        metavar=f"[{'|'.join(get_args(UrdfActuators))}]",
        callback=choice_of(get_args(UrdfActuators)),
        help="Give each joint of a URDF a servo or a motor, with the file's effort limits.",
    ),
]
SolverOrDefaultOption = Annotated[
    str | None,
    typer.Option(
        metavar=f"[{'|'.join(CONTACT_SOLVERS)}]",
        callback=contact_solver,
        help="Algorithm for the cone problem; by default gradient-newton for joints, tendons, "
        "flexible bodies and stacks of bodies, else apgd, as for more than 100 degrees of freedom "
        "with bodies without joints.",
    ),
]
