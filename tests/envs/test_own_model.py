"""Check environments of a task and a model of one's own."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from jaxccp.envs import Environment, Moment, Spec, Start, Task, environment
from jaxccp.envs.actions import admissible
from jaxccp.envs.spatial import centre
from jaxccp.io.errors import InputError
from jaxccp.io.mjcf import load

INERTIA = 0.1 + 2.0 * 0.5**2
"""Moment of inertia of the pendulum about its axis [kg m²], by the parallel axis theorem."""
XML = """<mujoco>
  <option gravity="0 0 0" timestep="0.3"/>
  <worldbody>
    <geom type="plane" size="1 1 1" pos="0 0 -9"/>
    <body>
      <joint name="hinge" axis="0 1 0"/>
      <inertial pos="0 0 -0.5" mass="2" diaginertia="0.1 0.1 0.1"/>
      <geom type="box" size="0.1 0.1 0.1" pos="0 0 -0.5"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge" ctrlrange="-2 2" ctrllimited="true"/></actuator>
</mujoco>"""


@dataclass(frozen=True, kw_only=True)
class Spin(Task):
    """Turn a pendulum."""

    terms: ClassVar = ("rate",)
    sim_dt: float = 0.001
    ctrl_dt: float = 0.005
    episode_steps: int = 10

    def start(self, key: Array, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        del key
        return Start(qpos, qvel, jnp.zeros(0))

    def observe(self, moment: Moment) -> Float[Array, "2"]:
        return jnp.concatenate([moment.qpos, moment.qvel])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return (moment.qvel[0] - before.qvel[0],)


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The model as each kind of source."""
    file = tmp_path / "pendulum.xml"
    file.write_text(XML, encoding="utf-8")
    return {"path": file, "path as a string": str(file), "XML": XML, "loaded": load(XML)}[
        request.param
    ]


SOURCES = ("path", "path as a string", "XML", "loaded")


@dataclass(frozen=True, kw_only=True)
class Smooth(Spin):
    """Turn a pendulum with actions that change little."""

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return (-jnp.sum((moment.action - before.action) ** 2),)


def test_a_task_sees_the_action_before_each_step() -> None:
    """The change of actions since the step before is charged, from 0 at the start of an episode."""
    env = environment(XML, Smooth())
    state, step = env.reset(jax.random.key(0)), jax.jit(env.step)
    rewards = []
    for action in (1.5, 1.0, 5.0, 2.0):  # the third is clipped to 2
        state = step(state, jnp.array([action]))
        rewards.append(float(state.reward))
    np.testing.assert_allclose(rewards, [-2.25, -0.25, -1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("source", SOURCES, indirect=True)
def test_every_source_has_the_settings_of_the_task(source: Any) -> None:
    env = environment(source, Spin(max_contacts=3, law="ncp"))
    stepper: Any = env.stepper
    assert (env.sim_dt, env.ctrl_dt, stepper.law) == (0.001, 0.005, "ncp")
    assert env.model.topology.max_contacts == 3
    np.testing.assert_array_equal((env.action_spec.low, env.action_spec.high), [[-2], [2]])


def test_a_model_keeps_its_own_room_where_the_task_names_none() -> None:
    assert environment(load(XML, max_contacts=2), Spin()).model.topology.max_contacts == 2


def test_an_action_at_its_bound_has_the_slope_of_one_within_it() -> None:
    spec, action = Spec([-2.0] * 4, [2.0] * 4), jnp.array([-2.0, 1.9, 2.0, 2.1])
    slope = jax.jacrev(lambda action: admissible(spec, action)[0])(action)
    np.testing.assert_array_equal(slope, np.diag([1.0, 1.0, 1.0, 0.0]))


def test_torques_turn_a_batch_as_newton_has_it() -> None:
    """The rate is torque times time over the moment of inertia; torques beyond ±2 N m are
    clipped."""
    env: Environment = environment(XML, Spin())
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 3))
    step, torques = jax.jit(jax.vmap(env.step)), jnp.array([[-1.0], [0.5], [7.0]])
    for _ in range(4):
        state = step(state, torques)
    expected = np.array([-1.0, 0.5, 2.0]) * 4 * 0.005 / INERTIA
    np.testing.assert_allclose(state.obs[:, 1], expected, rtol=1e-5)
    np.testing.assert_allclose(state.reward, expected / 4, rtol=1e-5)


@dataclass(frozen=True, kw_only=True)
class CheapSpin(Spin):
    """Turn a pendulum, at a cost."""

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return (moment.qvel[0] - before.qvel[0] - jnp.sum(moment.action**2),)


def test_no_action_of_a_motor_without_a_range_has_an_infinite_reward() -> None:
    """Nothing bounds infinity there, so it counts as unknown and 0 stands in for it. The square of
    1e30 exceeds single precision."""
    with jax.enable_x64(False):
        env = environment(XML.replace('ctrlrange="-2 2" ctrllimited="true"', ""), CheapSpin())
        state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 5))
        actions = jnp.array([[1.0], [jnp.inf], [-jnp.inf], [jnp.nan], [1e30]])
        after = jax.jit(jax.vmap(env.step))(state, actions)
    assert after.metrics["action_nan"].tolist() == [0, 1, 1, 1, 0]
    assert after.metrics["non_finite"].tolist() == [0, 0, 0, 0, 1]
    assert after.terminated.tolist() == [False] * 4 + [True]
    assert not after.metrics["action_clipped"].any()
    np.testing.assert_allclose(after.reward, [0.005 / INERTIA - 1, 0, 0, 0, 0], rtol=1e-4)
    assert all(jnp.isfinite(leaf).all() for leaf in (after.obs, *after.metrics.values()))


def test_an_environment_can_be_made_within_jit() -> None:
    obs = jax.jit(lambda key: environment(XML, Spin()).reset(key).obs)(jax.random.key(0))
    np.testing.assert_array_equal(obs, [0, 0])


def test_a_marker_has_no_part_in_the_centre_of_mass() -> None:
    marker = '<body mocap="true" pos="5 0 1"><geom size="0.1" contype="0" conaffinity="0"/></body>'
    env = environment(XML.replace("</worldbody>", f"{marker}</worldbody>"), Spin())
    assert not env.model.topology.free[-1]
    moment = env.moment(env.rest, jnp.zeros((3, 6)), jnp.zeros(1), jnp.zeros(0))
    np.testing.assert_allclose(centre(moment), [0, 0, -0.5], atol=1e-12)


def test_controls_of_actuators_that_were_left_out_stay() -> None:
    """An action has an entry for each control of the file, with no range where it has no effect."""
    with_muscle = XML.replace("<actuator>", '<actuator><muscle joint="hinge" lengthrange="0 1"/>')
    env = environment(load(with_muscle, allow_unsupported=True), Spin())
    np.testing.assert_array_equal((env.action_spec.low, env.action_spec.high), [[0, -2], [0, 2]])
    state = jax.eval_shape(env.reset, jax.random.key(0))
    assert jax.eval_shape(env.step, state, jnp.zeros(2)).info["action"].shape == (2,)


def test_a_source_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="cartpol: is no file"):
        environment("cartpol", Spin())


def test_specs_take_lists() -> None:
    """Numbers become floats of the current precision, whole ones too."""
    spec = Spec([-1, 0], [1.0, 2.0])
    assert spec.shape == (2,) and spec.dtype == jnp.zeros(()).dtype == spec.high.dtype
    assert spec == Spec(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))
    assert spec == Spec(np.array([-1, 0]), np.array([1, 2], np.int32))
    assert Spec(np.zeros(1, np.float32), np.ones(1, np.float32)).dtype == np.float32
    with jax.enable_x64(False):
        assert Spec([-1.0], [1.0]).dtype == np.float32
    with pytest.raises(ValueError, match=r"one shape, not \(1,\) and \(2,\)"):
        Spec([-1], [1, 2])


def test_actions_of_a_narrower_spec_have_the_precision_of_the_model() -> None:
    """The arrays of a state keep their types from the reset on, so that steps can be scanned."""
    single = Spec(np.full(1, -2, np.float32), np.full(1, 2, np.float32))
    env = replace(environment(XML, Spin()), action_spec=single)
    start = jax.eval_shape(env.reset, jax.random.key(0))
    after = jax.eval_shape(env.step, start, jnp.zeros(1, jnp.float32))
    types = [[leaf.dtype for leaf in jax.tree.leaves(state)] for state in (start, after)]
    assert types[0] == types[1]
