"""Gradients of four motions with closed forms: jaxccp, MJX and Brax side by side.

    python -m experiments.gradient_peers.run [--problems slide …] [--engines jaxccp …] [--report]

Needs brax, which brings mujoco-mjx. There is nothing random; problems.py has all the numbers.
Writes results.csv, results.md and errors.png beside itself; what is run replaces its rows of an
earlier run. ``--report`` writes the latter two from the rows there are. On one core; times are the
shortest of several calls.
"""

import argparse
import csv
import os
import time
from pathlib import Path

os.environ["JAX_NUM_CPU_DEVICES"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])

import jax
import jax.numpy as jnp
import numpy as np

from experiments.gradient_peers.engines import ENGINES
from experiments.gradient_peers.problems import PROBLEMS, Problem
from experiments.gradient_peers.report import write
from experiments.gradient_peers.timing import seconds, temporary

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.csv"
DIFFERENCES = (1e-4, 1e-5, 1e-6)
"""Lengths of central differences; the one that comes nearest counts, for every engine."""
SECANT = 1e-2
"""Length of the differences that smooth over the steps of an impact's time."""
REPEATS, PATIENCE = 10, 2.0
FIELDS = ("problem", "engine", "mode", "value", "own", "secant", "truth", "ratio")
FIELDS += ("temp", "forward_temp", "compile", "forward_compile", "note")


def worst(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference, by the size of each entry, or of its row where that is next to 0."""
    scale = np.abs(wanted)
    scale = np.where(scale > 1e-3 * scale.max(1, keepdims=True), scale, scale.max(1, keepdims=True))
    return float((np.abs(found - wanted) / scale).max())


def compiled(function, x):
    """The program and the CPU time of tracing and compiling it [s]."""
    start = time.process_time()
    program = jax.jit(function).lower(x).compile()
    return program, time.process_time() - start


def differences(program, x: np.ndarray, length: float) -> np.ndarray:
    columns = [
        (np.asarray(program(jnp.asarray(x + d))) - np.asarray(program(jnp.asarray(x - d))))
        for d in length * np.eye(len(x))
    ]
    return np.stack(columns, axis=1) / (2 * length)


def rows(problem: Problem, engine: str) -> list[dict]:
    x = jnp.asarray(problem.values)
    function = ENGINES[engine](problem)
    exact, truth = problem.exact(x), np.asarray(jax.jacfwd(problem.exact)(x))
    value, spent = compiled(function, x)
    found = np.asarray(value(x))
    off = float((np.abs(found - exact) / np.abs(exact)).max())
    own = [differences(value, np.asarray(x), length) for length in DIFFERENCES]
    wide = differences(value, np.asarray(x), SECANT)
    table = []
    for mode, derivative in (("forward", jax.jacfwd), ("reverse", jax.jacrev)):
        row: dict = {"problem": problem.name, "engine": engine, "mode": mode, "value": off}
        table.append(row)
        try:
            program, gradient_spent = compiled(derivative(function), x)
        except Exception as error:  # whatever an engine refuses it with is the result
            row["note"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            continue
        slopes = np.asarray(program(x))
        times = seconds((value, program), x, time.perf_counter, REPEATS, PATIENCE)
        row |= {
            "own": min(worst(slopes, one) for one in own),
            "secant": worst(wide, truth),
            "truth": worst(slopes, truth),
            "ratio": times[1] / times[0],
            "temp": temporary(program),
            "forward_temp": temporary(value),
            "compile": gradient_spent,
            "forward_compile": spent,
        }
    for row in table:
        print({k: f"{v:.3g}" if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return table


def keep(found: list[dict]) -> None:
    """Put these rows in the place of those of an earlier run."""
    old: list[dict] = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            old += csv.DictReader(file)
    key = (found[0]["problem"], found[0]["engine"])
    kept = [row for row in old if (row["problem"], row["engine"]) != key] + found
    problems, engines = [p.name for p in PROBLEMS], list(ENGINES)
    kept.sort(key=lambda row: (problems.index(row["problem"]), engines.index(row["engine"])))
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", nargs="+", default=[problem.name for problem in PROBLEMS])
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--report", action="store_true")
    wanted = parser.parse_args()
    if not wanted.report:
        for problem in (problem for problem in PROBLEMS if problem.name in wanted.problems):
            for engine in wanted.engines:
                keep(rows(problem, engine))
    write(RESULTS)


if __name__ == "__main__":
    main()
