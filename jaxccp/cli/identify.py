"""The work of ``jaxccp identify``: tosses read, fitted, reported and drawn."""

import importlib.util
import json
from importlib import resources
from pathlib import Path

import jax
import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from jaxccp.ccp import SOLVERS, Law
from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.options import Exit
from jaxccp.identify import parameters
from jaxccp.identify.fit import Descent
from jaxccp.identify.pipeline import (
    Comparison,
    Identification,
    Settings,
    compare,
    evaluator,
    identify,
)
from jaxccp.identify.report import as_json, picture, read_parameters
from jaxccp.io import InputError, write_file
from jaxccp.io.tosses import Tosses, read_tosses

DEMO = resources.files("jaxccp.identify") / "data" / "tosses.npz"


def identify_command(
    *,
    data: Path | None,
    evaluate: Path | None,
    names: tuple[str, ...],
    law: Law,
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
            chosen, values, its_law, substeps = read_parameters(evaluate)
            judge = evaluator(tosses.dt, chosen, its_law, substeps)
            found = compare(judge, tosses, values)
            report = found.summary() | {"law": its_law, "tosses": len(tosses)}
            _show(report, json_wanted, _evaluation_table(found, "tosses"))
            return
        settings = Settings(
            names=names,
            law=law,
            solver=SOLVERS[solver](),
            horizons=horizons,
            holdout=holdout,
            descent=Descent(iterations, batch, seed=seed),
        )
        identified = _identify(tosses, settings)
        report = as_json(identified)
        if out is not None:
            report |= _write(out, identified, tosses, report)
        _show(
            report,
            json_wanted,
            _table(identified),
            _evaluation_table(identified.after, "tosses not fitted"),
        )
    if not np.isfinite(identified.fit.values).all():
        raise typer.Exit(Exit.NOT_CONVERGED)


def _tosses(data: Path | None) -> Tosses:
    if data is not None:
        return read_tosses(data)
    with resources.as_file(DEMO) as path:
        return read_tosses(path)


def _identify(tosses: Tosses, settings: Settings) -> Identification:
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(),
    )
    total = settings.descent.iterations * len(settings.horizons)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("compiling", total=total, loss="")

        def stage(name: str) -> None:
            progress.update(task, description=name)

        def iteration(index: int, loss: float) -> None:
            progress.update(task, advance=1, loss=f"loss {loss:.4f}")

        try:
            return identify(tosses, settings, stage, iteration)
        except ValueError as error:
            raise InputError("tosses", str(error), "see jaxccp identify --help") from None


def _write(out: Path, found: Identification, tosses: Tosses, report: dict) -> dict[str, str]:
    text = json.dumps(report, indent=2).encode()
    write_file(out / "params.json", lambda file: file.write(text))
    files = {"params": str(out / "params.json")}
    if importlib.util.find_spec("matplotlib") is None:
        typer.echo("No picture: it needs matplotlib, pip install 'jaxccp[viz]'", err=True)
        return files
    figure = picture(found, tosses)
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


def _table(found: Identification) -> Table:
    table = Table(title=f"Identified from {len(found.train)} tosses, law {found.settings.law}")
    for title in ("parameter", "initial", "identified", "standard error", "unit"):
        table.add_column(title, justify="left" if title in ("parameter", "unit") else "right")
    rows = zip(found.fit.names, found.initial, found.fit.values, found.standard_errors, strict=True)
    for name, start, value, error in rows:
        spread = f"{error:.2g}" if np.isfinite(error) else "not told by the data"
        unit = parameters.PARAMETERS[name].unit
        table.add_row(name, f"{start:.5g}", f"{value:.5g}", spread, unit)
    return table


def _evaluation_table(found: Comparison, what: str) -> Table:
    table = Table(title=f"Errors of {len(found.whole.position)} {what}")
    table.add_column("rolled out for")
    for title in ("position, mean", "median [widths]", "rotation, mean", "median [°]"):
        table.add_column(title, justify="right")
    rows = {"the whole toss": found.whole} | {
        f"{samples} samples": errors for samples, errors in found.horizons.items()
    }
    for name, errors in rows.items():
        mean, median, turn, turn_median = errors.summary().values()
        table.add_row(name, f"{mean:.4f}", f"{median:.4f}", f"{turn:.2f}", f"{turn_median:.2f}")
    return table
