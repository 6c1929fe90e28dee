"""Measure joint errors and energy over 100 000 steps of two steppers, linearised and projected.

    python experiments/drift/run.py

Writes results.md and drift.png beside this file.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import Array

from jaxccp import (
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Model,
    ModelBuilder,
    Revolute,
    State,
    Stop,
    energy,
    joint_motion,
    rollout,
)

matplotlib.use("Agg")

from matplotlib import pyplot as plt

FOLDER = Path(__file__).parent
H, STEPS, EVERY = 1e-3, 100_000, 250
STEPPERS = {"linearised": EulerImplicitLinearized, "projected": EulerImplicitProjected}


def four_bar(builder: ModelBuilder) -> None:
    """Add a crank, a coupler and a rocker, hinged to one another and to the world at both ends."""
    crank = builder.add_body(0.3, (0.001, 0.001, 0.001), (-0.05, 0, 0.1))
    coupler = builder.add_body(0.5, (0.002, 0.01, 0.01), (0.15, 0, 0.25))
    rocker = builder.add_body(0.4, (0.004, 0.004, 0.001), (0.45, 0, 0.15))
    pin = Revolute((0, 1, 0))
    builder.add_joint(pin, 0, crank, (0, 0, 0))
    builder.add_joint(pin, crank, coupler, (-0.1, 0, 0.2))
    builder.add_joint(pin, coupler, rocker, (0.4, 0, 0.3))
    builder.add_joint(pin, rocker, 0, (0.5, 0, 0))


def double_pendulum(builder: ModelBuilder) -> None:
    """Add two links on hinges, at rest in a horizontal line."""
    upper = builder.add_body(1.0, (0.01, 0.02, 0.02), (0.3, 0, 0))
    lower = builder.add_body(0.5, (0.01, 0.01, 0.01), (0.8, 0, 0))
    builder.add_joint(Revolute((0, 1, 0)), 0, upper, (0, 0, 0))
    builder.add_joint(Revolute((0, 1, 0)), upper, lower, (0.6, 0, 0))


MECHANISMS = {"four-bar linkage": slice(1, 4), "double pendulum": slice(4, 6)}
"""Bodies of each mechanism, as a slice of the bodies of the model."""
JOINTS = {"four-bar linkage": [0, 1, 2, 3], "double pendulum": [4, 5]}
"""Joints of each mechanism, as indices of the joints of the model."""
ROUNDING = 1e-17
"""Joint error at which smaller ones are drawn [m, rad]."""


@partial(jax.jit, static_argnames=("stepper", "steps", "every"))
def measured(
    model: Model, state: State, stepper: EulerImplicitLinearized, steps: int, every: int
) -> tuple[State, Array, Array]:
    """Simulate; return the recorded states, their joint errors, and the worst solver status.

    Args:
        model: both mechanisms.
        state: initial state.
        stepper: stepper with its step and tolerance.
        steps: number of steps.
        every: steps from one record to the next.
    """
    _, path = rollout(model, state, stepper, steps, every=every)
    error = jax.vmap(lambda record: joint_motion(model, record).error)(path.state)
    return path.state, error, jnp.max(path.report.solver.status)


def energies(model: Model, states: State, bodies: slice) -> np.ndarray:
    """Return the energy of some of the bodies in each state [J].

    Args:
        model: all bodies.
        states: states, with a leading axis.
        bodies: the bodies that count; all others are given no mass.
    """
    kept = np.zeros(len(model.bodies.mass))
    kept[bodies] = 1.0
    mass, inertia = model.bodies.mass * kept, model.bodies.inertia * kept[:, None, None]
    part = replace(model, bodies=replace(model.bodies, mass=mass, inertia=inertia))
    return np.asarray(jax.jit(jax.vmap(partial(energy, part)))(states))


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    builder = ModelBuilder()
    four_bar(builder)
    double_pendulum(builder)
    model, state = builder.build()
    start = jax.tree.map(lambda leaf: leaf[None], state)
    time = H * EVERY * np.arange(1, STEPS // EVERY + 1)
    figure, axes = plt.subplots(2, len(MECHANISMS), figsize=(10, 6), sharex=True)
    lines = [
        "| mechanism | stepper | largest joint error [m, rad] | in the last tenth "
        "| energy lost in 1 s [J] | in 100 s | order in h | worst status |",
        "|---|---|---|---|---|---|---|---|",
    ]
    owner = model.topology.linkage.bilateral[0]
    for label, kind in STEPPERS.items():
        states, errors, status = measured(model, state, kind(H, stop=Stop(1e-12)), STEPS, EVERY)
        short = [
            measured(model, state, kind(H / k, stop=Stop(1e-12)), 400 * k, 400 * k)[0]
            for k in (1, 2)
        ]
        for column, (name, bodies) in enumerate(MECHANISMS.items()):
            error = np.abs(errors[:, np.isin(owner, JOINTS[name])]).max(axis=1)
            first = energies(model, start, bodies)[0]
            lost = first - energies(model, states, bodies)
            coarse, fine = (abs(first - energies(model, final, bodies)[-1]) for final in short)
            lines.append(
                f"| {name} | {label} | {error.max():.1e} | {error[-len(error) // 10 :].max():.1e} "
                f"| {lost[1000 // EVERY - 1]:.3f} | {lost[-1]:.3f} | {np.log2(coarse / fine):.2f} "
                f"| {int(status)} |"
            )
            print(lines[-1], flush=True)
            axes[0, column].semilogy(time, np.maximum(error, ROUNDING), label=label, linewidth=0.7)
            axes[1, column].plot(time, lost, label=label, linewidth=0.7)
            axes[0, column].set_title(name)
            axes[1, column].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("joint error [m, rad]")
    axes[1, 0].set_ylabel("energy lost [J]")
    axes[0, 0].legend(loc="center right")
    figure.tight_layout()
    figure.savefig(FOLDER / "drift.png", dpi=120)
    (FOLDER / "results.md").write_text(
        f"# Drift over {STEPS} steps of {H} s\n\n"
        "Float64, no friction, no damping, started at rest, both mechanisms in one model; written "
        "by `python experiments/drift/run.py`. The order in h is that of the energy error after "
        "0.4 s.\n\n" + "\n".join(lines) + "\n\n![joint errors and energy](drift.png)\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
