"""The work of ``jaxccp identify``: tosses read, fitted, reported and drawn."""

import importlib.util
import json
from importlib import resources
from pathlib import Path

import jax
import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jaxccp.ccp import SOLVERS, Law
from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.options import Exit
from jaxccp.cli.progress import Follower, following
from jaxccp.identify import parameters
from jaxccp.identify.fit import Descent
from jaxccp.identify.identification_report import as_json, picture, read_parameters
from jaxccp.identify.pipeline import (
    Comparison,
    Identification,
    Settings,
    compare,
    evaluator,
    identify,
)
from jaxccp.io import InputError, write_file
from jaxccp.io.tosses import Tosses, read_tosses

DEMO = resources.files("jaxccp.identify") / "data" / "tosses.npz"
TRUTH = resources.files("jaxccp.identify") / "data" / "truth.json"


def identify_command(
    *,
    data: Path | None,
    evaluate: Path | None,
    names: tuple[str, ...],
    law: Law,
    stepper: str,
    solver: str,
    horizons: tuple[int, ...],
    iterations: int,
    batch: int,
    holdout: float,
    seed: int,
    precision: int,
    out: Path | None,
    json_wanted: bool,
) -> None:
    """Identify, report and write; the options are those of the command, the embedded tosses
    where there are no data."""
    with bad_input_exits(), jax.enable_x64(precision == 64):
        tosses = _tosses(data)
        if evaluate is not None:
            chosen, values, its_law, substeps, method = read_parameters(evaluate)
            judge = evaluator(tosses.dt, chosen, its_law, substeps, method)
            found = compare(judge, tosses, values)
            report = found.summary() | {"law": its_law, "tosses": len(tosses)}
            _show(report, json_wanted, _evaluation_table(found, "tosses"))
            return
        settings = Settings(
            names=names,
            law=law,
            stepper=stepper,
            solver=SOLVERS[solver](),
            horizons=horizons,
            holdout=holdout,
            descent=Descent(iterations, batch, seed=seed),
        )
        truth = true_values() if data is None else {}
        with following(iterations, len(horizons)) as follower:
            identified = _identify(tosses, settings, follower)
            report = as_json(identified, truth)
            if out is not None:
                follower.stage("drawing")
                report |= _write(out, identified, tosses, truth, report)
        _show(
            report,
            json_wanted,
            _table(identified, truth),
            _evaluation_table(identified.after, "tosses not fitted"),
        )
    if not np.isfinite(identified.fit.values).all():
        raise typer.Exit(Exit.NOT_CONVERGED)


def _tosses(data: Path | None) -> Tosses:
    if data is not None:
        return read_tosses(data)
    with resources.as_file(DEMO) as path:
        return read_tosses(path)


def true_values() -> dict[str, float]:
    """What the embedded tosses were made with, by parameter."""
    with resources.as_file(TRUTH) as path:
        names, values, *_ = read_parameters(path)
    return dict(zip(names, values.tolist(), strict=True))


def _identify(tosses: Tosses, settings: Settings, follower: Follower) -> Identification:
    try:
        return identify(tosses, settings, follower.stage, follower.iteration)
    except ValueError as error:
        raise InputError("tosses", str(error), "see jaxccp identify --help") from None


def _write(
    out: Path, found: Identification, tosses: Tosses, truth: dict[str, float], report: dict
) -> dict[str, str]:
    text = json.dumps(report, indent=2).encode()
    write_file(out / "params.json", lambda file: file.write(text))
    files = {"params": str(out / "params.json")}
    if importlib.util.find_spec("matplotlib") is None:
        typer.echo("No picture: it needs matplotlib, pip install 'jaxccp[viz]'", err=True)
        return files
    figure = picture(found, tosses, truth)
    write_file(out / "identify.png", lambda file: figure.savefig(file, format="png"))
    return files | {"picture": str(out / "identify.png")}


def _show(report: dict, json_wanted: bool, *tables: Table) -> None:
    if json_wanted:
        typer.echo(json.dumps(report))
        return
    console = Console()
    for table in tables:
        console.print(table)
    for name in ("params", "picture"):
        if name in report:
            typer.echo(f"{name}: {report[name]}")


def _table(found: Identification, truth: dict[str, float]) -> Table:
    table = Table(title=f"Identified from {len(found.train)} tosses, law {found.settings.law}")
    numbers = ("initial", "identified", "standard error", *(("true",) if truth else ()))
    table.add_column("parameter")
    table.add_column("unit")
    for title in numbers:
        table.add_column(title, justify="right")
    rows = zip(found.fit.names, found.initial, found.fit.values, found.standard_errors, strict=True)
    for name, start, value, error in rows:
        spread = f"{error:.2g}" if np.isfinite(error) else "not told by the data"
        cells = [f"{start:.5g}", f"{value:.5g}", spread]
        cells += [f"{truth[name]:.5g}" if name in truth else "–"] if truth else []
        table.add_row(name, parameters.PARAMETERS[name].unit or "–", *cells)
    return table


def _evaluation_table(found: Comparison, what: str) -> Table:
    table = Table(title=f"Errors of {len(found.whole.position)} {what}")
    table.add_column("rolled out for")
    for error, unit in (("position", "widths"), ("rotation", "°")):
        for average in ("mean", "median"):
            table.add_column(escape(f"{error},\n{average} [{unit}]"), justify="right")
    rows = {"the whole toss": found.whole} | {
        f"{samples} samples": errors for samples, errors in found.horizons.items()
    }
    for name, errors in rows.items():
        cells = zip(errors.summary().values(), (4, 4, 2, 2), strict=True)
        table.add_row(name, *(f"{value:.{digits}f}" for value, digits in cells))
    return table
