"""``jaxccp identify``: parameters of a tossed cube from recorded poses."""

import importlib.util
import json
from importlib import resources
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from jaxccp.ccp import SOLVERS
from jaxccp.cli.options import (
    Exit,
    JsonOption,
    LawOption,
    PrecisionOption,
    SolverOption,
    bad_input_exits,
    check_folder,
)
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
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA.npz",
            help="Tosses: ids, lengths (t,); q (n, 7): position [m], quaternion wxyz; v (n, 6): "
            "velocity [m/s, world], angular velocity [rad/s, body axes], backward differences; "
            "dt [s].",
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Use the embedded synthetic tosses instead of DATA.")
    ] = False,
    evaluate: Annotated[
        Path | None,
        typer.Option(
            metavar="PARAMS.json", help="Fit nothing: only measure these parameters on all of DATA."
        ),
    ] = None,
    names: Annotated[
        str,
        typer.Option(
            "--parameters",
            metavar="NAME,…",
            help=f"What to identify, of {', '.join(parameters.PARAMETERS)}.",
        ),
    ] = ",".join(parameters.DEFAULT),
    law: LawOption = "ncp",
    solver: SolverOption = "apgd",
    horizons: Annotated[
        str,
        typer.Option(
            metavar="SAMPLES,…",
            help="Lengths of the rollouts compared with the recording, one descent for each.",
        ),
    ] = ",".join(map(str, Settings.horizons)),
    iterations: Annotated[
        int, typer.Option(min=1, help="Of gradient descent, for each horizon.")
    ] = Descent.iterations,
    batch: Annotated[int, typer.Option(min=1, help="Rollouts per iteration.")] = Descent.batch,
    holdout: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Share of the tosses kept out of the fit.")
    ] = Settings.holdout,
    seed: Annotated[int, typer.Option(help="Of the split and the minibatches.")] = 0,
    precision: PrecisionOption = 32,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write DIR/params.json and DIR/identify.png."),
    ] = None,
    json_wanted: JsonOption = False,
) -> None:
    """Identify parameters of a cube and the ground from recorded tosses.

    Fits to a random part of the tosses by gradients through vmapped rollouts, and reports each
    parameter with its standard error, and the errors of rollouts from the second sample to the
    end of the other tosses, before and after: position in cube widths, rotation in degrees, mean
    over a toss's samples, then mean and median over tosses. Short-horizon errors (10, 20, 40
    samples) are in the JSON.

    Exit code: 0 done, 1 the fit did not come to finite numbers, 2 bad input or usage (nothing
    written).
    """
    with bad_input_exits(), jax.enable_x64(precision == 64):
        tosses = _tosses(data, demo)
        if out is not None:
            check_folder(out)
        if evaluate is not None:
            chosen, values, its_law, substeps = read_parameters(evaluate)
            judge = evaluator(tosses.dt, chosen, its_law, substeps)
            found = compare(judge, tosses, values)
            report = found.summary() | {"law": its_law, "tosses": len(tosses)}
            _show(report, json_wanted, _evaluation_table(found, "tosses"))
            return
        settings = Settings(
            names=_names(names),
            law=law,
            solver=SOLVERS[solver](),
            horizons=_horizons(horizons),
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


def _tosses(data: Path | None, demo: bool) -> Tosses:
    if demo == (data is not None):
        raise typer.BadParameter("give either DATA.npz or --demo")
    if data is not None:
        return read_tosses(data)
    with resources.as_file(DEMO) as path:
        return read_tosses(path)


def _names(text: str) -> tuple[str, ...]:
    try:
        return parameters.known(tuple(name.strip() for name in text.split(",") if name.strip()))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--parameters") from None


def _horizons(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 1 for part in parts):
        raise typer.BadParameter(
            f"{text!r} is not a list of numbers of samples, each at least 2, like 40,100",
            param_hint="--horizons",
        )
    return tuple(map(int, parts))


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
