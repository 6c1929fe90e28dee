"""Measure the number of pairs from which a search by cells is faster than testing all pairs.

    python experiments/broad_phase/run.py

The scenes are lattices of balls that rest on one another; float32, one core. Detections by the
two methods are timed in turns within one run, so that their ratio is more reliable than the times.
Writes results.md beside this file.
"""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import Model, ModelBuilder, Plane, Sphere, State
from jaxccp.collision.detect import detect
from jaxccp.dynamics.rollouts.capacity import with_start_capacity

SEED = 0
SIDE = 0.2
"""Side of the lattice's cells and diameter of the balls [m]."""
LIFT = np.array([0.0, 0.0, 0.5])
NOISE = 2e-3
"""Largest random displacement of a ball along each axis [m]."""
COUNTS = (27, 125, 216, 512)
DETECTIONS = 10
REPEATS = 7
FOLDER = Path(__file__).resolve().parent


def lattice(count: int, broad_phase: str) -> tuple[Model, State]:
    """Build a cube of ``count`` balls on a plane, with capacity for the pairs near at the start."""
    random, across = np.random.default_rng(SEED), round(count ** (1 / 3))
    builder = ModelBuilder(margin=0.01, broad_phase=broad_phase)
    builder.add_shape(0, Plane())
    for i in range(count):
        corner = np.array(np.unravel_index(i, (across,) * 3))
        position = SIDE * (corner + LIFT) + random.uniform(-NOISE, NOISE, 3)
        builder.add_solid(Sphere(SIDE / 2), 1.0, position=position)
    model, state = builder.build()
    return with_start_capacity(model, state), state


def detections(model: Model, state: State) -> tuple[Callable[[], object], float]:
    """Return a compiled run of DETECTIONS detections in sequence, and its compile time [CPU s]."""

    def step(_: int, position: jax.Array) -> jax.Array:
        gaps = detect(model, replace(state, position=position)).gap
        return position + 1e-12 * jnp.sum(gaps)

    start = time.process_time()
    run = jax.jit(lambda x: jax.lax.fori_loop(0, DETECTIONS, step, x)).lower(state.position)
    program = run.compile()
    spent = time.process_time() - start
    return lambda: jax.block_until_ready(program(state.position)), spent


def main() -> None:
    lines = [
        "# Where cells are faster than all pairs",
        "",
        "`python experiments/broad_phase/run.py`: a cube of balls resting on one another, "
        "float32, one core; CPU time of a detection, the best of several in turns. Trust ratios.",
        "",
        "| balls | pairs | contacts | all pairs [µs] | cells [µs] | ratio "
        "| compile, all pairs [s] | compile, cells [s] |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for count in COUNTS:
        models = {name: lattice(count, name) for name in ("all-pairs", "cells")}
        runs = {name: detections(*scene) for name, scene in models.items()}
        best = dict.fromkeys(runs, np.inf)
        for _ in range(REPEATS):
            for name, (run, _) in runs.items():
                start = time.process_time()
                run()
                best[name] = min(best[name], (time.process_time() - start) / DETECTIONS)
        contacts = int(jax.jit(detect)(*models["cells"]).total)
        slow, fast = (1e6 * best[name] for name in ("all-pairs", "cells"))
        compiled = " | ".join(f"{runs[name][1]:.1f}" for name in ("all-pairs", "cells"))
        lines.append(
            f"| {count} | {count * (count - 1) // 2} | {contacts} "
            f"| {slow:.0f} | {fast:.0f} | {slow / fast:.2f} | {compiled} |"
        )
        print(lines[-1], flush=True)
    (FOLDER / "results.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
