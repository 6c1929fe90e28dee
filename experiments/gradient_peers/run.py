"""Compare gradients of four motions with closed forms: jaxccp, MJX and Brax.

    python -m experiments.gradient_peers.run [--problems slide …] [--engines jaxccp …] [--report]

Needs brax, which installs mujoco-mjx. Nothing is random; problems.py has all the numbers. Writes
results.csv, results.md and errors.png beside this file; what is run replaces its rows of an earlier
run. ``--report`` writes the latter two files from the existing rows. On one core; times are the
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

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.csv"
DIFFERENCES = (1e-4, 1e-5, 1e-6)
"""Half-widths of central differences; for each engine the one with the smallest error counts."""
SECANT = 1e-2
"""Half-width of central differences that smooth over the discrete times of impacts."""
REPEATS, PATIENCE = 10, 2.0
FIELDS = ("problem", "engine", "mode", "value", "own", "secant", "truth", "ratio")
FIELDS += ("temp", "forward_temp", "compile", "forward_compile", "note")


def worst(slopes: np.ndarray, truth: np.ndarray) -> float:
    """Return the largest error relative to each entry of the truth.

    Entries below 1e-3 of the largest are compared relative to the largest entry of their row.
    """
    scale = np.abs(truth)
    scale = np.where(scale > 1e-3 * scale.max(1, keepdims=True), scale, scale.max(1, keepdims=True))
    return float((np.abs(slopes - truth) / scale).max())


def compiled(function, x):
    """Return the compiled program, and the CPU time of tracing and compiling it [s]."""
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
    outcomes = np.asarray(value(x))
    off = float((np.abs(outcomes - exact) / np.abs(exact)).max())
    numerical = [differences(value, np.asarray(x), length) for length in DIFFERENCES]
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
            "own": min(worst(slopes, difference) for difference in numerical),
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


def keep(new: list[dict]) -> None:
    """Write the rows to results.csv, in place of those of an earlier run of the same engine."""
    old: list[dict] = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            old += csv.DictReader(file)
    key = (new[0]["problem"], new[0]["engine"])
    kept = [row for row in old if (row["problem"], row["engine"]) != key] + new
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
    options = parser.parse_args()
    if not options.report:
        for problem in (problem for problem in PROBLEMS if problem.name in options.problems):
            for engine in options.engines:
                keep(rows(problem, engine))
    write(RESULTS)


if __name__ == "__main__":
    main()
