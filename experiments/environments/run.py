"""What an environment costs beside its stepper: observation, reward, checks and resets.

    python -m experiments.environments.run [--names cartpole,hopper,ant] [--copies 1024]

Writes results.md beside itself. Times are CPU times on one core, the best of several runs that take
turns, so that other work on the machine matters little.
"""

import argparse
import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])

import jax
import jax.numpy as jnp

from jaxccp import envs, rollout
from jaxccp.envs import EnvState

HERE = Path(__file__).resolve().parent
STEPS = 8
"""Of a run."""
REPEATS = 3
Step = Callable[[Any, jax.Array], tuple[Any, Any]]


def looped(env: envs.Env, copies: int, step: Step) -> Callable:
    """A program of so many steps of all copies, under random actions."""
    spec = env.action_spec

    def one(carry: Any, key: jax.Array) -> tuple[Any, Any]:
        drawn = jax.random.uniform(key, (copies, *spec.shape), spec.low.dtype, spec.low, spec.high)
        return step(carry, drawn)

    @jax.jit
    def run(carry: Any, keys: jax.Array) -> tuple[Any, Any]:
        return jax.lax.scan(one, carry, keys)

    return run


def programs(env: Any) -> dict[str, Step]:
    """The environment; its stepper with reports, as ``rollout`` has them; its stepper without."""
    core = env.env.env
    many = round(env.ctrl_dt / env.sim_dt)

    def whole(state: EnvState, actions: jax.Array) -> tuple[EnvState, Any]:
        after = jax.vmap(env.step)(state, actions)
        kept = (after.obs, after.reward, after.terminated, after.truncated, after.metrics)
        return after, kept

    def reported(physics: Any, actions: jax.Array) -> tuple[Any, Any]:
        def one(physics: Any, control: jax.Array) -> tuple[Any, Any]:
            controls = jnp.broadcast_to(control, (many, *control.shape))
            steps = (core.stepper, many, None, controls)
            return rollout(core.model, physics, *steps, every=many)

        return jax.vmap(one)(physics, core.layout.control(actions))

    def bare(physics: Any, actions: jax.Array) -> tuple[Any, Any]:
        control = core.layout.control(actions)

        def one(physics: Any, control: jax.Array) -> Any:
            return core.stepper.advance(core.model, physics, control=control)[0]

        def again(physics: Any, _: None) -> tuple[Any, None]:
            return jax.vmap(one)(physics, control), None

        return jax.lax.scan(again, physics, length=many)[0], None

    return {"environment": whole, "rollout": reported, "stepper": bare}


def measured(name: str, copies: int) -> str:
    """A row of the table."""
    env: Any = envs.make(name)
    runs = {kind: looped(env, copies, step) for kind, step in programs(env).items()}
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), copies))
    # Not all episodes shall end in the same step.
    steps = jax.random.randint(jax.random.key(1), (copies,), 0, env.env.limit)
    state = replace(state, info={**state.info, "steps": steps})
    ends = []
    for seed in range(3):  # robots have fallen by then
        state, found = runs["environment"](state, keys(seed))
        ends.append(found[2] | found[3])
    starts = {"environment": state, "rollout": state.physics, "stepper": state.physics}
    best: dict[str, float] = {}
    for repeat in range(REPEATS + 1):  # the first one compiles
        for kind, run in runs.items():
            start = time.process_time()
            jax.block_until_ready(run(starts[kind], keys(repeat)))
            spent = (time.process_time() - start) / STEPS
            if repeat > 0:
                best[kind] = min(best.get(kind, spent), spent)
    speed = {kind: copies / spent for kind, spent in best.items()}
    whole = speed["environment"]
    ended = 100 * float(jnp.stack(ends).mean())
    row = (
        f"| {name} | {copies} | {ended:.2f} % | {whole:,.0f} | "
        f"{whole / speed['rollout']:.2f} | {whole / speed['stepper']:.2f} |"
    )
    print(row, flush=True)
    return row


def keys(seed: int) -> jax.Array:
    """Of the steps of a run."""
    return jax.random.split(jax.random.key(seed + 2), STEPS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", default="cartpole,hopper,ant")
    parser.add_argument("--copies", type=int, default=1024)
    options = parser.parse_args()
    rows = "\n".join(measured(name, options.copies) for name in options.names.split(","))
    (HERE / "results.md").write_text(
        f"""# What an environment costs beside its stepper

`python -m experiments.environments.run`. Float32, random actions, a new one in every step; episodes
are of all ages. Steps are those of the environment, each of several of the stepper, per second
of CPU time. The last columns are the speed of the environment over that of `jaxccp.rollout`, which
has reports, and over that of the stepper alone, whose reports nobody reads.

{platform.machine()}, one core; jax {jax.__version__}

| environment | copies | episodes that end in a step | steps/s | over rollout | over the stepper |
|---|---|---|---|---|---|
{rows}
"""
    )


if __name__ == "__main__":
    main()
