"""What times of impact cost a step.

    python -m experiments.impact_derivatives.cost

Writes cost.md beside itself. Nothing in the scenes bounces, so that all three do the same work but
for what the times of impact take: without them, as when bounces are timed, and with all impacts
timed. Programs take turns; figures are the best of several. Needs gymnasium, for the ant.
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

HERE = Path(__file__).resolve().parent
STEPS, ROUNDS, BATCHES = 200, 7, (1, 64)
SCENES: dict[str, Coordinates] = {
    "ant": "reduced",
    "ant in maximal coordinates": "maximal",
    "stack": "reduced",
}
WAYS = {
    "no impact timed": {"rebounds": False, "impact_times": "bounces"},
    "bounces timed": {"rebounds": True, "impact_times": "bounces"},
    "all timed": {"rebounds": True, "impact_times": "all"},
}


def programs(path: Path, coordinates: Coordinates, batch: int) -> tuple[list[Callable], State]:
    """Runs of the scene's copies, one for each of the ways, and where they start: some way into
    the motion."""
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
        return jax.jit(lambda now: rollout_batch(model, now, stepper, STEPS, None, control)[0])

    topologies = (replace(fitted.topology, **way) for way in WAYS.values())
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
        f"| scene | copies | µs a step and copy, {next(iter(WAYS))} | "
        + " | ".join(list(WAYS)[1:])
        + " |",
        "|---" * (2 + len(WAYS)) + "|",
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
    (HERE / "cost.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
