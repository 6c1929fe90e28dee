"""The work of ``jaxccp identify MODEL DATA…``: recordings read, fitted, evaluated and reported."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.case_residual import residual_of
from jaxccp.cli.commands.model_request import ModelRequest
from jaxccp.cli.identify_config import Config, as_table, config_of
from jaxccp.cli.options import Exit, refuse
from jaxccp.cli.progress import Follower, following
from jaxccp.identify import Case, Evaluation, Predictor, Problem, read, split
from jaxccp.identify.case import subject_of
from jaxccp.identify.fit import Fit
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.report.as_json import read_fit, write_json
from jaxccp.io import InputError, load
from jaxccp.io.output import finite

FIT_FILE = "fit.json"


@dataclass(frozen=True)
class DividedCase:
    """A case, divided into fitted recordings and test recordings."""

    fitted: Case
    """The case with the fitted recordings."""
    test: Case | None
    """The case with the test recordings; None if all are fitted."""


def identify_model_command(request: ModelRequest) -> None:
    """Identify or evaluate the parameters of a model, report and write.

    Args:
        request: arguments and options of the command.

    Raises:
        typer.Exit: with code 1 if the fit is not finite, with code 2 for bad input, such as no
            parameters.
    """
    with bad_input_exits(), jax.enable_x64(request.precision == 64):
        if request.evaluate is not None:
            _evaluate(request, request.evaluate)
            return
        config = config_of(request)
        if not config.parameters:
            raise InputError(
                "the parameters", "are not given", "name some: --parameters 'axes[*].friction'"
            )
        opened = [_opened(request, config, place) for place in range(len(config.cases))]
        with _usage():
            problem = Problem(
                [case.fitted for case in opened],
                parameters=config.parameters,
                method=config.method,
            )
        predictors = [_predictor(case, problem) for case in opened]
        recordings = [recording for case in problem.cases for recording in case.recordings]
        _say(problem.warnings, recordings)
        stages = len(problem.earlier_stages) + 1
        stages *= config.restarts.descents if config.restarts else 1
        with following(problem.method.iterations, stages) as follower:
            fit, evaluations = _fitted(problem, predictors, config, follower)
            report = _report(fit, opened, evaluations, config, problem.warnings)
            if request.out is not None:
                follower.stage("writing")
                report |= _write(request.out, fit, report, config)
    if request.as_json:
        typer.echo(json.dumps(report))
    else:
        _print(report, fit, evaluations)
    if not np.isfinite(fit.values).all():
        raise typer.Exit(Exit.NOT_CONVERGED)


@contextmanager
def _usage() -> Iterator[None]:
    """Print the errors of a user's arguments, and exit with code 2."""
    try:
        yield
    except ValueError as error:
        refuse(str(error))


def _opened(request: ModelRequest, config: Config, place: int) -> DividedCase:
    """Return a case with its recordings divided."""
    case = config.cases[place]
    loaded = load(case.model, **case.load)
    for line in loaded.ignored:
        typer.echo(f"Note: left out: {line}", err=True)
    recordings = read(case.data, loaded, **case.read)
    residual = residual_of(request.config or "the command line", case, loaded)
    if config.holdout == 0 or request.evaluate is not None:
        return DividedCase(Case(loaded, recordings, residual), None)
    with _usage():
        fitted, test = split(recordings, config.holdout, config.seed)
    return DividedCase(Case(loaded, fitted, residual), Case(loaded, test, residual))


def _say(warnings: Sequence[str], recordings: Sequence[Recording]) -> None:
    """Write warnings and the readers' notes to stderr."""
    for line in warnings:
        typer.echo(f"Warning: {line}", err=True)
    labels = [(Path(r.source).name or r.name, r.notes) for r in recordings]
    for line in dict.fromkeys(f"{label}: {note}" for label, notes in labels for note in notes):
        typer.echo(f"Note: {line}", err=True)


def _predictor(case: DividedCase, problem: Problem) -> Predictor:
    """Return what computes the errors of prediction of a case's test recordings, or of those that
    are fitted, without any."""
    if case.test is None:
        return Predictor(case.fitted, problem.parameters)
    try:
        logs = [case.fitted.recordings[0], *case.test.recordings]
        if any(set(log.index) != set(logs[0].index) for log in logs):
            # Planned together, those that differ in what the residual needs are refused.
            case.test.residual.plan(subject_of(case.test.mechanism, logs), logs)
        return Predictor(case.test, problem.parameters)
    except ValueError as error:
        refuse(f"of the recordings held out: {error}, or hold none out (--holdout 0)")


def _fitted(
    problem: Problem, predictors: Sequence[Predictor], config: Config, follower: Follower
) -> tuple[Fit, list[tuple[Evaluation, Evaluation]]]:
    """Return the fit, and for each case the errors of prediction of its test recordings before and
    after the fit."""
    follower.stage("fitting")
    try:
        fit = problem.fit(
            lambda step, loss, theta: follower.iteration(step - 1, loss),
            restarts=config.restarts,
            resume=config.resume,
        )
    except FloatingPointError as error:
        refuse(str(error), Exit.NOT_CONVERGED)
    for note in fit.notes:
        typer.echo(f"Note: {note}", err=True)
    follower.stage("errors of prediction")
    initial = dict(zip(fit.names, problem.column("initial").tolist(), strict=True))
    values = dict(zip(fit.names, fit.values.tolist(), strict=True))
    evaluations = []
    for predictor in predictors:
        before, after = (predictor.evaluate(predictor.selected(x)) for x in (initial, values))
        evaluations.append((before, after))
    return fit, evaluations


def _report(
    fit: Fit,
    opened: Sequence[DividedCase],
    evaluations: Sequence[tuple[Evaluation, Evaluation]],
    config: Config,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return the report of a fit, ready for JSON."""
    half = fit.uncertainty.half_width()
    columns = fit.values, fit.uncertainty.standard_error, half, fit.problem.column("initial")
    rows = zip(fit.names, *columns, strict=True)
    return {
        "parameters": {
            name: {
                "value": finite(value),
                "standard_error": finite(error),
                "interval_95": finite(wide),
                "initial": float(start),
            }
            for name, value, error, wide, start in rows
        },
        "converged": fit.descent.converged,
        "warnings": list(warnings),
        "notes": list(fit.notes),
        "errors_on": "recordings held out" if config.holdout else "the recordings fitted",
        "cases": [
            {
                "model": str(case.model),
                "fitted": [r.name for r in parts.fitted.recordings],
                "held_out": [r.name for r in parts.test.recordings] if parts.test else [],
                "before": before.summary(),
                "after": after.summary(),
            }
            for case, parts, (before, after) in zip(config.cases, opened, evaluations, strict=True)
        ],
    }


def _write(folder: Path, fit: Fit, report: dict[str, Any], config: Config) -> dict[str, str]:
    """Write the report of a fit, and add the settings for its evaluation to ``fit.json``."""
    fit.report(folder)
    path = folder / FIT_FILE
    content = json.loads(path.read_text())
    for note in content["notes"][len(fit.notes) :]:
        typer.echo(f"Note: {note}", err=True)
    write_json(path, {**report, **content, "problem": as_table(config)})
    return {"fit": str(path)}


def _evaluate(request: ModelRequest, path: Path) -> None:
    """Compute the errors of prediction of a saved fit on recordings, and report."""
    values, saved = read_fit(path)
    config = config_of(request, saved)
    cases = [_opened(request, config, place).fitted for place in range(len(config.cases))]
    with _usage():
        predictors = [Predictor(case, config.parameters) for case in cases]
    used = {name for predictor in predictors for name in predictor.selected(values)}
    for name in values:
        if name not in used:
            names = [x for p in predictors for x in p.evaluator.parameters.names]
            what = f"has the parameter {name!r}, the cases only {', '.join(dict.fromkeys(names))}"
            raise InputError(path, what, "give --parameters or --config too")
    reports, tables = [], []
    for case, predictor, entry in zip(cases, predictors, config.cases, strict=True):
        _say((), case.recordings)
        evaluation = predictor.evaluate(predictor.selected(values))
        recordings = [recording.name for recording in case.recordings]
        reports.append(
            {"model": str(entry.model), "recordings": recordings, **evaluation.summary()}
        )
        title = f"Errors of prediction, recordings: {len(recordings)}"
        tables.append(_errors_table(title, evaluation))
    if request.as_json:
        typer.echo(json.dumps({"cases": reports}))
    else:
        Console().print(*tables)


def _errors_table(title: str, after: Evaluation, before: Evaluation | None = None) -> Table:
    """Return a table of errors of prediction by channel."""
    failed = f", {after.failed} of them failed" if after.failed else ""
    table = Table(title=f"{title}, {after.count} windows{failed}")
    table.add_column("channel", no_wrap=True)
    table.add_column("unit")
    heads = ("before", "after") if before is not None else ("error",)
    for head in (*heads, "median window", "worst window"):
        table.add_column(head, justify="right")
    for place, (name, error) in enumerate(after.channels.items()):
        rows = after.windows[:, place]
        cells = [f"{before.channels[name]:.4g}"] if before is not None else []
        cells += [f"{error:.4g}", f"{np.median(rows):.4g}", f"{np.max(rows):.4g}"]
        table.add_row(escape(name), after.units[name], *cells)
    cells = [f"{before.overall:.4g}"] if before is not None else []
    table.add_row("over all", "σ of noise", *cells, f"{after.overall:.4g}", "", "")
    return table


def _print(
    report: dict[str, Any], fit: Fit, evaluations: Sequence[tuple[Evaluation, Evaluation]]
) -> None:
    """Print the parameters and the errors of prediction."""
    console = Console()
    table = Table(title=f"Identified, {'converged' if fit.descent.converged else 'not converged'}")
    table.add_column("parameter", no_wrap=True)
    for head in ("initial", "identified", "± 95 %"):
        table.add_column(head, justify="right")
    for name, entry in report["parameters"].items():
        wide = "not determined" if entry["interval_95"] is None else f"{entry['interval_95']:.2g}"
        value = "not finite" if entry["value"] is None else f"{entry['value']:.5g}"
        table.add_row(escape(name), f"{entry['initial']:.5g}", value, wide)
    console.print(table)
    for before, after in evaluations:
        title = f"Errors of prediction of {report['errors_on']}"
        console.print(_errors_table(title, after, before))
    if "fit" in report:
        typer.echo(f"fit: {report['fit']}")
