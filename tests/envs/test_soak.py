"""Check every environment under random actions, for some thousand steps."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxccp.envs import TASKS, EnvState, make, observation_spec

COPIES, STEPS = 16, 150
OFTEN = ("ant",)
"""Environments of every run; the others are left to long runs."""


@pytest.mark.parametrize(
    "name",
    [name if name in OFTEN else pytest.param(name, marks=pytest.mark.long) for name in TASKS],
)
def test_random_play_stays_sound(name: str) -> None:
    """Random play stays finite, solved and within the contact capacity, and no copy ends twice in a
    row."""
    env: Any = make(name, episode_steps=120)
    low, high = env.action_spec.low, env.action_spec.high

    def advance(state: EnvState, key: jax.Array) -> tuple[EnvState, EnvState]:
        drawn = jax.random.uniform(key, (COPIES, *low.shape), low.dtype)
        state = jax.vmap(env.step)(state, low + (high - low) * drawn)
        reduced = {"physics": None, "key": None, "info": state.info["steps"]}
        return state, EnvState(**{**vars(state), **reduced})

    @jax.jit
    def play(key: jax.Array) -> tuple[EnvState, EnvState]:
        start = jax.vmap(env.reset)(jax.random.split(key, COPIES))
        return start, jax.lax.scan(advance, start, jax.random.split(key, STEPS))[1]

    start, path = play(jax.random.key(1))
    assert start.obs.shape == (COPIES, *observation_spec(env).shape)
    for shown in (start.obs, path.obs, path.final_obs, path.reward):
        assert jnp.isfinite(shown).all() and jnp.abs(shown).max() < 1e6
    counts = path.metrics
    assert not counts["non_finite"].any() and not counts["overflow"].any()
    solves = COPIES * STEPS * round(env.ctrl_dt / env.sim_dt)
    assert counts["unsolved"].sum() <= 1e-3 * solves
    assert not counts["action_clipped"].any()
    total = sum(counts[term] for term in TASKS[name].terms)
    assert jnp.allclose(total, path.reward, atol=1e-12)
    # Episodes end and begin: all copies have seen their limit, or an end before it.
    assert path.done.any(axis=0).all()
    assert (path.info[path.done] == 0).all() and (path.info[~path.done] > 0).all()  # type: ignore[index]
    assert not (path.done[1:] & path.done[:-1]).any()
    restarted = jnp.abs(path.obs - path.final_obs).max(axis=-1) > 0
    assert (restarted == path.done).all()
