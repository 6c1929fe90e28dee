"""What times of impact cost a step.

    python -m experiments.impact_derivatives.cost

Writes cost.md beside itself. Nothing in the scenes bounces, so that all three do the same work but
for what the times of impact take: without them, as when bounces are timed, and with all impacts
timed. Programs take turns; figures are the best of several. Needs gymnasium, for the ant.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

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


def programs(path: Path, coordinates: Coordinates, batch: int) -> list[Callable[[], None]]:
    """Runs of the scene's copies, one for each of the ways, each going on from where it is."""
    loaded = load(path, allow_unsupported=True)
    stepper = EulerImplicitLinearized(
        loaded.timestep, stop=Stop(1e-4, max_iterations=200), coordinates=coordinates
    )
    random = np.random.default_rng(0)
    motors = len(loaded.model.topology.linkage.actuators)
    control = jnp.asarray(random.uniform(-1, 1, (batch, STEPS, motors)), float)
    states = jax.tree.map(lambda leaf: jnp.stack([leaf] * batch), loaded.state)
    fitted = fit_capacity(loaded.model, states, stepper, STEPS, None, control)

    def of(model: Model) -> Callable[[], None]:
        program = jax.jit(
            lambda states: rollout_batch(model, states, stepper, STEPS, None, control)[0]
        )
        now: list[State] = [program(states)]

        def run() -> None:
            now[0] = jax.block_until_ready(program(now[0]))

        return run

    topologies = (replace(fitted.topology, **way) for way in WAYS.values())
    return [of(replace(fitted, topology=topology)) for topology in topologies]


def best(runs: list[Callable[[], None]]) -> np.ndarray:
    """The shortest time of each [s]."""
    times = np.full((ROUNDS, len(runs)), np.inf)
    for row in times:
        for at, run in enumerate(runs):
            start = time.perf_counter()
            run()
            row[at] = time.perf_counter() - start
    return times.min(axis=0)


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
                took = best(programs(path, coordinates, batch))
                plain = 1e6 * took[0] / (STEPS * batch)
                ratios = " | ".join(f"{t:.2f}" for t in took[1:] / took[0])
                lines.append(f"| {name} | {batch} | {plain:.0f} | {ratios} |")
                print(lines[-1], flush=True)
    (HERE / "cost.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
