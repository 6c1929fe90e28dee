"""Push a box to 20 random goals: iLQR, predictive sampling, both in turns and MPPI, in closed loop.

    python -m experiments.push_control.run

The model, the cost and iLQR are those of examples/push.py; all planners plan STEPS with the same
cost, and start from the same straight push. Writes results.md and push_control.png to this folder.
On one device of JAX; times are CPU time.
"""

import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ["JAX_NUM_CPU_DEVICES"] = "1"

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from examples.push import FRICTION, STEPS, box, improved, pushed, start, stepper
from experiments.push_control.sampling import DEVIATION, KNOTS, SAMPLES, best, mean, sampled
from jaxccp import State

SEED, GOALS = 0, 20
REPLAN, REPLANS = 10, 7
"""Number of steps between plans, and number of plans of an episode."""
FIRST, LATER = 15, 2
"""Iterations of the first plan, which starts from a straight push, and of the later ones, which
start from the remaining controls of the previous plan."""
D_MIN, D_MAX, ANGLE = 0.1, 0.3, 45.0
"""Smallest and largest distance of goals [m], and their largest angle from straight ahead [°]."""
WITHIN = (0.01, 0.02)
"""Distances from the goal within which an episode counts as a success [m]."""
FOLDER = Path(__file__).resolve().parent

Plan = Callable[[State, jax.Array, jax.Array, jax.Array], jax.Array]


def ilqr(state: State, controls: jax.Array, goal: jax.Array, key: jax.Array) -> jax.Array:
    return improved(pushed(state, controls), controls, goal)[1]


predictive = jax.jit(partial(sampled, best))


def both(state: State, controls: jax.Array, goal: jax.Array, key: jax.Array) -> jax.Array:
    """Improve the controls by predictive sampling, then by iLQR.

    Samples choose the side to push from, derivatives refine the push.

    Args:
        state: state that the plan starts from.
        controls: controls to improve [steps 2].
        goal: goal of the box [m].
        key: random key of the samples.
    """
    return ilqr(state, predictive(state, controls, goal, key), goal, key)


PLANS: dict[str, Plan] = {
    "sampling and iLQR in turns": both,
    "MPPI": jax.jit(partial(sampled, mean)),
    "iLQR": ilqr,
    "predictive sampling": predictive,
}


def goals() -> np.ndarray:
    random = np.random.default_rng(SEED)
    angle = np.radians(random.uniform(-ANGLE, ANGLE, GOALS))
    distance = random.uniform(D_MIN, D_MAX, GOALS)
    return distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def episode(plan: Plan, goal: jax.Array, key: jax.Array) -> tuple[np.ndarray, list[float]]:
    """Return the path of the box [m] and the CPU time of every plan [s].

    Args:
        plan: planner.
        goal: goal of the box [m].
        key: random key of the episode.
    """
    state, path, times = start, [np.asarray(start.position[box, :2])], []
    controls = jnp.tile(jnp.array([0.2, 0.0]), (STEPS, 1))
    for part in jax.random.split(key, REPLANS):
        begin, count = time.process_time(), LATER if times else FIRST
        for iteration_key in jax.random.split(part, count):
            controls = plan(state, controls, goal, iteration_key)
        jax.block_until_ready(controls)
        times.append(time.process_time() - begin)
        states = pushed(state, controls[:REPLAN])
        state = jax.tree.map(lambda leaf: leaf[-1], states)
        path += list(np.asarray(states.position[1:, box, :2]))
        rest = jnp.repeat(controls[-1:], REPLAN, axis=0)
        controls = jnp.concatenate([controls[REPLAN:], rest])
    return np.stack(path), times


def main() -> None:
    targets, keys = goals(), jax.random.split(jax.random.key(SEED), GOALS)
    rows, paths = [], {}
    for name, plan in PLANS.items():
        episodes = [
            episode(plan, jnp.asarray(goal, jnp.float32), key)
            for goal, key in zip(targets, keys, strict=True)
        ]
        paths[name] = [path for path, _ in episodes]
        miss = np.array(
            [np.linalg.norm(p[-1] - g) for p, g in zip(paths[name], targets, strict=True)]
        )
        spent = float(np.median([t for _, times in episodes for t in times[1:]]))
        ahead = np.abs(targets[:, 1]) < FRICTION * targets[:, 0]
        shares = [f"{100 * np.mean(miss < limit):.0f} %" for limit in WITHIN]
        shares += [f"{100 * np.mean(miss[which] < WITHIN[0]):.0f} %" for which in (ahead, ~ahead)]
        median, worst = 1e3 * np.median(miss), 1e3 * miss.max()
        cells = [name, *shares, f"{median:.1f}", f"{worst:.0f}", f"{1 / spent:.1f}"]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
        write(rows, paths, targets)


def write(rows: list[str], paths: dict[str, list[np.ndarray]], targets: np.ndarray) -> None:
    limits = " | ".join(f"within {1e3 * limit:g} mm" for limit in WITHIN)
    (FOLDER / "results.md").write_text(
        f"""# Pushing a box to a goal

`python -m experiments.push_control.run` · seed {SEED}, {GOALS} goals {D_MIN:g} to {D_MAX:g} m away,
up to {ANGLE:g}° aside; steps of {1e3 * stepper.h:g} ms, horizon {STEPS}, {REPLANS} plans of which
{REPLAN} steps each are carried out; float32 · {platform.machine()}, jax {jax.__version__}, CPU

![paths](push_control.png)

| | {limits} | of those ahead | of others | median miss [mm] | worst [mm] | replans per CPU second |
|---|---|---|---|---|---|---|---|
{chr(10).join(rows)}

The first plan takes {FIRST} iterations from a push straight on at 0.2 m/s, each later one {LATER}.
An iteration of iLQR tries seven lengths of its step, one of predictive sampling and of MPPI
{SAMPLES} pushes, with noise of {DEVIATION:g} m/s at {KNOTS} knots. Model, cost and first guess are
the same.

Ahead are the goals within the friction cone of the first contact, whose coefficient is
{FRICTION:g}: a straight push reaches them. For the others the box has to turn, or to be pushed
from another side, of which the derivative of a push says nothing; there samples help.
""",
        encoding="utf-8",
    )
    figure = Figure(figsize=(9, 7.5), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for ax, (name, curves) in zip(axes, paths.items(), strict=False):
        for path, goal in zip(curves, targets, strict=True):
            good = np.linalg.norm(path[-1] - goal) < WITHIN[0]
            colour = "#2f6690" if good else "#d1603d"
            ax.plot(*path.T, color=colour, linewidth=1)
            ax.plot(*goal, "x", color=colour, markersize=5)
        ax.set(title=name, aspect="equal", xlabel="x [m]")
    axes[0].set_ylabel("y [m]")
    figure.savefig(FOLDER / "push_control.png", dpi=80)


if __name__ == "__main__":
    main()
