"""Check what an environment makes of what a task returns: starts, observations, rewards."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from jaxccp.envs import Moment, Start, environment
from jaxccp.io.mjcf import load
from tests.envs.test_own_model import INERTIA, XML, Spin


@dataclass(frozen=True, kw_only=True)
class Blind(Spin):
    """Turn a pendulum that is observed where it turns forwards only."""

    def observe(self, moment: Moment) -> Float[Array, "1"]:
        return jnp.sqrt(moment.qvel)


def test_an_observation_that_is_not_finite_is_counted_and_ends_the_episode() -> None:
    """The square root of a negative rate is NaN; that of the other copy is observed."""
    env = environment(XML, Blind())
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), 2))
    after = jax.jit(jax.vmap(env.step))(state, jnp.array([[1.0], [-1.0]]))
    rate = 0.005 / INERTIA
    np.testing.assert_allclose(after.obs[:, 0], [np.sqrt(rate), 0.0], rtol=1e-5)
    np.testing.assert_allclose(after.reward, [rate, -rate], rtol=1e-5)
    assert after.metrics["non_finite"].tolist() == [0, 1]
    assert after.terminated.tolist() == [False, True]


@dataclass(frozen=True, kw_only=True)
class Reach(Spin):
    """Turn a pendulum forwards, for a reward that is a flag."""

    terms: ClassVar = ("there",)

    def rewards(self, before: Moment, moment: Moment) -> tuple[Any, ...]:
        return (moment.qpos[0] > 0,)


def test_a_flag_is_a_reward() -> None:
    """The arrays of a state keep their types from the reset on."""
    env = environment(XML, Reach())
    start = jax.eval_shape(env.reset, jax.random.key(0))
    after = jax.eval_shape(env.step, start, jnp.zeros(1))
    types = [
        [(leaf.dtype, leaf.weak_type) for leaf in jax.tree.leaves(state)]
        for state in (start, after)
    ]
    assert types[0] == types[1]


@pytest.mark.parametrize(
    ("rewards", "returned"),
    [
        (lambda moment: (moment.qpos[0],) * 2, r"shapes \[\(\), \(\)\]"),
        (lambda moment: (moment.qpos,), r"shapes \[\(1,\)\]"),
        (lambda moment: moment.qpos[0], "a .*Tracer"),
    ],
)
def test_other_than_one_number_a_term_is_refused(rewards: Any, returned: str) -> None:
    class Odd(Spin):
        def rewards(self, before: Moment, moment: Moment) -> tuple[Array, ...]:
            return rewards(moment)

    env = environment(XML, Odd())
    start = jax.eval_shape(env.reset, jax.random.key(0))
    named = rf"Odd.rewards must .* each of terms = \('rate',\), not {returned}"
    with pytest.raises(ValueError, match=named):
        jax.eval_shape(env.step, start, jnp.zeros(1))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("rate", "status"), "status would hide the count of that name"),
        ("rate", "must be a tuple of different names, .* not 'rate'"),
        (("rate", "rate"), "must be a tuple of different names"),
    ],
)
def test_terms_have_names_of_their_own(names: Any, message: str) -> None:
    class Odd(Spin):
        terms: ClassVar = names

    with pytest.raises(ValueError, match=rf"Odd.terms.* {message}"):
        environment(load(XML), Odd())


FOUR_BAR = """<mujoco>
  <default><geom type="capsule" size="0.01"/><joint axis="0 1 0"/></default>
  <worldbody>
    <body>
      <joint name="crank"/><geom fromto="0 0 0 0 0 0.2"/>
      <body name="coupler" pos="0 0 0.2">
        <joint name="coupler"/><geom fromto="0 0 0 0.5 0 0.2"/>
      </body>
    </body>
    <body name="rocker" pos="0.5 0 0">
      <joint name="rocker"/><geom fromto="0 0 0 0 0 0.4"/>
    </body>
  </worldbody>
  <equality><connect body1="rocker" body2="coupler" anchor="0 0 0.4"/></equality>
</mujoco>"""


@dataclass(frozen=True, kw_only=True)
class Ajar(Spin):
    """Start a four-bar linkage with its loop open, in pose and velocity."""

    def start(self, key: Array, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        return Start(qpos.at[0].add(0.1), qvel.at[0].set(1.0), jnp.zeros(0))


def gap(qpos: Array) -> Array:
    """Return the vector between the tips of coupler and rocker, from lengths and angles about y."""

    def turned(x: float, z: float, angle: Array) -> Array:
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        return jnp.stack([x * cos + z * sin, z * cos - x * sin])

    crank, coupler, rocker = qpos
    tip = turned(0.0, 0.2, crank) + turned(0.5, 0.2, crank + coupler)
    return tip - turned(0.0, 0.4, rocker) - jnp.array([0.5, 0.0])


def test_an_episode_begins_with_closed_loops() -> None:
    """What a task leaves open is closed before the first observation, rates as well."""
    obs = jax.jit(environment(FOUR_BAR, Ajar()).reset)(jax.random.key(0)).obs
    qpos, qvel = jnp.split(obs, 2)
    distance, rate = jax.jvp(gap, (qpos,), (qvel,))
    np.testing.assert_allclose(distance, 0, atol=1e-8)
    np.testing.assert_allclose(rate, 0, atol=1e-8)
    assert qpos[0] > 0.05 and qvel[0] > 0.1, "the crank is turned and turning, as the task has it"
