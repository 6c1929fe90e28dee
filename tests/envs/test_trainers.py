"""Check trainers of other packages, for a few updates."""

# What flax makes of a class, the checker cannot see; and the package may be absent.
# pyright: reportMissingImports=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportInvalidTypeArguments=false, reportInvalidTypeVarUse=false, reportCallIssue=false

from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import envs
from tests.envs.counter import Counter


@pytest.fixture
def single() -> Any:
    """Switch to single precision, for which those trainers are written."""
    with jax.enable_x64(False):
        yield


def gymnax_1() -> None:
    pytest.importorskip("gymnax")
    if version("gymnax").startswith("0"):
        pytest.skip("gymnax 1.0 is for jax before 0.12 only")


def test_ppo_of_brax(single: None) -> None:
    networks = pytest.importorskip("brax.training.agents.ppo.networks")
    if jax.__version_info__ >= (0, 10):
        pytest.skip("brax 0.14 trains with jax before 0.10 only")
    from brax.training.agents.ppo import train as ppo

    from jaxccp.envs.adapters.brax import BraxEnv, randomization_fn

    env = BraxEnv("cartpole")
    reports: list[dict[str, Any]] = []
    sizes = (8,)
    _, parameters, last = ppo.train(
        environment=env,
        num_timesteps=64,
        episode_length=6,
        num_envs=4,
        batch_size=4,
        num_minibatches=1,
        unroll_length=4,
        num_updates_per_batch=1,
        num_evals=2,
        num_eval_envs=2,
        normalize_observations=True,
        randomization_fn=randomization_fn(env.env, envs.randomisation(mass=(0.5, 2.0))),
        network_factory=lambda *args, **kwargs: networks.make_ppo_networks(
            *args, **kwargs, policy_hidden_layer_sizes=sizes, value_hidden_layer_sizes=sizes
        ),
        progress_fn=lambda step, metrics: reports.append(metrics),
    )
    assert len(reports) == 2
    assert last["eval/avg_episode_length"] == 6
    assert 0 < last["eval/episode_reward"] < 6
    assert last["eval/episode_unsolved"] == last["eval/episode_non_finite"] == 0
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(parameters))


def test_ppo_of_rejax(single: None) -> None:
    rejax = pytest.importorskip("rejax")
    gymnax_1()
    from jaxccp.envs.adapters.gymnax import RejaxEnv

    env = RejaxEnv("cartpole", episode_steps=6)
    algo = rejax.PPO.create(
        env=env,
        env_params=env.default_params,
        total_timesteps=32,
        num_envs=4,
        num_steps=4,
        num_epochs=1,
        num_minibatches=1,
        agent_kwargs={"hidden_layer_sizes": (8,)},
        skip_initial_evaluation=True,
        eval_freq=32,
    ).replace(eval_callback=lambda algo, trained, key: trained.global_step)
    before = algo.init_state(jax.random.PRNGKey(0))
    trained, steps = jax.jit(algo.train)(train_state=before)
    assert steps == trained.global_step == 32
    changes = jax.tree.map(
        lambda a, b: np.abs(a - b).max(), before.actor_ts.params, trained.actor_ts.params
    )
    assert all(0 < most < 1 for most in jax.tree.leaves(changes))


def test_gymnax(single: None) -> None:
    gymnax_1()
    from jaxccp.envs.adapters.gymnax import GymnaxEnv

    env = GymnaxEnv("cartpole", episode_steps=3)
    params = env.default_params
    assert env.action_space(params).shape == (1,) and env.name == "Cartpole"
    obs, state = env.reset(jax.random.key(0), params)
    assert env.observation_space(params).shape == obs.shape
    step = jax.jit(env.env.step)
    for count in range(1, 5):
        before = state
        obs, state, reward, terminated, truncated, info = env.step(
            jax.random.key(count), state, jnp.ones(1), params
        )
        expected = step(before.env, jnp.ones(1))
        np.testing.assert_allclose(info["final_observation"], expected.obs, atol=1e-6)
        assert reward == pytest.approx(float(expected.reward), abs=1e-6)
        assert not terminated and truncated == (count == 3)
        fresh = np.abs(obs - expected.obs).max() > 0.01
        assert fresh == (count == 3) and state.time == count % 3


@pytest.mark.parametrize("steps", [0, -1, 2.5])
def test_gymnax_counts_episodes_in_whole_steps(steps: Any) -> None:
    gymnax_1()
    from jaxccp.envs.adapters.gymnax import GymnaxEnv

    with pytest.raises(ValueError, match="episode_steps must be a whole number of at least 1"):
        GymnaxEnv("cartpole", episode_steps=steps)


def test_what_brax_cannot_do_is_refused() -> None:
    """Brax limits episodes itself, and its actions are scaled to a range that must exist."""
    pytest.importorskip("brax.envs.base")
    from jaxccp.envs.adapters.brax import BraxEnv

    with pytest.raises(ValueError, match="give episode_length"):
        BraxEnv("cartpole", episode_steps=50)

    class Unbounded(Counter):
        action_spec = envs.Spec(np.array([-1, -1, -np.inf]), np.array([1, np.inf, np.inf]))

    with pytest.raises(ValueError, match=r"entries \[1, 2\] of the action have no range"):
        BraxEnv(Unbounded())


def test_noise_differs_between_the_episodes_of_brax() -> None:
    """Brax takes each copy back to its first start, but random numbers do not begin again."""
    training = pytest.importorskip("brax.envs.wrappers.training")
    from jaxccp.envs.adapters.brax import BraxEnv

    copy: Any = Counter()
    env = training.wrap(BraxEnv(envs.ObservationNoise(copy, 0.1)), episode_length=2)
    state = env.reset(jax.random.split(jax.random.PRNGKey(0), 3))
    step, seen = jax.jit(env.step), []
    for _ in range(6):
        state = step(state, jnp.zeros((3, 1)))
        seen.append(np.array(state.obs[:, 0]))
    np.testing.assert_array_equal(seen[1::2], [seen[1]] * 3)  # the first observation of an episode
    assert len(np.unique(seen[::2])) == 9
    assert np.std(seen[::2], axis=0).max() < 0.4


def test_settings_of_an_environment_that_is_made_are_refused() -> None:
    pytest.importorskip("brax.envs.base")
    from jaxccp.envs.adapters.brax import BraxEnv

    made: Any = Counter()
    with pytest.raises(ValueError, match=r"control_wieght: settings .* give them to make"):
        BraxEnv(made, control_wieght=0.0)


def test_what_begins_anew_by_itself_is_refused() -> None:
    pytest.importorskip("brax.envs.base")
    from jaxccp.envs.adapters.brax import BraxEnv

    with pytest.raises(ValueError, match="auto_reset=False"):
        BraxEnv(envs.make("cartpole"))
