"""Compare solvers by residual against iterations and time, cold and warm, on six scenes.

    python experiments/notes_comparison/run.py [--minutes 30]

PSOR, APGD, BB, ADMM, Dantzig, SIPGS, Newton and auto on stacks with mass ratio 1, 100 and 1000, a
wall, spheres and a chain, in float64, all judged by the residual computed afresh from what they
return. config.toml in this folder lists scenes and solvers with their settings. A curve comes from
one compiled program that is run with more and more iterations, from zero (cold) and from the
impulses of the previous step (warm). Dantzig solves the problem with friction pyramids. Time is
processor time on one core, the better of two runs, compilation apart.

Writes curves.csv after each curve (a run continues where the last one stopped; ``--afresh`` starts
again), which git does not keep, and from it, once all curves are there, ccp.png, ncp.png and
results.md; ``--report`` writes these from the curves that there are. The folder is named after the
notes on such solvers from which their names come.
"""

import argparse
import csv
import os
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import get_type_hints

# One thread, so that processor time is what one core needs.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from scenes import Case, case  # noqa: E402

from jaxccp import ccp  # noqa: E402

FOLDER = Path(__file__).resolve().parent
LIMITS = tuple(dict.fromkeys(round(2 ** (k / 2)) for k in range(40)))
"""Iteration limits at which the points of a curve are measured."""


@dataclass(frozen=True)
class Point:
    """A row of curves.csv."""

    scene: str
    size: str
    law: str
    solver: str
    start: str
    """Kind of start: cold or warm."""
    iterations: int
    seconds: float
    residual: float
    """Relative to max‖r_c‖; nan where the solver does not apply."""


TYPES = get_type_hints(Point)
Sample = tuple[str, int, float, float]


def shaped(problem: ccp.Problem, solver: ccp.Solver) -> ccp.Problem:
    """Return the problem, with friction pyramids if the solver does not accept cones."""
    if "cone" in solver.cone_types:
        return problem
    return replace(problem, cones=replace(problem.cones, cone_type=solver.cone_types[0]))


def curves(item: Case, name: str, law: ccp.Law, floor: float, cap: float) -> Iterator[Sample]:
    """Yield start, iterations, seconds and relative residual of each point of a solver's curves.

    Args:
        item: problem and guess.
        name: name of the solver.
        law: contact law.
        floor: relative residual at which a curve ends.
        cap: time of a solve at which a curve ends [s].
    """
    solver = ccp.SOLVERS[name]()
    problem = shaped(item.problem, solver)
    scale = float(problem.scale())

    @jax.jit
    def program(problem: ccp.Problem, guess: jax.Array, limit: jax.Array) -> ccp.Solution:
        return ccp.solve(problem, solver, guess, law=law, stop=ccp.Stop(0.0, 0.0, limit))

    @jax.jit
    def worst(lam: jax.Array) -> jax.Array:
        return jnp.max(ccp.residuals(problem, lam, law)) / scale

    def clocked(guess: jax.Array, limit: int) -> tuple[ccp.Solution, float]:
        start = time.process_time()
        solution = jax.block_until_ready(program(problem, guess, np.int32(limit)))
        return solution, time.process_time() - start

    guesses = {"cold": jnp.zeros_like(problem.r), "warm": jnp.asarray(item.guess)}
    clocked(guesses["cold"], 0)
    for start, guess in guesses.items():
        for limit in (0, *LIMITS):
            solution, seconds = clocked(guess, limit)
            seconds = min(seconds, clocked(guess, limit)[1])
            iterations, residual = int(solution.statistics.iterations), float(worst(solution.lam))
            yield start, iterations, seconds, residual
            if residual <= floor or iterations < limit or seconds > cap / 1.5:
                break


def read_points(path: Path) -> list[Point]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            Point(*(kind(row[name]) for name, kind in TYPES.items()))
            for row in csv.DictReader(file)
        ]


def left(config: dict, points: list[Point]) -> list[tuple[str, str, str]]:
    """Return scene, law and solver of the curves that are missing.

    Args:
        config: content of config.toml.
        points: rows of curves.csv.
    """
    done = {(p.scene, p.law, p.solver) for p in points}
    asked = product(config["scenes"], config["laws"], config["solvers"])
    return [curve for curve in asked if curve not in done]


def compare(config: dict, path: Path, minutes: float) -> None:
    until = time.monotonic() + 60 * minutes
    done = {(p.scene, p.law, p.solver) for p in read_points(path)}
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, TYPES)
        if new:
            writer.writeheader()
        for scene, settings in config["scenes"].items():
            for law in config["laws"]:
                names = [name for name in config["solvers"] if (scene, law, name) not in done]
                if not names:
                    continue
                item = case(settings, config["seed"], law)
                for name in names:
                    if time.monotonic() > until:
                        print("time is over")
                        return
                    try:
                        points = list(curves(item, name, law, config["floor"], config["cap"]))
                    except ValueError as error:
                        print(f"{scene} {law} {name} does not apply: {error}")
                        points = [("cold", 0, 0.0, float("nan"))]
                    rows = [Point(scene, item.size, law, name, *point) for point in points]
                    writer.writerows(asdict(row) for row in rows)
                    file.flush()
                    print(f"{scene} {law} {name}: {rows[-1].residual:.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Residual against iterations and time")
    parser.add_argument("--minutes", type=float, default=30.0, help="for the whole run")
    parser.add_argument("--config", type=Path, default=FOLDER / "config.toml")
    parser.add_argument("--afresh", action="store_true", help="forget curves.csv")
    parser.add_argument("--report", action="store_true", help="only the pictures and the table")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the results go")
    arguments = parser.parse_args()
    config = tomllib.loads(arguments.config.read_text(encoding="utf-8"))
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "curves.csv"
    if not arguments.report:
        if arguments.afresh:
            path.unlink(missing_ok=True)
        compare(config, path, arguments.minutes)

    from report import write_report

    points = read_points(path)
    if not points:
        sys.exit(f"no {path}: run without --report first, which measures the curves")
    missing = left(config, points)
    if missing and not arguments.report:
        print(f"{len(missing)} curves are missing: run again, or write what there is by --report")
        return
    write_report(points, config, arguments.out)


if __name__ == "__main__":
    main()
