"""The work of ``jaxccp simulate``: a trajectory and a picture."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import typer
from jaxtyping import Array, Float, Int
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from jaxccp.ccp import Law, Status, Stop
from jaxccp.ccp.solvers import name_of
from jaxccp.cli.advice import advice
from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.commands.scene_argument import SCENE_STEP, FileOptions, step_count
from jaxccp.cli.known_names import SmoothStepping
from jaxccp.cli.model_file import open_model, read_controls, write_motion
from jaxccp.cli.options import Exit, refuse
from jaxccp.cli.simulation import Run, last_system, summary
from jaxccp.cli.simulation import simulate as run_scene
from jaxccp.dynamics.rollouts.capacity import run_with_capacity
from jaxccp.dynamics.steppers import STEPPERS, SolvedStepper
from jaxccp.dynamics.steppers.settings import Settings
from jaxccp.io import save_trajectory, write_file, write_system
from jaxccp.io.output import json_of
from jaxccp.model import Model, State
from jaxccp.scenes.library import SCENES, batch

UNCONVERGED = 0.01
"""Fraction of the samples that may miss the tolerance in a run that counts as converged."""


def simulate_command(
    *,
    scene: str,
    from_file: bool,
    dt: float | None,
    duration: float,
    stepper: str,
    smooth_contact: SmoothStepping,
    solver: str | None,
    law: Law,
    precision: int,
    copies: int,
    seed: int,
    out: Path | None,
    options: FileOptions,
    ctrl: Path | None,
    export: Path | None,
    as_json: bool,
) -> None:
    """Simulate a scene or a model file, report and write.

    Args:
        scene: name of a built-in scene, or path of a model file.
        from_file: whether ``scene`` is a model file.
        dt: length of a step [s]; None: that of the model file or of scenes.
        duration: simulated time [s].
        stepper: name of the stepper.
        smooth_contact: whether smooth contact is explicit or implicit.
        solver: name of the solver; None: the stepper's default.
        law: contact law, "ccp" or "ncp".
        precision: bits of floating-point numbers.
        copies: number of random copies of a scene that are simulated at once.
        seed: seed of the scene's random initial state.
        out: folder for the trajectory and the picture; None: they are not written.
        options: how a model file is read, and the initial state.
        ctrl: npz file with the controls of each step; None: those of the keyframe, or 0.
        export: folder for the matrices of a step; None: they are not written.
        as_json: whether JSON is printed, not a table.

    Raises:
        typer.Exit: with code 1 if steps did not converge, overflowed or are not finite, with code 2
            for bad input.
    """
    with bad_input_exits(), jax.enable_x64(precision == 64):
        opened = open_model(Path(scene), options) if from_file else None
        loaded = controls = None
        h, step_of = dt or SCENE_STEP, "default" if dt is None else "--dt"
        if opened is not None and dt is None:
            h, step_of = opened.loaded.timestep, "model file"
        steps = step_count(duration, h)
        if opened is not None:
            loaded, state, model = opened.loaded, opened.state, opened.loaded.model
            controls = read_controls(ctrl, loaded, steps) if ctrl else opened.controls(steps)
        elif copies == 1:
            model, state = SCENES[scene](jax.random.key(seed))
        else:
            model, state = batch(SCENES[scene], jax.random.key(seed), copies)
        trajectory = None if out is None or opened is None else out / f"{Path(scene).stem}.npz"
        if trajectory is not None:
            given = {path.resolve() for path in (options.init, ctrl) if path is not None}
            if trajectory.resolve() in given:
                refuse(f"{trajectory} would be overwritten, but is given: name another --out")
        method = _method(model, stepper, smooth_contact, h, law, solver)
        try:
            run, model = _run(scene, model, state, method, steps, controls)
        except ValueError as error:
            refuse(f"{scene}: {error}")
        settings = {"scene": scene, "stepper": stepper}
        settings |= {"solver": name_of(method.algorithm(model)), "law": law}
        if model.topology.smooth is not None:
            settings |= {"smooth_contact": smooth_contact}
        settings |= {"precision": precision, "dt": h, "dt_of": step_of}
        settings |= {"batch": copies, "seed": seed}
        if loaded is not None:
            settings |= {"source": loaded.source}
            settings |= {"ignored": loaded.ignored, "approximated": loaded.approximated}
            files = (
                {} if trajectory is None else write_motion(trajectory, scene, loaded, run, controls)
            )
        else:
            files = {} if out is None else _write(out, scene, model, run, law, h)
        if export is not None:
            last = None if controls is None else controls[-1]
            files |= _export(export, model, run, method, last)
    unsolved = float(np.mean(run.recording.status > Status.NOT_UNIQUE))
    helps = advice(unsolved, precision, name_of(method.algorithm(model)))
    report = settings | summary(model, run) | {"advice": helps} | files
    if as_json:
        typer.echo(json_of(report))
    else:
        Console().print(_table(report))
    if _trouble(report):
        raise typer.Exit(Exit.NOT_CONVERGED)


def _run(
    scene: str,
    model: Model,
    state: State,
    method: SolvedStepper,
    steps: int,
    controls: Float[Array, "steps nm"] | None,
) -> tuple[Run, Model]:
    """Simulate with enough capacity for all contacts of the motion, and show the progress on
    stderr."""
    with _progress() as progress:
        task = progress.add_task(f"{scene}: compiling", total=1.0)

        def advance(fraction: float) -> None:
            progress.update(task, description=scene, advance=fraction)

        def run_fitted(fitted: Model) -> tuple[Run, Int[Array, " k"]]:
            progress.reset(task, description=f"{scene}: compiling")
            run = run_scene(fitted, state, method, steps, advance, controls)
            return run, run.capacities

        return run_with_capacity(model, state, run_fitted)


def _method(
    model: Model, name: str, smooth_contact: SmoothStepping, dt: float, law: Law, solver: str | None
) -> SolvedStepper:
    """Return the stepper with a name; exit with code 2 if smooth contact is to be implicit, and the
    model has none."""
    stepper = STEPPERS[name](dt, law, solver, Stop())
    if smooth_contact == "explicit" or not isinstance(stepper, Settings):
        return stepper
    if model.topology.smooth is None:
        refuse("--smooth-contact implicit: no surface of this model is smooth, leave it out")
    return replace(stepper, smooth_contact=smooth_contact)


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _write(out: Path, scene: str, model: Model, run: Run, law: Law, dt: float) -> dict[str, str]:
    trajectory = out / f"{scene}.npz"
    save_trajectory(trajectory, run.recording, scene)
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


def _export(
    folder: Path,
    model: Model,
    run: Run,
    stepper: SolvedStepper,
    control: Float[Array, " nm"] | None,
) -> dict[str, str]:
    if not run.recording.finite:
        typer.echo("No matrices: the motion holds NaN or infinite numbers", err=True)
        return {}
    try:
        system = last_system(model, run, stepper, control)
    except ValueError as error:
        typer.echo(f"No matrices: {error}", err=True)
        return {}
    return {"matrices": str(write_system(folder, system))}


def _unsolved(report: dict) -> float:
    """Return the share of steps that were not solved."""
    return 1.0 - report["status"]["converged"] - report["status"].get("not_unique", 0.0)


def _trouble(report: dict) -> bool:
    return _unsolved(report) > UNCONVERGED or report["overflow"] or not report["finite"]


def _table(report: dict) -> Table:
    title = "{scene}, {stepper}, {solver}, law {law}".format(**report)
    table = Table(title=title)
    table.add_column("")
    table.add_column("", justify="right", overflow="fold")
    of_file = f" ({report['dt_of']})" if report["dt_of"] == "model file" else ""
    rows = {
        "steps": f"{report['steps']} of {1e3 * report['dt']:g} ms{of_file}, "
        f"{report['batch']} at once",
        "steps/s": f"{report['steps_per_s']:,.0f}",
        "compiled in": f"{report['compile_s']:.2f} s",
        "contacts, mean / most": f"{report['contacts_mean']:.1f} / {report['contacts_max']}"
        f" (room for {report['contact_capacity']})",
        "iterations per step": f"{report['iterations_mean']:.1f}",
        "worst residual, ccp": f"{report['residual_ccp']:.2e} m/s",
        "worst residual, ncp": f"{report['residual_ncp']:.2e} m/s",
        "not converged": f"{100 * _unsolved(report):.2f} %",
        "energy": f"{report['energy_start']:.4g} → {report['energy_end']:.4g} J",
    }
    if report["advice"]:
        rows["what helps"] = report["advice"]
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
