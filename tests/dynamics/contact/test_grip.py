"""Test that bodies held by friction alone do not creep, as they do in soft-contact engines."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.ccp import Law, Stop
from jaxccp.dynamics import EulerImplicitLinearized, Trajectory, rollout
from jaxccp.model import Box, Capsule, Material, Model, State
from jaxccp.scene import ModelBuilder
from tests.laws import CONVEX_LAW_LONG

H = 2e-3
STEPS = 500
TOLERANCE = 1e-8
HALF, RADIUS, LENGTH = 0.05, 0.02, 0.04
CUBE, CAPSULE, JAW = 2, 3, 4


@cache
def scene() -> tuple[Model, State]:
    """Build a cube against a wall in the plane x = 0, and a capsule between the wall and a jaw
    that slides on a frictionless shelf."""
    builder = ModelBuilder(margin=0.005)
    rough = Material(friction=1.0)
    wall = builder.add_fixed(position=(-0.1, 0, 0), name="wall")
    builder.add_shape(wall, Box((0.1, 2, 2)), material=rough)
    builder.add_solid(Box((HALF, HALF, HALF)), 1.0, rough, position=(HALF, 0, 0), name="cube")
    lying = Rotation.from_rotvec([np.pi / 2, 0, 0]).as_quat(scalar_first=True)
    place = (RADIUS, 1, 0)
    builder.add_solid(
        Capsule(RADIUS, LENGTH), 0.045, rough, position=place, quaternion=lying, name="capsule"
    )
    jaw_at = (2 * RADIUS + HALF, 1, 0)
    builder.add_solid(Box((HALF, HALF, HALF)), 0.5, rough, position=jaw_at, name="jaw")
    shelf = Material(friction=0.0)
    beneath = (jaw_at[0], 1, -HALF - 0.01)
    builder.add_shape(0, Box((HALF, HALF, 0.01)), position=beneath, material=shelf)
    return builder.build()


@cache
def gripped(law: Law) -> Trajectory:
    """Simulate 20 N on the cube of 9.81 N, and 2 N on the jaw that holds the capsule's 0.44 N."""
    model, state = scene()
    forces = jnp.zeros((STEPS, 5, 6)).at[:, CUBE, 0].set(-20.0).at[:, JAW, 0].set(-2.0)
    stepper = EulerImplicitLinearized(H, law, stop=Stop(TOLERANCE, max_iterations=5000))
    return jax.device_get(rollout(model, state, stepper, STEPS, forces, every=10)[1])


@CONVEX_LAW_LONG
@pytest.mark.parametrize("body", [CUBE, CAPSULE, JAW])
def test_held_by_friction_without_creep(law: Law, body: int) -> None:
    """A body held by friction drifts over a second by less than the solver's tolerance;
    mujoco#3328: 50-2300 µm/s, genesis#2872: 4.5 mm/s."""
    trajectory = gripped(law)
    assert np.all(trajectory.report.solver.status == 0)
    start = 10
    displacement = trajectory.state.position[start:, body] - trajectory.state.position[start, body]
    time = STEPS * H - start * 10 * H
    assert np.linalg.norm(displacement, axis=1).max() <= TOLERANCE * time
    assert np.abs(trajectory.state.position[-1, body, 2]) <= 1e-7
