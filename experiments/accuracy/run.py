"""Measure how accurately each solver reproduces the references of recorded contact problems.

    python experiments/accuracy/run.py PROBLEMS_DIR [--jobs 2]

PROBLEMS_DIR holds npz files in the layouts of ``jaxccp solve``, in any subfolders, with reference
solutions, and ``judge.py``, which scores multipliers in numpy and scipy and is no part of jaxccp:
the folder ccp of the real data sets of CONTRIBUTING.md. Every solve begins at zero and ends at a
relative residual a little below the goal or at a limit of iterations (config.toml); nothing is
timed. Each outcome is appended to results.csv at once; a run that was interrupted resumes where it
stopped. At the end, or with ``--report`` alone, results.md is written, the remarks of notes.md
included.
"""

import argparse
import csv
import importlib.util
import multiprocessing
import os
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

# Processes side by side, one thread each.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Task:
    """One solve: a problem file, a precision [bits], a contact law, a solver and its limits."""

    path: Path
    precision: int
    law: str
    solver: str
    tolerance: float
    limit: int


@dataclass(frozen=True)
class Outcome:
    """A row of results.csv; errors are relative, and nan where there is no reference."""

    problem: str
    rows: int
    precision: int
    law: str
    solver: str
    status: str
    iterations: int
    residual: float
    """Residual under the law of the solve, divided by max‖r_c‖."""
    velocity: float
    """Largest difference from the reference of the convex law, divided by the largest velocity of
    the reference or at zero impulse."""
    objective: float
    """Excess of the objective over that of the reference."""
    reference: bool
    """Whether the file has a reference for the law."""
    note: str


READERS: dict[str, Callable[[str], Any]] = {
    name: (lambda text: text == "True") if kind is bool else kind
    for name, kind in get_type_hints(Outcome).items()
}


@cache
def judge_of(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("judge", folder / "judge.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{folder / 'judge.py'} cannot be read: it comes with the problems")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solved(task: Task, folder: Path) -> Outcome:
    import jax

    jax.config.update("jax_enable_x64", task.precision == 64)

    from jaxccp import ccp, io

    # One problem in a process after another: programs of the last one are of no use.
    jax.clear_caches()
    item = io.read_problem(task.path, np.dtype(f"float{task.precision}"))
    solver = ccp.SOLVERS[task.solver]()
    stop = ccp.Stop(task.tolerance * item.scale, 0.0, task.limit)
    who = (task.path.stem, item.problem.cones.rows, task.precision, task.law, task.solver)
    law: ccp.Law = "ncp" if task.law == "ncp" else "ccp"
    with np.load(task.path) as file:
        referenced = "lam_ccp" in file or "gamma_ref" in file
        if task.law == "ncp":
            referenced = bool(file["ncp_ok"]) if "ncp_ok" in file else False
    try:
        solution = jax.jit(lambda p: ccp.solve(p, solver, law=law, stop=stop))(item.problem)
    except ValueError as error:
        why = " ".join(str(error).split())
        return Outcome(*who, "refused", 0, np.nan, np.nan, np.nan, referenced, why)
    statistics = solution.statistics
    status = ccp.Status(int(statistics.status)).name.lower()
    errors = judged(judge_of(folder), item, np.asarray(solution.lam, np.float64), task)
    return Outcome(*who, status, int(statistics.iterations), *errors, referenced, "")


def judged(judge: ModuleType, item, lam: np.ndarray, task: Task) -> tuple[float, float, float]:
    """Return the relative residual, and the relative errors of velocities and objective.

    Args:
        judge: the module judge.py that comes with the problems.
        item: the problem as ``jaxccp.io.read_problem`` returns it.
        lam: multipliers of the solver.
        task: the solve that they come from.
    """
    problem = judge.load(item.path)
    mine = item.file_multipliers(lam)
    # Where bodies stick together the cone's apex lies below zero, which the judge does not know.
    shift = np.zeros_like(mine)
    shift[item.order] = item.unit * item.shift
    problem["r"] = problem["r"] - problem["N"] @ shift
    worst, _, _ = judge.residuals(problem, mine + shift, task.law)
    if task.law == "ncp" or problem["lam"] is None:
        return worst / item.scale, float("nan"), float("nan")
    achieved, expected = problem["velocity"](mine), problem["v_ref"]
    # What rests has no velocity to compare with.
    largest = max(np.abs(expected).max(), item.scale)
    objective = judge.judge(item.path, mine)["objective_gap_rel"]
    return worst / item.scale, np.abs(achieved - expected).max() / largest, objective


def tasks(folder: Path) -> list[Task]:
    """Return the solves of all problems of a folder, the smallest problems first."""
    config = tomllib.loads((FOLDER / "config.toml").read_text(encoding="utf-8"))
    entries = []
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path) as file:
            rolling = "mode" in file and np.any(file["mode"] > 4)
            if "layout" not in file or rolling:
                print(f"left out: {path.name}{', rolling friction' if rolling else ''}")
                continue
            rows = len(file["mode"] if "mode" in file else file["q"])
        for run in config["runs"]:
            for solver in run["solvers"]:
                limit = run["iterations"].get(solver, 20_000)
                task = Task(path, run["precision"], run["law"], solver, run["tolerance"], limit)
                entries.append((rows, len(entries), task))
    return [task for *_, task in sorted(entries, key=lambda entry: entry[:2])]


def read_results(path: Path) -> list[Outcome]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Outcome(*(read(row[name]) for name, read in READERS.items()))
            for row in csv.DictReader(file)
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Accuracy of the solvers")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes side by side")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the results go")
    parser.add_argument("--report", action="store_true", help="only results.md")
    arguments = parser.parse_args()
    path = arguments.out / "results.csv"
    if not arguments.report:
        if arguments.folder is None:
            parser.error("give the folder of the problems")
        survey(arguments.folder, path, arguments.jobs)

    from report import write_report

    write_report(read_results(path), arguments.out)


def survey(folder: Path, path: Path, jobs: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {(r.problem, r.precision, r.law, r.solver) for r in read_results(path)}
    left = [t for t in tasks(folder) if (t.path.stem, t.precision, t.law, t.solver) not in done]
    new = not path.exists()
    pool = multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=60)
    with path.open("a", newline="") as file, pool:
        writer = csv.DictWriter(file, READERS)
        if new:
            writer.writeheader()
        rows = pool.imap_unordered(partial(solved, folder=folder), left)
        for number, row in enumerate(rows):
            writer.writerow(asdict(row))
            file.flush()
            print(
                f"{number + 1}/{len(left)} {row.problem} float{row.precision} {row.law} "
                f"{row.solver}: {row.status}, {row.residual:.1e} after {row.iterations}",
                flush=True,
            )


if __name__ == "__main__":
    main()
