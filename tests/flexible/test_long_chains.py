"""Steps of second order of a long chain: its Jacobian is a band, with joints and bodies beside."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import Model, ModelBuilder, State, rollout
from jaxccp.dynamics import HHT
from jaxccp.dynamics.second_order.unknowns import Unknowns
from jaxccp.dynamics.steppers import alpha
from jaxccp.model import Family
from jaxccp.model.joints import Spherical
from tests.flexible.families import only

STEPS, H = 4, 2e-3


@pytest.fixture(scope="module")
def hung() -> tuple[Model, State]:
    """A cable of ten elements hung by joints, and a body at its end."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    ends = np.array([[0, 0, 0], [1.0, 0.2, 0]])
    nodes = np.linspace(*ends, 11)
    cable = builder.add_cable(nodes, 5e-3, 1e7, 1000.0, damping=0.01)
    bob = builder.add_body(0.05, 3 * [2e-5], position=ends[1])
    builder.add_joint(Spherical(), 0, cable[0], anchor=ends[0])
    builder.add_joint(Spherical(), cable[-1], bob, anchor=ends[1])
    return builder.build()


def swung(model: Model, state: State, speed: jax.Array) -> State:
    """After some steps, from the body's speed across."""
    velocity = state.velocity.at[-1, 1].set(speed)
    return rollout(model, replace(state, velocity=velocity), HHT(H), STEPS)[0]


def test_it_moves_as_with_the_dense_jacobian(hung, monkeypatch) -> None:
    model, state = hung
    arrow = Unknowns.of(model).arrow
    assert arrow is not None and arrow.border == 12 and arrow.chain == 66
    chain = jax.jit(lambda speed: swung(model, state, speed))(1.0)
    monkeypatch.setattr(alpha.Unknowns, "of", lambda _: Unknowns(None))
    dense = jax.jit(lambda speed: swung(model, state, speed))(1.0)
    assert np.abs(chain.velocity).max() > 0.3
    np.testing.assert_allclose(chain.position, dense.position, atol=1e-9)
    np.testing.assert_allclose(chain.velocity, dense.velocity, atol=1e-7)


def test_its_derivative_is_that_of_differences(hung) -> None:
    model, state = hung
    weights = jax.random.normal(jax.random.key(0), state.velocity.shape)

    def seen(speed: jax.Array) -> jax.Array:
        end = swung(model, state, speed)
        return jnp.sum(weights * (end.velocity + end.position))

    slope = jax.jit(jax.grad(seen))(1.0)
    value = jax.jit(seen)
    np.testing.assert_allclose(slope, (value(1.0 + 1e-4) - value(1.0 - 1e-4)) / 2e-4, rtol=1e-6)


def test_its_forces_are_those_of_a_short_step(hung) -> None:
    """Of damping, too: f = f₀ − D v are derivatives of what a step solves."""
    family = only(hung[0])
    q, v = family.start().q, jax.random.normal(jax.random.key(1), family.start().v.shape)
    gravity = jnp.array([1.0, -2.0, -9.0])
    q = q + 0.01 * jnp.roll(v, 1)
    found, expected = family.forces(q, v, gravity), Family.forces(family, q, v, gravity)
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
