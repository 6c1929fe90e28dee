"""Measure what an environment costs besides its stepper: observation, reward, checks and resets.

    python -m experiments.environments.run [--names cartpole,hopper --copies 1024 --out FOLDER]

Writes results.md beside this file; other environments or copies than all need ``--out``. Times are
CPU times on one core, the best of several runs that are made in turns, so that other work on the
machine matters little.
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

FOLDER = Path(__file__).resolve().parent
NAMES, COPIES = "cartpole,hopper,ant", 1024
STEPS = 8
"""Steps of the environment in one run."""
REPEATS = 3
Step = Callable[[Any, jax.Array], tuple[Any, Any]]


def looped(env: envs.Env, copies: int, step: Step) -> Callable:
    """Return a compiled function that takes STEPS steps of all copies under random actions.

    Args:
        env: supplies the specification of actions.
        copies: number of copies.
        step: function of the carried state and the actions of all copies.
    """
    spec = env.action_spec

    def random_step(carry: Any, key: jax.Array) -> tuple[Any, Any]:
        drawn = jax.random.uniform(key, (copies, *spec.shape), spec.low.dtype, spec.low, spec.high)
        return step(carry, drawn)

    @jax.jit
    def run(carry: Any, keys: jax.Array) -> tuple[Any, Any]:
        return jax.lax.scan(random_step, carry, keys)

    return run


def programs(env: Any) -> dict[str, Step]:
    """Return three step functions to be compared.

    They are a step of the environment, the same motion by ``rollout``, which returns reports, and
    by the stepper alone, whose reports are dropped.
    """
    core = env.env.env
    many = round(env.ctrl_dt / env.sim_dt)

    def environment(state: EnvState, actions: jax.Array) -> tuple[EnvState, Any]:
        after = jax.vmap(env.step)(state, actions)
        kept = (after.obs, after.reward, after.terminated, after.truncated, after.metrics)
        return after, kept

    def rolled_out(physics: Any, actions: jax.Array) -> tuple[Any, Any]:
        def single(physics: Any, control: jax.Array) -> tuple[Any, Any]:
            controls = jnp.broadcast_to(control, (many, *control.shape))
            steps = (core.stepper, many, None, controls)
            return rollout(core.model, physics, *steps, every=many)

        return jax.vmap(single)(physics, core.layout.control(actions))

    def bare(physics: Any, actions: jax.Array) -> tuple[Any, Any]:
        control = core.layout.control(actions)

        def single(physics: Any, control: jax.Array) -> Any:
            return core.stepper.advance(core.model, physics, control=control)[0]

        def again(physics: Any, _: None) -> tuple[Any, None]:
            return jax.vmap(single)(physics, control), None

        return jax.lax.scan(again, physics, length=many)[0], None

    return {"environment": environment, "rollout": rolled_out, "stepper": bare}


def measured(name: str, copies: int) -> str:
    """Measure one environment; return its row of the table, which is also printed."""
    env: Any = envs.make(name)
    runs = {kind: looped(env, copies, step) for kind, step in programs(env).items()}
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), copies))
    # Not all episodes shall end in the same step.
    steps = jax.random.randint(jax.random.key(1), (copies,), 0, env.env.limit)
    state = replace(state, info={**state.info, "steps": steps})
    ends = []
    for seed in range(3):  # robots have fallen by then
        state, output = runs["environment"](state, keys(seed))
        ends.append(output[2] | output[3])
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
    speed_env = speed["environment"]
    ended = 100 * float(jnp.stack(ends).mean())
    row = (
        f"| {name} | {copies} | {ended:.2f} % | {speed_env:,.0f} | "
        f"{speed_env / speed['rollout']:.2f} | {speed_env / speed['stepper']:.2f} |"
    )
    print(row, flush=True)
    return row


def keys(seed: int) -> jax.Array:
    """Return the random keys of the steps of a run, shape (STEPS,)."""
    return jax.random.split(jax.random.key(seed + 2), STEPS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", default=NAMES)
    parser.add_argument("--copies", type=int, default=COPIES)
    parser.add_argument("--out", type=Path, help="where the page goes; needed for a part of it")
    options = parser.parse_args()
    if options.out is None and (options.names, options.copies) != (NAMES, COPIES):
        parser.error("other names or copies need --out FOLDER: the page here has all")
    out = options.out or FOLDER
    out.mkdir(parents=True, exist_ok=True)
    rows = "\n".join(measured(name, options.copies) for name in options.names.split(","))
    (out / "results.md").write_text(
        f"""# What an environment costs beside its stepper

`python -m experiments.environments.run`. Float32, random actions, a new one in every step; episodes
are of all ages. Steps are those of the environment, of several steps of the stepper each, per
second of CPU time. The last columns are the speed of the environment over that of `jaxccp.rollout`
with its reports, and over that of the stepper alone, whose reports nobody reads.

{platform.machine()}, one core; jax {jax.__version__}

| environment | copies | episodes that end in a step | steps/s | over rollout | over the stepper |
|---|---|---|---|---|---|
{rows}
"""
    )


if __name__ == "__main__":
    main()
