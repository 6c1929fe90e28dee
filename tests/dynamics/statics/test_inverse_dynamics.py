"""Test mass matrices, inverse dynamics and Jacobians of sites against MuJoCo's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp.dynamics import Acceleration
from tests.families.test_chain import chain

mujoco = pytest.importorskip("mujoco")

XML = """
<mujoco>
  <option gravity="0.3 -0.2 -9"><flag contact="disable"/></option>
  <worldbody>
    <body name="trunk" pos="0 0 1"><freejoint/>
      <geom type="box" size=".1 .2 .05" mass="1.5" pos=".03 -.02 .01"/>
      <body name="upper" pos=".1 0 0">
        <joint name="hip" type="hinge" axis="0 1 .2" damping=".3" stiffness="2"
          springref=".2" armature=".04"/>
        <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".02" mass=".5"/>
        <body name="lower" pos=".3 0 .1">
          <joint name="ball" type="ball" damping=".1"/>
          <geom type="capsule" fromto="0 0 0 .3 .1 0" size=".02" mass=".4"/>
          <site name="foot" pos=".3 .1 .05" euler="20 30 40"/>
          <body name="toe" pos=".3 .1 0">
            <joint name="toe" type="slide" axis="1 .3 0" armature=".1"/>
            <geom type="sphere" size=".03" mass=".1"/>
          </body>
        </body>
      </body>
    </body>
    <body name="post" pos="1 0 0"><joint name="yaw" axis="0 0 1" frictionloss="0"/>
      <geom type="box" size=".1 .1 .3" mass="2" pos=".1 0 0"/>
      <body name="wheel" pos="0 0 .3"><joint name="tilt" axis="1 0 0" damping=".2"/>
        <geom type="cylinder" size=".2 .02" mass=".7" pos="0 .1 .1"/></body>
    </body>
  </worldbody>
  <tendon><fixed name="couple" damping=".5" armature=".2"><joint joint="yaw" coef="1"/>
    <joint joint="tilt" coef="-2"/></fixed></tendon>
  <actuator><motor name="turn" joint="yaw" gear="3"/>
    <position name="hold" joint="tilt" kp="5" kv=".3"/></actuator>
</mujoco>
"""


FREE_BODY = """<body name="loose{0}" pos="{0} 5 0"><freejoint/>
      <geom type="box" size=".1 .2 .3" mass="1.{0}" pos=".03 0 .01"/></body>"""


@pytest.fixture(scope="module", params=[0, 18])
def pair(request):
    """Return the loaded model and MuJoCo's at one random state, with a random acceleration,
    without and with additional free bodies, whose masses are then kept separate."""
    rng = np.random.default_rng(1)
    bodies = "".join(FREE_BODY.format(number) for number in range(request.param))
    xml = XML.replace("</worldbody>", f"{bodies}</worldbody>")
    loaded, reference = jaxccp.load(xml), mujoco.MjModel.from_xml_string(xml)
    assert loaded.model.topology.standalone.sum() == request.param
    data = mujoco.MjData(reference)
    data.qpos = reference.qpos0
    mujoco.mj_integratePos(reference, data.qpos, rng.normal(size=reference.nv) * 0.5, 1.0)
    data.qvel, data.qacc = rng.normal(size=(2, reference.nv))
    qacc = np.array(data.qacc)
    data.ctrl = [0.7, -0.4]
    mujoco.mj_forward(reference, data)
    free = np.array(data.qacc)
    data.qacc = qacc
    mujoco.mj_inverse(reference, data)
    state = loaded.layout.state(loaded.model, loaded.state, data.qpos, data.qvel)
    return loaded, reference, data, state, (qacc, free)


def columns(loaded, state) -> np.ndarray:
    """Return the velocities of unit rates of MuJoCo's coordinates [nv nv]."""
    nv = loaded.layout.places.nv
    units = jnp.eye(nv)
    return np.asarray(
        jax.vmap(lambda v: loaded.layout.velocities(loaded.model, state, v), out_axes=1)(units)
    )


def test_mass_matrix(pair) -> None:
    loaded, reference, data, state, _ = pair
    into = columns(loaded, state)
    matrix = into.T @ jaxccp.mass_matrix(loaded.model, state) @ into
    expected = np.zeros((reference.nv, reference.nv))
    for row, unit in zip(expected, np.eye(reference.nv), strict=True):
        mujoco.mj_mulM(reference, data, row, unit)
    np.testing.assert_allclose(matrix, expected, atol=1e-12)


def test_forces_of_an_acceleration(pair) -> None:
    loaded, _, data, state, (qacc, free) = pair
    base = loaded.layout.acceleration(state, jaxccp.accelerations(loaded.model, state, [0.7, -0.4]))
    np.testing.assert_allclose(base, free, atol=1e-9)
    # An acceleration is velocities' derivative: between two of one state it is linear.
    change = loaded.layout.velocities(loaded.model, state, qacc - free)
    start = tangent_acceleration(loaded, state)
    tangent_force = jaxccp.inverse_dynamics(loaded.model, state, start + change, [0.7, -0.4])
    force = loaded.layout.forces(loaded.model, state, tangent_force)
    # MuJoCo's does without actuators.
    actuated = np.array(data.qfrc_actuator)
    np.testing.assert_allclose(force, data.qfrc_inverse - actuated, atol=1e-9)


def tangent_acceleration(loaded, state) -> jax.Array:
    """Return the accelerations under gravity and controls, in tangent coordinates."""
    return in_tangent_order(loaded, jaxccp.accelerations(loaded.model, state, [0.7, -0.4]))


def in_tangent_order(loaded, acceleration: Acceleration) -> jax.Array:
    """Return the accelerations along the coordinates that have :func:`jaxccp.tangent_names`."""
    topology = loaded.model.topology
    roots, free = acceleration.body[topology.dofs.roots], acceleration.body[topology.standalone]
    return jnp.concatenate(
        [roots.reshape(-1), acceleration.axis[topology.dofs.axes], free.reshape(-1)]
    )


def test_nothing_is_missing_for_what_happens(pair) -> None:
    loaded, _, _, state, _ = pair
    force = jnp.asarray(np.random.default_rng(0).normal(size=(len(state.position), 6)))
    result = jaxccp.accelerations(loaded.model, state, [0.7, -0.4], force)
    acceleration = in_tangent_order(loaded, result)
    missing = jaxccp.inverse_dynamics(loaded.model, state, acceleration, [0.7, -0.4], force)
    np.testing.assert_allclose(missing, 0.0, atol=1e-10)


def test_site_jacobian(pair) -> None:
    loaded, reference, data, state, _ = pair
    into = columns(loaded, state)
    rows = np.zeros((6, reference.nv))
    mujoco.mj_jacSite(reference, data, rows[:3], rows[3:], reference.site("foot").id)
    np.testing.assert_allclose(
        jaxccp.site_jacobian(loaded.model, state, "foot") @ into, rows, atol=1e-12
    )
    mujoco.mj_jacBodyCom(reference, data, rows[:3], rows[3:], reference.body("lower").id)
    np.testing.assert_allclose(
        jaxccp.site_jacobian(loaded.model, state, "lower") @ into, rows, atol=1e-12
    )


def test_names_and_lengths_are_checked(pair) -> None:
    loaded, _, _, state, _ = pair
    with pytest.raises(ValueError, match="foot"):
        jaxccp.site_jacobian(loaded.model, state, "fot")
    with pytest.raises(ValueError, match="acceleration"):
        jaxccp.inverse_dynamics(loaded.model, state, [1.0, 2.0])


def test_a_rotor_on_a_flexible_body_couples_its_velocities() -> None:
    """Two masses of 0.2 kg whose distance turns a rotor: M has a n nᵀ on either and −a n nᵀ between
    them. The force for an acceleration is M times it."""
    builder = jaxccp.ModelBuilder(gravity=(0, 0, 0))
    frames = builder.add_family(chain((0, 0, 1), 2, stiffness=0.0))
    ends = [(frames[0], (0, 0, 0)), (frames[1], (0, 0, 0))]
    builder.add_tendon(jaxccp.TendonPath(ends, armature=0.7))
    model, state = builder.build()
    direction = np.outer([0, 0, -1, 0, 0, 1], [0, 0, -1, 0, 0, 1])
    expected = 0.2 * np.eye(6) + 0.7 * direction
    np.testing.assert_allclose(jaxccp.mass_matrix(model, state), expected, atol=1e-12)
    acceleration = np.arange(6.0)
    needed = jaxccp.inverse_dynamics(model, state, acceleration)
    np.testing.assert_allclose(needed, expected @ acceleration, atol=1e-12)
