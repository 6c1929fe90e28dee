"""Test spinning and rolling friction of balls on a plane against rigid-body mechanics."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.collision.detect import detect
from jaxccp.dynamics import EulerImplicitLinearized, Trajectory, describe, matrices, rollout
from jaxccp.dynamics.step import assemble_system
from jaxccp.model import Material, Plane, Sphere
from jaxccp.model.cut_joints import with_block_diagonal_mass
from jaxccp.scene import ModelBuilder

RADIUS, GRAVITY, H, STEPS = 0.1, 9.81, 1e-3, 300
ROLLING, SPINNING = 4e-3, 2e-3
SPEED, SPIN = 1.0, 10.0
INERTIA = 0.4 * RADIUS**2  # per kg


def tilted(angle: float) -> tuple[float, float, float]:
    return GRAVITY * np.sin(angle), 0.0, -GRAVITY * np.cos(angle)


@cache
def run(tilt: float = 0.0) -> Trajectory:
    """Simulate a ball that rolls, one that spins in place and one at rest, far apart."""
    builder = ModelBuilder(gravity=tilted(tilt))
    surface = Material(friction=0.6, rolling=ROLLING, spinning=SPINNING)
    builder.add_shape(0, Plane(), material=surface)
    moving = dict(velocity=(SPEED, 0, 0), angular_velocity=(0, SPEED / RADIUS, 0))
    for y, motion in enumerate([moving, dict(angular_velocity=(0, 0, SPIN)), {}]):
        builder.add_solid(Sphere(RADIUS), 2.0, surface, position=(0, y, RADIUS), **motion)
    model, state = builder.build()
    return rollout(model, state, EulerImplicitLinearized(H, "ncp"), STEPS)[1]


def test_a_rolling_ball_slows_down_by_its_torque() -> None:
    """A ball whose rolling the torque ρ m g opposes decelerates by a = ρ g / (R (1 + 2/5))."""
    states = run().state
    assert not np.any(run().report.solver.status)
    time = STEPS * H
    slowing = ROLLING * GRAVITY / (1.4 * RADIUS)
    np.testing.assert_allclose(states.velocity[-1, 1, 0], SPEED - slowing * time, rtol=1e-6)
    np.testing.assert_allclose(
        states.angular_velocity[-1, 1, 1], states.velocity[-1, 1, 0] / RADIUS, rtol=1e-6
    )


def test_a_spinning_ball_slows_down_by_its_torque() -> None:
    spin = run().state.angular_velocity[-1, 2]
    slowing = SPINNING * GRAVITY / INERTIA
    np.testing.assert_allclose(spin, [0, 0, SPIN - slowing * STEPS * H], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("share", "rolls"), [(0.9, False), (1.1, True)])
def test_a_ball_holds_on_slopes_up_to_rolling_over_radius(share: float, rolls: bool) -> None:
    slope = np.arctan(ROLLING / RADIUS) * share
    states = run(float(slope)).state
    drive = GRAVITY * (np.sin(slope) - ROLLING / RADIUS * np.cos(slope)) / 1.4
    speed = drive * STEPS * H if rolls else 0.0
    np.testing.assert_allclose(states.velocity[-1, 3, 0], speed, atol=1e-8)


def test_the_gradient_in_the_coefficient() -> None:
    """A rolling ball's velocity has the derivative d v / d ρ = −g t / (R (1 + 2/5))."""
    builder = ModelBuilder()
    surface = Material(friction=0.6, rolling=ROLLING)
    builder.add_shape(0, Plane(), material=surface)
    motion = dict(velocity=(SPEED, 0, 0), angular_velocity=(0, SPEED / RADIUS, 0))
    builder.add_solid(Sphere(RADIUS), 2.0, surface, position=(0, 0, RADIUS), **motion)
    model, state = builder.build()

    def speed(rolling: jax.Array) -> jax.Array:
        changed = jnp.zeros_like(model.shapes.rolling).at[:, 1].set(rolling)
        varied = replace(model, shapes=replace(model.shapes, rolling=changed))
        return rollout(varied, state, EulerImplicitLinearized(H, "ncp"), 20)[0].velocity[1, 0]

    _, slope = jax.jvp(speed, (jnp.asarray(ROLLING),), (jnp.asarray(1.0),))
    np.testing.assert_allclose(slope, -GRAVITY * 20 * H / (1.4 * RADIUS), rtol=1e-6)


def test_the_matrices_have_all_six_rows_of_a_contact() -> None:
    """The assembled J H⁻¹ Jᵀ + E is the operator that solvers use."""
    builder = ModelBuilder()
    surface = Material(friction=0.6, rolling=ROLLING, spinning=SPINNING)
    builder.add_shape(0, Plane(), material=surface)
    for x in (0.0, 1.0):
        builder.add_solid(Sphere(RADIUS), 2.0, surface, position=(x, 0, RADIUS))
    model, state = builder.build()
    block_diagonal = with_block_diagonal_mass(model)
    system, _ = assemble_system(block_diagonal, state, detect(model, state), H)
    blocks = matrices(describe(model, system))
    j, h = blocks.j.toarray(), blocks.h.toarray()
    assert j.shape[0] == 3 * 6  # the balls might touch each other too
    schur = j @ np.linalg.solve(h, j.T) + np.diag(blocks.e)
    np.testing.assert_allclose(schur, system.problem.delassus.dense(), atol=1e-12)
