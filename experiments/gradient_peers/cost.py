"""Measure the cost of reverse mode relative to the forward rollout, in time and memory.

    python -m experiments.gradient_peers.cost [cube ant stack]

The memory is to be independent of the number of solver iterations. The scenes are a cube about to
land, gymnasium's ant (needs gymnasium and mujoco) and ten boxes at rest: STEPS steps, one copy and
64, float32, law ``ncp``; the gradient of a sum of squares of the final positions in all initial
positions and velocities. Memory is XLA's temporary memory with limits of 10 and of 1000 iterations.
Writes cost.md, with the remarks of cost_notes.md, and cost.csv beside this file; scenes that are
run replace their rows of an earlier run, and ``--report`` runs none. On one core; times are CPU
time, the shortest of several calls.
"""

import argparse
import csv
import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ["JAX_NUM_CPU_DEVICES"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])

import jax
import jax.numpy as jnp

from experiments.gradient_peers.timing import seconds, temporary
from experiments.throughput.scenes import robot
from jaxccp import EulerImplicitLinearized, Model, State, Stop, fit_capacity, load, rollout
from jaxccp.scenes.library import SCENES

SEED, STEPS, BATCHES, LIMITS = 0, 100, (1, 64), (10, 1000)
LEAD = {"cube": 230, "ant": 200, "stack": 20}
"""Steps before those that are differentiated; then the cube is about to land, the ant landed."""
REPEATS, PATIENCE = 20, 10.0
FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "cost.csv"
FIELDS = ("scene", "copies", "forward", "gradient", "ratio", *(f"memory {n}" for n in LIMITS))
FIELDS += ("forward memory", "iterations", "batch iterations")
"""Iterations are those of a single copy that starts without noise; *batch iterations* the mean of
all copies of the row."""


def scene(name: str) -> tuple[Model, State, float]:
    """Return the model, its initial state, and the length of a step [s]."""
    if name == "ant":
        loaded = load(robot("ant"), allow_unsupported=True)
        return loaded.model, loaded.state, loaded.timestep
    model, state = SCENES["cube-toss" if name == "cube" else name](jax.random.key(SEED))
    return model, state, 1e-3


def rows(name: str) -> list[dict]:
    model, first, h = scene(name)
    stepper = EulerImplicitLinearized(h, "ncp")
    state, path = rollout(model, first, stepper, LEAD[name])
    model = fit_capacity(model, state, stepper, STEPS)
    _, path = jax.jit(lambda state: rollout(model, state, stepper, STEPS))(state)
    iterations = float(path.report.solver.iterations.mean())

    def loss(x: tuple, limit: int) -> jax.Array:
        def single(position: jax.Array, velocity: jax.Array) -> jax.Array:
            limited = replace(stepper, stop=Stop(max_iterations=limit))
            start = replace(state, position=position, velocity=velocity)
            return jnp.sum(rollout(model, start, limited, STEPS)[0].position ** 2)

        return single(*x) if x[0].ndim == 2 else jnp.sum(jax.vmap(single)(*x))

    @jax.jit
    @jax.vmap
    def iterations_of(position: jax.Array, velocity: jax.Array) -> jax.Array:
        limited = replace(stepper, stop=Stop(max_iterations=LIMITS[-1]))
        start = replace(state, position=position, velocity=velocity)
        return rollout(model, start, limited, STEPS)[1].report.solver.iterations.mean()

    def gradient(x: tuple, limit: int) -> Callable:
        of = jax.value_and_grad(lambda x: loss(x, limit))
        return jax.jit(of).lower(x).compile()

    table = []
    for copies in BATCHES:
        x = (state.position, state.velocity)
        if copies > 1:
            noise = 1e-3 * jax.random.normal(jax.random.key(SEED), (copies, *x[1].shape))
            x = (jnp.tile(x[0], (copies, 1, 1)), x[1] + noise)
        own = iterations if copies == 1 else float(iterations_of(*x).mean())
        forward = jax.jit(lambda x: loss(x, LIMITS[-1])).lower(x).compile()
        backward = gradient(x, LIMITS[-1])
        times = seconds([forward, backward], x, time.process_time, REPEATS, PATIENCE)
        memory = {f"memory {LIMITS[-1]}": temporary(backward)}
        if copies == 1:
            low = gradient(x, LIMITS[0])
            memory[f"memory {LIMITS[0]}"] = temporary(low)
        row = {"scene": name, "copies": copies, "forward": times[0], "gradient": times[1]}
        row |= {"ratio": times[1] / times[0], "iterations": iterations} | memory
        row["batch iterations"] = own
        row["forward memory"] = temporary(forward)
        print(row, flush=True)
        table.append(row)
    return table


def keep(new: list[dict]) -> None:
    old: list[dict] = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            old += csv.DictReader(file)
    kept = [row for row in old if row["scene"] != new[0]["scene"]] + new
    kept.sort(key=lambda row: list(LEAD).index(row["scene"]))
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept)


def _iterations(row: dict[str, str]) -> str:
    """Return the mean iterations of all copies of a row; a dash where they were not counted."""
    mean = row["iterations"] if row["copies"] == "1" else row.get("batch iterations")
    return f"{float(mean):.1f}" if mean else "–"


def write() -> None:
    with RESULTS.open(newline="", encoding="utf-8") as file:
        table = [
            f"| {row['scene']} | {row['copies']} | {_iterations(row)} | "
            f"{1e6 * float(row['forward']) / STEPS:,.0f} | "
            f"{1e6 * float(row['gradient']) / STEPS:,.0f} | {float(row['ratio']):.2f} | "
            + " | ".join(
                f"{float(row[name]) / 1e3:,.0f}" if row[name] else "–"
                for name in ("forward memory", *(f"memory {n}" for n in LIMITS))
            )
            + " |"
            for row in csv.DictReader(file)
        ]
    notes = FOLDER / "cost_notes.md"
    remarks = notes.read_text(encoding="utf-8") + "\n" if notes.exists() else ""
    (FOLDER / "cost.md").write_text(
        f"""# What reverse mode costs

`python -m experiments.gradient_peers.cost` · gradient of {STEPS} steps, value included, in all
initial positions and velocities; float32, `ncp`, one core, seed {SEED} · {platform.machine()},
jax {jax.__version__}

CPU times are of one step of all copies, memory what XLA reserves besides inputs and outputs.
This project aims at a ratio of at most 1.5, and at as much memory with a limit of {LIMITS[1]}
iterations as with one of {LIMITS[0]}. Iterations are the mean of all copies; –: not counted.

{remarks}| scene | copies | iterations | forward [µs] | gradient [µs] | ratio | \
memory, forward [kB] | gradient, at most {LIMITS[0]} iterations [kB] | {LIMITS[1]} [kB] |
|---|---|---|---|---|---|---|---|---|
{chr(10).join(table)}
""",
        encoding="utf-8",
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes", nargs="*", default=list(LEAD))
    parser.add_argument("--report", action="store_true", help="only cost.md, from cost.csv")
    options = parser.parse_args()
    for name in () if options.report else options.scenes:
        keep(rows(name))
    write()


if __name__ == "__main__":
    main()
