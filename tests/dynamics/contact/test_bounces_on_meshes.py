"""Test bounces on turning convex meshes, whose normals have no second derivatives in time."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.collision.detect import detect
from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.model import Box, ConvexMesh, Material, Model, Sphere, State
from jaxccp.model.shapes import Shape
from jaxccp.scene import ModelBuilder

HALF = 0.1
CORNERS = HALF * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
H = 5e-3


def scene(cube: Shape) -> tuple[Model, State]:
    """Return a ball 2 mm above a turning cube, which it meets within a step."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    smooth = Material(friction=0.0, restitution=0.8)
    builder.add_solid(cube, 1.0, smooth, angular_velocity=(3.0, -4.0, 2.0))
    builder.add_solid(
        Sphere(0.05), 0.5, smooth, position=(0.03, 0.04, 0.152), velocity=(0.3, 0.1, -2.0)
    )
    return builder.build(max_contacts=1)


def velocities(cube: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Return the velocities after the step with the bounce, and their derivatives by the position
    of the ball."""
    model, state = scene(cube)
    stepper = EulerImplicitLinearized(H)

    def after(shift: jax.Array) -> jax.Array:
        moved = replace(state, position=state.position.at[2].add(shift))
        end = stepper.advance(model, stepper.init(model, moved))[0].state
        return jnp.concatenate([end.velocity[1:].ravel(), end.angular_velocity[1:].ravel()])

    value, slope = jax.jit(lambda shift: (after(shift), jax.jacfwd(after)(shift)))(jnp.zeros(3))
    return np.asarray(value), np.asarray(slope)


def test_a_ball_bounces_on_a_mesh_as_on_the_same_box() -> None:
    box, box_slope = velocities(Box((HALF, HALF, HALF)))
    mesh, mesh_slope = velocities(ConvexMesh(CORNERS))
    assert box[5] > 0.2  # it has bounced
    # The box's normal is known to second order in time, the mesh's to first.
    turned = 0.5 * (H * np.linalg.norm([3.0, -4.0, 2.0])) ** 2
    np.testing.assert_allclose(mesh[:9], box[:9], atol=2 * turned * np.abs(box).max())
    # The impulse passes the ball's centre by a part of its radius.
    impulse, radius, inertia = 0.5 * (box[5] + 2.0), 0.05, 0.4 * 0.5 * 0.05**2
    np.testing.assert_allclose(mesh[9:], box[9:], atol=turned * impulse * radius / inertia)
    np.testing.assert_allclose(mesh_slope, box_slope, atol=0.05 * np.abs(box_slope).max())


def test_rates_of_contacts_with_meshes_are_of_the_size_of_the_motion() -> None:
    contacts = detect(*scene(ConvexMesh(CORNERS)))
    np.testing.assert_allclose(contacts.normal_rate, [[4.0, 3.0, 0.0]], atol=1e-5)
    np.testing.assert_array_equal(contacts.normal_acceleration, 0.0)

    def rate(shift: jax.Array) -> jax.Array:
        model, state = scene(ConvexMesh(CORNERS))
        return detect(model, replace(state, position=state.position + shift)).normal_rate

    slope = jax.jacfwd(rate)(jnp.zeros((3, 3)))
    np.testing.assert_allclose(slope, 0.0, atol=1e-3)
