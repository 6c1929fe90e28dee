"""Test the projected stepper's derivatives against central differences, and its momentum."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.spatial.transform import Rotation

from jaxccp.ccp import APGD, Stop
from jaxccp.dynamics import EulerImplicitProjected, rollout
from jaxccp.model import Model, Revolute, Spherical, State, joint_motion
from jaxccp.scene import ModelBuilder

H, STEPS = 4e-3, 10
LIMIT = 0.03


@cache
def scene() -> tuple[Model, State]:
    """Build a four-bar linkage, a pendulum that comes to its limit, and two bodies that float."""
    builder = ModelBuilder()
    crank = builder.add_body(0.3, (0.001, 0.001, 0.001), (-0.05, 0, 0.1))
    coupler = builder.add_body(0.5, (0.002, 0.01, 0.01), (0.15, 0, 0.25))
    rocker = builder.add_body(0.4, (0.004, 0.004, 0.001), (0.45, 0, 0.15))
    pin = Revolute((0, 1, 0))
    builder.add_joint(pin, 0, crank, (0, 0, 0))
    builder.add_joint(pin, crank, coupler, (-0.1, 0, 0.2))
    builder.add_joint(pin, coupler, rocker, (0.4, 0, 0.3))
    builder.add_joint(pin, rocker, 0, (0.5, 0, 0))
    spin = {"velocity": (0, 0, -0.8), "angular_velocity": (0, 2, 0)}
    bob = builder.add_body(1.0, (0.01, 0.02, 0.03), (0.4, 2, 0), **spin)
    builder.add_joint(Revolute((0, 1, 0), limits=(-1, LIMIT)), 0, bob, (0, 2, 0), name="stopped")
    spin = {"velocity": (1, 2, 3), "angular_velocity": (1, -2, 1.5)}
    trunk = builder.add_body(1.0, (0.1, 0.2, 0.15), (5, 0, 0), name="trunk", **spin)
    arm = builder.add_body(0.6, (0.02, 0.03, 0.03), (5.5, 0, 0), velocity=(0, 1, 0), name="arm")
    builder.add_joint(Spherical(stiffness=3.0), trunk, arm, (5.2, 0.1, 0), name="shoulder")
    return builder.build()


Numbers = dict[str, Array]


def numbers() -> Numbers:
    model, state = scene()
    return {
        "anchors": model.joints.anchor,
        "frames": model.joints.frame,
        "mass": model.bodies.mass,
        "limit": model.axes.upper,
        "stiffness": model.axes.stiffness,
        "position": state.position,
        "velocity": state.velocity,
        "spin": state.angular_velocity,
    }


def end(at: Numbers) -> State:
    model, state = scene()
    model = replace(
        model,
        joints=replace(model.joints, anchor=at["anchors"], frame=at["frames"]),
        bodies=replace(model.bodies, mass=at["mass"]),
        axes=replace(model.axes, upper=at["limit"], stiffness=at["stiffness"]),
    )
    state = replace(
        state, position=at["position"], velocity=at["velocity"], angular_velocity=at["spin"]
    )
    stepper = EulerImplicitProjected(H, solver=APGD(), stop=Stop(1e-13))
    return rollout(model, state, stepper, STEPS, every=STEPS)[0]


@cache
def compiled():
    def loss(at: Numbers) -> tuple[Array, State]:
        after = end(at)
        weights = jnp.arange(1.0, 1 + after.position.size).reshape(after.position.shape)
        value = jnp.sin(weights * after.position) + jnp.cos(weights + after.velocity)
        return jnp.sum(value + jnp.sin(weights + after.angular_velocity)), after

    return jax.jit(lambda at, tangent: jax.jvp(loss, (at,), (tangent,), has_aux=True))


def direction(name: str) -> np.ndarray:
    leaf = np.asarray(numbers()[name])
    kept = np.isfinite(leaf) & (leaf != 0) if name in ("limit", "stiffness") else leaf == leaf
    if name == "frames":
        kept[:4] = False  # turned axes would jam a planar loop in space
    random = np.random.default_rng(len(name)).normal(size=leaf.shape)
    return np.where(kept, random / np.linalg.norm(random[kept]), 0.0)


@pytest.mark.parametrize("name", numbers())
def test_derivatives(name: str) -> None:
    """Forward mode agrees with differences of fourth order."""
    at, e = numbers(), 1e-5
    tangent = {key: jnp.zeros_like(leaf) for key, leaf in at.items()}
    tangent[name] = jnp.asarray(direction(name))
    slope = float(compiled()(at, tangent)[1])
    values = [
        float(compiled()({**at, name: at[name] + k * e * tangent[name]}, tangent)[0])
        for k in (-2, -1, 1, 2)
    ]
    expected = (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * e)
    assert abs(expected) > 1e-4
    assert slope == pytest.approx(expected, rel=1e-6, abs=1e-6)


def moments(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the momentum of the two floating bodies, and their spin about the common centre of
    mass."""
    model, _ = scene()
    pair = [model.topology.body(name) for name in ("trunk", "arm")]
    mass = np.asarray(model.bodies.mass)[pair]
    x, v = np.asarray(state.position)[pair], np.asarray(state.velocity)[pair]
    moment = np.cross(x - mass @ x / mass.sum(), mass[:, None] * v).sum(axis=0)
    for body in pair:
        rotation = Rotation.from_quat(np.array(state.quaternion[body]), scalar_first=True)
        local = rotation.inv().apply(np.array(state.angular_velocity[body]))
        moment += rotation.apply(np.asarray(model.bodies.inertia[body]) @ local)
    return mass @ v, moment


def test_momentum_of_what_floats() -> None:
    (model, start), at = scene(), numbers()
    after = compiled()(at, jax.tree.map(jnp.zeros_like, at))[2]
    motion = jax.jit(joint_motion)(model, after)
    assert np.abs(motion.error).max() < 1e-14
    stopped = motion.coordinate[model.topology.linkage.axis("stopped")]
    assert stopped == pytest.approx(LIMIT, abs=1e-12)
    (linear, moment), (linear_after, moment_after) = moments(start), moments(after)
    fallen = STEPS * H * 1.6 * np.array([0, 0, -9.81])
    np.testing.assert_allclose(linear_after - linear, fallen, atol=1e-10)
    np.testing.assert_allclose(moment_after, moment, atol=1e-10)
