"""Check a robot from a file that falls onto its feet and stands, against mechanics and MuJoCo."""

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, State, joint_motion, load, momentum, rollout
from jaxccp.collision.detect import detect
from jaxccp.dynamics import StepReport
from jaxccp.io import Loaded

mujoco = pytest.importorskip("mujoco")
from experiments.locomotion import reference  # noqa: E402

FILE = Path(__file__).resolve().parents[2] / "examples" / "models" / "quadruped.xml"
H, STEPS, DROP = 2e-3, 750, 0.05
EVERY = 5 * H


class Stand(NamedTuple):
    file: Path
    loaded: Loaded
    qpos: np.ndarray
    start: State
    states: State
    report: StepReport
    weight: float


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Stand:
    """Return the motion of the quadruped, with servos that hold the pose of the file, from 5 cm
    above the ground."""
    text = FILE.read_text(encoding="utf-8")
    text = text.replace('<motor gear="20" ctrlrange="-1 1"/>', '<position kp="200" kv="8"/>')
    file = tmp_path_factory.mktemp("robot") / "standing.xml"
    file.write_text(text.replace("<motor", "<position"))
    loaded = load(file, max_contacts=16)
    theirs = reference.compiled(file, reference.STIFF)
    qpos = np.array(theirs.qpos0)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    qpos[2] += DROP - reference.lowest(theirs, data)
    controls = jnp.broadcast_to(loaded.layout.control(jnp.asarray(qpos[7:])), (STEPS, 12))

    @jax.jit
    def motion(qpos: jax.Array) -> tuple[State, Any]:
        start = loaded.layout.state(loaded.model, loaded.state, qpos)
        stepper = EulerImplicitLinearized(H, law="ncp")
        return start, rollout(loaded.model, start, stepper, STEPS, controls=controls)[1]

    start, trajectory = motion(jnp.asarray(qpos))
    bodies = loaded.model.bodies.mass[jnp.asarray(loaded.model.topology.free)]
    weight = float(bodies.sum() * -loaded.model.gravity[2])
    return Stand(file, loaded, qpos, start, trajectory.state, trajectory.report, weight)


def test_every_step_is_solved(stand: Stand) -> None:
    solver = stand.report.solver
    assert not np.any(solver.status) and not np.any(stand.report.overflow)
    assert float(solver.residual_ncp.max()) <= 1e-8
    assert int(stand.report.contacts.max()) >= 4


def test_ground_carries_the_weight(stand: Stand) -> None:
    force = -np.asarray(stand.report.contact_wrenches)[:, 0, :3]
    assert abs(force[-1, 2] / stand.weight - 1) < 1e-6
    assert np.abs(force[-1, :2]).max() < 1e-6 * stand.weight
    assert not np.any(force[0])
    assert force[:, 2].max() > 3 * stand.weight  # the landing


def test_contacts_change_momentum(stand: Stand) -> None:
    """Weight and contacts alone change the momentum, because forces between bodies cancel."""
    model = stand.loaded.model
    linear = jax.jit(jax.vmap(lambda state: momentum(model, state)[0]))(stand.states)
    wrenches, weight = np.asarray(stand.report.contact_wrenches)[1:], np.array([0, 0, stand.weight])
    outside = wrenches[:, 1:, :3].sum(axis=1) - weight
    np.testing.assert_allclose(np.diff(linear, axis=0) / H, outside, atol=1e-8 * stand.weight)
    position = np.asarray(stand.states.position)[:-1]
    torque = wrenches[..., 3:] + np.cross(position, wrenches[..., :3])
    np.testing.assert_allclose(wrenches[..., :3].sum(axis=1), 0, atol=1e-9 * stand.weight)
    np.testing.assert_allclose(torque.sum(axis=1), 0, atol=1e-9 * stand.weight)


def test_nothing_sinks_or_comes_apart(stand: Stand) -> None:
    model = stand.loaded.model

    def look(state: State) -> tuple[jax.Array, jax.Array, jax.Array]:
        contacts, motion = detect(model, state), joint_motion(model, state)
        return (
            jnp.min(jnp.where(contacts.live, contacts.gap, 0.0)),
            jnp.max(jnp.abs(motion.error)),
            jnp.max(jnp.abs(state.velocity)),
        )

    gap, error, speed = jax.jit(jax.vmap(look))(stand.states)
    assert gap.min() > -1e-6 and error.max() < 1e-3
    assert speed[-1] < 1e-6 and error[-1] < 1e-9


def test_centre_of_mass_moves_as_in_mujoco(stand: Stand) -> None:
    """The centre of mass moves as in MuJoCo with stiff contacts, over the fall and the landing."""
    theirs = reference.compiled(stand.file, reference.STIFF)
    qvel = np.zeros(theirs.nv)
    ctrl = stand.qpos[7:]
    expected = reference.motion(theirs, stand.qpos, qvel, H * STEPS, EVERY, ctrl)
    free = np.asarray(stand.loaded.model.topology.free)
    mass = np.asarray(stand.loaded.model.bodies.mass)[free]
    centre = np.einsum("tbi,b->ti", np.asarray(stand.states.position)[:, free], mass) / mass.sum()
    every = round(EVERY / H)
    error = np.linalg.norm(centre[every - 1 :: every] - expected.com[1:], axis=1)
    fall = expected.com[0, 2] - expected.com[:, 2].min()
    assert fall > DROP and error.mean() < 0.03 * fall
