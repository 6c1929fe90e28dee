"""Check sensors of forces and contacts against MuJoCo, with its contacts as hard as it allows."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, State, Stop, accelerations, load, mean_acceleration
from jaxccp.dynamics import StepReport
from jaxccp.io import Loaded

mujoco = pytest.importorskip("mujoco")

MODEL = """
<mujoco>
  <option timestep="0.001" cone="elliptic"/>
  <default><geom condim="1" solref="0.004 1" solimp="0.9999 0.9999 0.0001"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 1"/>
    <geom name="wall" type="box" size="0.1 1 1" pos="1 0 1"/>
    <body name="trunk" pos="0 0 0.2">
      <joint name="lift" type="slide" axis="0 0 1"/><joint name="lean" axis="0 1 0"/>
      <geom name="trunk" type="box" size="0.2 0.1 0.05" mass="2" contype="0" conaffinity="0"/>
      <site name="eye" pos="0.2 0 0" euler="0 90 10"/>
      <body name="fixed" pos="0.15 0 -0.1" euler="0 20 0">
        <geom name="ball" size="0.05" mass="0.3" pos="0 0.02 -0.05"/>
        <site name="sole" size="0.06" pos="0 0.02 -0.05" euler="30 0 0"/>
        <site name="heel" type="box" size="0.02 0.02 0.02" pos="0 0 0.1"/>
      </body>
      <body name="jointed" pos="-0.15 0 -0.1"><joint axis="0 1 0" damping="5" stiffness="500"/>
        <geom name="tip" size="0.05" mass="0.4" pos="0 0 -0.05"/>
        <site name="ankle" euler="30 20 0"/>
        <body pos="0 0.1 0"><geom type="capsule" size="0.02" fromto="0 0 0 0 0.1 0" mass="0.1"/>
          <site name="rib"/></body>
      </body>
    </body>
  </worldbody>
  <sensor>
    <rangefinder site="eye"/><rangefinder site="rib" cutoff="0.01"/>
    <touch site="sole"/><touch site="heel"/>
    <force site="sole"/><torque site="sole"/><force site="ankle"/><torque site="ankle"/>
    <force site="rib"/><torque site="rib"/>
    <contact geom1="ball" data="found force pos normal tangent" cutoff="0.01"/>
    <contact body2="jointed" geom1="floor" data="found force dist normal"/>
    <contact subtree1="trunk" reduce="netforce" data="found force torque pos normal tangent"/>
    <contact subtree2="trunk" reduce="maxforce" num="3" data="found force normal"/>
    <contact site="sole" geom2="ball" reduce="mindist" data="found"/>
    <contact body1="fixed" geom2="wall" data="found dist"/>
  </sensor>
</mujoco>
"""
CARRIED = slice(4, 10)
"""Indices of the sensors of force and torque."""


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    read = load(MODEL)
    assert not read.sensors.unreadable
    return read


def theirs(data, model, sensor: int) -> np.ndarray:
    start = model.sensor_adr[sensor]
    return data.sensordata[start : start + model.sensor_dim[sensor]]


@pytest.fixture(scope="module")
def rested(loaded: Loaded) -> tuple[dict, StepReport]:
    """Return the values of the sensors at rest, and the report of the last step."""
    stepper = EulerImplicitLinearized(5e-3, stop=Stop(1e-11), contact_data=True)

    @jax.jit
    def run(state: State) -> tuple[dict, StepReport]:
        def step(carry, _: None):
            after, report = stepper.advance(loaded.model, carry)
            return after, (carry.state, report)

        carry, (states, reports) = jax.lax.scan(step, stepper.init(loaded.model, state), None, 400)
        before, report = jax.tree.map(lambda leaf: leaf[-1], (states, reports))
        body = mean_acceleration(before, carry.state, stepper.h)
        return loaded.sensors.values(loaded.model, carry.state, None, body, report), report

    return run(loaded.state)


def test_at_rest(loaded: Loaded, rested: tuple[dict, StepReport]) -> None:
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    shown = rested[0]
    assert len(shown) == model.nsensor
    for k, name in enumerate(loaded.sensors.names):
        expected = theirs(data, model, k)
        np.testing.assert_allclose(shown[name], expected, atol=2e-3, rtol=2e-3, err_msg=name)


def test_in_flight(loaded: Loaded, rested: tuple[dict, StepReport]) -> None:
    """Sensors of force and torque on swinging limbs agree with MuJoCo's to rounding."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (0.5, 0.3, -0.4), (1.0, -2.0, 3.0)
    mujoco.mj_forward(model, data)
    contacts = rested[1].contact_data
    assert contacts is not None
    separated = replace(contacts, live=jnp.zeros_like(contacts.live))
    report = replace(rested[1], contact_data=separated)

    @jax.jit
    def read(qpos: jax.Array, qvel: jax.Array) -> dict:
        state = loaded.layout.state(loaded.model, loaded.state, qpos, qvel)
        body = accelerations(loaded.model, state).body
        return loaded.sensors.values(loaded.model, state, None, body, report)

    shown = read(jnp.asarray(data.qpos), jnp.asarray(data.qvel))
    for k in range(*CARRIED.indices(model.nsensor)):
        expected = theirs(data, model, k)
        value = shown[loaded.sensors.names[k]]
        np.testing.assert_allclose(value, expected, atol=1e-9 * np.abs(expected).max())


def test_reports_without_contacts_are_refused(
    loaded: Loaded, rested: tuple[dict, StepReport]
) -> None:
    report = replace(rested[1], contact_data=None)
    with pytest.raises(ValueError, match="contact_data=True"):
        loaded.sensors.values(loaded.model, loaded.state, report=report)


TENDONS = """
<mujoco><option timestep="1e-5"/>
  <worldbody><site name="w" pos="0 .1 2"/>
    <body name="loose" pos="0 0 1"><freejoint/><geom size=".1" mass="1"/>
      <site name="s" pos="0 0.02 .1" euler="20 30 0"/></body>
    <body pos="1 0 1"><joint name="a" axis="0 1 0" damping="2"/>
      <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" mass="1"/><site name="arm"/>
      <body pos=".3 0 0"><joint axis="0 0 1"/><geom size=".05" mass=".5" pos=".1 0 0"/>
        <site name="hand" pos=".1 0 .02" euler="0 0 40"/></body></body>
  </worldbody>
  <tendon>
    <spatial name="spring" stiffness="50" damping="3" springlength=".5"><site site="w"/>
      <site site="s"/></spatial>
    <spatial name="driven"><site site="w"/><site site="arm"/><site site="hand"/></spatial>
    <spatial name="servo"><site site="s"/><site site="hand"/></spatial>
    <fixed name="coupled" stiffness="4"><joint joint="a" coef="2"/></fixed>
  </tendon>
  <actuator><motor tendon="driven" gear="2"/><position tendon="servo" kp="30" kv="2"/></actuator>
  <sensor><force site="s"/><torque site="s"/><force site="arm"/><torque site="arm"/>
    <force site="hand"/><torque site="hand"/></sensor>
</mujoco>
"""


def test_tendons_carry_beside_joints() -> None:
    """Force and torque are what joints transmit: nothing to a free body that tendons pull, and to
    a link what its tendons leave over."""
    reference = mujoco.MjModel.from_xml_string(TENDONS)
    data = mujoco.MjData(reference)
    data.qvel[:] = np.random.default_rng(0).normal(0, 0.5, reference.nv)
    data.ctrl[:] = 3.0, 0.4
    mujoco.mj_forward(reference, data)
    loaded = load(TENDONS)
    model, layout = loaded.model, loaded.layout
    state = layout.state(model, loaded.state, jnp.asarray(data.qpos), jnp.asarray(data.qvel))
    control = layout.control(jnp.asarray(data.ctrl))
    stepper = EulerImplicitLinearized(1e-6, contact_data=True)
    _, report = stepper.step(model, state, None, control)
    acceleration = accelerations(model, state, control=control).body
    values = loaded.sensors.values(model, state, control, acceleration, report)
    actual = np.concatenate([values[name] for name in loaded.sensors.names])
    np.testing.assert_allclose(actual, data.sensordata, atol=5e-4)
    np.testing.assert_allclose(actual[:6], 0.0, atol=5e-4)
    assert np.abs(data.sensordata[6:]).max() > 5.0
