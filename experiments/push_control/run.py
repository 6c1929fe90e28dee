"""Push a box to 20 random goals: iLQR, predictive sampling, both in turns and MPPI, in closed loop.

    python -m experiments.push_control.run

The model, the cost and iLQR are those of examples/push.py; all three plan STEPS with the same cost,
and start from the same push straight on. Writes results.md and push_control.png beside itself. On
one device of JAX; times are CPU time.
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
"""Steps between plans, and how many plans are made in each episode."""
FIRST, LATER = 15, 2
"""Iterations of the first plan, which starts from a push straight on, and of those after it, which
start from what is left of the one before."""
NEAR, FAR, ASIDE = 0.1, 0.3, 45.0
"""Distance of goals [m], and how far from straight on they are [°]."""
WITHIN = (0.01, 0.02)
"""Success: the box ends so near to the goal [m]."""
HERE = Path(__file__).resolve().parent

Plan = Callable[[State, jax.Array, jax.Array, jax.Array], jax.Array]


def ilqr(state: State, controls: jax.Array, goal: jax.Array, key: jax.Array) -> jax.Array:
    return improved(pushed(state, controls), controls, goal)[1]


predictive = jax.jit(partial(sampled, best))


def both(state: State, controls: jax.Array, goal: jax.Array, key: jax.Array) -> jax.Array:
    """Samples find the side to push from, derivatives the push."""
    return ilqr(state, predictive(state, controls, goal, key), goal, key)


PLANS: dict[str, Plan] = {
    "sampling and iLQR in turns": both,
    "MPPI": jax.jit(partial(sampled, mean)),
    "iLQR": ilqr,
    "predictive sampling": predictive,
}


def goals() -> np.ndarray:
    random = np.random.default_rng(SEED)
    angle = np.radians(random.uniform(-ASIDE, ASIDE, GOALS))
    distance = random.uniform(NEAR, FAR, GOALS)
    return distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def episode(plan: Plan, goal: jax.Array, key: jax.Array) -> tuple[np.ndarray, list[float]]:
    """The path of the box, and the time of every plan [s]."""
    state, path, times = start, [np.asarray(start.position[box, :2])], []
    controls = jnp.tile(jnp.array([0.2, 0.0]), (STEPS, 1))
    for part in jax.random.split(key, REPLANS):
        begin, count = time.process_time(), LATER if times else FIRST
        for one in jax.random.split(part, count):
            controls = plan(state, controls, goal, one)
        jax.block_until_ready(controls)
        times.append(time.process_time() - begin)
        states = pushed(state, controls[:REPLAN])
        state = jax.tree.map(lambda leaf: leaf[-1], states)
        path += list(np.asarray(states.position[1:, box, :2]))
        rest = jnp.repeat(controls[-1:], REPLAN, axis=0)
        controls = jnp.concatenate([controls[REPLAN:], rest])
    return np.stack(path), times


def main() -> None:
    wanted, keys = goals(), jax.random.split(jax.random.key(SEED), GOALS)
    rows, paths = [], {}
    for name, plan in PLANS.items():
        found = [
            episode(plan, jnp.asarray(goal, jnp.float32), key)
            for goal, key in zip(wanted, keys, strict=True)
        ]
        paths[name] = [path for path, _ in found]
        miss = np.array(
            [np.linalg.norm(p[-1] - g) for p, g in zip(paths[name], wanted, strict=True)]
        )
        spent = float(np.median([t for _, times in found for t in times[1:]]))
        ahead = np.abs(wanted[:, 1]) < FRICTION * wanted[:, 0]
        shares = [f"{100 * np.mean(miss < limit):.0f} %" for limit in WITHIN]
        shares += [f"{100 * np.mean(miss[which] < WITHIN[0]):.0f} %" for which in (ahead, ~ahead)]
        median, worst = 1e3 * np.median(miss), 1e3 * miss.max()
        cells = [name, *shares, f"{median:.1f}", f"{worst:.0f}", f"{1 / spent:.1f}"]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
        write(rows, paths, wanted)


def write(rows: list[str], paths: dict[str, list[np.ndarray]], wanted: np.ndarray) -> None:
    limits = " | ".join(f"within {1e3 * limit:g} mm" for limit in WITHIN)
    (HERE / "results.md").write_text(
        f"""# Pushing a box to a goal

`python -m experiments.push_control.run` · seed {SEED}, {GOALS} goals {NEAR:g} to {FAR:g} m away,
up to {ASIDE:g}° aside; steps of {1e3 * stepper.h:g} ms, horizon {STEPS}, {REPLANS} plans of which
{REPLAN} steps each are carried out; float32 · {platform.machine()}, jax {jax.__version__}, CPU

![paths](push_control.png)

| | {limits} | of those ahead | of others | median miss [mm] | worst [mm] | replans per CPU second |
|---|---|---|---|---|---|---|---|
{chr(10).join(rows)}

The first plan takes {FIRST} iterations from a push straight on at 0.2 m/s, each later one {LATER}.
An iteration of iLQR tries seven lengths of its step, one of predictive sampling and of MPPI
{SAMPLES} pushes, with noise of {DEVIATION:g} m/s at {KNOTS} knots. Model, cost and first guess are
the same.

Ahead are the goals within the friction cone of the first contact (coefficient {FRICTION:g}): a
straight push reaches them. For the others the box has to turn, or to be pushed from another side,
of which the derivative of a push says nothing; there samples help.
""",
        encoding="utf-8",
    )
    figure = Figure(figsize=(9, 7.5), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for ax, (name, found) in zip(axes, paths.items(), strict=False):
        for path, goal in zip(found, wanted, strict=True):
            good = np.linalg.norm(path[-1] - goal) < WITHIN[0]
            colour = "#2f6690" if good else "#d1603d"
            ax.plot(*path.T, color=colour, linewidth=1)
            ax.plot(*goal, "x", color=colour, markersize=5)
        ax.set(title=name, aspect="equal", xlabel="x [m]")
    axes[0].set_ylabel("y [m]")
    figure.savefig(HERE / "push_control.png", dpi=80)


if __name__ == "__main__":
    main()
