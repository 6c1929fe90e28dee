"""Test two equal balls that collide head-on, elastically: they swap velocities (nimble#97)."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

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
    """Return a function that gives (x_A, x_B, v_A, v_B) after one second from those at the
    start."""
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
    """The balls swap their motion: x_B' = x_A + 2 r + v_A t and v_B' = v_A. B's gradient in
    (x_A, x_B), (v_A, v_B) is (1, 0), (1, 0) and, through the time of flight, (t, 0); nimble
    reports (0.75, 0.25, 0.91, 0.08)."""
    final, t = outcome("ncp"), STEPS * H
    start = jnp.asarray(START)
    x_a, x_b, v_a, v_b = START
    expected = [x_b - 2 * RADIUS + v_b * t, x_a + 2 * RADIUS + v_a * t, v_b, v_a]

    @jax.jit
    def reverse(start: jax.Array) -> tuple[jax.Array, jax.Array]:
        end, back = jax.vjp(final, start)
        return end, jax.vmap(back)(jnp.eye(4))[0]

    end, jacobian = reverse(start)
    np.testing.assert_allclose(end, expected, atol=1e-10)
    slope = np.array([[0, 1, 0, t], [1, 0, t, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    np.testing.assert_allclose(jax.jit(jax.jacfwd(final))(start), slope, atol=1e-10)
    np.testing.assert_allclose(jacobian, slope, atol=1e-10)


@pytest.mark.parametrize("phase", [0.1, 0.4, 0.7, 0.95])
def test_an_oblique_collision_has_the_normal_of_its_time_of_impact(phase: float) -> None:
    """Smooth balls of 1 and 3 kg follow their exact motion: the time in a step at which they
    meet has an effect of third order in their displacement within a step. With the normal of the
    step's start it is of first order."""
    masses, distance, offset = np.array([1.0, 3.0]), 2 * RADIUS, 0.12
    reach = np.sqrt(distance**2 - offset**2)
    fly = (20 + phase) * H
    places = np.array([[0, 0, 0], [reach + fly * 1.5, offset, 0.0]])
    speeds = np.array([[1.0, 0, 0], [-0.5, 0, 0]])
    builder = ModelBuilder(gravity=(0, 0, 0))
    for mass, place, speed in zip(masses, places, speeds, strict=True):
        smooth = Material(friction=0.0, restitution=1.0)
        builder.add_solid(Sphere(RADIUS), mass, smooth, position=place, velocity=speed)
    model, state = builder.build()
    end, _ = rollout(model, state, EulerImplicitLinearized(H, stop=Stop(1e-13)), STEPS)

    normal = np.array([reach, offset, 0]) / distance
    closing = (speeds[0] - speeds[1]) @ normal
    impulse = 2 * closing / (1 / masses).sum() * normal
    after = speeds + np.array([[-1.0], [1.0]]) * impulse / masses[:, None]
    angle = 1.5 * H / distance
    np.testing.assert_allclose(end.velocity[1:], after, atol=angle**3)
    reached = places + fly * speeds + (STEPS * H - fly) * after
    np.testing.assert_allclose(end.position[1:], reached, atol=angle**3)
    # An arm off the normal by that angle spins a ball, whose inertia is 0.4 m r².
    spin = np.linalg.norm(impulse) * angle**3 / (0.4 * masses * RADIUS)
    assert np.all(np.linalg.norm(end.angular_velocity[1:], axis=1) <= spin)
