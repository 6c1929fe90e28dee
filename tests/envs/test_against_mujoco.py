"""Check observations as gymnasium defines them, computed by MuJoCo on the same model files."""

import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.envs import TASKS, make
from jaxccp.envs.spatial import contact_forces
from jaxccp.envs.tasks import model_file

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

PLANAR = {"hopper": 10.0, "walker2d": 10.0, "halfcheetah": np.inf}
"""Environments that observe all coordinates but the first, and rates clipped to a bound."""


class Both:
    """One state, action and set of forces on the bodies, evaluated in MuJoCo and here."""

    def __init__(self, name: str, goal: np.ndarray, spread: float = 1.0) -> None:
        self.env: Any = make(name, auto_reset=False)
        self.m = mujoco.MjModel.from_xml_path(str(model_file(name)))
        self.data = mujoco.MjData(self.m)
        random = np.random.default_rng(len(name))
        self.data.qpos = self.m.qpos0 + spread * random.uniform(-1, 1, self.m.nq)
        self.data.qvel = 5 * random.standard_normal(self.m.nv)
        self.data.ctrl = random.uniform(*self.m.actuator_ctrlrange.T)
        mujoco.mj_normalizeQuat(self.m, self.data.qpos)
        # Applied at the centres of mass, they are in cfrc_ext as forces of contacts are; high above
        # the ground, where there are none.
        self.m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.data.xfrc_applied[1:] = 2 * random.standard_normal((self.m.nbody - 1, 6))
        mujoco.mj_forward(self.m, self.data)
        mujoco.mj_rnePostConstraint(self.m, self.data)
        env, data = self.env, self.data
        qpos, qvel, ctrl = (jnp.array(part) for part in (data.qpos, data.qvel, data.ctrl))
        wrenches = jnp.array(data.xfrc_applied)

        @jax.jit
        def evaluate(qpos: jax.Array) -> dict[str, Any]:
            state = env.layout.state(env.model, env.rest, qpos, qvel)
            moment = env.moment(state, wrenches, ctrl, jnp.array(goal))
            return {
                "obs": env.task.observe(moment),
                "rewards": env.task.rewards(moment, moment),
                "forces": contact_forces(moment),
            }

        results = evaluate(qpos)
        self.obs, self.rewards, self.forces = results["obs"], results["rewards"], results["forces"]


@pytest.mark.parametrize("name", PLANAR)
def test_planar_robots(name: str) -> None:
    both = Both(name, np.zeros(0))
    qpos, qvel = both.data.qpos, both.data.qvel
    assert PLANAR[name] == np.inf or np.abs(qvel).max() < 10 < np.abs(3 * qvel).max()
    bound = PLANAR[name]
    np.testing.assert_allclose(both.obs, [*qpos[1:], *np.clip(qvel, -bound, bound)], atol=1e-12)


def test_ant() -> None:
    both = Both("ant", np.zeros(0), 0.5)
    data = both.data
    forces = np.clip(data.cfrc_ext[1:], -1, 1)
    assert 0.05 < np.mean(np.abs(data.cfrc_ext[1:]) > 1) < 0.9
    np.testing.assert_allclose(both.forces, data.cfrc_ext[1:], atol=1e-10)
    np.testing.assert_allclose(both.obs, [*data.qpos[2:], *data.qvel, *forces.flat], atol=1e-10)


def test_humanoid() -> None:
    both = Both("humanoid", np.zeros(0), 0.3)
    data = both.data
    parts = (data.cinert[1:], data.cvel[1:], data.qfrc_actuator[6:], data.cfrc_ext[1:])
    expected = np.concatenate([data.qpos[2:], data.qvel, *(np.ravel(part) for part in parts)])
    np.testing.assert_allclose(both.obs, expected, atol=1e-9)


def test_reacher() -> None:
    goal = np.array([0.12, -0.07])
    both = Both("reacher", goal)
    qpos, data = both.data.qpos, both.data
    tip = data.site("fingertip").xpos[:2]
    expected = [*np.cos(qpos), *np.sin(qpos), *goal, *data.qvel, *(tip - goal)]
    np.testing.assert_allclose(both.obs, expected, atol=1e-12)
    distance, control = both.rewards
    assert distance == pytest.approx(-np.linalg.norm(tip - goal))
    assert control == pytest.approx(-np.sum(data.ctrl**2))


def test_pusher() -> None:
    goal = np.array([0.45, -0.05, -0.323])
    both = Both("pusher", goal)
    data = both.data
    tip, puck = data.site("tip").xpos, data.site("puck").xpos
    expected = [*data.qpos[:7], *data.qvel[:7], *tip, *puck, *goal]
    np.testing.assert_allclose(both.obs, expected, atol=1e-12)
    distance, approach, control = both.rewards
    assert distance == pytest.approx(-np.linalg.norm(puck - goal))
    assert approach == pytest.approx(-0.5 * np.linalg.norm(puck - tip))
    assert control == pytest.approx(-0.1 * np.sum(data.ctrl**2))


@pytest.mark.parametrize("name", TASKS)
def test_actions_have_the_range_of_the_file(name: str) -> None:
    spec = make(name).action_spec
    m = mujoco.MjModel.from_xml_path(str(model_file(name)))
    np.testing.assert_array_equal((spec.low, spec.high), m.actuator_ctrlrange.T)


@pytest.mark.parametrize(
    ("name", "qpos", "terminated"),
    [
        ("hopper", {1: 0.69}, True),
        ("hopper", {1: 0.71, 2: 0.19}, False),
        ("hopper", {2: -0.21}, True),
        ("hopper", {3: -101.0}, True),
        ("walker2d", {1: 0.79}, True),
        ("walker2d", {1: 1.99, 2: 0.99}, False),
        ("walker2d", {2: 1.01}, True),
        ("ant", {2: 0.19}, True),
        ("ant", {2: 0.21}, False),
        ("ant", {2: 1.01}, True),
        ("humanoid", {2: 0.99}, True),
        ("humanoid", {2: 1.01}, False),
        ("halfcheetah", {1: -1.0}, False),
    ],
)
def test_when_it_is_over(name: str, qpos: dict[int, float], terminated: bool) -> None:
    env: Any = make(name, auto_reset=False)
    place = jnp.array(mujoco.MjModel.from_xml_path(str(model_file(name))).qpos0)
    for index, value in qpos.items():
        place = place.at[index].set(value)
    state = env.layout.state(env.model, env.rest, place)
    wrenches = jnp.zeros((len(env.model.topology.bodies), 6))
    moment = env.moment(state, wrenches, jnp.zeros(env.action_spec.shape), jnp.zeros(0))
    assert bool(env.task.terminated(moment)) == terminated
