"""Check the training experiment: SHAC's gradient, its targets, and resuming from a checkpoint."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import envs

pytest.importorskip("orbax.checkpoint")

from experiments.training.checkpoint import Checkpoints
from experiments.training.config import Shac
from experiments.training.networks import Moments, Policy, perceptron
from experiments.training.shac import Algorithm, Learner, bounded, returns

SETTINGS = Shac(
    steps=24, actors=2, horizon=3, hidden=(4,), epochs=1, minibatches=1, clip=1e3, actor_rate=1e-2
)


@pytest.fixture(scope="module")
def algorithm() -> Algorithm:
    env: Any = envs.make("cartpole", episode_steps=5, start_noise=0.5)
    return Algorithm(env, SETTINGS)


@pytest.fixture(scope="module")
def update(algorithm: Algorithm) -> Callable:
    return jax.jit(algorithm.update)


@pytest.fixture(scope="module")
def learner(algorithm: Algorithm, update: Callable) -> Learner:
    """Return the learner after one update, so that critic and statistics of observations differ
    from their initial values."""
    return update(jax.jit(algorithm.init)(jax.random.key(0)))[0]


def test_gradient_is_that_of_the_loss(algorithm: Algorithm, update: Callable, learner: Any) -> None:
    fresh = algorithm.actor_optimiser.init(learner.actor)
    learner = replace(learner, actor_moments=fresh)
    after, metrics = update(learner)
    # Adam's first moment after one step is 1 − 0.7 of the gradient.
    gradient = jax.tree.map(lambda leaf: leaf / 0.3, after.actor_moments[1][0].mu)
    norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
    assert norm == pytest.approx(float(metrics["gradient"]), rel=1e-9)
    for times in (1e-4, 1e-5):
        shifted = [
            replace(
                learner,
                actor=jax.tree.map(
                    lambda x, g, sign=sign, times=times: x + sign * times * g / norm,
                    learner.actor,
                    gradient,
                ),
            )
            for sign in (1, -1)
        ]
        above, below = (float(update(candidate)[1]["loss"]) for candidate in shifted)
        assert below < metrics["loss"] < above
        assert (above - below) / (2 * times) == pytest.approx(float(norm), rel=1e-4)


def test_goes_on_from_a_checkpoint(
    tmp_path: Path, algorithm: Algorithm, update: Callable, learner: Learner
) -> None:
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.latest is None
    checkpoints.save(1, learner)
    restored = Checkpoints(tmp_path).restore(jax.jit(algorithm.init)(jax.random.key(1)))
    for _ in range(2):
        learner, metrics = update(learner)
        restored, again = update(restored)
        assert metrics.keys() == again.keys()
        for name, value in metrics.items():
            assert value == again[name], name
    assert learner.updates == 3
    for leaf, restored_leaf in zip(
        jax.tree.leaves(learner), jax.tree.leaves(restored), strict=True
    ):
        np.testing.assert_array_equal(_plain(leaf), _plain(restored_leaf))


def _plain(leaf: Any) -> np.ndarray:
    keyed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if keyed else leaf)


def test_returns() -> None:
    """Returns have their exact values for γ = 0.99, λ = 0.95, where the first copy ends in the
    second of three steps and the other one never."""
    path = {
        "reward": jnp.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]),
        "ahead": jnp.array([[10.0, 10.0], [0.0, 20.0], [30.0, 30.0]]),
        "done": jnp.array([[False, False], [True, False], [False, False]]),
    }
    mixed = 0.99 * 0.95
    second = 2 + mixed * 33 + 0.05 * 20
    expected = [
        [1 + mixed * 2 + 0.5, 1 + mixed * second + 0.5],
        [2.0, second],
        [33.0, 33.0],
    ]
    np.testing.assert_allclose(returns(SETTINGS, path), expected, rtol=1e-12)


def test_slopes_of_copies_are_bounded() -> None:
    """The gradient of each copy is bounded by itself, in a state that also has keys and counts."""
    inputs = {"x": jnp.ones((3, 2)), "y": jnp.ones(3), "steps": jnp.arange(3)}
    weights = jnp.array([1.0, 100.0, jnp.inf])

    def total(state: dict) -> jax.Array:
        state = bounded(state, 6.0)
        return jnp.sum(weights[:, None] * state["x"] * jnp.array([1.0, 2.0])) + 2 * jnp.sum(
            weights * state["y"]
        )

    slope = jax.grad(total, allow_int=True)(inputs)
    np.testing.assert_allclose(slope["x"], [[1, 2], [2, 4], [0, 0]], rtol=1e-12)
    np.testing.assert_allclose(slope["y"], [2, 4, 0], rtol=1e-12)


def test_moments() -> None:
    batches = jax.random.normal(jax.random.key(0), (3, 50, 2)) * jnp.array([1.0, 5.0]) + 3
    moments = Moments.of(2)
    for batch in batches:
        moments = moments.seen(batch)
    np.testing.assert_allclose(moments.mean, batches.reshape(-1, 2).mean(0), rtol=1e-5)
    np.testing.assert_allclose(moments.variance, batches.reshape(-1, 2).var(0), rtol=1e-5)


def test_policies_are_files(tmp_path: Path) -> None:
    layers = perceptron(jax.random.key(0), (3, 4, 2))
    policy = Policy(jnp.ones(3), jnp.full(3, 2.0), layers)
    policy.save(tmp_path / "policy.npz")
    obs = jnp.linspace(-1, 1, 12).reshape(4, 3)
    loaded = Policy.load(tmp_path / "policy.npz")
    np.testing.assert_allclose(loaded(obs), policy(obs), atol=1e-6)
    assert np.abs(policy(obs)).max() < 1
