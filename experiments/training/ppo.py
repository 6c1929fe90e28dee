"""Train with brax's PPO, on jaxccp's environments through the adapter or on brax's."""

# The type checker cannot see the attributes that flax adds; and the package may be absent.
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
"""Parameters of the normaliser, the policy and the critic, as brax stores them."""


class Spread(EpisodeWrapper):
    """A wrapper whose first episodes end at random times.

    If all copies had the same age, an update would see only one part of an episode.
    """

    def reset(self, rng: jax.Array) -> Any:
        state = super().reset(rng)
        steps = state.info["steps"]
        ages = jax.random.randint(rng[0], steps.shape, 0, int(self.episode_length))
        state.info["steps"] = ages.astype(steps.dtype)
        return state


def wrapped(
    env: Env, episode_length: int, action_repeat: int, randomization_fn: Callable | None
) -> Env:
    """Return an environment wrapped as brax does it for training, with episodes of random ages.

    Args:
        env: environment of one copy.
        episode_length: largest number of steps of an episode.
        action_repeat: number of steps with the same action.
        randomization_fn: required by brax's interface, not used.
    """
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
    report: Callable[[int, Parameters], None],
) -> Parameters:
    """Call the trainer once and return the parameters at its end.

    The copies' initial states, the noise and the batches are drawn from ``seed``: the same call
    gives the same numbers.

    Args:
        env: environment of one copy.
        settings: settings of the algorithm.
        episode_length: largest number of steps of an episode.
        seed: seed of the call.
        steps: number of environment steps, of all copies together.
        rate: learning rate.
        points: number of times that ``report`` is called after the start.
        before: parameters to start from; random ones when None.
        report: function of the steps so far and the parameters.
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
        policy_params_fn=lambda step, _, trained: report(step, trained),
    )
    return parameters


def policy(parameters: Parameters) -> Policy:
    """Return the mode of brax's policy: tanh of the first half of the network's output."""
    normaliser, actor, _ = parameters
    weights = actor["params"]
    layers = [(weights[name]["kernel"], weights[name]["bias"]) for name in sorted(weights)]
    kernel, bias = layers[-1]
    half = kernel.shape[1] // 2
    layers[-1] = (kernel[:, :half], bias[:half])
    convert = partial(jax.tree.map, jnp.asarray)
    return convert(Policy(normaliser.mean, normaliser.std, layers))
