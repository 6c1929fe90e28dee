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
from jaxccp.cli.options import Exit
from jaxccp.dynamics import fit_capacity
from jaxccp.dynamics.steppers import STEPPERS
from jaxccp.scene.library import SCENES
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
    """Check and report; the options are those of the command."""
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
        if model.topology.max_contacts is None:
            model = fit_capacity(model, state, method, steps, controls=controls)
        found = check(model, state, method, steps, controls, inputs=inputs, precision=precision)
    settings = {"scene": scene, "stepper": stepper, "law": law, "dt": dt}
    if as_json:
        typer.echo(json.dumps(settings | found.summary()))
    else:
        title = f"{scene}, {stepper}, law {law}, {steps} steps of {1e3 * dt:g} ms"
        Console().print(_table(found, title))
        typer.echo(_line(found))
    if not found.passed or found.unconverged:
        raise typer.Exit(Exit.NOT_CONVERGED)


def _table(found: GradientReport, title: str) -> Table:
    table = Table(title=title)
    for column in ("input", "worst error", "entries"):
        table.add_column(column, justify="left" if column == "input" else "right")
    for one in found.inputs:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in one.verdicts.items())
        table.add_row(one.name, _error(one.error), counts)
    return table


def _line(found: GradientReport) -> str:
    errors = ", ".join(f"{one.name} {_error(one.error)}" for one in found.inputs)
    modes = ", ".join(f"{mode} {steps}" for mode, steps in found.modes.items())
    return (
        f"worst {_error(found.error)}: {errors}; steps of modes: {modes}; {found.count('wrong')} "
        f"wrong, {found.count('kink')} at kinks, {found.count('unresolved')} unresolved, "
        f"{found.count('non-finite')} not finite; {found.unconverged} steps not converged"
    )


def _error(error: float) -> str:
    return f"{error:.1e}" if np.isfinite(error) else "-"
