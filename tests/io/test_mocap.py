"""Check bodies of motion capture: they are placed from outside, and what is tied to them
follows."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp import EulerImplicitLinearized, load
from jaxccp.io import InputError, Loaded

mujoco = pytest.importorskip("mujoco")

MODEL = """
<mujoco>
  <worldbody>
    <body name="arm">
      <joint name="slide" type="slide" axis="1 0 0"/><joint name="turn" axis="0 1 0"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/></body>
    <body name="hand" mocap="true" pos="0 1 0.5" euler="0 0 30">
      <geom size="0.02"/>
      <body name="tail" pos="0 0 -0.05"><joint name="swing" axis="0 1 0"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0 0 -0.1"/></body>
    </body>
    <body name="box" pos="0 1 0.6" euler="0 0 30"><freejoint/>
      <geom type="box" size="0.05 0.05 0.05"/></body>
    <body name="grip" mocap="true" pos="0.2 0 0"/>
  </worldbody>
  <equality>
    <weld body1="hand" body2="box"/>
    <connect body1="arm" body2="grip" anchor="0.2 0 0"/>
  </equality>
  <keyframe><key name="away" mpos="1 1 0.5 0.3 0 0" mquat="1 0 0 0 1 0 0 0"
    qpos="0 0 0  1 1 0.6 1 0 0 0"/></keyframe>
</mujoco>
"""
H, STEPS = 0.002, 150


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load(MODEL)


def test_what_is_tied_follows(loaded: Loaded) -> None:
    """A box welded to the hand, an arm whose end is tied and a tail that swings from the hand
    follow the motion capture."""
    model, layout, stepper = loaded.model, loaded.layout, EulerImplicitLinearized(H)
    bodies = model.topology.bodies
    assert [bodies[body] for body in layout.places.mocap_bodies] == ["hand", "grip"]
    assert not model.topology.free[layout.places.mocap_bodies].any()
    time = H * np.arange(1, STEPS + 1)
    poses = np.zeros((STEPS, 2, 7))
    poses[:, 0, 1:3], poses[:, 1, 0] = (1.0, 0.5), 0.2
    poses[:, 0, 0] = 0.3 * np.sin(3 * time)
    poses[:, 1, 0] += 0.1 * time
    poses[:, 1, 2] = 0.05 * np.sin(5 * time)
    yaw = np.radians(30) + time
    poses[:, 0, 3], poses[:, 0, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    poses[:, 1, 3] = 2.0  # normalised

    @jax.jit
    def run(poses: jax.Array) -> tuple:
        def step(carry, pose: jax.Array):
            placed = layout.with_mocap(model, carry.state, pose[:, :3], pose[:, 3:])
            carry, report = stepper.advance(model, replace(carry, state=placed))
            return carry, (carry.state, report.solver.status)

        return jax.lax.scan(step, stepper.init(model, loaded.state), poses)[1]

    path, status = run(jnp.asarray(poses))
    assert not np.any(status)
    box, arm, tail = (model.topology.body(name) for name in ("box", "arm", "tail"))
    np.testing.assert_allclose(path.position[:, box], poses[:, 0, :3] + [0, 0, 0.1], atol=2e-4)
    np.testing.assert_allclose(path.quaternion[:, box], poses[:, 0, 3:], atol=2e-4)
    speed = 0.9 * np.cos(3 * time[-1])
    np.testing.assert_allclose(path.velocity[-1, box], [speed, 0, 0], atol=0.01)
    np.testing.assert_allclose(path.angular_velocity[-1, box], [0, 0, 1], atol=0.01)
    rotation = Rotation.from_quat(np.roll(path.quaternion[:, arm], -1, axis=1))
    end = path.position[:, arm] + rotation.apply([0.1, 0, 0])
    np.testing.assert_allclose(end, poses[:, 1, :3], atol=2e-3)
    rotation = Rotation.from_quat(np.roll(path.quaternion[:, tail], -1, axis=1))
    pivot = path.position[:, tail] + rotation.apply([0, 0, 0.05])
    np.testing.assert_allclose(pivot, poses[:, 0, :3] - [0, 0, 0.05], atol=1e-9)


def test_rotors_keep_their_rates() -> None:
    """A flywheel with armature on a hand that is turned by a right angle spins on as fast."""
    loaded = load("""<mujoco><option gravity="0 0 0"/><worldbody>
      <body name="hand" mocap="true"><body name="wheel"><joint axis="0 0 1" armature="0.1"/>
        <geom type="cylinder" size="0.1 0.01"/></body></body></worldbody></mujoco>""")
    model, layout, stepper = loaded.model, loaded.layout, EulerImplicitLinearized(H)
    step = jax.jit(stepper.step)
    state, _ = step(model, layout.state(model, loaded.state, jnp.zeros(1), jnp.array([3.0])))
    turned = layout.with_mocap(model, state, jnp.zeros((1, 3)), jnp.array([[1.0, 1.0, 0, 0]]))
    after, _ = step(model, turned)
    np.testing.assert_allclose(layout.coordinates(model, after)[1], [3.0], rtol=1e-9)
    wheel = model.topology.body("wheel")
    np.testing.assert_allclose(after.angular_velocity[wheel], [0, -3, 0], atol=1e-9)


@pytest.mark.long
def test_keyframes_place_them(loaded: Loaded) -> None:
    state, topology = loaded.keyframe("away"), loaded.model.topology
    np.testing.assert_allclose(state.position[topology.body("hand")], [1, 1, 0.5], atol=1e-12)
    np.testing.assert_allclose(state.position[topology.body("tail")], [1, 1, 0.4], atol=1e-9)
    np.testing.assert_allclose(state.position[topology.body("box")], [1, 1, 0.6], atol=1e-6)


def test_a_file_of_nothing_else_is_refused() -> None:
    text = '<mujoco><worldbody><body mocap="true"><geom size="1"/></body></worldbody></mujoco>'
    with pytest.raises(InputError, match="none of its bodies can move"):
        load(text)
