"""How derivatives grow along a motion of the ant: norms of products of A, step by step.

    python -m experiments.training.growth

Random actions, 16 copies, float64. Writes growth.md beside itself.
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
"""After how many, each of ten steps: SHAC looks 8 ahead, or 32."""
CASES = (("ccp", None), ("ccp", 0.3), ("ncp", None), ("ncp", 0.3), ("ncp", 1.0))
"""Law of contact, speed of relaxed derivatives [m/s]."""
HERE = Path(__file__).resolve().parent


def growth(law: str, relaxed: float | None) -> np.ndarray:
    """Largest singular value of the product of all A so far, of each copy after each action."""
    env: Any = envs.make("ant", auto_reset=False, law=law)
    stepper = replace(env.stepper, stop=Stop(1e-10, max_iterations=500))
    # The values are those of the solver: only what is differentiated is relaxed.
    if relaxed:
        stepper = replace(stepper, gradient=Relaxed(relaxed))
    starting, acting = jax.random.split(jax.random.key(SEED))
    states = jax.vmap(env.reset)(jax.random.split(starting, COPIES)).physics.state
    size = (COPIES, max(ACTIONS), *env.action_spec.shape)
    actions = jax.random.uniform(acting, size, minval=-1.0, maxval=1.0)
    repeats = round(env.ctrl_dt / env.sim_dt)

    def one(state: Any, actions: jax.Array) -> jax.Array:
        control = jax.vmap(env.layout.control)(actions)

        def act(carry: tuple, control: jax.Array) -> tuple[tuple, jax.Array]:
            def step(_: int, carry: tuple) -> tuple:
                state, product = carry
                found = linearise(env.model, state, control, stepper=stepper)
                return found.after, found.A @ product

            carry = lax.fori_loop(0, repeats, step, carry)
            return carry, carry[1]

        start = state, jnp.eye(2 * len(tangent_names(env.model)))
        return lax.scan(act, start, control)[1]

    # By numpy: on one core jax's batched decomposition in a loop does not come to an end.
    return np.linalg.norm(np.asarray(jax.jit(jax.vmap(one))(states, actions)), 2, axis=(2, 3))


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    heads = [f"median after {n}" for n in ACTIONS] + [f"largest after {max(ACTIONS)}"]
    lines = ["| law | relaxed [m/s] | " + " | ".join(heads) + " |", "|" + "---|" * (2 + len(heads))]
    for law, relaxed in CASES:
        found = growth(law, relaxed)
        cells = [float(np.median(found[:, n - 1])) for n in ACTIONS] + [float(found[:, -1].max())]
        speed = "–" if relaxed is None else f"{relaxed:g}"
        lines.append(f"| {law} | {speed} | " + " | ".join(f"{x:.1e}" for x in cells) + " |")
        print(lines[-1], flush=True)
    (HERE / "growth.md").write_text(
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
