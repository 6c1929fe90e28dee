"""Check that environments do what gymnasium requires."""

import importlib
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from jaxccp.envs import TASKS, make
from jaxccp.envs.registration import identifier, register

LIMIT = 3
ONES = np.ones((2, 1), np.float32)


@pytest.fixture(scope="module")
def vector() -> Any:
    return gymnasium.make_vec(identifier("cartpole"), num_envs=2, max_episode_steps=LIMIT)


def test_all_are_registered_with_their_limits() -> None:
    """Importing the environments registers all of them with their limits, without mention of the
    adapter."""
    for name, task in TASKS.items():
        spec = gymnasium.spec(identifier(name))
        assert spec.max_episode_steps == task.episode_steps
    assert identifier("halfcheetah") == "jaxccp/HalfCheetah-v0"


def test_registration_does_without_gymnasium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)  # as if it were not installed
    with pytest.raises(ImportError):
        importlib.import_module("gymnasium")
    register()


@pytest.mark.filterwarnings("ignore:.*A Box observation space m")
def test_the_checker_is_content() -> None:
    """Gymnasium's checker accepts an environment, except for its doubts about unbounded
    observations."""
    env: Any = gymnasium.make(identifier("cartpole"), max_episode_steps=LIMIT)
    check_env(env.unwrapped)
    env.reset(seed=0)
    for step in range(LIMIT):
        *_, terminated, truncated, info = env.step(np.array([np.nan], np.float32))
        assert not terminated and truncated == (step == LIMIT - 1)
        assert info["action_nan"] == 1 and info["status"] == 0


def test_spaces_of_the_batch(vector: Any) -> None:
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    obs, infos = vector.reset(seed=1)
    assert obs in vector.observation_space and infos == {}
    assert vector.observation_space.shape == (2, 5) and vector.action_space.shape == (2, 1)
    obs, reward, terminated, truncated, infos = vector.step(vector.action_space.sample())
    assert obs in vector.observation_space
    assert reward.shape == terminated.shape == truncated.shape == (2,)
    assert terminated.dtype == truncated.dtype == bool


def test_seeds(vector: Any) -> None:
    first, again, different = (vector.reset(seed=seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - different).min() > 0
    later = vector.reset()[0]
    assert np.abs(different - later).min() > 0
    assert np.abs(first[0] - first[1]).min() > 0


def test_the_last_observation_is_in_the_infos(vector: Any) -> None:
    vector.reset(seed=5)
    for step in range(LIMIT):
        obs, _, terminated, truncated, infos = vector.step(ONES)
        assert ("final_obs" in infos) == (step == LIMIT - 1)
    assert truncated.all() and not terminated.any()
    assert infos["_final_obs"].all() and infos["final_obs"].dtype == object
    last = np.stack(infos["final_obs"])
    # After 60 ms of 10 N the cart moves at half a metre per second, and is still at the new start.
    assert (last[:, 3] > 0.4).all() and (np.abs(obs[:, 3]) < 0.1).all()
    np.testing.assert_array_equal(infos["final_info"]["upright"], infos["upright"])


def test_statistics_of_episodes(vector: Any) -> None:
    """Gymnasium's own wrapper counts the same rewards."""
    counted = gymnasium.wrappers.vector.RecordEpisodeStatistics(vector)
    counted.reset(seed=6)
    total = np.zeros(2)
    for _ in range(LIMIT):
        _, reward, _, _, infos = counted.step(-ONES)
        total += reward
    np.testing.assert_allclose(infos["episode"]["r"], total, rtol=1e-6)
    np.testing.assert_array_equal(infos["episode"]["l"], LIMIT)


def test_steps_before_a_reset_are_refused() -> None:
    env: Any = gymnasium.make_vec(identifier("cartpole"), num_envs=2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(ONES)


def test_options_of_a_reset_are_refused(vector: Any) -> None:
    """A mask of the copies to reset would otherwise be ignored."""
    with pytest.raises(ValueError, match="reset_mask"):
        vector.reset(options={"reset_mask": np.array([True, False])})


def test_settings_go_through() -> None:
    env: Any = gymnasium.make_vec(identifier("cartpole"), num_envs=1, start_noise=0.5)
    assert env.env.env.env.task.start_noise == 0.5
    assert make("cartpole").env.limit == 500  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="did you mean 'start_noise'"):
        gymnasium.make_vec(identifier("cartpole"), num_envs=1, start_nose=0.5)


@pytest.mark.parametrize("make_", [gymnasium.make, gymnasium.make_vec])
def test_the_length_of_episodes_has_one_name(make_: Any) -> None:
    """Gymnasium gives the registered limit whatever the task's is, so the latter is refused."""
    with pytest.raises(ValueError, match="give max_episode_steps"):
        make_(identifier("cartpole"), episode_steps=50)


def test_frames(vector: Any) -> None:
    """Frames of each copy are rendered as gymnasium asks for them, and follow what moves."""
    assert vector.render() is None
    both: Any = gymnasium.make_vec(identifier("cartpole"), num_envs=2, render_mode="rgb_array")
    both.reset(seed=1)
    first = both.render()
    assert first is not None and len(first) == 2
    for frame in first:
        assert frame.shape == (360, 480, 3) and frame.dtype == np.uint8
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 20
    for _ in range(5):
        both.step(ONES)
    later = both.render()
    assert later is not None and np.abs(later[0].astype(int) - first[0]).max() > 50
    with pytest.raises(gymnasium.error.Error, match="rgb_array"):
        gymnasium.make_vec(identifier("cartpole"), render_mode="human")
