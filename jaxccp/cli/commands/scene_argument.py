"""The scene that a command is given: a built-in one by name, or a model file."""

from pathlib import Path
from typing import Annotated

import typer

from jaxccp.cli.known_names import MODEL_FILES, SCENES
from jaxccp.cli.options import CONTACT_SOLVERS, contact_solver, positive, present, unknown


def is_model(scene: str) -> bool:
    """Whether a scene is a model file."""
    return Path(scene).suffix.lower() in MODEL_FILES


def scene_or_model(value: str) -> str:
    """Refuse what is neither a built-in scene nor a model file."""
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


def of_files(name: str, value: object, from_file: bool) -> None:
    """Refuse an option that goes with model files for a built-in scene, and a missing file."""
    if value and not from_file:
        raise typer.BadParameter("goes with model files, not scenes", param_hint=name)
    if isinstance(value, Path):
        present(value)


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
        help="Initial qpos and qvel of a model file, as MuJoCo has them; qpos0 at rest if not "
        "given, at rest without qvel.",
    ),
]
UnsupportedOption = Annotated[
    bool,
    typer.Option(
        "--allow-unsupported",
        help="Leave out elements of a model file that cannot be simulated, and list them.",
    ),
]
SeedOption = Annotated[int, typer.Option(help="Of the scene's random initial state.")]
StepOption = Annotated[float, typer.Option("--dt", callback=positive, help="Length of a step [s].")]
SolverOrDefaultOption = Annotated[
    str | None,
    typer.Option(
        metavar=f"[{'|'.join(CONTACT_SOLVERS)}]",
        callback=contact_solver,
        help="Algorithm for the cone problem; if not given gradient-newton where there are "
        "joints, else apgd.",
    ),
]
