"""The work of ``jaxccp check-gradients``."""

import json
from pathlib import Path

import jax
import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from jaxccp.ccp import Law
from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.commands.scene_argument import SCENE_STEP, FileOptions
from jaxccp.cli.model_file import open_model
from jaxccp.cli.options import Exit, refuse
from jaxccp.dynamics import fit_capacity
from jaxccp.dynamics.steppers import STEPPERS
from jaxccp.scenes.library import SCENES
from jaxccp.testing import GradientReport
from jaxccp.testing import check_gradients as check


def check_gradients_command(
    *,
    scene: str,
    from_file: bool,
    steps: int,
    inputs: tuple[str, ...] | None,
    dt: float | None,
    solver: str | None,
    stepper: str,
    law: Law,
    precision: int,
    seed: int,
    options: FileOptions,
    as_json: bool,
) -> None:
    """Compare the derivatives of a motion with central differences, and report.

    Args:
        scene: name of a built-in scene, or path of a model file.
        from_file: whether ``scene`` is a model file.
        steps: number of steps of the motion.
        inputs: names of the quantities to differentiate with respect to; None: all that the model
            has.
        dt: length of a step [s]; None: that of the model file or of scenes.
        solver: name of the solver; None: as in :func:`jaxccp.testing.check_gradients`.
        stepper: name of the stepper.
        law: contact law, "ccp" or "ncp".
        precision: bits of the floating-point numbers of the derivatives.
        seed: seed of the scene's random initial state.
        options: how a model file is read, and the initial state.
        as_json: whether JSON is printed, not a table.

    Raises:
        typer.Exit: with code 1 if a derivative is wrong or a step did not converge, with code 2 for
            bad input.
    """
    with bad_input_exits(), jax.enable_x64(True):
        controls = None
        if from_file:
            opened = open_model(Path(scene), options)
            model, state, controls = opened.loaded.model, opened.state, opened.controls(steps)
            dt = dt or opened.loaded.timestep
        else:
            model, state = SCENES[scene](jax.random.key(seed))
            dt = dt or SCENE_STEP
        method = STEPPERS[stepper](dt, law, solver)
        try:
            if model.topology.max_contacts is None:
                model = fit_capacity(model, state, method, steps, controls=controls)
            report = check(
                model, state, method, steps, controls, inputs=inputs, precision=precision
            )
        except (ValueError, OverflowError) as error:
            refuse(f"{scene}: {error}")
    settings = {"scene": scene, "stepper": stepper, "law": law, "dt": dt}
    if as_json:
        typer.echo(json.dumps(settings | report.summary()))
    else:
        title = f"{scene}, {stepper}, law {law}, {steps} steps of {1e3 * dt:g} ms"
        Console().print(_table(report, title))
        typer.echo(_line(report))
    if not report.passed or report.unconverged:
        raise typer.Exit(Exit.NOT_CONVERGED)


def _table(report: GradientReport, title: str) -> Table:
    table = Table(title=title)
    for column in ("input", "worst error", "entries"):
        table.add_column(column, justify="left" if column == "input" else "right")
    for entry in report.inputs:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in entry.verdicts.items())
        table.add_row(entry.name, _error(entry.error), counts)
    return table


def _line(report: GradientReport) -> str:
    errors = ", ".join(f"{entry.name} {_error(entry.error)}" for entry in report.inputs)
    modes = ", ".join(f"{mode} {steps}" for mode, steps in report.modes.items())
    return (
        f"worst {_error(report.error)}: {errors}; steps of modes: {modes}; {report.count('wrong')} "
        f"wrong, {report.count('kink')} at kinks, {report.count('unresolved')} unresolved, "
        f"{report.count('non-finite')} not finite; {report.unconverged} steps not converged"
    )


def _error(error: float) -> str:
    return f"{error:.1e}" if np.isfinite(error) else "-"
