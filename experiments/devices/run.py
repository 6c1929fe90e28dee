"""Time the same steps and solves on every kind of device that JAX finds, singly and in batches.

    python experiments/devices/run.py PROBLEMS_DIR

PROBLEMS_DIR: the folder ccp of the real data sets of CONTRIBUTING.md, or any of npz files in the
layouts of ``jaxccp solve``, in any subfolders, of which those named in PROBLEMS are used. Times are
wall-clock times, the shortest of several runs, without compilation. Each row is appended to
steps.csv or solves.csv beside this file at once, and a run that was interrupted resumes where it
stopped; at the end results.md and devices.png are made from the rows.
"""

import argparse
import contextlib
import csv
import itertools
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from report import write_report

from jaxccp import EulerImplicitLinearized
from jaxccp.ccp import SOLVERS, Law, Problem, Status, Stop, solve
from jaxccp.dynamics import rollout
from jaxccp.io import read_problem
from jaxccp.model import Model, State
from jaxccp.scenes.library import SCENES, batch

SEED = 0
FOLDER = Path(__file__).resolve().parent

SCENE = "cube-toss"
H = 1e-3
"""Length of a step [s]."""
LEAD, STEPS = 220, 60
"""Steps of free flight, and the measured steps after them, in which the cubes land."""
COPIES = {"cpu": (1, 16, 256, 4096), "gpu": (1, 16, 256, 4096, 32768)}
LAWS: tuple[Law, ...] = ("ccp", "ncp")

PROBLEMS = ("regen-BoxesStack-nc47-s00040", "regen-Capsules-nc155-s01980")
CONTENDERS = ("auto", "apgd", "newton", "psor")
BATCHES = (1, 128)
RTOL = 1e-6
"""Residual at which solves stop, relative to the largest velocity."""
SPREAD = 0.1
"""Spread of the problems of a batch: r + N (λ ∘ ξ), ξ normal with this standard deviation."""
ITERATIONS = 2000

PATIENCE = 1.0
"""Total time of its runs after which a program is not run again [s]."""


@dataclass(frozen=True)
class Case:
    """A program, its arguments and device, and the labels and columns of its row in the table."""

    labels: dict[str, Any]
    device: str
    program: Callable
    arguments: tuple
    outcome: Callable[[Any, float], dict[str, Any]]

    def compiled(self) -> tuple[Callable, float]:
        """Return the compiled program, and the time of tracing and compiling it [s]."""
        start = time.perf_counter()
        with jax.enable_x64(self.labels["precision"] == 64), jax.default_device(self.device):
            program = jax.jit(self.program).lower(*self.arguments).compile()
        return program, time.perf_counter() - start

    def measured(self, program: Callable) -> dict[str, Any]:
        """Return the outcome columns, with the time of the fastest of several calls."""
        times: list[float] = []
        with jax.enable_x64(self.labels["precision"] == 64):
            while sum(times) < PATIENCE:
                start = time.perf_counter()
                result = jax.block_until_ready(program(*self.arguments))
                times.append(time.perf_counter() - start)
            return self.outcome(result, min(times))


def measure(cases: list[Case], path: Path) -> None:
    """Measure the cases that have no row in a table yet, and append their rows."""
    rows = read_rows(path)
    cases = [case for case in cases if not any(case.labels.items() <= row.items() for row in rows)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = list(pool.map(Case.compiled, cases))
    for case, (program, compile_s) in zip(cases, programs, strict=True):
        row = case.labels | case.measured(program) | {"compile [s]": compile_s}
        print(*(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
        write_row(path, row)


def read_rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{k: _number(v) for k, v in row.items()} for row in csv.DictReader(file)]


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def write_row(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


def devices() -> list[str]:
    """Return the names of the platforms, the CPU first."""
    return list(dict.fromkeys(["cpu", jax.default_backend()]))


def stepping() -> Iterator[Case]:
    """Yield the cases that measure steps per second of all copies together."""
    for device in devices():
        with jax.default_device(device):
            model, ahead = batch(SCENES[SCENE], jax.random.key(SEED), max(COPIES[device]))
            flown = jax.jit(partial(_run, model, EulerImplicitLinearized(H), LEAD))(ahead)[0]
        for law in LAWS:
            for copies in COPIES[device]:
                states = jax.tree.map(lambda leaf, copies=copies: leaf[:copies], flown)
                program = partial(_run, model, EulerImplicitLinearized(H, law), STEPS)
                labels = {**names(device), "law": law, "precision": 32, "copies": copies}
                yield Case(labels, device, program, (states,), partial(_steps, copies))


def _steps(copies: int, result: tuple, seconds: float) -> dict[str, Any]:
    iterations = float(jnp.mean(result[1]))
    return {"steps/s": copies * STEPS / seconds, "iterations/step": iterations}


def _run(model: Model, stepper: EulerImplicitLinearized, steps: int, states: State) -> tuple:
    def single(state: State) -> tuple:
        final, trajectory = rollout(model, state, stepper, steps)
        return final, trajectory.report.solver.iterations

    return jax.vmap(single)(states)


def solving(folder: Path, law: Law) -> Iterator[Case]:
    """Yield the cases that measure the time per problem, singly and in a batch, cold-started."""
    for problem_name in PROBLEMS:
        (path,) = folder.rglob(f"{problem_name}.npz")
        with jax.enable_x64(True):
            problem = read_problem(path, np.float64).problem
            likely = solve(problem, SOLVERS["auto"](), law=law, stop=Stop(0.0, RTOL, 200)).lam
            draws = jax.random.normal(jax.random.key(SEED), (max(BATCHES), len(likely)))
            changed = jax.vmap(problem.delassus.apply)(SPREAD * draws * likely)
            r = problem.r + changed.at[0].set(0.0)
            operands = {d: jax.device_put((problem, r), jax.devices(d)[0]) for d in devices()}
        for device, solver, size in itertools.product(devices(), CONTENDERS, BATCHES):
            labels = {**names(device), "problem": problem_name, "rows": len(likely)}
            labels |= {"law": law, "precision": 64, "solver": solver, "batch": size}
            program = partial(_solved, solver, law, size)
            yield Case(labels, device, program, operands[device], partial(_solves, size))


def _solved(solver: str, law: Law, size: int, problem: Problem, r: jax.Array) -> Any:
    def single(r: jax.Array) -> Any:
        stop = Stop(0.0, RTOL, ITERATIONS)
        return solve(replace(problem, r=r), SOLVERS[solver](), law=law, stop=stop).statistics

    return single(r[0]) if size == 1 else jax.vmap(single)(r[:size])


def _solves(size: int, statistics: Any, seconds: float) -> dict[str, Any]:
    return {
        "solved [%]": float(100 * jnp.mean(statistics.status == Status.CONVERGED)),
        "most iterations": int(jnp.max(statistics.iterations)),
        "ms per problem": 1e3 * seconds / size,
    }


def names(device: str) -> dict[str, str]:
    cpu = f"CPU, {os.cpu_count()} cores"
    kind = cpu if device == "cpu" else jax.devices(device)[0].device_kind
    return {"device": kind, "jax": jax.__version__}


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare devices")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--report", action="store_true", help="only results.md and devices.png")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the results go")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    steps, solves = arguments.out / "steps.csv", arguments.out / "solves.csv"
    if not arguments.report:
        measure(list(stepping()), steps)
        for law in LAWS:
            measure(list(solving(arguments.folder, law)), solves)
    write_report(
        read_rows(steps),
        read_rows(solves),
        arguments.out,
        f"{SCENE}, {STEPS} steps of {1e3 * H:g} ms in which the cubes land, float32.",
        f"Recorded problems, float64, cold starts, to {RTOL:g} of the largest velocity or "
        f"{ITERATIONS} iterations. Problems of a batch differ by {100 * SPREAD:g} % in impulses.",
    )


if __name__ == "__main__":
    main()
