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
    dt: float,
    solver: str | None,
    stepper: str,
    law: Law,
    precision: int,
    seed: int,
    init: Path | None,
    allow_unsupported: bool,
    as_json: bool,
) -> None:
    """Check and report; the options are those of the command."""
    with bad_input_exits(), jax.enable_x64(True):
        if from_file:
            opened = open_model(Path(scene), init, None, steps, allow_unsupported)
            model, state = opened.loaded.model, opened.state
        else:
            model, state = SCENES[scene](jax.random.key(seed))
        method = STEPPERS[stepper](dt, law, solver)
        if model.topology.max_contacts is None:
            model = fit_capacity(model, state, method, steps)
        found = check(model, state, method, steps, inputs=inputs, precision=precision)
    settings = {"scene": scene, "stepper": stepper, "law": law, "dt": dt}
    if as_json:
        typer.echo(json.dumps(settings | found.summary()))
    else:
        Console().print(_table(found, f"{scene}, {stepper}, law {law}, {steps} steps"))
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
