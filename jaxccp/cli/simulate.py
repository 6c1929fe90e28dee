"""``jaxccp simulate``: a built-in scene or a model file, its trajectory and a picture."""

import importlib.util
import json
import math
from pathlib import Path
from typing import Annotated

import jax
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from jaxccp.ccp import SOLVERS, Law, Stop
from jaxccp.cli.model_file import check_file, is_model, open_model, roomier, write_motion
from jaxccp.cli.options import (
    Exit,
    JsonOption,
    LawOption,
    PrecisionOption,
    bad_input_exits,
    check_folder,
    check_friction,
    one_of,
)
from jaxccp.cli.simulation import Run, last_system, summary
from jaxccp.cli.simulation import simulate as run_scene
from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.io import InputError, save_trajectory, write_file, write_system
from jaxccp.model import Model
from jaxccp.scene.library import SCENES, batch

UNCONVERGED = 0.01
"""Share of samples that may miss the tolerance before the run counts as not converged."""


def _positive(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value} is not a finite number > 0")
    return value


def _scene(value: str) -> str:
    return value if is_model(value) else one_of(SCENES)(value)


def _solver(value: str | None) -> str | None:
    return value if value is None else one_of(SOLVERS)(value)


def simulate(
    scene: Annotated[
        str,
        typer.Argument(
            metavar=f"[{'|'.join(SCENES)}|FILE]",
            callback=_scene,
            help="Built-in scene, or an MJCF or URDF file (which needs mujoco).",
        ),
    ],
    dt: Annotated[
        float, typer.Option("--dt", callback=_positive, help="Length of a step [s].")
    ] = 1e-3,
    duration: Annotated[float, typer.Option(callback=_positive, help="Simulated time [s].")] = 2.0,
    solver: Annotated[
        str | None,
        typer.Option(
            metavar=f"[{'|'.join(SOLVERS)}]",
            callback=_solver,
            help="Algorithm for the cone problem; apgd for a scene and auto for a file if not "
            "given.",
        ),
    ] = None,
    law: LawOption = "ccp",
    precision: PrecisionOption = 32,
    copies: Annotated[
        int, typer.Option("--batch", min=1, help="Randomised copies simulated at once.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="Of the scene's random initial state.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR|FILE.npz",
            help="Of a scene, write DIR/SCENE.npz, the trajectory, and DIR/SCENE.png, a picture of "
            "it (which needs matplotlib); of a model file, FILE.npz.",
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
            help="Write the matrices of the step after the last sample (of the first copy): "
            "DIR/system.npz, which jaxccp solve reads, and H, J, E, Z, f, b and rhs in "
            "MatrixMarket text.",
        ),
    ] = None,
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
    chosen = solver or ("auto" if from_file else "apgd")
    check_friction(chosen, "cone")
    with bad_input_exits(), jax.enable_x64(precision == 64):
        steps = _steps(duration, dt)
        for folder in (out.parent if out and from_file else out, export):
            if folder is not None:
                check_folder(folder)
        loaded = controls = None
        if from_file:
            if out is not None:
                check_file(out)
            opened = open_model(Path(scene), init, ctrl, steps, allow_unsupported)
            loaded, state, controls = opened.loaded, opened.state, opened.controls
            model = loaded.model
        elif copies == 1:
            model, state = SCENES[scene](jax.random.key(seed))
        else:
            model, state = batch(SCENES[scene], jax.random.key(seed), copies)
        stepper = EulerImplicitLinearized(dt, law, SOLVERS[chosen](), Stop())
        with _progress() as progress:
            task = progress.add_task(f"{scene}: compiling", total=1.0)

            def advance(fraction: float) -> None:
                progress.update(task, description=scene, advance=fraction)

            run = run_scene(model, state, stepper, steps, advance, controls)
            while from_file and run.recording.overflow.any():
                model = roomier(model, run)
                progress.reset(task, description=f"{scene}: once more, with room for all contacts")
                run = run_scene(model, state, stepper, steps, advance, controls)
        settings = {"scene": scene, "solver": chosen, "law": law, "precision": precision}
        settings |= {"dt": dt, "batch": copies, "seed": seed}
        if loaded is not None:
            settings |= {"ignored": loaded.ignored, "approximated": loaded.approximated}
            files = {} if out is None else write_motion(out, loaded, run)
        else:
            files = {} if out is None else _write(out, scene, model, run, law, dt)
        if export is not None:
            files |= _export(export, model, run, dt)
    report = settings | summary(model, run) | files
    if as_json:
        typer.echo(json.dumps(_without_infinities(report)))
    else:
        Console().print(_table(report))
    if _trouble(report):
        raise typer.Exit(Exit.NOT_CONVERGED)


def _check_usage(
    from_file: bool, copies: int, init: Path | None, ctrl: Path | None, allow_unsupported: bool
) -> None:
    """Refuse options that go with scenes alone, or with model files alone."""
    if from_file and copies > 1:
        raise typer.BadParameter("a model file is simulated once", param_hint="--batch")
    of_files = {"--init": init, "--ctrl": ctrl, "--allow-unsupported": allow_unsupported}
    if not from_file:
        for name, value in of_files.items():
            if value:
                raise typer.BadParameter("goes with model files, not scenes", param_hint=name)


def _steps(duration: float, dt: float) -> int:
    steps = round(duration / dt)
    if steps < 1:
        raise InputError("--duration", f"{duration} s is no step of {dt} s", "make it longer")
    return steps


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _write(out: Path, scene: str, model: Model, run: Run, law: Law, dt: float) -> dict[str, str]:
    trajectory = out / f"{scene}.npz"
    save_trajectory(trajectory, run.recording)
    files = {"trajectory": str(trajectory)}
    if importlib.util.find_spec("matplotlib") is None:
        typer.echo("No picture: it needs matplotlib, pip install 'jaxccp[viz]'", err=True)
        return files
    if not run.recording.finite:
        typer.echo("No picture: the motion holds NaN or infinite numbers", err=True)
        return files
    from jaxccp.viz import picture

    title = f"{scene} · law {law} · dt {1e3 * dt:g} ms"
    figure = picture(model, run.recording, law, title)
    image = out / f"{scene}.png"
    write_file(image, lambda file: figure.savefig(file, format="png"))
    return files | {"picture": str(image)}


def _export(folder: Path, model: Model, run: Run, dt: float) -> dict[str, str]:
    if not run.recording.finite:
        typer.echo("No matrices: the motion holds NaN or infinite numbers", err=True)
        return {}
    return {"matrices": str(write_system(folder, last_system(model, run, dt)))}


def _trouble(report: dict) -> bool:
    missed = 1.0 - report["status"]["converged"]
    return missed > UNCONVERGED or report["overflow"] or not report["finite"]


def _without_infinities(report: dict) -> dict:
    """NaN and infinity, which JSON lacks, become null."""
    lacking = {k for k, v in report.items() if isinstance(v, float) and not math.isfinite(v)}
    return {k: None if k in lacking else v for k, v in report.items()}


def _table(report: dict) -> Table:
    table = Table(title=f"{report['scene']}, {report['solver']}, law {report['law']}")
    table.add_column("")
    table.add_column("", justify="right", overflow="fold")
    missed = 1.0 - report["status"]["converged"]
    rows = {
        "steps": f"{report['steps']} of {1e3 * report['dt']:g} ms, {report['batch']} at once",
        "steps/s": f"{report['steps_per_s']:,.0f}",
        "compiled in": f"{report['compile_s']:.2f} s",
        "contacts, mean / most": f"{report['contacts_mean']:.1f} / {report['contacts_max']}"
        f" (room for {report['contact_capacity']})",
        "iterations per step": f"{report['iterations_mean']:.1f}",
        "worst residual, ccp": f"{report['residual_ccp']:.2e} m/s",
        "worst residual, ncp": f"{report['residual_ncp']:.2e} m/s",
        "not converged": f"{100 * missed:.2f} %",
        "energy": f"{report['energy_start']:.4g} → {report['energy_end']:.4g} J",
    }
    for name in ("ignored", "approximated"):
        if report.get(name):
            rows[name] = "\n".join(report[name])
    if report["overflow"]:
        rows["overflow"] = "more contacts than there is room for: the shallowest were left out"
    if not report["finite"]:
        rows["not finite"] = "the motion holds NaN or infinite numbers"
    rows |= {name: report[name] for name in ("trajectory", "picture", "matrices") if name in report}
    for name, value in rows.items():
        table.add_row(name, value)
    return table
