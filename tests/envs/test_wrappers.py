"""Check wrappers around an environment whose every output is known."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.envs import (
    ActionDelay,
    ActionRepeat,
    AutoReset,
    Env,
    EnvState,
    EpisodeLimit,
    FrameStack,
    ObservationDelay,
    ObservationNoise,
)
from tests.envs.counter import Counter


def played(env: Env, actions: list[float], seed: int = 0) -> list[EnvState]:
    """Return the start and the state after each action.

    Args:
        env: the environment.
        actions: the actions, one per step.
        seed: seed of the key for the start.
    """
    key = jax.random.key(seed)
    states = [env.reset(key if isinstance(env, AutoReset) else jax.random.fold_in(key, 0))]
    for action in actions:
        states.append(env.step(states[-1], jnp.array([action])))
    return states


def test_an_episode_is_truncated_and_not_terminated_at_its_limit() -> None:
    states = played(EpisodeLimit(Counter(), 3), [1, 1, 1])
    assert [bool(state.truncated) for state in states] == [False, False, False, True]
    assert not any(bool(state.terminated) for state in states)
    assert [int(state.info["steps"]) for state in states] == [0, 1, 2, 3]


@pytest.mark.parametrize("ends", ["terminated", "truncated"])
def test_the_next_episode_begins_in_the_step_that_ends_one(ends: str) -> None:
    actions = [1.0, 200.0 if ends == "terminated" else 2.0, 3.0]
    env = EpisodeLimit(Counter(), 2)
    without, states = played(env, actions), played(AutoReset(env), actions)
    last = states[2]
    assert bool(last.terminated) == (ends == "terminated") and bool(last.truncated)
    # Of the old episode: reward, metrics and the last observation …
    assert last.final_obs == without[2].obs == states[0].obs + sum(actions[:2])
    assert last.reward == last.metrics["paid"] == actions[1]
    # … and of the new one all that the next step goes on from.
    assert 0 <= last.obs[0] < 1 and last.obs == last.physics and last.info["steps"] == 0
    assert states[3].obs == last.obs + actions[2] and not bool(states[3].done)
    assert states[1].final_obs == states[1].obs


def test_every_episode_is_drawn_afresh() -> None:
    def starts(seed: int) -> list[float]:
        states = played(AutoReset(EpisodeLimit(Counter(), 1)), [0.0] * 5, seed)
        return [state.obs.item() for state in states]

    assert len({*starts(0), *starts(1)}) == 12
    assert starts(0) == starts(0)


def test_episodes_do_not_depend_on_what_else_is_in_the_batch() -> None:
    """Each copy draws its own starts, also where it ends in every step, although copies that end
    often make others draw with them."""
    env, keys = AutoReset(Counter()), jax.random.split(jax.random.key(0), 3)
    ends = jnp.array([[1, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 0], [1, 1, 1, 1, 1, 1]]) * 200.0

    def play(key: jax.Array, ends: jax.Array) -> tuple[jax.Array, jax.Array]:
        def advance(state: EnvState, add: jax.Array) -> tuple[EnvState, tuple]:
            state = env.step(state, add[None])
            return state, (state.obs[0], state.done)

        return jax.lax.scan(advance, env.reset(key), ends)[1]

    together, done = jax.vmap(play)(keys, ends)
    np.testing.assert_array_equal(done, ends > 0)
    for copy in range(3):
        np.testing.assert_array_equal(together[copy], play(keys[copy], ends[copy])[0])
    assert len(np.unique(together[2])) == 6 and (together < 1).all()
    assert together[0, 0] == together[0, 1] == together[0, 2]


def test_auto_reset_is_outermost() -> None:
    with pytest.raises(ValueError, match="put AutoReset around it"):
        FrameStack(AutoReset(Counter()), 2)


@pytest.mark.parametrize("wrapper", [EpisodeLimit, FrameStack, ActionDelay, ObservationDelay])
def test_two_that_keep_data_under_one_name_are_refused(wrapper: Any) -> None:
    with pytest.raises(ValueError, match=f"{wrapper.__name__} is around the environment already"):
        wrapper(ActionRepeat(wrapper(Counter(), 2), 2), 3)


@pytest.mark.parametrize(
    ("wrapper", "count"),
    [
        (EpisodeLimit, 0),
        (ActionRepeat, 0),
        (FrameStack, 0),
        (ActionDelay, -1),
        (FrameStack, 2.5),
        (FrameStack, True),
    ],
)
def test_bad_counts_are_refused(wrapper: Any, count: Any) -> None:
    with pytest.raises(ValueError, match=rf"{wrapper.__name__}: \w+ must be a whole number"):
        wrapper(Counter(), count)
    assert wrapper(Counter(), np.int64(2)) == wrapper(Counter(), 2)


def test_repeated_actions_stop_where_the_episode_does() -> None:
    env = ActionRepeat(Counter(), 3)
    start, after, ended = played(env, [10.0, 40.0])
    assert env.ctrl_dt == pytest.approx(0.3)
    assert after.reward == after.metrics["paid"] == 30 and after.metrics["status"] == 1
    np.testing.assert_allclose(after.obs, start.obs + 30)
    # 30, 70, 110: that is over before the third time.
    assert ended.reward == 80 and bool(ended.terminated)
    np.testing.assert_allclose(ended.final_obs, start.obs + 110)


def test_frames_are_stacked_oldest_first() -> None:
    states = played(FrameStack(Counter(), 3), [1, 2])
    first = states[0].obs[0]
    np.testing.assert_allclose(states[0].obs, [first] * 3)
    np.testing.assert_allclose(states[2].obs, first + jnp.array([0, 1, 3]))
    np.testing.assert_array_equal(states[2].obs, states[2].final_obs)


def test_frames_do_not_reach_back_into_the_last_episode() -> None:
    state = played(AutoReset(EpisodeLimit(FrameStack(Counter(), 2), 2)), [1, 1])[-1]
    assert state.obs[0] == state.obs[1] == state.physics[0]  # type: ignore[index]
    assert state.final_obs[1] == state.final_obs[0] + 1


def test_late_observations() -> None:
    states = played(ObservationDelay(Counter(), 2), [1, 2, 4])
    first = states[0].obs
    shown = [(state.obs - first).item() for state in states]
    assert shown == pytest.approx([0, 0, 0, 1])


def test_late_actions() -> None:
    states = played(ActionDelay(Counter(), 2), [1, 2, 4, 8])
    done = [(state.obs - states[0].obs).item() for state in states]
    assert done == pytest.approx([0, 0, 0, 1, 3])


def test_late_actions_have_a_shape_too() -> None:
    env = ActionDelay(Counter(), 2)
    start = env.reset(jax.random.key(0))
    with pytest.raises(ValueError, match=r"action must have shape \(actuators,\) = \(1,\), not"):
        env.step(start, jnp.zeros(2))
    after = env.step(start, [3])  # type: ignore[arg-type]
    assert after.info["pending"].tolist() == [[0.0], [3.0]]


def test_noise_of_another_number_of_entries_is_refused() -> None:
    with pytest.raises(ValueError, match=r"deviation .* \(observations,\) = \(1,\), not \(2,\)"):
        ObservationNoise(Counter(), jnp.ones(2)).reset(jax.random.key(0))


def test_noise_has_its_deviation_and_is_new_each_time() -> None:
    env = ObservationNoise(Counter(), jnp.array([0.5]))
    keys = jax.random.split(jax.random.key(0), 4000)
    start = jax.vmap(env.reset)(keys)
    after = jax.vmap(lambda state: env.step(state, jnp.zeros(1)))(start)
    for state in (start, after):
        noise = np.asarray(state.obs - state.physics)  # type: ignore[operator]
        assert abs(noise.mean()) < 0.03 and noise.std() == pytest.approx(0.5, rel=0.05)
    kinship = np.corrcoef((start.obs - start.physics)[:, 0], (after.obs - after.physics)[:, 0])  # type: ignore[operator]
    assert abs(kinship[0, 1]) < 0.05
    np.testing.assert_array_equal(after.obs, after.final_obs)
