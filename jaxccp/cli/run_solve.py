"""The work of ``jaxccp solve``: problems read, solved, reported and written."""

import json
import math
import sys
import time
from collections.abc import Hashable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from jaxccp import ccp
from jaxccp.ccp.cones import ConeType
from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.options import Exit
from jaxccp.io import InputError, NamedProblem, read_problem, write_npz


@dataclass(frozen=True)
class Report:
    """One line of output. Residuals are those of the chosen law."""

    name: str
    solver: str
    law: str
    friction: str
    status: str
    iterations: int
    residual_max: float
    residual_rms: float
    residual_rel: float
    objective: float
    solve_s: float
    compile_s: float
    n_contacts: int
    n_rows: int


def solve_command(
    *,
    files: list[Path],
    solver: str,
    law: ccp.Law,
    friction: ConeType,
    atol: float,
    rtol: float,
    max_iterations: int,
    precision: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Solve, report and write; the options are those of the command."""
    with bad_input_exits(), jax.enable_x64(precision == 64):
        problems = [
            _shaped(read_problem(file, np.dtype(f"float{precision}")), friction) for file in files
        ]
        for problem in problems:
            _check_solver(solver, law, problem)
        if out is not None:
            _check_names(problems)
        run = _Runner(ccp.SOLVERS[solver](), law, max_iterations)
        reports = []
        for problem in problems:
            report, lam = _solve_one(problem, run, solver, law, atol + rtol * problem.scale)
            if out is not None:
                write_npz(out / f"{problem.name}.npz", lam=problem.file_multipliers(lam))
            if as_json:
                typer.echo(_json(report))
            reports.append(report)
    if not as_json:
        # A pipe has no width of its own: do not fold names there to fit a terminal's.
        Console(width=None if sys.stdout.isatty() else 120).print(_table(reports))
    if any(report.status != "converged" for report in reports):
        raise typer.Exit(Exit.NOT_CONVERGED)


def _shaped(item: NamedProblem, friction: ConeType) -> NamedProblem:
    cones = replace(item.problem.cones, cone_type=friction)
    return replace(item, problem=replace(item.problem, cones=cones))


def _check_solver(solver: str, law: ccp.Law, item: NamedProblem) -> None:
    try:
        ccp.SOLVERS[solver]().resolve(item.problem, law)
    except ValueError as error:
        raise InputError(item.path, str(error), "choose another --solver") from None


def _check_names(problems: list[NamedProblem]) -> None:
    seen: dict[str, Path] = {}
    for problem in problems:
        if problem.name in seen:
            raise InputError(
                problem.path,
                f"{problem.name!r} is also the name of {seen[problem.name]}",
                "both would be written to the same file of --out: solve one of them",
                field="name",
            )
        seen[problem.name] = problem.path


class _Runner:
    """Solves problems, compiling once for each shape."""

    def __init__(self, solver: ccp.Solver, law: ccp.Law, max_iterations: int) -> None:
        def run(problem: ccp.Problem, tolerance: jax.Array) -> ccp.Solution:
            # The tolerance is an argument, not a constant: files of one shape share the program.
            stop = ccp.Stop(atol=tolerance, max_iterations=max_iterations)
            return ccp.solve(problem, solver, law=law, stop=stop)

        self._run = jax.jit(run)
        self._compiled: dict[Hashable, jax.stages.Compiled] = {}

    def __call__(self, problem: ccp.Problem, tolerance: float) -> tuple[ccp.Solution, float, float]:
        """The solution, the seconds spent on it, and the seconds spent compiling."""
        arguments = (problem, jnp.asarray(tolerance, problem.r.dtype))
        leaves, structure = jax.tree.flatten(arguments)
        shape = (structure, *((leaf.shape, leaf.dtype) for leaf in leaves))
        start = time.perf_counter()
        if shape not in self._compiled:
            self._compiled[shape] = self._run.lower(*arguments).compile()
        ready = time.perf_counter()
        solution = jax.block_until_ready(self._compiled[shape](*arguments))
        return solution, time.perf_counter() - ready, ready - start


def _solve_one(
    item: NamedProblem, run: _Runner, solver: str, law: ccp.Law, tolerance: float
) -> tuple[Report, np.ndarray]:
    solution, solve_s, compile_s = run(item.problem, tolerance)
    statistics = solution.statistics
    worst = float(statistics.residual_ncp if law == "ncp" else statistics.residual_ccp)
    rms = float(statistics.rms_ncp if law == "ncp" else statistics.rms_ccp)
    lam, u, r = (np.asarray(x, np.float64) for x in (solution.lam, solution.u, item.problem.r))
    report = Report(
        name=item.name,
        solver=solver,
        law=law,
        friction=item.problem.cones.cone_type,
        status=ccp.Status(int(statistics.status)).name.lower(),
        iterations=int(statistics.iterations),
        residual_max=worst,
        residual_rms=rms,
        residual_rel=worst / item.scale if item.scale > 0 else worst,
        objective=float(0.5 * lam @ (u + r)) + item.objective,
        solve_s=solve_s,
        compile_s=compile_s,
        n_contacts=item.problem.cones.mu.shape[0],
        n_rows=item.problem.cones.rows,
    )
    return report, lam


def _json(report: Report) -> str:
    """One JSON object; NaN and infinity, which JSON lacks, become null."""
    values = asdict(report)
    lacking = {k for k, v in values.items() if isinstance(v, float) and not math.isfinite(v)}
    return json.dumps({k: None if k in lacking else v for k, v in values.items()})


def _table(reports: list[Report]) -> Table:
    first = reports[0]
    table = Table(
        title=f"{first.solver}, law {first.law}, friction {first.friction}",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("problem", overflow="fold")
    table.add_column("status", no_wrap=True)
    for title in ("con-\ntacts", "iter-\nations", "residual\n[m/s]", "relative", "solve\n[ms]"):
        table.add_column(escape(title), justify="right", no_wrap=True)
    for report in reports:
        colour = "green" if report.status == "converged" else "red"
        table.add_row(
            escape(report.name),
            f"[{colour}]{report.status}[/]",
            str(report.n_contacts),
            str(report.iterations),
            f"{report.residual_max:.2e}",
            f"{report.residual_rel:.2e}",
            f"{1e3 * report.solve_s:.2f}",
        )
    return table
