"""PPO as brax has it, on our environments through the adapter or on brax's own."""

# What flax makes of a class, the checker cannot see; and the package may be absent.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
# pyright: reportArgumentType=false
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from brax.envs.base import Env
from brax.envs.wrappers.training import AutoResetWrapper, EpisodeWrapper, VmapWrapper
from brax.training.agents.ppo import networks
from brax.training.agents.ppo import train as ppo

from experiments.training.config import Ppo
from experiments.training.networks import Policy

Parameters = tuple[Any, Any, Any]
"""Of the normaliser, the policy and the critic, as brax has them."""


class Spread(EpisodeWrapper):
    """Episodes whose first ends anywhere: where all copies are equally old, an update sees but one
    part of an episode."""

    def reset(self, rng: jax.Array) -> Any:
        state = super().reset(rng)
        steps = state.info["steps"]
        ages = jax.random.randint(rng[0], steps.shape, 0, int(self.episode_length))
        state.info["steps"] = ages.astype(steps.dtype)
        return state


def wrapped(
    env: Env, episode_length: int, action_repeat: int, randomization_fn: Callable | None
) -> Env:
    """As brax wraps environments to train on, with episodes spread."""
    del randomization_fn
    return AutoResetWrapper(Spread(VmapWrapper(env), episode_length, action_repeat))


def factory(settings: Ppo) -> Callable:
    sizes = {"policy_hidden_layer_sizes": settings.hidden}
    return partial(networks.make_ppo_networks, **sizes, value_hidden_layer_sizes=settings.hidden)


def segment(
    env: Env,
    settings: Ppo,
    episode_length: int,
    seed: int,
    steps: int,
    rate: float,
    points: int,
    before: Parameters | None,
    seen: Callable[[int, Parameters], None],
) -> Parameters:
    """One call of the trainer; ``seen`` gets steps and parameters ``points`` times.

    The copies' starts, the noise and the batches are drawn from ``seed``: the same call gives the
    same numbers.
    """
    _, parameters, _ = ppo.train(
        environment=env,
        num_timesteps=steps,
        episode_length=episode_length,
        num_envs=settings.actors,
        unroll_length=settings.horizon,
        batch_size=settings.actors // settings.minibatches,
        num_minibatches=settings.minibatches,
        num_updates_per_batch=settings.epochs,
        learning_rate=rate,
        discounting=settings.discount,
        entropy_cost=settings.entropy,
        clipping_epsilon=settings.clip,
        reward_scaling=settings.reward_scale,
        normalize_observations=True,
        network_factory=factory(settings),
        wrap_env_fn=wrapped,
        seed=seed,
        num_evals=points + 1,
        run_evals=False,
        restore_params=before,
        policy_params_fn=lambda step, _, given: seen(step, given),
    )
    return parameters


def policy(parameters: Parameters) -> Policy:
    """Its mode: tanh of the first half of what the network says."""
    normaliser, acting, _ = parameters
    found = acting["params"]
    layers = [(found[name]["kernel"], found[name]["bias"]) for name in sorted(found)]
    kernel, bias = layers[-1]
    half = kernel.shape[1] // 2
    layers[-1] = (kernel[:, :half], bias[:half])
    one = partial(jax.tree.map, jnp.asarray)
    return one(Policy(normaliser.mean, normaliser.std, layers))
