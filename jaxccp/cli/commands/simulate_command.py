"""``jaxccp simulate``: a built-in scene or a model file, its trajectory and a picture."""

from pathlib import Path
from typing import Annotated

import typer

from jaxccp.cli.commands.scene_argument import (
    SCENE_STEP,
    ActuatorsOption,
    DurationOption,
    FileOptions,
    FloatingOption,
    InitOption,
    KeyframeOption,
    PackageOption,
    SceneArgument,
    SeedOption,
    SolverOrDefaultOption,
    StepOption,
    UnsupportedOption,
    check_file_option,
    check_scene_option,
    is_model,
    loading_of,
    step_count,
)
from jaxccp.cli.known_names import SOFTENING
from jaxccp.cli.options import (
    CacheOption,
    JsonOption,
    LawOption,
    PrecisionOption,
    SmoothContactOption,
    StepperOption,
    folder,
)

CopiesOption = Annotated[
    int, typer.Option("--batch", min=1, help="Randomised copies simulated at once.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        callback=folder,
        help="Write DIR/NAME.npz, the trajectory, NAME being the scene's or the model file's; "
        "of a scene also DIR/NAME.png, a picture of it (which needs matplotlib).",
    ),
]
ControlOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.npz",
        help="Controls of a model file, ctrl (steps × nu); if not given, those of the keyframe, "
        "else 0.",
    ),
]
ExportOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        callback=folder,
        help="Write the matrices of the step after the last sample (of the first copy): "
        "DIR/system.npz, which jaxccp solve reads, and H, J, E, Z, f, b and rhs in "
        "MatrixMarket text.",
    ),
]


def simulate(
    context: typer.Context,
    scene: SceneArgument,
    dt: StepOption = None,
    duration: DurationOption = 2.0,
    solver: SolverOrDefaultOption = None,
    stepper: StepperOption = "euler",
    smooth_contact: SmoothContactOption = "explicit",
    law: LawOption = "ccp",
    precision: PrecisionOption = 32,
    copies: CopiesOption = 1,
    seed: SeedOption = 0,
    out: OutOption = None,
    init: InitOption = None,
    keyframe: KeyframeOption = None,
    ctrl: ControlOption = None,
    package: PackageOption = None,
    floating: FloatingOption = False,
    actuators: ActuatorsOption = None,
    allow_unsupported: UnsupportedOption = False,
    export: ExportOption = None,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a built-in scene or a model file.

    Takes round(duration / dt) steps. Reports steps per second of all copies together (without
    compilation), contacts, solver iterations, the worst residuals under both laws [m/s], the
    fractions of samples by solver status, and the initial and final energy [J]. A sample is one
    step; in a batch it may be several, so that about a hundred samples of each copy are kept.
    --json prints all of it as one object on the last line, with null for numbers that are not
    finite or not known.

    A model file is simulated with its own step unless --dt is given. Its trajectory has time, qpos,
    qvel and ctrl in MuJoCo's layout, for the initial state and after each step.

    Exit code: 0 done, 1 numerical trouble (more than 1 % of the samples not converged, contacts
    beyond the capacity, or numbers that are not finite; reported and written all the same),
    2 bad input or usage (nothing is simulated or written).
    """
    from_file = is_model(scene)
    _check_copies(copies, from_file)
    check_scene_option("--seed", context, from_file)
    check_file_option("--ctrl", ctrl, from_file)
    options = FileOptions(
        keyframe, init, loading_of(package, floating, actuators, allow_unsupported)
    ).check(from_file)
    _check_smooth_contact(smooth_contact, stepper)
    if dt is not None or not from_file:
        step_count(duration, dt or SCENE_STEP)
    from jaxccp.cli.cache import keep_programs

    keep_programs(cache)
    from jaxccp.cli.runs.run_simulate import simulate_command

    simulate_command(
        scene=scene,
        from_file=from_file,
        dt=dt,
        duration=duration,
        stepper=stepper,
        smooth_contact=smooth_contact,
        solver=solver,
        law=law,
        precision=precision,
        copies=copies,
        seed=seed,
        out=out,
        options=options,
        ctrl=ctrl,
        export=export,
        as_json=as_json,
    )


def _check_copies(copies: int, from_file: bool) -> None:
    """Check that a model file is simulated once.

    Args:
        copies: number of copies.
        from_file: whether the scene is a model file.

    Raises:
        BadParameter: it would be simulated several times.
    """
    if from_file and copies > 1:
        raise typer.BadParameter("a model file is simulated once", param_hint="--batch")


def _check_smooth_contact(smooth_contact: str | None, stepper: str) -> None:
    """Check that a stepper can treat smooth contacts as asked.

    Args:
        smooth_contact: treatment of their forces.
        stepper: name of the stepper.

    Raises:
        BadParameter: the stepper cannot.
    """
    if smooth_contact == "implicit" and stepper not in SOFTENING:
        raise typer.BadParameter(
            f"implicit goes with --stepper {' or '.join(SOFTENING)}, not {stepper}",
            param_hint="--smooth-contact",
        )
