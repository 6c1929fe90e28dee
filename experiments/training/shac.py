"""Short-horizon actor-critic (SHAC; Xu et al. 2022, arXiv:2204.07137), and APG without a critic.

An update differentiates the returns of all copies over a short horizon, with the value of where
they then are, through policy and simulator; then fits the critic to TD(λ). A pure function of one
pytree, compiled once.
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
from jaxccp.scenes.draw import Key


class Actor(NamedTuple):
    layers: Layers
    log_deviation: Float[Array, " na"]
    """Of the noise, before the action goes through tanh."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Learner:
    """All there is of a run: what a checkpoint keeps."""

    copies: EnvState
    key: Key
    moments: Moments
    actor: Actor
    critic: Layers
    target: Layers
    actor_moments: Any
    critic_moments: Any
    """Of the optimisers."""
    updates: Int[Array, ""]

    @property
    def policy(self) -> Policy:
        return Policy(self.moments.mean, self.moments.deviation, self.actor.layers)


@dataclass(frozen=True)
class Algorithm:
    """``learner = init(key)``, then ``learner, metrics = update(learner)``."""

    env: AutoReset
    """Around an ``EpisodeLimit``; of one copy."""
    settings: Shac

    def init(self, key: Key) -> Learner:
        own = self.settings
        key, starts, acting, judging = jax.random.split(key, 4)
        copies = jax.vmap(self.env.reset)(jax.random.split(starts, own.actors))
        # Where all copies are equally old, an update sees but one part of an episode.
        episode: Any = self.env.env
        ages = jax.random.randint(starts, (own.actors,), 0, episode.limit)
        copies = replace(copies, info={**copies.info, "steps": ages})
        size, actions = observation_spec(self.env).shape[0], self.env.action_spec.shape[0]
        layers = perceptron(acting, (size, *own.hidden, actions), last=0.1)
        noise = jnp.full(actions, np.log(own.deviation), layers[0][0].dtype)
        actor = Actor(layers, noise)
        critic = perceptron(judging, (size, *own.hidden, 1))
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
        own = self.settings
        rate = optax.linear_schedule(own.actor_rate, own.actor_rate / 100, own.updates)
        return optax.chain(optax.clip_by_global_norm(own.clip), optax.adam(rate, 0.7, 0.95))

    @property
    def critic_optimiser(self) -> optax.GradientTransformation:
        own = self.settings
        count = own.updates * own.epochs * own.minibatches
        rate = optax.linear_schedule(own.critic_rate, own.critic_rate / 100, count)
        return optax.chain(optax.clip_by_global_norm(own.clip), optax.adam(rate, 0.7, 0.95))

    def loss(
        self, actor: Actor, learner: Learner, noise: Float[Array, "t b na"]
    ) -> tuple[Float[Array, ""], tuple[EnvState, dict[str, Array]]]:
        """Minus the mean return per step; the copies at the end of the horizon, and what was seen
        on the way [t b]."""
        own, spec = self.settings, self.env.action_spec

        def value(obs: Array) -> Array:
            judged = applied(learner.target, learner.moments.scaled(obs))[..., 0]
            return judged if own.critic else jnp.zeros_like(judged)

        def one(carry: tuple, drawn: Array) -> tuple[tuple, dict[str, Array]]:
            copies, weight = carry
            if own.bound is not None:
                copies = cast(EnvState, bounded(copies, own.bound / own.batch))
            centre = applied(actor.layers, learner.moments.scaled(copies.obs))
            share = (1 + jnp.tanh(centre + jnp.exp(actor.log_deviation) * drawn)) / 2
            action = jnp.asarray(spec.low) + share * (spec.high - spec.low)
            after = jax.vmap(self.env.step)(copies, action)
            reward = own.reward_scale * after.reward
            ahead = own.discount * jnp.where(after.terminated, 0.0, value(after.final_obs))
            seen = {
                "obs": copies.obs,
                "reward": reward,
                "ahead": ahead,
                "done": after.done,
                "return": weight * (reward + jnp.where(after.done, ahead, 0.0)),
                "unsolved": after.metrics["unsolved"],
                "non_finite": after.metrics["non_finite"],
            }
            return (after, jnp.where(after.done, 1.0, own.discount * weight)), seen

        start = (learner.copies, jnp.ones(own.actors))
        (copies, weight), seen = lax.scan(one, start, noise)
        last = jnp.where(seen["done"][-1], 0.0, weight * value(copies.obs))
        total = jnp.sum(seen["return"]) + jnp.sum(last)
        return -total / own.batch, (copies, lax.stop_gradient(seen))

    def update(self, learner: Learner) -> tuple[Learner, dict[str, Array]]:
        """Metrics: loss, norm of its gradient before it is clipped, mean reward of a step, ….

        A gradient that is not finite is not taken.
        """
        own = self.settings
        key, drawing, shuffling = jax.random.split(learner.key, 3)
        noise = jax.random.normal(
            drawing, (own.horizon, own.actors, *learner.actor.log_deviation.shape)
        )
        slope = jax.value_and_grad(self.loss, has_aux=True)
        (loss, (copies, seen)), gradient = slope(learner.actor, learner, noise)
        norm = optax.tree.norm(gradient)
        sound = jnp.isfinite(norm)
        gradient = jax.tree.map(lambda leaf: jnp.where(sound, leaf, 0.0), gradient)
        change, actor_moments = self.actor_optimiser.update(gradient, learner.actor_moments)
        critic, critic_moments, misfit = self.judged(learner, seen, shuffling)
        target = jax.tree.map(
            lambda old, new: own.kept * old + (1 - own.kept) * new, learner.target, critic
        )
        learner = replace(
            learner,
            copies=copies,
            key=key,
            moments=learner.moments.seen(seen["obs"].reshape(own.batch, -1)),
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
            "reward": jnp.mean(seen["reward"]) / own.reward_scale,
            "ended": jnp.mean(seen["done"]),
            "unsolved": jnp.mean(seen["unsolved"]),
            "non_finite": jnp.sum(seen["non_finite"]),
        }

    def judged(
        self, learner: Learner, seen: dict[str, Array], key: Key
    ) -> tuple[Layers, Any, Float[Array, ""]]:
        """The critic after some epochs, its optimiser, and its mean square misfit."""
        own = self.settings
        obs = learner.moments.scaled(seen["obs"]).reshape(own.batch, -1)
        sought = returns(own, seen).reshape(own.batch)

        def misfit(critic: Layers, chosen: Array) -> Float[Array, ""]:
            return jnp.mean((applied(critic, obs[chosen])[:, 0] - sought[chosen]) ** 2)

        def one(carry: tuple, chosen: Array) -> tuple[tuple, Array]:
            critic, moments = carry
            off, slope = jax.value_and_grad(misfit)(critic, chosen)
            change, moments = self.critic_optimiser.update(slope, moments)
            return (optax.apply_updates(critic, change), moments), off

        orders = jax.vmap(lambda key: jax.random.permutation(key, own.batch))(
            jax.random.split(key, own.epochs)
        ).reshape(own.epochs * own.minibatches, -1)
        (critic, moments), off = lax.scan(one, (learner.critic, learner.critic_moments), orders)
        return critic, moments, jnp.mean(off)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def bounded(copies: Any, limit: float) -> Any:
    """The copies. In reverse mode what comes back to each is no longer than ``limit``, so that no
    copy whose motion is chaotic outvotes all others; what is not finite counts as 0."""
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


def returns(settings: Shac, seen: dict[str, Array]) -> Float[Array, "t b"]:
    """TD(λ): r + γ ((1 − λ) V' + λ R'), where R' is V' at the end of an episode or the horizon."""

    def one(later: Array, now: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        reward, ahead, done, last = now
        goes_on = settings.trace * settings.discount * later + (1 - settings.trace) * ahead
        found = reward + jnp.where(done | last, ahead, goes_on)
        return found, found

    last = jnp.zeros_like(seen["done"]).at[-1].set(True)
    given = (seen["reward"], seen["ahead"], seen["done"], last)
    return lax.scan(one, jnp.zeros_like(seen["reward"][0]), given, reverse=True)[1]
