"""Check that environments accept every stepper, on a driven pendulum with a block at rest beside
it."""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from jaxccp import load
from jaxccp.dynamics import STEPPERS
from jaxccp.dynamics.steppers.settings import Settings
from jaxccp.envs import Environment, Spec
from jaxccp.envs.task import Moment, Start, Task
from jaxccp.math.draw import Key

MODEL = """<mujoco><worldbody>{floor}<body><joint name="hinge" axis="0 1 0"/>
<geom size=".05" pos="0 0 -.5" mass="1" contype="0" conaffinity="0"/></body>{block}</worldbody>
<actuator><motor joint="hinge" ctrlrange="-2 2"/></actuator></mujoco>"""
FLOOR = '<geom type="plane" size="3 3 1" pos="0 0 -1"/>'
BLOCK = """<body name="block" pos="1 0 -.9"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/>
</body>"""
ANGLE, TORQUE, H = 0.5, 1.5, 4e-3
SAME = ("trapezoidal", "generalised-alpha")
"""Steppers with the step of HHT and other coefficients."""


@dataclass(frozen=True, kw_only=True)
class Swing(Task):
    """Swing the pendulum; the observation is all coordinates and rates."""

    terms: ClassVar = ("angle",)
    sim_dt: float = H
    ctrl_dt: float = 0.02
    episode_steps: int = 10

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        return Start(qpos.at[0].set(ANGLE), qvel, jnp.zeros(0))

    def observe(self, moment: Moment) -> Float[Array, " n"]:
        return jnp.concatenate([moment.qpos, moment.qvel])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return (moment.qpos[0] - before.qpos[0],)


def swing(name: str, block: bool) -> Environment:
    loaded = load(MODEL.format(floor=FLOOR * block, block=BLOCK * block))
    limits = Spec(*np.asarray(loaded.model.actuators.control_limits).T)
    return Environment(
        loaded.model, loaded.layout, loaded.state, Swing(), STEPPERS[name](H), limits
    )


def pendulum(time: float) -> np.ndarray:
    """Return the angle and its rate by very short steps of the pendulum's equation."""
    inertia, gravity, n = 0.25 + 0.4 * 0.05**2, 9.81 * 0.5, 10_000
    angle, rate = ANGLE, 0.0
    for _ in range(n):
        middle = angle + 0.5 * time / n * rate
        rate += time / n * (TORQUE - gravity * np.sin(middle)) / inertia
        angle = middle + 0.5 * time / n * rate
    return np.array([angle, rate])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long) if name in SAME else name for name in STEPPERS],
)
def test_any_stepper_steps_an_environment(name: str) -> None:
    block = name in ("euler", "projected", "hht")  # the other schemes share the step of hht
    env = swing(name, block)
    state, step = jax.jit(env.reset)(jax.random.key(0)), jax.jit(env.step)
    for count in range(1, 6):
        before, state = state, step(state, jnp.array([TORQUE]))
        np.testing.assert_allclose(state.physics.state.time, 0.02 * count, rtol=1e-12)
    # An Euler step's rates are those of half a step before.
    angle_and_rate = np.array([state.obs[0], state.obs[8 if block else 1]])
    expected = pendulum(0.1)
    first_order = issubclass(STEPPERS[name], Settings) or name == "newmark"
    np.testing.assert_allclose(angle_and_rate, expected, rtol=1e-2 if first_order else 1e-4)
    np.testing.assert_allclose(state.reward, state.obs[0] - before.obs[0])
    for count in ("status", "unsolved", "overflow", "non_finite"):
        assert state.metrics[count] == 0, count
    if block:
        np.testing.assert_allclose(state.obs[1:4], [1, 0, -0.9], atol=1e-6)
        np.testing.assert_allclose(state.obs[9:], 0, atol=1e-6)


def test_hard_contact_is_refused_by_rk4() -> None:
    with pytest.raises(ValueError, match=r"rk4 is for smooth motion, but shapes .* may touch"):
        swing("rk4", True).reset(jax.random.key(0))


def test_the_step_has_to_divide_the_time_of_an_action() -> None:
    env = swing("euler", False)
    with pytest.raises(ValueError, match=r"ctrl_dt \(0.02 s\) must be a multiple of sim_dt"):
        replace(env, stepper=STEPPERS["hht"](3e-3))
