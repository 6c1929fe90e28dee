"""Measure the processor time of every solver to an accuracy on recorded contact problems.

    python experiments/solvers/run.py PROBLEMS_DIR [--minutes 60] [--cap 1] [--solvers auto,psor]

PROBLEMS_DIR: the folder ccp of the real data sets of CONTRIBUTING.md, or any of npz files in the
layouts of ``jaxccp solve``, in any subfolders. Each solver is timed on each problem, in float64 and
from a cold start, to relative residuals of 1e-3, 1e-6 and 1e-9 (max over contacts over max‖r_c‖,
computed outside all of them) under both laws. Solvers are jaxccp's, clarabel, Pinocchio's ADMM and
PGS, and a Gauss–Seidel and an APGD in numba. Those not installed are left out:

    pip install clarabel pin numba

Times are processor time on one core (``time.process_time``), the best of three, without
compilation, from the problem in a solver's data structures to its multipliers. A solve may take
``--cap`` seconds; one that takes longer is ended and counts as failed. Outcomes are added to
results.csv in this folder one by one; a run of ``--minutes`` continues where the last one stopped
(``--afresh`` starts again). At the end, or with ``--report`` alone, results.md and profiles.png are
made from it and the remarks of notes.md.
"""

import argparse
import csv
import multiprocessing
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import get_type_hints

import numpy as np

FOLDER = Path(__file__).resolve().parent
ACCURACIES = (1e-3, 1e-6, 1e-9)
LAWS = ("ccp", "ncp")
COMPILE = 180.0
"""Longest time of reading, preparing and compiling [s]."""
TRIES = 12.0
"""Longest time of the search for an outcome, in caps: growing limits, sharper tolerances,
repeats."""


@dataclass(frozen=True)
class Outcome:
    """A row of results.csv."""

    problem: str
    rows: int
    mass_ratio: float
    law: str
    solver: str
    accuracy: float
    outcome: str
    """Result: solved, failed (not in time, or not at all), or refused (does not apply)."""
    seconds: float
    """Processor time [s]; inf unless solved."""
    iterations: int
    residual: float
    """Relative residual of the returned impulses."""
    idle: float
    """Processor time of a call without iterations [s]."""
    compile: float
    """Time of compilation [s]."""
    note: str


KINDS = get_type_hints(Outcome)


@dataclass(frozen=True)
class Recorded:
    name: str
    path: Path
    rows: int
    mass_ratio: float


def recorded(folder: Path) -> list[Recorded]:
    """Return the problems in an order in which the first ones are a sample of all."""
    problems = []
    for path in sorted(folder.rglob("*.npz")):
        with np.load(path) as file:
            rolling = "mode" in file and np.any(file["mode"] > 4)
            if "layout" in file and not rolling:
                rows = len(file["mode"] if "mode" in file else file["q"])
                problems.append(Recorded(path.stem, path, rows, mass_ratio(file)))
            else:
                print(f"left out: {path.name}{', rolling friction' if rolling else ''}")
    random.Random(0).shuffle(problems)
    return problems


def mass_ratio(file: np.lib.npyio.NpzFile) -> float:
    """Return the largest over the smallest mass of moving bodies; where masses are unknown, that of
    trace(N_cc)."""
    if "Minv_blocks" in file:
        weights = np.trace(file["Minv_blocks"][:, :3, :3], axis1=1, axis2=2)
    else:
        row = np.repeat(np.arange(len(file["q"])), np.diff(file["W_indptr"]))
        on_diagonal = row == file["W_indices"]
        diagonal = np.zeros(len(file["q"]))
        np.add.at(diagonal, row[on_diagonal], file["W_data"][on_diagonal])
        weights = diagonal.reshape(-1, 3).sum(axis=1)
    weights = weights[weights > 0]
    return float(weights.max() / weights.min()) if len(weights) else 1.0


class Worker:
    """A process that measures; it is restarted after it had to be ended."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.start()

    def start(self) -> None:
        self.connection, remote = self.context.Pipe()
        self.process = self.context.Process(target=_serve, args=(remote,), daemon=True)
        self.process.start()
        remote.close()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()

    def messages(self, task: tuple, cap: float, until: float) -> Iterator[tuple]:
        """Yield the messages of the process, or ("ended", why) where it took too long or died.

        Args:
            task: path, law, solver, accuracies and cap, as :func:`worker.serve` takes them.
            cap: longest time of a solve [s].
            until: end of the run, by ``time.monotonic`` [s].
        """
        self.connection.send(task)
        allowed = COMPILE
        while True:
            allowed = min(allowed, until - time.monotonic())
            try:
                if not self.connection.poll(max(allowed, 0.0)):
                    self.end()
                    self.start()
                    yield "ended", "time" if time.monotonic() < until else "budget"
                    return
                message = self.connection.recv()
            except (EOFError, ConnectionError):
                self.end()
                self.start()
                yield "ended", "crash"
                return
            if message[0] == "end":
                return
            yield message
            allowed = TRIES * cap + 5.0


def _serve(connection: Connection) -> None:
    from worker import serve

    serve(connection)


def measure(
    worker: Worker, problem: Recorded, law: str, solver: str, cap: float, until: float
) -> list[Outcome]:
    """Return one outcome per accuracy, or none where the time of the run was over before the end.

    Args:
        worker: process that measures.
        problem: recorded problem.
        law: contact law, ``ccp`` or ``ncp``.
        solver: name of the solver.
        cap: longest time of a solve [s].
        until: end of the run, by ``time.monotonic`` [s].
    """
    rows: list[Outcome] = []
    idle = compiled = 0.0

    def add(outcome: str, seconds: float, iterations: int, residual: float, note: str = "") -> None:
        accuracy = ACCURACIES[len(rows)]
        who = (problem.name, problem.rows, problem.mass_ratio, law, solver, accuracy)
        rows.append(Outcome(*who, outcome, seconds, iterations, residual, idle, compiled, note))

    task = (str(problem.path), law, solver, ACCURACIES, cap)
    for message in worker.messages(task, cap, until):
        match message:
            case "ready", compiled, idle:
                pass
            case "solved", _, seconds, iterations, residual:
                add("solved", seconds, iterations, residual)
            case "failed", _, _, iterations, residual:
                add("failed", np.inf, iterations, residual)
            case "refused", why:
                for _ in ACCURACIES:
                    add("refused", np.inf, 0, np.inf, why)
            case "ended", "budget":
                return []
            case "ended", why:
                note = "a solve beyond the cap" if why == "time" else "the process died"
                add("failed", np.inf, 0, np.inf, note)
    while len(rows) < len(ACCURACIES):
        add("failed", np.inf, 0, np.inf)
    return rows


def read_results(path: Path) -> list[Outcome]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Outcome(*(kind(row[name]) for name, kind in KINDS.items()))
            for row in csv.DictReader(file)
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the solvers")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--minutes", type=float, default=60.0, help="for the whole run")
    parser.add_argument("--cap", type=float, default=1.0, help="seconds a solve may take")
    parser.add_argument("--solvers", help="comma-separated; all when left out")
    parser.add_argument("--rows", type=int, default=12_000, help="of the largest problem")
    parser.add_argument("--afresh", action="store_true", help="forget results.csv")
    parser.add_argument("--report", action="store_true", help="only results.md and profiles.png")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the results go")
    arguments = parser.parse_args()
    path = arguments.out / "results.csv"
    if not arguments.report:
        if arguments.folder is None:
            parser.error("give the folder of the problems")
        if arguments.afresh:
            path.unlink(missing_ok=True)
        compare(arguments, path)

    from report import write_report

    write_report(read_results(path), arguments.out, arguments.cap)


def compare(arguments: argparse.Namespace, path: Path) -> None:
    from entrants import NAMES

    until = time.monotonic() + 60 * arguments.minutes
    done = {(row.problem, row.law, row.solver) for row in read_results(path)}
    names = arguments.solvers.split(",") if arguments.solvers else NAMES
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        sys.exit(f"unknown solvers {', '.join(unknown)}; there are {', '.join(NAMES)}")
    problems = [p for p in recorded(arguments.folder) if p.rows <= arguments.rows]
    tasks = [(p, law, name) for p in problems for law in LAWS for name in names]
    tasks = [(p, law, name) for p, law, name in tasks if (p.name, law, name) not in done]
    arguments.out.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    worker = Worker()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, KINDS)
        if new:
            writer.writeheader()
        for number, (problem, law, name) in enumerate(tasks):
            rows = measure(worker, problem, law, name, arguments.cap, until)
            if not rows:
                print(f"time is over; {len(tasks) - number} of {len(tasks)} are left")
                break
            writer.writerows(asdict(row) for row in rows)
            file.flush()
            print(
                f"{number + 1}/{len(tasks)} {problem.name} {law} {name}: {_words(rows)}", flush=True
            )
    worker.end()


def _words(rows: list[Outcome]) -> str:
    if rows[0].outcome == "refused":
        return f"does not apply: {rows[0].note}"
    times = ("–" if np.isinf(row.seconds) else f"{1e3 * row.seconds:.3g}" for row in rows)
    why = next((row.note for row in rows if row.outcome == "failed"), "")
    return f"{' / '.join(times)} ms {why}".rstrip()


if __name__ == "__main__":
    main()
