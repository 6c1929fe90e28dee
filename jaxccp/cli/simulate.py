"""``jaxccp simulate``: a built-in scene, its trajectory and a picture."""

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
from jaxccp.cli.options import (
    Exit,
    JsonOption,
    LawOption,
    PrecisionOption,
    SolverOption,
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


def simulate(
    scene: Annotated[
        str,
        typer.Argument(
            metavar=f"[{'|'.join(SCENES)}]", callback=one_of(SCENES), help="Built-in scene."
        ),
    ],
    dt: Annotated[
        float, typer.Option("--dt", callback=_positive, help="Length of a step [s].")
    ] = 1e-3,
    duration: Annotated[float, typer.Option(callback=_positive, help="Simulated time [s].")] = 2.0,
    solver: SolverOption = "apgd",
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
            help="Write DIR/SCENE.npz, the trajectory, and DIR/SCENE.png, a picture of it "
            "(which needs matplotlib).",
        ),
    ] = None,
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
    """Simulate a built-in scene.

    Takes round(duration / dt) steps and reports steps per second of all copies together
    (compilation apart), contacts, solver iterations, the worst residuals under both laws [m/s],
    the shares of samples by solver status, and the energy [J] at the start and the end. A sample
    is one step, or several in a batch, where about a hundred samples of each copy are kept.
    --json prints all of it as one object on the last line.

    Exit code: 0 done, 1 numerical trouble (more than 1 % of the samples not converged, contacts
    beyond the capacity, or numbers that are not finite; reported and written all the same),
    2 bad input or usage (nothing is simulated or written).
    """
    check_friction(solver, "cone")
    with bad_input_exits(), jax.enable_x64(precision == 64):
        steps = _steps(duration, dt)
        for folder in (out, export):
            if folder is not None:
                check_folder(folder)
        key = jax.random.key(seed)
        model, state = SCENES[scene](key) if copies == 1 else batch(SCENES[scene], key, copies)
        stepper = EulerImplicitLinearized(dt, law, SOLVERS[solver](), Stop())
        with _progress() as progress:
            task = progress.add_task(f"{scene}: compiling", total=1.0)

            def advance(fraction: float) -> None:
                progress.update(task, description=scene, advance=fraction)

            run = run_scene(model, state, stepper, steps, advance)
        settings = {"scene": scene, "solver": solver, "law": law, "precision": precision}
        settings |= {"dt": dt, "batch": copies, "seed": seed}
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
    if report["overflow"]:
        rows["overflow"] = "more contacts than there is room for: the shallowest were left out"
    if not report["finite"]:
        rows["not finite"] = "the motion holds NaN or infinite numbers"
    rows |= {name: report[name] for name in ("trajectory", "picture", "matrices") if name in report}
    for name, value in rows.items():
        table.add_row(name, value)
    return table
