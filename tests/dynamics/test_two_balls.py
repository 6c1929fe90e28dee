"""Two equal balls collide head-on, elastically: they swap velocities (nimble#97)."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import Law, Stop
from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.model import Material, Sphere
from jaxccp.scene import ModelBuilder

H = 1e-2
STEPS = 100
RADIUS = 0.1
START = np.array([0.0, 0.613, 1.0, -0.3])
"""Positions and velocities of A and B along x."""


def outcome(law: Law):
    """(x_A, x_B, v_A, v_B) after one second from those at the start."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    ball = Material(friction=0.5, restitution=1.0)
    for x in START[:2]:
        builder.add_solid(Sphere(RADIUS), 1.0, ball, position=(x, 0, 0))
    model, state = builder.build()
    stepper = EulerImplicitLinearized(H, law, stop=Stop(1e-13))

    def final(start: jax.Array) -> jax.Array:
        begin = replace(
            state,
            position=state.position.at[1:, 0].set(start[:2]),
            velocity=state.velocity.at[1:, 0].set(start[2:]),
        )
        end, _ = rollout(model, begin, stepper, STEPS, every=STEPS)
        return jnp.concatenate([end.position[1:, 0], end.velocity[1:, 0]])

    return final


def test_elastic_collision_and_its_gradient() -> None:
    """x_B' = x_A + 2 r + v_A t and v_B' = v_A: B's gradient in (x_A, x_B), (v_A, v_B) is (1, 0),
    (1, 0) and, through the time of flight, (t, 0); nimble reports (0.75, 0.25, 0.91, 0.08)."""
    final, t = outcome("ncp"), STEPS * H
    start = jnp.asarray(START)
    x_a, x_b, v_a, v_b = START
    expected = [x_b - 2 * RADIUS + v_b * t, x_a + 2 * RADIUS + v_a * t, v_b, v_a]
    np.testing.assert_allclose(jax.jit(final)(start), expected, atol=1e-10)
    slope = np.array([[0, 1, 0, t], [1, 0, t, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    np.testing.assert_allclose(jax.jit(jax.jacfwd(final))(start), slope, atol=1e-10)
    np.testing.assert_allclose(jax.jit(jax.jacrev(final))(start), slope, atol=1e-10)
