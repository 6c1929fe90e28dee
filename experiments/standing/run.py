"""Measure how much a step amplifies small perturbations of a standing robot, under both laws.

    python -m experiments.standing.run [--seconds 60]

Without motors gymnasium's ant stands on four legs, its feet at the limit of friction. The largest
eigenvalue of A (``jaxccp.linearise``) is the factor by which a step multiplies a perturbation along
the worst eigenvector. Writes results.md to this folder. Float64, tolerance 1e-10 m/s. Needs
gymnasium, for its model, and mujoco.
"""

import argparse
import platform
import tempfile
from pathlib import Path

import jax
import numpy as np

from experiments.throughput.scenes import scene
from jaxccp import (
    EulerImplicitLinearized,
    Model,
    State,
    Stop,
    linearise,
    load,
    rollout,
    with_capacity,
)
from jaxccp.ccp import Law

FOLDER = Path(__file__).resolve().parent
H = 0.01
EVERY = 25
"""Number of steps from one linearised step to the next."""
LANDED = 100
"""Number of steps before the first linearised step."""
FEET = 8
"""Capacity of contacts."""
LAWS: tuple[Law, ...] = ("ccp", "ncp")
COLUMNS = (
    "law",
    "largest eigenvalue: median",
    "90 %",
    "most",
    "above 1.1",
    "sinks by [mm]",
    "iterations",
    "intervals with an unsolved step",
)


def measured(model: Model, start: State, law: Law, steps: int) -> list[str]:
    """Return a row of the table: eigenvalues, sinking, iterations and unsolved steps under one law.

    Args:
        model: model of the robot.
        start: initial state.
        law: contact law.
        steps: number of steps.
    """
    stepper = EulerImplicitLinearized(H, law, stop=Stop(1e-10, max_iterations=2000))
    _, path = rollout(model, start, stepper, steps, every=EVERY)
    landed = jax.tree.map(lambda leaf: leaf[LANDED // EVERY :], path.state)

    @jax.jit
    def slopes(states):
        return jax.lax.map(lambda s: linearise(model, s, stepper=stepper).A, states)

    largest = np.abs(np.linalg.eigvals(np.asarray(slopes(landed)))).max(axis=1)
    height = np.asarray(landed.position[:, model.topology.body("torso"), 2])
    solver = path.report.solver
    return [
        law,
        f"{np.median(largest):.3f}",
        f"{np.quantile(largest, 0.9):.3f}",
        f"{largest.max():.2f}",
        f"{100 * np.mean(largest > 1.1):.0f} %",
        f"{1e3 * (height[0] - height[-1]):.1f}",
        f"{np.mean(solver.iterations) / EVERY:.1f}",
        f"{100 * np.mean(solver.status != 0):.1f} %",
    ]


def main(seconds: float) -> None:
    jax.config.update("jax_enable_x64", True)
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(scene("ant", Path(folder)), allow_unsupported=True)
    model = with_capacity(loaded.model, FEET)
    steps = EVERY * round(seconds / H / EVERY)
    rows = [measured(model, loaded.state, law, steps) for law in LAWS]
    lines = [
        "# A robot that stands",
        "",
        f"`python -m experiments.standing.run --seconds {seconds:g}`. The ant without motors,",
        f"steps of {1e3 * H:g} ms, float64, to 1e-10 m/s; from {LANDED * H:g} s on, a step",
        f"in {EVERY} is linearised. An eigenvalue of 1.01 is a motion that departs at 1 per",
        "second, as what stands on stiff legs does.",
        "",
        f"{platform.machine()}; jax {jax.__version__}",
        "",
        *("| " + " | ".join(row) + " |" for row in (COLUMNS, ["---"] * len(COLUMNS), *rows)),
    ]
    page = "\n".join(lines) + "\n"
    (FOLDER / "results.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    main(parser.parse_args().seconds)
