"""The work of ``jaxccp identify`` without a model: tosses of the cube, fitted and reported."""

import importlib.util
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jax
import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.options import Exit, refuse
from jaxccp.cli.progress import following
from jaxccp.cli.tables import built
from jaxccp.identify import Method, split
from jaxccp.identify.cube.errors import HorizonErrors, TossErrors
from jaxccp.identify.cube.fit import UNITS, CubeSettings, fit_cube, read_tosses
from jaxccp.identify.cube.report import Identified, as_json, picture, read_parameters
from jaxccp.identify.recordings.recording import Recording
from jaxccp.io import InputError, write_file

DATA = resources.files("jaxccp.identify") / "data"


@dataclass(frozen=True)
class CubeRequest:
    """Arguments and options of ``jaxccp identify`` for tosses of the cube."""

    data: Path | None
    """File of tosses; None: those that are part of the package."""
    evaluate: Path | None
    """File of identified parameters to evaluate; None: fit."""
    settings: CubeSettings
    """Parameters and simulation of the cube."""
    horizons: tuple[int, ...]
    """Lengths of the simulations of successive fits, in samples."""
    method: dict[str, Any]
    """Values of fields of the iteration's settings."""
    holdout: float
    """Fraction of the tosses that is not fitted."""
    seed: int
    """Seed of the random choice of held-out tosses."""
    precision: int
    """Bits of floating-point numbers."""
    out: Path | None
    """Folder to write to; None: nothing is written."""
    as_json: bool
    """Whether JSON is printed instead of tables."""


def identify_cube(request: CubeRequest) -> None:
    """Identify or evaluate parameters of the cube, report and write.

    Args:
        request: arguments and options of the command.

    Raises:
        typer.Exit: with code 1 if the fit is not finite, with code 2 for bad input.
    """
    with bad_input_exits(), jax.enable_x64(request.precision == 64):
        tosses = demo_tosses() if request.data is None else read_tosses(request.data)
        if request.evaluate is not None:
            settings, values = read_parameters(request.evaluate)
            comparison = TossErrors(tosses, settings).compare(values)
            report = comparison.summary() | {"law": settings.law, "tosses": len(tosses)}
            _show(report, request.as_json, _errors_table(comparison, "tosses"))
            return
        truth = true_values() if request.data is None else {}
        identified, report = _identified(request, tosses, truth)
        tables = _table(identified, truth), _errors_table(identified.after, "tosses not fitted")
        _show(report, request.as_json, *tables)
    if not np.isfinite(identified.cube_fit.fit.values).all():
        raise typer.Exit(Exit.NOT_CONVERGED)


def demo_tosses() -> list[Recording]:
    """Return the synthetic tosses that are part of the package."""
    with resources.as_file(DATA / "tosses.npz") as path:
        return read_tosses(path)


def true_values() -> dict[str, float]:
    """Return the true parameters of the synthetic tosses, by name."""
    with resources.as_file(DATA / "truth.json") as path:
        settings, values = read_parameters(path)
    return dict(zip(settings.names, values.tolist(), strict=True))


def _identified(
    request: CubeRequest, tosses: list[Recording], truth: dict[str, float]
) -> tuple[Identified, dict[str, Any]]:
    """Return the identification and its report; write both if a folder is given."""
    if len(tosses) < 2:
        what = "one toss cannot be both fitted and held out"
        raise InputError("tosses", what, "record at least two")
    fitted, held_out = split(tosses, request.holdout, request.seed)
    settings = request.settings
    method = built("the command line", "method", Method, request.method)
    with following(method.iterations, len(request.horizons)) as follower:
        follower.stage(f"fitting over {', '.join(map(str, request.horizons))} samples")
        try:
            fitted_cube = fit_cube(
                fitted,
                settings,
                request.horizons,
                method,
                lambda step, loss: follower.iteration(step - 1, loss),
            )
        except FloatingPointError as error:
            refuse(str(error), Exit.NOT_CONVERGED)
        except ValueError as error:
            raise InputError("tosses", str(error), "see jaxccp identify --help") from None
        follower.stage("errors on held-out tosses")
        errors = TossErrors(held_out, settings)
        initial = fitted_cube.fit.problem.column("initial")
        before, after = (errors.compare(values) for values in (initial, fitted_cube.fit.values))
        identified = Identified(
            settings=settings,
            cube_fit=fitted_cube,
            fitted=fitted,
            held_out=held_out,
            errors=errors,
            before=before,
            after=after,
        )
        report = as_json(identified, truth)
        if request.out is not None:
            follower.stage("drawing")
            report |= _write(request.out, identified, truth, report)
    return identified, report


def _write(
    out: Path, identified: Identified, truth: dict[str, float], report: dict[str, Any]
) -> dict[str, str]:
    """Write parameters, report and picture; return the paths of the files."""
    text = json.dumps(report, indent=2).encode()
    write_file(out / "params.json", lambda file: file.write(text))
    identified.cube_fit.fit.report(out)
    files = {"params": str(out / "params.json"), "page": str(out / "report.html")}
    if importlib.util.find_spec("matplotlib") is None:
        typer.echo("No picture: it needs matplotlib, pip install 'jaxccp[viz]'", err=True)
        return files
    figure = picture(identified, truth)
    write_file(out / "identify.png", lambda file: figure.savefig(file, format="png"))
    return files | {"picture": str(out / "identify.png")}


def _show(report: dict[str, Any], print_json: bool, *tables: Table) -> None:
    if print_json:
        typer.echo(json.dumps(report))
        return
    for table in tables:
        Console().print(table)
    for name in ("params", "page", "picture"):
        if name in report:
            typer.echo(f"{name}: {report[name]}")


def _table(identified: Identified, truth: dict[str, float]) -> Table:
    """Return a table of the parameters."""
    settings, values = identified.settings, identified.cube_fit.fit.values
    table = Table(title=f"Identified from {len(identified.fitted)} tosses, law {settings.law}")
    table.add_column("parameter")
    table.add_column("unit")
    for title in ("initial", "identified", "standard error", *(("true",) if truth else ())):
        table.add_column(title, justify="right")
    rows = zip(settings.names, identified.initial, values, identified.standard_error, strict=True)
    for name, start, value, error in rows:
        spread = f"{error:.2g}" if np.isfinite(error) else "not determined by the data"
        cells = [f"{start:.5g}", f"{value:.5g}", spread]
        cells += [f"{truth[name]:.5g}" if name in truth else "–"] if truth else []
        table.add_row(name, UNITS.get(name, "–"), *cells)
    return table


def _errors_table(comparison: HorizonErrors, what: str) -> Table:
    """Return a table of errors of prediction."""
    table = Table(title=f"Errors of {len(comparison.whole.position)} {what}")
    table.add_column("rolled out for")
    for error, unit in (("position", "widths"), ("rotation", "°")):
        for average in ("mean", "median"):
            table.add_column(escape(f"{error},\n{average} [{unit}]"), justify="right")
    rows = {"the whole toss": comparison.whole} | {
        f"{samples} samples": errors for samples, errors in comparison.horizons.items()
    }
    for name, errors in rows.items():
        cells = zip(errors.summary().values(), (4, 4, 2, 2), strict=True)
        table.add_row(name, *(f"{value:.{digits}f}" for value, digits in cells))
    return table
