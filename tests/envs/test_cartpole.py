"""Check what holds for every environment, on the one that compiles fastest."""

import sys
from dataclasses import replace
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.envs import Env, EnvState, make, observation_spec
from jaxccp.envs.tasks import model_file
from jaxccp.io.errors import InputError

mujoco: Any = import_module("mujoco")  # its names come from a binary
COPIES, LIMIT = 4, 5
KEYS = jax.random.split(jax.random.key(7), COPIES)
Compiled = Any


@pytest.fixture(scope="module")
def env() -> Env:
    return make("cartpole", episode_steps=LIMIT, start_noise=0.3)


@pytest.fixture(scope="module")
def reset(env: Env) -> Compiled:
    return jax.jit(jax.vmap(env.reset))


@pytest.fixture(scope="module")
def step(env: Env) -> Compiled:
    return jax.jit(jax.vmap(env.step))


def pushed(action: float) -> jax.Array:
    """Return the same action for all copies, always of the one type that ``step`` is compiled
    for."""
    return jnp.full((COPIES, 1), action, float)


def test_specs(env: Env) -> None:
    observation, done = observation_spec(env), env.action_spec
    assert observation.shape == (5,) and observation.dtype == jnp.zeros(()).dtype == done.dtype
    np.testing.assert_array_equal((done.low, done.high), [[-1], [1]])
    assert (env.sim_dt, env.ctrl_dt) == (0.005, 0.02)


@pytest.mark.parametrize("shape", [(), (2,), (1, 1), (0,)])
def test_actions_of_another_shape_are_refused_when_traced(env: Env, shape: tuple) -> None:
    state = jax.eval_shape(env.reset, jax.random.key(0))
    with pytest.raises(ValueError, match=r"\(actuators,\) = \(1,\) for actuators \w+, not"):
        jax.eval_shape(env.step, state, jnp.zeros(shape))


def test_single_precision_is_kept_and_states_can_be_scanned() -> None:
    with jax.enable_x64(False):
        single = make("cartpole")
        start = jax.eval_shape(single.reset, jax.random.key(0))
        after = jax.eval_shape(single.step, start, jnp.zeros(1))
    assert jax.tree.structure(start) == jax.tree.structure(after)
    for start_leaf, after_leaf in zip(jax.tree.leaves(start), jax.tree.leaves(after), strict=True):
        assert (start_leaf.shape, start_leaf.dtype, start_leaf.weak_type) == (
            after_leaf.shape,
            after_leaf.dtype,
            after_leaf.weak_type,
        )
        assert start_leaf.dtype not in (jnp.float64, jnp.int64)


def test_without_mujoco_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(InputError, match=r"pip install 'jaxccp\[mjcf\]'"):
        make("cartpole", max_contacts=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "cartpol"}, "did you mean 'cartpole'"),
        ({"name": "cartpole", "episode_step": 3}, "did you mean 'episode_steps'"),
        ({"name": "cartpole", "ctrl_dt": 0.012}, "must be a multiple of sim_dt"),
        ({"name": "push_t", "goal": [[0.1], 0, 0.5]}, "push_t: goal must be a number.* or a tuple"),
    ],
)
def test_bad_settings_are_refused_by_name(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**settings)


def test_the_key_determines_everything(reset: Compiled, step: Compiled) -> None:
    def play() -> EnvState:
        state = reset(KEYS)
        for _ in range(2):
            state = step(state, pushed(0.5))
        return state

    first, second = play(), play()
    for first_leaf, second_leaf in zip(
        jax.tree.leaves(first), jax.tree.leaves(second), strict=True
    ):
        if not jnp.issubdtype(first_leaf.dtype, jax.dtypes.prng_key):
            np.testing.assert_array_equal(first_leaf, second_leaf)
    assert len(np.unique(first.obs[:, 0])) == COPIES


def test_free_motion_is_that_of_mujoco() -> None:
    """The free motion converges, with first order in the step, to MuJoCo's in steps of 10 µs."""
    reference = mujoco.MjModel.from_xml_path(str(model_file("cartpole")))
    reference.opt.timestep = 1e-5
    errors = []
    for step_length in (4e-3, 2e-3):
        environment: Any = make("cartpole", auto_reset=False, sim_dt=step_length, ctrl_dt=0.04)
        state = environment.reset(jax.random.key(0))
        moving = environment.layout.state(
            environment.model, environment.rest, jnp.array([0.1, 2.0]), jnp.array([0.5, 3.0])
        )
        state = replace(state, physics=environment.stepper.init(environment.model, moving))
        data = mujoco.MjData(reference)
        data.qpos, data.qvel, data.ctrl = [0.1, 2.0], [0.5, 3.0], [0.4]
        step_once = jax.jit(environment.step)
        for _ in range(10):
            state = step_once(state, jnp.array([0.4]))
        for _ in range(40_000):
            mujoco.mj_step(reference, data)
        cart, angle = data.qpos
        expected = np.array([cart, np.cos(angle), np.sin(angle), *data.qvel])
        assert np.abs(expected[3:]).min() > 0.5
        errors.append(np.abs(state.obs - expected).max())
    assert errors[1] < 0.03 and errors[1] == pytest.approx(errors[0] / 2, rel=0.15)


def test_reward_of_the_control_suite() -> None:
    """The reward is 1 upright in the middle at rest and 0 hanging, and each of its factors has the
    value of the control suite."""
    environment: Any = make("cartpole", auto_reset=False)

    def reward(qpos: list[float], qvel: list[float], control: float = 0.0) -> float:
        state = environment.layout.state(
            environment.model, environment.rest, jnp.array(qpos), jnp.array(qvel)
        )
        moment = environment.moment(state, jnp.zeros(0), jnp.array([control]), jnp.zeros(0))
        return environment.task.rewards(moment, moment)[0].item()

    assert reward([0, 0], [0, 0]) == pytest.approx(1)
    assert reward([0, np.pi], [0, 0]) == pytest.approx(0, abs=1e-12)
    assert reward([1, np.pi / 2], [0, 0]) == pytest.approx(0.5 * (1 + 0.1**0.25) / 2)
    assert reward([0, 0], [0, 5]) == pytest.approx((1 + 0.1) / 2)
    assert reward([0, 0], [0, 0], 1.0) == pytest.approx(0.8)


def test_episodes_end_at_their_limit_and_begin_afresh(reset: Compiled, step: Compiled) -> None:
    state = reset(KEYS)
    first = state.obs
    for _ in range(LIMIT):
        assert not state.truncated.any()
        state = step(state, pushed(1.0))
    assert state.truncated.all() and not state.terminated.any()
    # The cart has been pushed for 0.1 s at 10 N, and at the new start nothing moves but by noise.
    assert (state.final_obs[:, 3] - first[:, 3] > 0.5).all()
    assert (jnp.abs(state.obs[:, 3]) < 1.2).all()
    assert len(np.unique(np.concatenate([first, state.obs])[:, 0])) == 2 * COPIES
    assert (state.physics.state.time == 0).all() and (state.info["steps"] == 0).all()


@pytest.mark.parametrize(
    ("action", "same_as", "nan", "clipped"),
    [(np.nan, 0.0, 1, 0), (np.inf, 1.0, 0, 1), (-1e30, -1.0, 0, 1), (0.3, 0.3, 0, 0)],
)
def test_bad_actions_have_an_answer_and_are_counted(
    reset: Compiled, step: Compiled, action: float, same_as: float, nan: int, clipped: int
) -> None:
    state = reset(KEYS)
    got, expected = (step(state, pushed(value)) for value in (action, same_as))
    np.testing.assert_array_equal(got.obs, expected.obs)
    np.testing.assert_array_equal(got.reward, expected.reward)
    assert (got.metrics["action_nan"] == nan).all()
    assert (got.metrics["action_clipped"] == clipped).all()


def test_what_leaves_the_floats_ends_its_episode_alone(reset: Compiled, step: Compiled) -> None:
    state = reset(KEYS)
    physics = state.physics.state
    wild = physics.angular_velocity.at[2].set(1e200)
    state = replace(
        state, physics=replace(state.physics, state=replace(physics, angular_velocity=wild))
    )
    after = step(state, pushed(0.0))
    for leaf in jax.tree.leaves((after.physics, after.obs, after.reward)):
        assert np.isfinite(leaf).all()
    lost = np.arange(COPIES) == 2
    np.testing.assert_array_equal(after.metrics["non_finite"], lost)
    np.testing.assert_array_equal(after.terminated, lost)
    assert (jnp.abs(step(after, pushed(0.0)).obs) < 10).all()


def test_gradients_of_a_return_pass_through_resets(env: Env, reset: Compiled) -> None:
    """Gradients of a return match central differences although the episode of one copy ends on the
    way and begins again."""
    start = jax.tree.map(lambda leaf: leaf[:2], reset(KEYS))
    start = replace(start, info={**start.info, "steps": jnp.array([0, LIMIT - 2], jnp.int32)})

    @jax.jit
    @jax.value_and_grad
    def value(actions: jax.Array) -> jax.Array:
        def advance(state: EnvState, action: jax.Array) -> tuple[EnvState, jax.Array]:
            state = jax.vmap(env.step)(state, action)
            return state, state.reward + 0.1 * state.final_obs[:, 3]

        return jax.lax.scan(advance, start, actions)[1].sum()

    actions = jnp.array([[[0.3], [-0.2]], [[0.5], [0.1]], [[-0.4], [0.6]]])
    _, slope = value(actions)
    h = 1e-5
    for index in np.ndindex(actions.shape):
        ahead, behind = (float(value(actions.at[index].add(sign * h))[0]) for sign in (1, -1))
        assert slope[index] == pytest.approx((ahead - behind) / (2 * h), rel=2e-5, abs=1e-9)
    # What was done before the reset moves nothing after it, but what was done after it does.
    assert (jnp.abs(slope) > 1e-3).all()
