"""Train by short-horizon actor-critic (SHAC; Xu et al. 2022, arXiv:2204.07137), or without critic.

An update differentiates the returns of all copies over a short horizon, with the value of the final
states, through policy and simulator; then it fits the critic to TD(λ). Without a critic the
algorithm is APG, analytic policy gradients. An update is a pure function of one pytree, compiled
once.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Array, Float, Int

from experiments.training.config import Shac
from experiments.training.networks import Layers, Moments, Policy, applied, perceptron
from jaxccp.envs import AutoReset, EnvState, observation_spec
from jaxccp.math.draw import Key


class Actor(NamedTuple):
    layers: Layers
    log_deviation: Float[Array, " na"]
    """Logarithm of the standard deviation of the noise, which is added before tanh."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Learner:
    """The complete state of a run, which a checkpoint stores."""

    copies: EnvState
    key: Key
    moments: Moments
    actor: Actor
    critic: Layers
    target: Layers
    actor_moments: Any
    critic_moments: Any
    """States of the optimisers of actor and critic."""
    updates: Int[Array, ""]

    @property
    def policy(self) -> Policy:
        return Policy(self.moments.mean, self.moments.deviation, self.actor.layers)


@dataclass(frozen=True)
class Algorithm:
    """The algorithm: ``learner = init(key)``, then ``learner, metrics = update(learner)``."""

    env: AutoReset
    """Environment of one copy, around an ``EpisodeLimit``."""
    settings: Shac

    def init(self, key: Key) -> Learner:
        settings = self.settings
        key, starts, actor_key, critic_key = jax.random.split(key, 4)
        copies = jax.vmap(self.env.reset)(jax.random.split(starts, settings.actors))
        # If all copies had the same age, an update would see only one part of an episode.
        episode: Any = self.env.env
        ages = jax.random.randint(starts, (settings.actors,), 0, episode.limit)
        copies = replace(copies, info={**copies.info, "steps": ages})
        size, actions = observation_spec(self.env).shape[0], self.env.action_spec.shape[0]
        layers = perceptron(actor_key, (size, *settings.hidden, actions), last=0.1)
        noise = jnp.full(actions, np.log(settings.deviation), layers[0][0].dtype)
        actor = Actor(layers, noise)
        critic = perceptron(critic_key, (size, *settings.hidden, 1))
        return Learner(
            copies,
            key,
            Moments.of(size),
            actor,
            critic,
            critic,
            self.actor_optimiser.init(actor),
            self.critic_optimiser.init(critic),
            jnp.zeros((), jnp.int32),
        )

    @property
    def actor_optimiser(self) -> optax.GradientTransformation:
        settings = self.settings
        rate = optax.linear_schedule(
            settings.actor_rate, settings.actor_rate / 100, settings.updates
        )
        return optax.chain(optax.clip_by_global_norm(settings.clip), optax.adam(rate, 0.7, 0.95))

    @property
    def critic_optimiser(self) -> optax.GradientTransformation:
        settings = self.settings
        count = settings.updates * settings.epochs * settings.minibatches
        rate = optax.linear_schedule(settings.critic_rate, settings.critic_rate / 100, count)
        return optax.chain(optax.clip_by_global_norm(settings.clip), optax.adam(rate, 0.7, 0.95))

    def loss(
        self, actor: Actor, learner: Learner, noise: Float[Array, "t b na"]
    ) -> tuple[Float[Array, ""], tuple[EnvState, dict[str, Array]]]:
        """Return minus the mean return per step, the copies at the end, and all transitions [t b].

        Args:
            actor: actor, with respect to which the loss is differentiated.
            learner: state of the run.
            noise: standard normal noise of all actions.
        """
        settings, spec = self.settings, self.env.action_spec

        def value(obs: Array) -> Array:
            judged = applied(learner.target, learner.moments.scaled(obs))[..., 0]
            return judged if settings.critic else jnp.zeros_like(judged)

        def advance(carry: tuple, drawn: Array) -> tuple[tuple, dict[str, Array]]:
            copies, weight = carry
            if settings.bound is not None:
                copies = cast(EnvState, bounded(copies, settings.bound / settings.batch))
            centre = applied(actor.layers, learner.moments.scaled(copies.obs))
            share = (1 + jnp.tanh(centre + jnp.exp(actor.log_deviation) * drawn)) / 2
            action = jnp.asarray(spec.low) + share * (spec.high - spec.low)
            after = jax.vmap(self.env.step)(copies, action)
            reward = settings.reward_scale * after.reward
            ahead = settings.discount * jnp.where(after.terminated, 0.0, value(after.final_obs))
            transitions = {
                "obs": copies.obs,
                "reward": reward,
                "ahead": ahead,
                "done": after.done,
                "return": weight * (reward + jnp.where(after.done, ahead, 0.0)),
                "unsolved": after.metrics["unsolved"],
                "non_finite": after.metrics["non_finite"],
            }
            return (after, jnp.where(after.done, 1.0, settings.discount * weight)), transitions

        start = (learner.copies, jnp.ones(settings.actors))
        (copies, weight), transitions = lax.scan(advance, start, noise)
        last = jnp.where(transitions["done"][-1], 0.0, weight * value(copies.obs))
        total = jnp.sum(transitions["return"]) + jnp.sum(last)
        return -total / settings.batch, (copies, lax.stop_gradient(transitions))

    def update(self, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        """Return the learner after one update, and metrics.

        Metrics are the loss, the norm of its gradient before it is clipped, the mean reward of a
        step and others. A gradient that is not finite is replaced by zero.
        """
        settings = self.settings
        key, drawing, shuffling = jax.random.split(learner.key, 3)
        noise = jax.random.normal(
            drawing, (settings.horizon, settings.actors, *learner.actor.log_deviation.shape)
        )
        slope = jax.value_and_grad(self.loss, has_aux=True)
        (loss, (copies, transitions)), gradient = slope(learner.actor, learner, noise)
        norm = optax.tree.norm(gradient)
        sound = jnp.isfinite(norm)
        gradient = jax.tree.map(lambda leaf: jnp.where(sound, leaf, 0.0), gradient)
        change, actor_moments = self.actor_optimiser.update(gradient, learner.actor_moments)
        critic, critic_moments, misfit = self.judged(learner, transitions, shuffling)
        target = jax.tree.map(
            lambda old, new: settings.kept * old + (1 - settings.kept) * new, learner.target, critic
        )
        learner = replace(
            learner,
            copies=copies,
            key=key,
            moments=learner.moments.seen(transitions["obs"].reshape(settings.batch, -1)),
            actor=optax.apply_updates(learner.actor, change),
            critic=critic,
            target=target,
            actor_moments=actor_moments,
            critic_moments=critic_moments,
            updates=learner.updates + 1,
        )
        return learner, {
            "loss": loss,
            "gradient": norm,
            "skipped": ~sound,
            "misfit": misfit,
            "reward": jnp.mean(transitions["reward"]) / settings.reward_scale,
            "ended": jnp.mean(transitions["done"]),
            "unsolved": jnp.mean(transitions["unsolved"]),
            "non_finite": jnp.sum(transitions["non_finite"]),
        }

    def judged(
        self, learner: Learner, transitions: dict[str, Array], key: Key
    ) -> tuple[Layers, Any, Float[Array, ""]]:
        """Return the critic after some epochs, the state of its optimiser, and its mean square
        error.

        Args:
            learner: state of the run.
            transitions: transitions of the horizon [t b].
            key: random key of the minibatches.
        """
        settings = self.settings
        obs = learner.moments.scaled(transitions["obs"]).reshape(settings.batch, -1)
        sought = returns(settings, transitions).reshape(settings.batch)

        def misfit(critic: Layers, indices: Array) -> Float[Array, ""]:
            return jnp.mean((applied(critic, obs[indices])[:, 0] - sought[indices]) ** 2)

        def descend(carry: tuple, indices: Array) -> tuple[tuple, Array]:
            critic, moments = carry
            off, slope = jax.value_and_grad(misfit)(critic, indices)
            change, moments = self.critic_optimiser.update(slope, moments)
            return (optax.apply_updates(critic, change), moments), off

        orders = jax.vmap(lambda key: jax.random.permutation(key, settings.batch))(
            jax.random.split(key, settings.epochs)
        ).reshape(settings.epochs * settings.minibatches, -1)
        (critic, moments), off = lax.scan(descend, (learner.critic, learner.critic_moments), orders)
        return critic, moments, jnp.mean(off)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def bounded(copies: Any, limit: float) -> Any:
    """Return the copies unchanged, with bounded derivatives in reverse mode.

    The cotangent of each copy is shortened to at most ``limit``, so that no copy whose motion is
    chaotic dominates all others. Cotangents that are not finite become 0.
    """
    return copies


def _bounded_bwd(limit: float, _: None, back: Any) -> tuple[Any]:
    def real(leaf: Array) -> bool:
        return leaf.dtype != jax.dtypes.float0

    parts = [leaf.reshape(len(leaf), -1) for leaf in filter(real, jax.tree.leaves(back))]
    length = jnp.linalg.norm(jnp.concatenate(parts, axis=1), axis=1)
    share = jnp.where(jnp.isfinite(length), limit / jnp.maximum(length, limit), 0.0)

    def shortened(leaf: Array) -> Array:
        if not real(leaf):
            return leaf
        by = share.reshape(-1, *[1] * (leaf.ndim - 1))
        return jnp.where(by > 0, leaf * by, 0.0)

    return (jax.tree.map(shortened, back),)


bounded.defvjp(lambda copies, limit: (copies, None), _bounded_bwd)


def returns(settings: Shac, transitions: dict[str, Array]) -> Float[Array, "t b"]:
    """Return TD(λ) targets: r + γ ((1 − λ) V' + λ R').

    R' is V' at the end of an episode or of the horizon.
    """

    def accumulate(
        later: Array, transition: tuple[Array, Array, Array, Array]
    ) -> tuple[Array, Array]:
        reward, ahead, done, last = transition
        goes_on = settings.trace * settings.discount * later + (1 - settings.trace) * ahead
        value = reward + jnp.where(done | last, ahead, goes_on)
        return value, value

    last = jnp.zeros_like(transitions["done"]).at[-1].set(True)
    inputs = (transitions["reward"], transitions["ahead"], transitions["done"], last)
    return lax.scan(accumulate, jnp.zeros_like(transitions["reward"][0]), inputs, reverse=True)[1]
