"""Every solver on recorded contact problems: time to an accuracy, compilation apart.

    python experiments/solvers/run.py PROBLEMS_DIR

PROBLEMS_DIR: npz files in the layouts of ``jaxccp solve``, in any subfolders. Float64. Each solver
is timed on each problem to relative residuals of 1e-3, 1e-6 and 1e-9 (max over contacts over
max‖r_c‖) under both laws, next to the interior-point solver clarabel on the convex law. Writes
results.csv, results.md and profiles.png beside itself.
"""

import argparse
import csv
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from interior_point import clarabel_solver  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from rich.progress import track  # noqa: E402

from jaxccp import ccp  # noqa: E402
from jaxccp.io import InputError, NamedProblem, read_problem  # noqa: E402

HERE = Path(__file__).resolve().parent
ACCURACIES = (1e-3, 1e-6, 1e-9)
BUDGET = 5.0
"""Seconds a solve may take; then it counts as failed."""
LIMITS = (100, 1_000, 10_000, 100_000)
"""Iteration limits tried one after another, while there is time."""
REPEATS = 3
LARGEST = 1600
"""Rows of the largest problem."""
FIELDS = ("problem", "rows", "law", "solver", "accuracy", "seconds", "iterations", "compile")


def problems(folder: Path) -> list[NamedProblem]:
    found = []
    for path in sorted(folder.rglob("*.npz")):
        try:
            problem = read_problem(path, np.float64)
        except InputError as error:
            print(f"left out: {error}")
            continue
        if problem.problem.cones.mu.shape[0] and problem.problem.cones.rows <= LARGEST:
            found.append(problem)
    return found


def ours(name: str, law: ccp.Law) -> Callable:
    def run(problem: ccp.Problem, tolerance: jax.Array, limit: jax.Array) -> ccp.Solution:
        return ccp.solve(
            problem, ccp.SOLVERS[name](), law=law, stop=ccp.Stop(tolerance, 0.0, limit)
        )

    return jax.jit(run)


def timed(program: Callable, item: NamedProblem, accuracy: float, law: ccp.Law) -> tuple:
    """Seconds and iterations to the accuracy; inf where it is not reached in time."""
    tolerance = jnp.asarray(accuracy * item.scale)
    for limit in LIMITS:
        start = time.perf_counter()
        solution = jax.block_until_ready(program(item.problem, tolerance, jnp.int32(limit)))
        spent = time.perf_counter() - start
        if reached(item, np.asarray(solution.lam), accuracy, law):
            for _ in range(REPEATS - 1):
                start = time.perf_counter()
                jax.block_until_ready(program(item.problem, tolerance, jnp.int32(limit)))
                spent = min(spent, time.perf_counter() - start)
            if spent > BUDGET:
                break
            return spent, int(solution.statistics.iterations)
        stalled = int(solution.statistics.iterations) < limit
        if stalled or 10 * spent > 2 * BUDGET:
            break
    return float("inf"), int(solution.statistics.iterations)


def reached(item: NamedProblem, lam: np.ndarray, accuracy: float, law: ccp.Law) -> bool:
    worst = float(jnp.max(ccp.residuals(item.problem, jnp.asarray(lam), law)))
    return worst <= accuracy * item.scale * (1 + 1e-6)


def measure(item: NamedProblem, name: str, law: ccp.Law) -> list[dict]:
    program = ours(name, law)
    start = time.perf_counter()
    compiled = program.lower(item.problem, jnp.asarray(1.0), jnp.int32(1)).compile()
    compile_s = time.perf_counter() - start
    rows = []
    for accuracy in ACCURACIES:
        seconds, iterations = timed(compiled, item, accuracy, law)
        rows.append(row(item, law, name, accuracy, seconds, iterations, compile_s))
        if seconds == float("inf"):
            break
    for accuracy in ACCURACIES[len(rows) :]:
        rows.append(row(item, law, name, accuracy, float("inf"), 0, compile_s))
    return rows


def measure_clarabel(item: NamedProblem) -> list[dict]:
    rows = []
    for accuracy in ACCURACIES:
        best = float("inf")
        for tolerance in (accuracy, 1e-2 * accuracy, 1e-4 * accuracy, 1e-13):
            lam, seconds = clarabel_solver(item.problem, tolerance)
            if np.all(np.isfinite(lam)) and reached(item, lam, accuracy, "ccp"):
                best = seconds
                break
        rows.append(row(item, "ccp", "clarabel", accuracy, best, 0, 0.0))
    return rows


def row(item, law, solver, accuracy, seconds, iterations, compile_s) -> dict:
    values = (item.name, item.problem.cones.rows, law, solver, accuracy)
    return dict(zip(FIELDS, (*values, seconds, iterations, compile_s), strict=True))


def table(rows: list[dict], law: str) -> str:
    """Share of problems solved, median time over those solved, and median compile time."""
    names = list(dict.fromkeys(r["solver"] for r in rows if r["law"] == law))
    lines = [
        "| solver | solved to 1e-3 / 1e-6 / 1e-9 | median time to 1e-3 / 1e-6 / 1e-9 [ms] "
        "| fastest at 1e-6 | within 2 × of it | compile [s] |",
        "|---|---|---|---|---|---|",
    ]
    fastest = fastest_times(rows, law, 1e-6)
    for name in names:
        mine = [r for r in rows if r["law"] == law and r["solver"] == name]
        shares, medians = [], []
        for accuracy in ACCURACIES:
            times = np.array([r["seconds"] for r in mine if r["accuracy"] == accuracy])
            good = np.isfinite(times)
            shares.append(f"{100 * good.mean():.0f} %")
            medians.append(f"{1e3 * np.median(times[good]):.2g}" if good.any() else "–")
        at = {r["problem"]: r["seconds"] for r in mine if r["accuracy"] == 1e-6}
        first = np.mean([at[p] == t for p, t in fastest.items()])
        near = np.mean([at[p] <= 2 * t for p, t in fastest.items()])
        compile_s = np.median([r["compile"] for r in mine])
        lines.append(
            f"| {name} | {' / '.join(shares)} | {' / '.join(medians)} | {100 * first:.0f} % "
            f"| {100 * near:.0f} % | {compile_s:.1f} |"
        )
    return "\n".join(lines)


def fastest_times(rows: list[dict], law: str, accuracy: float) -> dict[str, float]:
    best: dict[str, float] = {}
    for r in rows:
        if r["law"] == law and r["accuracy"] == accuracy and np.isfinite(r["seconds"]):
            best[r["problem"]] = min(r["seconds"], best.get(r["problem"], np.inf))
    return best


def plot(rows: list[dict]) -> Figure:
    figure = Figure(figsize=(13.0, 7.0), dpi=100, layout="constrained")
    axes = figure.subplots(2, 3, sharey=True)
    for line, law in zip(axes, ("ccp", "ncp"), strict=True):
        names = list(dict.fromkeys(r["solver"] for r in rows if r["law"] == law))
        for ax, accuracy in zip(line, ACCURACIES, strict=True):
            fastest = fastest_times(rows, law, accuracy)
            for name in names:
                at = {
                    r["problem"]: r["seconds"]
                    for r in rows
                    if (r["law"], r["solver"], r["accuracy"]) == (law, name, accuracy)
                }
                ratios = np.sort([at[p] / t for p, t in fastest.items()])
                share = np.arange(1, len(ratios) + 1) / max(len(ratios), 1)
                ax.step(ratios, share, where="post", label=name, linewidth=1.6)
            ax.set_xscale("log")
            ax.set_xlim(1, 1e3)
            ax.set_ylim(0, 1)
            ax.set_title(f"{law}, to {accuracy:g}", loc="left", fontsize=10)
            ax.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel("share of problems")
        line[0].legend(frameon=False, fontsize=8)
    for ax in axes[1]:
        ax.set_xlabel("time / fastest time")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the solvers")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--solvers", help="comma-separated; all that take cones when left out")
    arguments = parser.parse_args()
    names = arguments.solvers.split(",") if arguments.solvers else None
    names = names or [name for name, solver in ccp.SOLVERS.items() if "cone" in solver.friction]
    rows: list[dict] = []
    for item in track(problems(arguments.folder), "solving"):
        rows += measure_clarabel(item)
        for name in names:
            for law in ("ccp", "ncp"):
                rows += measure(item, name, law)
    with (HERE / "results.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
    count = len({r["problem"] for r in rows})
    machine = f"{os.cpu_count()} cores, {platform.machine()}, jax {jax.__version__}, CPU"
    (HERE / "results.md").write_text(
        f"""# Solvers on {count} recorded contact problems

`python experiments/solvers/run.py PROBLEMS_DIR` · float64, cold starts, at most {LARGEST} rows and
{BUDGET:g} s a solve, the shortest of {REPEATS} runs, compilation apart · {machine}

![performance profiles](profiles.png)

## The convex law

{table(rows, "ccp")}

## Coulomb's law

{table(rows, "ncp")}
""",
        encoding="utf-8",
    )
    plot(rows).savefig(HERE / "profiles.png")
    print((HERE / "results.md").read_text())


if __name__ == "__main__":
    main()
