"""The work of ``jaxccp solve``: problems read, solved, reported and written."""

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
from jaxccp.io.output import json_of


@dataclass(frozen=True)
class Report:
    """The report of one problem; residuals are those of the chosen law."""

    name: str
    """Name of the problem."""
    solver: str
    """Name of the solver."""
    law: str
    """Contact law, "ccp" or "ncp"."""
    friction: str
    """Shape of the friction cones."""
    status: str
    """Name of the solver's status in lower case."""
    iterations: int
    """Number of iterations."""
    residual_max: float
    """Largest residual over contacts and scalar rows [m/s]."""
    residual_rms: float
    """Root-mean-square residual over contacts and scalar rows [m/s]."""
    residual_rel: float
    """Largest residual divided by max ‖r_c‖."""
    objective: float
    """Objective ½ λᵀNλ + rᵀλ of the file's problem [J]."""
    solve_s: float
    """Time of solving [s]."""
    compile_s: float
    """Time of compiling [s]; 0 if an earlier file had the same shape."""
    n_contacts: int
    """Number of contacts."""
    n_rows: int
    """Number of rows."""


def solve_command(
    *,
    files: list[Path],
    solver: str,
    law: ccp.Law,
    friction: ConeType | None,
    atol: float,
    rtol: float,
    max_iterations: int,
    precision: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Solve problems of files, report and write.

    Args:
        files: npz files of the problems.
        solver: name of the solver.
        law: contact law, "ccp" or "ncp".
        friction: shape of the friction cones; None: those of each file.
        atol: absolute tolerance of the residual [m/s].
        rtol: tolerance relative to max ‖r_c‖.
        max_iterations: limit of iterations.
        precision: bits of floating-point numbers.
        out: folder for the multipliers; None: they are not written.
        as_json: whether JSON is printed, not a table.

    Raises:
        typer.Exit: with code 1 if a problem did not converge, with code 2 for bad input.
    """
    with bad_input_exits(), jax.enable_x64(precision == 64):
        problems = [
            _shaped(read_problem(file, np.dtype(f"float{precision}")), friction) for file in files
        ]
        for problem in problems:
            _check_solver(solver, law, problem)
        if out is not None:
            _check_names(problems, out)
        run = _Runner(ccp.SOLVERS[solver](), law, max_iterations)
        reports = []
        for problem in problems:
            report, lam = _solve_problem(problem, run, solver, law, atol + rtol * problem.scale)
            if out is not None:
                write_npz(out / f"{problem.name}.npz", lam=problem.file_multipliers(lam))
            if as_json:
                typer.echo(json_of(asdict(report)))
            reports.append(report)
    if not as_json:
        # A pipe has no width: do not wrap names as for a terminal.
        Console(width=None if sys.stdout.isatty() else 120).print(_table(reports))
    if any(report.status not in ("converged", "not_unique") for report in reports):
        raise typer.Exit(Exit.NOT_CONVERGED)


def _shaped(item: NamedProblem, friction: ConeType | None) -> NamedProblem:
    if friction is None:
        return item
    cones = replace(item.problem.cones, cone_type=friction)
    try:
        _ = cones.section
    except ValueError as error:
        raise InputError(item.path, str(error), "leave out --friction") from None
    return replace(item, problem=replace(item.problem, cones=cones))


def _check_solver(solver: str, law: ccp.Law, item: NamedProblem) -> None:
    try:
        ccp.SOLVERS[solver]().resolve(item.problem, law)
    except ValueError as error:
        raise InputError(item.path, str(error), "choose another --solver") from None


def _check_names(problems: list[NamedProblem], out: Path) -> None:
    """Check that results are written to files of their own, which are none of the problems'."""
    paths: dict[str, Path] = {}
    given = {problem.path.resolve() for problem in problems}
    for problem in problems:
        target = out / f"{problem.name}.npz"
        if target.resolve() in given:
            raise InputError(target, "is itself a problem to solve", "name another --out")
        if problem.name in paths:
            raise InputError(
                problem.path,
                f"{problem.name!r} is also the name of {paths[problem.name]}",
                "both would be written to the same file of --out: solve one of them",
                field="name",
            )
        paths[problem.name] = problem.path


class _Runner:
    """Solves problems; it compiles once for each shape of problem."""

    def __init__(self, solver: ccp.Solver, law: ccp.Law, max_iterations: int) -> None:
        def run(problem: ccp.Problem, tolerance: jax.Array) -> ccp.Solution:
            # The tolerance is an argument, not a constant, so that files of the same shape share a
            # program. A tolerance below rounding would count solutions as unsolved.
            atol = jnp.maximum(tolerance, problem.rounding())
            stop = ccp.Stop(atol=atol, max_iterations=max_iterations)
            return ccp.solve(problem, solver, law=law, stop=stop)

        self._run = jax.jit(run)
        self._compiled: dict[Hashable, jax.stages.Compiled] = {}

    def __call__(self, problem: ccp.Problem, tolerance: float) -> tuple[ccp.Solution, float, float]:
        """Return the solution, the time of solving [s] and the time of compiling [s]."""
        arguments = (problem, jnp.asarray(tolerance, problem.r.dtype))
        leaves, structure = jax.tree.flatten(arguments)
        shape = (structure, *((leaf.shape, leaf.dtype) for leaf in leaves))
        start = time.perf_counter()
        if shape not in self._compiled:
            self._compiled[shape] = self._run.lower(*arguments).compile()
        ready = time.perf_counter()
        solution = jax.block_until_ready(self._compiled[shape](*arguments))
        return solution, time.perf_counter() - ready, ready - start


def _solve_problem(
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
