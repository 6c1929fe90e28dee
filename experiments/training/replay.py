"""Play one episode of a policy, and write it as a page for the browser and as a film.

    python -m experiments.training.replay NAME POLICY.npz [--seconds 10] [--law ncp]

Writes out/training/POLICY.html, which needs no network, and POLICY.gif beside it.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.training.networks import Policy
from experiments.training.train import OUT
from jaxccp import envs
from jaxccp.viz.browser import html
from jaxccp.viz.film import write_film
from jaxccp.viz.replay import replay

RATE = 20
"""Number of pictures of a film per second."""


def played(env: Any, policy: Policy, steps: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return positions [n nb 3] and orientations [n nb 4] of all bodies in an episode, and its
    return.

    Args:
        env: environment.
        policy: policy that acts.
        steps: largest number of steps.
        seed: seed of the initial state.
    """
    spec = env.action_spec

    def advance(state: envs.EnvState, _: None) -> tuple[envs.EnvState, tuple]:
        action = spec.low + (policy(state.obs) + 1) / 2 * (spec.high - spec.low)
        after = env.step(state, jnp.asarray(action, spec.dtype))
        pose = after.physics.state
        return after, (pose.position, pose.quaternion, after.reward, after.terminated)

    start = env.reset(jax.random.key(seed))
    run = jax.jit(lambda state: jax.lax.scan(advance, state, length=steps)[1])
    position, quaternion, reward, terminated = map(np.asarray, run(start))
    count = int(np.argmax(terminated)) + 1 if terminated.any() else steps
    first = start.physics.state
    return (
        np.concatenate([first.position[None], position[:count]]),
        np.concatenate([first.quaternion[None], quaternion[:count]]),
        float(reward[:count].sum()),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=envs.TASKS)
    parser.add_argument("policy", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--law", choices=("ccp", "ncp"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    law = {"law": options.law} if options.law else {}
    env: Any = envs.make(options.name, auto_reset=False, **law)
    steps = round(options.seconds / env.ctrl_dt)
    poses = played(env, Policy.load(options.policy), steps, options.seed)
    position, quaternion, total = poses
    OUT.mkdir(parents=True, exist_ok=True)
    time = env.ctrl_dt * np.arange(len(position))
    page = OUT / f"{options.policy.stem}.html"
    page.write_text(html(replay(env.model, time, position, quaternion), 1.0), encoding="utf-8")
    frames = np.searchsorted(time, np.arange(0.0, time[-1], 1 / RATE))
    film = page.with_suffix(".gif")
    stage = replace(envs.Renderer(env).stage, width=240, height=180)
    write_film(film, stage, zip(position[frames], quaternion[frames], strict=True), RATE)
    print(f"{len(position) - 1} steps, return {total:.1f}: {page}, {film}")


if __name__ == "__main__":
    main()
