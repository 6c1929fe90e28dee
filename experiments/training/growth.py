"""Measure how derivatives grow along a motion of the ant: norms of products of A, step by step.

    python -m experiments.training.growth

Random actions, 16 copies, float64. Writes growth.md to this folder.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxccp import Relaxed, Stop, envs, linearise, tangent_names

SEED, COPIES = 0, 16
ACTIONS = (1, 8, 32)
"""Numbers of actions, each of ten steps, after which the norm is reported: the horizon of SHAC is 8
or 32."""
CASES = (("ccp", None), ("ccp", 0.3), ("ncp", None), ("ncp", 0.3), ("ncp", 1.0))
"""Contact law and speed of relaxed derivatives [m/s] of each case."""
FOLDER = Path(__file__).resolve().parent


def growth(law: str, relaxed: float | None) -> np.ndarray:
    """Return the largest singular value of the product of all A so far [copies actions]."""
    env: Any = envs.make("ant", auto_reset=False, law=law)
    stepper = replace(env.stepper, stop=Stop(1e-10, max_iterations=500))
    # The values are those of the solver: only what is differentiated is relaxed.
    if relaxed:
        stepper = replace(stepper, gradient=Relaxed(relaxed))
    start_key, action_key = jax.random.split(jax.random.key(SEED))
    states = jax.vmap(env.reset)(jax.random.split(start_key, COPIES)).physics.state
    size = (COPIES, max(ACTIONS), *env.action_spec.shape)
    actions = jax.random.uniform(action_key, size, minval=-1.0, maxval=1.0)
    repeats = round(env.ctrl_dt / env.sim_dt)

    def products(state: Any, actions: jax.Array) -> jax.Array:
        control = jax.vmap(env.layout.control)(actions)

        def apply_action(carry: tuple, control: jax.Array) -> tuple[tuple, jax.Array]:
            def step(_: int, carry: tuple) -> tuple:
                state, product = carry
                linearised = linearise(env.model, state, control, stepper=stepper)
                return linearised.after, linearised.A @ product

            carry = lax.fori_loop(0, repeats, step, carry)
            return carry, carry[1]

        start = state, jnp.eye(2 * len(tangent_names(env.model)))
        return lax.scan(apply_action, start, control)[1]

    # By numpy: on one core jax's batched decomposition in a loop does not terminate.
    return np.linalg.norm(np.asarray(jax.jit(jax.vmap(products))(states, actions)), 2, axis=(2, 3))


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    heads = [f"median after {n}" for n in ACTIONS] + [f"largest after {max(ACTIONS)}"]
    lines = ["| law | relaxed [m/s] | " + " | ".join(heads) + " |", "|" + "---|" * (2 + len(heads))]
    for law, relaxed in CASES:
        norms = growth(law, relaxed)
        cells = [float(np.median(norms[:, n - 1])) for n in ACTIONS] + [float(norms[:, -1].max())]
        speed = "–" if relaxed is None else f"{relaxed:g}"
        lines.append(f"| {law} | {speed} | " + " | ".join(f"{x:.1e}" for x in cells) + " |")
        print(lines[-1], flush=True)
    (FOLDER / "growth.md").write_text(
        f"""# How derivatives grow on the ant

`python -m experiments.training.growth` · seed {SEED}, {COPIES} copies, random actions, float64

Largest singular value of the map from a change of the start, of coordinates and rates in metres,
radians and seconds, to that after so many actions, each held for ten steps of 5 ms. One step alone
has some 200, 1/h: a gap that closes is velocity in one step.

"""
        + "\n".join(lines)
        + "\n"
    )


if __name__ == "__main__":
    main()
