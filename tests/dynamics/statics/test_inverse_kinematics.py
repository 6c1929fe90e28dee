"""Test inverse kinematics against MuJoCo's forward kinematics and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    Coupling,
    ModelBuilder,
    Revolute,
    Spherical,
    Universal,
    forward_kinematics,
    inverse_kinematics,
    joint_motion,
    load,
)
from jaxccp.dynamics import InverseKinematics

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco><worldbody><body name="a"><joint name="j1" axis="0 0 1"/>
  <geom type="capsule" fromto="0 0 0 .4 0 0" size=".02"/>
  <body name="b" pos=".4 0 0"><joint name="j2" axis="0 1 0" range="-150 150"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
  <body name="c" pos=".3 0 0"><joint name="j3" axis="0 1 0" range="-100 100"/>
  <geom type="capsule" fromto="0 0 0 .1 0 0" size=".02"/>
  <body name="d" pos=".1 0 0"><joint name="j4" axis="1 0 0"/>
  <geom type="box" size=".02 .03 .04" pos=".02 0 0"/><site name="tip" pos=".1 0 .01"/>
  </body></body></body></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def arm():
    return load(ARM)


@pytest.fixture(scope="module")
def to_tip(arm):
    """Return the compiled program that brings the tip to a position."""
    return jax.jit(lambda target: inverse_kinematics(arm.model, arm.state, {"tip": target}))


def tip(qpos: np.ndarray) -> np.ndarray:
    """Return the tip's position in MuJoCo."""
    model = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    return data.site("tip").xpos.copy()


def coordinates(arm, result: InverseKinematics) -> np.ndarray:
    return np.asarray(arm.layout.coordinates(arm.model, result.state)[0])


def test_tip_is_where_it_is_wanted(arm, to_tip) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        target = tip(rng.uniform(-1.2, 1.2, 4))
        result = to_tip(target)
        assert result.converged
        np.testing.assert_allclose(tip(coordinates(arm, result)), target, atol=1e-8)


def test_out_of_reach_is_said(arm, to_tip) -> None:
    """A target out of reach gives the nearest pose, the arm stretched towards it, and is
    reported as not converged."""
    result = to_tip(np.array([0.0, 3.0, 0.0]))
    assert not result.converged
    reach = 0.4 + 0.3 + np.hypot(0.2, 0.01)
    np.testing.assert_allclose(result.error, 3.0 - reach, rtol=1e-5)


def test_limits_and_targets_of_joints(arm) -> None:
    """A target beyond joint 3's limit brings the joint to its limit."""
    find = jax.jit(lambda q: inverse_kinematics(arm.model, arm.state, {}, {"j1": 0.7, "j3": q}))
    result = find(2.5)
    np.testing.assert_allclose(
        coordinates(arm, result), [0.7, 0.0, np.radians(100), 0.0], atol=1e-8
    )
    np.testing.assert_allclose(result.error, 2.5 - np.radians(100), atol=1e-6)
    assert find(-1.0).converged


def test_derivative_at_a_limit_is_that_within_it() -> None:
    builder = ModelBuilder()
    bar = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.3, 0, 0))
    builder.add_joint(Revolute((0, 0, 1), limits=(0.0, 1.0)), 0, bar, (0, 0, 0), name="j")
    model, state = builder.build()

    def found(angle: jax.Array) -> jax.Array:
        return inverse_kinematics(model, state, {}, {"j": angle}).state.joint_positions[0]

    np.testing.assert_allclose(jax.jit(jax.grad(found))(0.0), 1.0, rtol=1e-12)


def test_fixed_axes_stay(arm) -> None:
    target = tip(np.array([0.0, 0.5, -0.9, 0.0]))
    result = inverse_kinematics(arm.model, arm.state, {"tip": target}, fixed=("j1", "j4"))
    assert result.converged
    np.testing.assert_allclose(coordinates(arm, result)[[0, 3]], 0.0, atol=1e-12)


def test_derivative_is_that_of_the_solution(arm, to_tip) -> None:
    """The tip's position has the derivative 1 by its target, forward and in reverse."""
    target = jnp.asarray(tip(np.array([0.3, 0.4, -0.9, 0.2])))

    def reached(position: jax.Array) -> jax.Array:
        return arm.model.sites.poses(to_tip(position).state)[0][0]

    np.testing.assert_allclose(jax.jacfwd(reached)(target), np.eye(3), atol=1e-5)
    np.testing.assert_allclose(jax.jacrev(reached)(target), np.eye(3), atol=1e-5)


def test_second_derivatives_of_a_planar_arm() -> None:
    """The elbow of two links of 1 m has cos q = (x² + y²)/2 − 1, the shoulder
    atan2(y, x) − q/2."""
    builder = ModelBuilder()
    upper = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.5, 0, 0))
    lower = builder.add_body(1.0, (0.1, 0.1, 0.1), (2.0, 0, 0), name="tip")
    builder.add_joint(Revolute((0, 0, 1)), 0, upper, anchor=(0, 0, 0), name="shoulder")
    builder.add_joint(Revolute((0, 0, 1)), upper, lower, anchor=(1, 0, 0), name="elbow")
    model, state = builder.build()
    state = forward_kinematics(model, state, jnp.array([0.3, 0.8]))

    def found(xy: jax.Array) -> jax.Array:
        target = jnp.concatenate([xy, jnp.zeros(1)])
        return inverse_kinematics(model, state, {"tip": target}).state.joint_positions

    def expected(xy: jax.Array) -> jax.Array:
        elbow = jnp.arccos(jnp.sum(xy * xy) / 2 - 1)
        return jnp.stack([jnp.arctan2(xy[1], xy[0]) - elbow / 2, elbow])

    at = jnp.array([0.9, 0.6])
    second = jax.jit(jax.jacfwd(jax.jacrev(found)))(at)
    np.testing.assert_allclose(second, jax.jacfwd(jax.jacrev(expected))(at), atol=1e-7)


def test_a_pose_beyond_the_limits_of_a_tendon_has_not_converged() -> None:
    builder = ModelBuilder()
    upper = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.5, 0, 0))
    lower = builder.add_body(1.0, (0.1, 0.1, 0.1), (1.5, 0, 0))
    builder.add_joint(Revolute((0, 0, 1)), 0, upper, anchor=(0, 0, 0), name="shoulder")
    builder.add_joint(Revolute((0, 0, 1)), upper, lower, anchor=(1, 0, 0), name="elbow")
    builder.add_tendon(Coupling({"shoulder": 1.0, "elbow": 1.0}, limits=(-0.5, 0.5)))
    model, state = builder.build()

    def reached(angle: jax.Array) -> jax.Array:
        targets = {"shoulder": angle, "elbow": angle}
        return inverse_kinematics(model, state, {}, targets).converged

    angles = jnp.array([-0.3, -0.2, 0.2, 0.3])
    np.testing.assert_array_equal(jax.vmap(reached)(angles), [False, True, True, False])


def test_more_targets_than_degrees_of_freedom() -> None:
    """One hinge reaches poses of all its seven numbers, in float32 too, and says so."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    bar = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.3, 0, 0), name="bar")
    builder.add_joint(Revolute((0, 0, 1)), 0, bar, name="j")
    model, state = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), builder.build())

    def find(angle: jax.Array) -> InverseKinematics:
        c, s, zero = jnp.cos(angle), jnp.sin(angle), jnp.zeros_like(angle)
        half = jnp.cos(angle / 2), zero, zero, jnp.sin(angle / 2)
        target = jnp.stack([0.3 * c, 0.3 * s, zero, *half])
        return inverse_kinematics(model, state, {"bar": target})

    angles = jnp.linspace(-2.5, 2.5, 256, dtype=jnp.float32)
    result = jax.jit(jax.vmap(find))(angles)
    assert result.converged.all()
    np.testing.assert_allclose(result.state.joint_positions[:, 0], angles, atol=1e-4)
    slope = jax.jit(jax.vmap(jax.grad(lambda angle: find(angle).state.joint_positions[0])))
    np.testing.assert_allclose(slope(angles), 1.0, atol=1e-3)


def test_nothing_that_moves_the_target_is_free() -> None:
    builder = ModelBuilder()
    bar = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.3, 0, 0), name="bar")
    builder.add_joint(Revolute((0, 0, 1)), 0, bar, name="j")
    model, state = builder.build()
    result = inverse_kinematics(model, state, {"bar": np.array([0.3, 0, 0])}, fixed=("j",))
    assert result.converged
    np.testing.assert_array_equal(result.state.position, state.position)


def test_targets_of_a_ball() -> None:
    """A ball's targets are a rotation vector, with the derivative 1 of the coordinates."""
    builder = ModelBuilder()
    bob = builder.add_body(1.0, (0.1, 0.1, 0.1), (0, 0, 0.3))
    builder.add_joint(Spherical(), 0, bob, name="ball", axes=["x", "y", "z"])
    model, state = builder.build()

    def reached(vector: jax.Array) -> jax.Array:
        targets = dict(zip("xyz", vector, strict=True))
        result = inverse_kinematics(model, state, {}, targets)
        return joint_motion(model, result.state).coordinate

    vector = jnp.array([0.9, -0.7, 1.1])
    np.testing.assert_allclose(jax.jit(reached)(vector), vector, atol=1e-8)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(reached))(vector), np.eye(3), atol=1e-7)


def test_fixed_joints_are_those_of_the_name() -> None:
    """A joint's name means its axes whatever their names, and no axis of another joint."""
    builder = ModelBuilder()
    leg = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.2, 0, 0.3))
    foot = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.4, 0.1, 0.3), name="foot")
    builder.add_joint(Universal(), 0, leg, name="leg", axes=["swing", "lift"])
    builder.add_joint(Revolute((0, 0, 1)), leg, foot, (0.2, 0, 0.3), name="leg.foot")
    model, state = builder.build()
    target = state.position[foot] + jnp.array([0.02, -0.05, 0])
    result = inverse_kinematics(model, state, {"foot": target}, fixed=("leg",))
    np.testing.assert_allclose(result.state.joint_positions[:2], 0, atol=1e-12)
    assert abs(result.state.joint_positions[2]) > 0.1
    with pytest.raises(ValueError, match="did you mean 'leg'"):
        inverse_kinematics(model, state, {"foot": target}, fixed=("legg",))


def test_wrong_targets_are_named(arm) -> None:
    with pytest.raises(ValueError, match="'tup'"):
        inverse_kinematics(arm.model, arm.state, {"tup": np.zeros(3)})
    with pytest.raises(ValueError, match="7 numbers"):
        inverse_kinematics(arm.model, arm.state, {"tip": np.zeros(4)})
    with pytest.raises(ValueError, match="'j9'"):
        inverse_kinematics(arm.model, arm.state, {"tip": np.zeros(3)}, fixed=("j9",))


@pytest.mark.parametrize(
    ("target", "found", "converged"), [(-0.5, -1.0, False), (-1.5, -1.5, True)]
)
def test_an_axis_beyond_its_limit_is_brought_back(target, found, converged) -> None:
    """A hinge starts at 0, its limits are −2 and −1."""
    builder = ModelBuilder()
    bar = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.3, 0, 0))
    builder.add_joint(Revolute((0, 0, 1), limits=(-2.0, -1.0)), 0, bar, (0, 0, 0), name="j")
    model, state = builder.build()
    result = inverse_kinematics(model, state, {}, {"j": target})
    np.testing.assert_allclose(result.state.joint_positions, [found], atol=1e-9)
    assert bool(result.converged) == converged


def test_one_name_that_is_fixed_stands_alone() -> None:
    builder = ModelBuilder()
    bar = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.3, 0, 0), name="bar")
    builder.add_joint(Revolute((0, 0, 1)), 0, bar, (0, 0, 0), name="hinge")
    result = inverse_kinematics(*builder.build(), {}, {"hinge": 0.5}, fixed="hinge")
    np.testing.assert_allclose(result.error, 0.5)
    assert not result.converged
