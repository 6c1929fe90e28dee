"""Test coordinates of models made by the builder against MuJoCo's kinematics."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    Compound,
    EulerImplicitLinearized,
    Hinge,
    Model,
    ModelBuilder,
    Revolute,
    Slide,
    Spherical,
    State,
    accelerations,
    forward_kinematics,
    motor,
    mujoco_coordinates,
)

mujoco = pytest.importorskip("mujoco")

MECHANISM = """
<mujoco>
  <worldbody>
    <body name="arm" pos="0.5 0 0"><joint axis="0 0 1" pos="-0.5 0 0"/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.2 0.3"/>
      <body name="wrist" pos="0.7 0 0"><joint type="ball" pos="-0.2 0 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.2 0.1 0.2"/></body>
    </body>
    <body name="ship" pos="0 0 3"><freejoint/>
      <inertial pos="0 0 0" mass="3" diaginertia="0.3 0.3 0.2"/>
      <body name="crane" pos="0 1 0">
        <joint type="slide" axis="1 0 0"/><joint axis="0 1 0"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body>
    </body>
  </worldbody>
</mujoco>
"""


def mechanism() -> tuple[Model, State]:
    """Return the mechanism of MuJoCo's model, built by the builder.

    Joints are added in another order, the crane's from the child to the parent.
    """
    builder = ModelBuilder()
    builder.add_body(2.0, (0.1, 0.2, 0.3), (0.5, 0, 0), name="arm")
    builder.add_body(1.0, (0.2, 0.1, 0.2), (1.2, 0, 0), name="wrist")
    builder.add_body(3.0, (0.3, 0.3, 0.2), (0, 0, 3), name="ship")
    builder.add_body(1.0, (0.1, 0.1, 0.1), (0, 1, 3), name="crane")
    crane = Compound((Slide((1, 0, 0)), Hinge((0, 1, 0))))
    builder.add_joint(crane, "ship", "crane", (0, 1, 3), name="crane")
    builder.add_joint(Spherical(), "arm", "wrist", (1, 0, 0), name="wrist")
    builder.add_joint(Revolute((0, 0, 1)), 0, "arm", name="arm")
    builder.add_actuator(motor(), "arm")
    return builder.build()


def test_coordinates_are_those_of_mujoco() -> None:
    model, start = mechanism()
    layout = mujoco_coordinates(model)
    m = mujoco.MjModel.from_xml_string(MECHANISM)
    data, rng = mujoco.MjData(m), np.random.default_rng(3)
    data.qpos[:], data.qvel[:] = rng.normal(size=m.nq), rng.normal(size=m.nv)
    mujoco.mj_normalizeQuat(m, data.qpos)
    mujoco.mj_forward(m, data)
    assert (layout.places.nq, layout.places.nv, layout.places.nu) == (m.nq, m.nv, 1)

    @jax.jit
    def kinematics(
        qpos: jax.Array, qvel: jax.Array
    ) -> tuple[State, jax.Array, jax.Array, jax.Array]:
        state = layout.state(model, start, qpos, qvel)
        qacc = layout.acceleration(state, accelerations(model, state))
        return state, *layout.coordinates(model, state), qacc

    state, qpos, qvel, qacc = kinematics(jnp.asarray(data.qpos), jnp.asarray(data.qvel))
    np.testing.assert_allclose(state.position, data.xipos, atol=1e-12)
    for body in range(1, m.nbody):
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(m, data, mujoco.mjtObj.mjOBJ_BODY, body, velocity, 0)
        np.testing.assert_allclose(state.twist[body], np.roll(velocity, 3), atol=1e-12)
    coordinates = data.qpos.copy()
    for at in (1, 8):  # q and −q are one rotation
        coordinates[at : at + 4] *= np.sign(
            coordinates[at : at + 4] @ np.asarray(qpos[at : at + 4])
        )
    np.testing.assert_allclose(qpos, coordinates, atol=1e-12)
    np.testing.assert_allclose(qvel, data.qvel, atol=1e-12)
    np.testing.assert_allclose(qacc, data.qacc, atol=1e-10)


def test_what_closes_a_loop_has_no_coordinates() -> None:
    """A four-bar linkage has three joints with coordinates; the fourth follows."""
    builder = ModelBuilder()
    for name, at in (("left", (0, 0, 0.5)), ("top", (0.5, 0, 1)), ("right", (1, 0, 0.5))):
        builder.add_body(1.0, (0.1, 0.1, 0.1), at, name=name)
    hinge = Revolute((0, 1, 0))
    builder.add_joint(hinge, 0, "left", (0, 0, 0), name="a")
    builder.add_joint(hinge, "left", "top", (0, 0, 1), name="b")
    builder.add_joint(hinge, "top", "right", (1, 0, 1), name="c")
    builder.add_joint(hinge, "right", 0, (1, 0, 0), name="d")
    model, start = builder.build()
    layout = mujoco_coordinates(model)
    assert (layout.places.nq, layout.places.nv) == (3, 3)
    # A parallelogram: the top stays level, the right turns as the left does.
    state = jax.jit(layout.state)(model, start, jnp.array([0.3, -0.3, 0.3]))
    np.testing.assert_allclose(state.position[2], [0.5 + np.sin(0.3), 0, np.cos(0.3)], atol=1e-12)
    np.testing.assert_allclose(state.joint_positions, [0.3, -0.3, 0.3, -0.3], atol=1e-12)


@pytest.mark.parametrize("placing", ["coordinates", "forward kinematics"])
def test_what_is_placed_at_rest_stays_there(placing: str) -> None:
    """Rotors do not remember the motion from which a state is reset."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.add_body(1.0, (0.1, 0.2, 0.3), name="ship")
    builder.add_body(1.0, (0.1, 0.1, 0.2), (0, 0, 1), name="crane")
    builder.add_joint(Revolute((1, 0, 0), armature=0.1), "ship", "crane", (0, 0, 0.5))
    model, start = builder.build()
    layout, step = mujoco_coordinates(model), jax.jit(EulerImplicitLinearized(0.01).step)
    rest, _ = layout.coordinates(model, start)
    state = layout.state(model, start, rest, jnp.array([0, 0, 0, 0, 0, 3.0, 5.0]))
    for _ in range(20):
        state, _ = step(model, state)
    assert abs(state.joint_positions[0]) > 0.5
    if placing == "coordinates":
        state = layout.state(model, state, rest)
    else:
        zero = jnp.zeros_like(state.velocity)
        still = replace(state, velocity=zero, angular_velocity=zero)
        state = forward_kinematics(model, still, jnp.zeros(1))
    after, _ = step(model, state)
    np.testing.assert_allclose(after.twist, 0, atol=1e-12)
