"""Measure how much the computation of impact times adds to the time of a step.

    python -m experiments.impact_derivatives.cost

Writes cost.md beside this file. Nothing in the scenes bounces, so that the three variants differ
only in the work that impact times take: no impact timed, bounces timed, all impacts timed. Programs
are called in turns; figures are the best of several. Needs gymnasium, for the ant.
"""

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from experiments.gradient_peers.timing import seconds
from experiments.throughput.scenes import scene
from jaxccp import EulerImplicitLinearized, Model, State, Stop, fit_capacity, load, rollout_batch
from jaxccp.dynamics.steppers.settings import Coordinates

FOLDER = Path(__file__).resolve().parent
STEPS, ROUNDS, BATCHES = 200, 7, (1, 64)
SCENES: dict[str, Coordinates] = {
    "ant": "reduced",
    "ant in maximal coordinates": "maximal",
    "stack": "reduced",
}
VARIANTS = {
    "no impact timed": {"rebounds": False, "impact_times": "bounces"},
    "bounces timed": {"rebounds": True, "impact_times": "bounces"},
    "all timed": {"rebounds": True, "impact_times": "all"},
}


def programs(path: Path, coordinates: Coordinates, batch: int) -> tuple[list[Callable], State]:
    """Return a compiled rollout for each of VARIANTS, and the initial states of all copies.

    The initial states are those after one rollout of each variant.

    Args:
        path: file of the scene.
        coordinates: coordinates of the stepper, "reduced" or "maximal".
        batch: number of copies.
    """
    loaded = load(path, allow_unsupported=True)
    stepper = EulerImplicitLinearized(
        loaded.timestep, stop=Stop(1e-4, max_iterations=200), coordinates=coordinates
    )
    random = np.random.default_rng(0)
    motors = len(loaded.model.topology.linkage.actuators)
    control = jnp.asarray(random.uniform(-1, 1, (batch, STEPS, motors)), float)
    states = jax.tree.map(lambda leaf: jnp.stack([leaf] * batch), loaded.state)
    fitted = fit_capacity(loaded.model, states, stepper, STEPS, None, control)

    def of(model: Model) -> Callable[[State], State]:
        return jax.jit(lambda state: rollout_batch(model, state, stepper, STEPS, None, control)[0])

    topologies = (replace(fitted.topology, **variant) for variant in VARIANTS.values())
    runs = [of(replace(fitted, topology=topology)) for topology in topologies]
    for run in runs:
        states = run(states)
    return runs, states


def main() -> None:
    lines = [
        "# What times of impact cost",
        "",
        "`python -m experiments.impact_derivatives.cost` · time of a step over that without them.",
        "",
        f"| scene | copies | µs a step and copy, {next(iter(VARIANTS))} | "
        + " | ".join(list(VARIANTS)[1:])
        + " |",
        "|---" * (2 + len(VARIANTS)) + "|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, coordinates in SCENES.items():
            path = scene(name.split()[0], Path(folder))
            for batch in BATCHES:
                runs, states = programs(path, coordinates, batch)
                took = np.array(seconds(runs, states, time.perf_counter, ROUNDS, math.inf))
                plain = 1e6 * took[0] / (STEPS * batch)
                ratios = " | ".join(f"{t:.2f}" for t in took[1:] / took[0])
                lines.append(f"| {name} | {batch} | {plain:.0f} | {ratios} |")
                print(lines[-1], flush=True)
    (FOLDER / "cost.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
