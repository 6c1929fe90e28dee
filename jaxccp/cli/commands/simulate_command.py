"""``jaxccp simulate``: a built-in scene or a model file, its trajectory and a picture."""

from pathlib import Path
from typing import Annotated

import typer

from jaxccp.cli.known_names import SCENES
from jaxccp.cli.options import (
    CONTACT_SOLVERS,
    CacheOption,
    JsonOption,
    LawOption,
    PrecisionOption,
    StepperOption,
    contact_solver,
    folder,
    is_model,
    positive,
    present,
    scene_or_model,
)


def simulate(
    scene: Annotated[
        str,
        typer.Argument(
            metavar=f"[{'|'.join(SCENES)}|FILE]",
            callback=scene_or_model,
            help="Built-in scene, or an MJCF or URDF file (which needs mujoco).",
        ),
    ],
    dt: Annotated[
        float, typer.Option("--dt", callback=positive, help="Length of a step [s].")
    ] = 1e-3,
    duration: Annotated[float, typer.Option(callback=positive, help="Simulated time [s].")] = 2.0,
    solver: Annotated[
        str | None,
        typer.Option(
            metavar=f"[{'|'.join(CONTACT_SOLVERS)}]",
            callback=contact_solver,
            help="Algorithm for the cone problem; if not given gradient-newton where there are "
            "joints, else apgd.",
        ),
    ] = None,
    stepper: StepperOption = "euler",
    law: LawOption = "ccp",
    precision: PrecisionOption = 32,
    copies: Annotated[
        int, typer.Option("--batch", min=1, help="Randomised copies simulated at once.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Of the scene's random initial state.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            callback=folder,
            help="Write DIR/NAME.npz, the trajectory, NAME being the scene's or the model file's; "
            "of a scene also DIR/NAME.png, a picture of it (which needs matplotlib).",
        ),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Initial qpos and qvel of a model file, as MuJoCo has them; qpos0 at rest if not "
            "given, at rest without qvel.",
        ),
    ] = None,
    ctrl: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Controls of a model file, ctrl (steps × nu); 0 if not given.",
        ),
    ] = None,
    allow_unsupported: Annotated[
        bool,
        typer.Option(
            "--allow-unsupported",
            help="Leave out elements of a model file that cannot be simulated, and list them.",
        ),
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            callback=folder,
            help="Write the matrices of the step after the last sample (of the first copy): "
            "DIR/system.npz, which jaxccp solve reads, and H, J, E, Z, f, b and rhs in "
            "MatrixMarket text.",
        ),
    ] = None,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a built-in scene or a model file.

    Takes round(duration / dt) steps and reports steps per second of all copies together
    (compilation apart), contacts, solver iterations, the worst residuals under both laws [m/s],
    the shares of samples by solver status, and the energy [J] at the start and the end. A sample
    is one step, or several in a batch, where about a hundred samples of each copy are kept.
    --json prints all of it as one object on the last line.

    A model file is simulated with the step of --dt, not its own; what is written of it has time,
    qpos and qvel in MuJoCo's layout, the initial state first, then that after each step.

    Exit code: 0 done, 1 numerical trouble (more than 1 % of the samples not converged, contacts
    beyond the capacity, or numbers that are not finite; reported and written all the same),
    2 bad input or usage (nothing is simulated or written).
    """
    from_file = is_model(scene)
    _check_usage(from_file, copies, init, ctrl, allow_unsupported)
    steps = round(duration / dt)
    if steps < 1:
        raise typer.BadParameter(
            f"{duration} s is no step of {dt} s; make it longer", param_hint="--duration"
        )
    from jaxccp.cli.cache import keep_programs

    keep_programs(cache)
    from jaxccp.cli.run_simulate import simulate_command

    simulate_command(
        scene=scene,
        from_file=from_file,
        dt=dt,
        steps=steps,
        stepper=stepper,
        solver=solver,
        law=law,
        precision=precision,
        copies=copies,
        seed=seed,
        out=out,
        init=init,
        ctrl=ctrl,
        allow_unsupported=allow_unsupported,
        export=export,
        as_json=as_json,
    )


def _check_usage(
    from_file: bool, copies: int, init: Path | None, ctrl: Path | None, allow_unsupported: bool
) -> None:
    """Refuse options that go with scenes alone, or with model files alone, and missing files."""
    if from_file and copies > 1:
        raise typer.BadParameter("a model file is simulated once", param_hint="--batch")
    of_files = {"--init": init, "--ctrl": ctrl, "--allow-unsupported": allow_unsupported}
    if not from_file:
        for name, value in of_files.items():
            if value:
                raise typer.BadParameter("goes with model files, not scenes", param_hint=name)
    for path in (init, ctrl):
        if path is not None:
            present(path)
