"""Test height fields of models: the names of their contacts, and how much of them is looked at."""

import jax
import numpy as np

from jaxccp.collision.detect import detect
from jaxccp.model import Box, ConvexMesh, HeightField, Sphere
from jaxccp.scene import ModelBuilder


def test_contacts_of_a_face_of_many_corners_have_names_of_their_own() -> None:
    """The cap of a prism of 64 sides is cut in half by the border of the field, which crosses
    opposite sides of it."""
    angle = (np.arange(64) + 0.5) * 2 * np.pi / 64
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    builder = ModelBuilder()
    builder.add_shape(0, HeightField(np.zeros((3, 3)), (3, 3)))
    mesh = ConvexMesh(np.concatenate([ring, ring + np.array([0, 0, 0.2])]))
    builder.add_solid(mesh, 1.0, position=(3, 1.5, 0.1))
    model, state = builder.build()
    found = jax.device_get(jax.jit(detect)(model, state))
    live = found.gap < 1e-3
    for y in (0.5, 2.5):
        corner = np.linalg.norm(found.position[live] - [3, y, 0], axis=1)
        assert corner.min() < 1e-2
    names = found.feature[live]
    assert len(names) >= 4 and len(np.unique(names)) == len(names)


def test_the_window_is_as_large_as_the_shapes_that_can_meet_the_field_need() -> None:
    """Large shapes that are fixed, or collide with nothing, do not make the field costly."""

    def window(large: bool) -> int:
        builder = ModelBuilder()
        builder.add_shape(0, HeightField(np.zeros((60, 60)), (3, 3)))
        ball = builder.add_solid(Sphere(0.1), 1.0, position=(0, 0, 0.1))
        if large:
            builder.add_shape(0, Box((2.0, 2.0, 0.1)), position=(0, 0, -1))
            builder.add_shape(ball, Sphere(2.0), group=0, mask=0)
        return builder.build()[0].shapes.grids.window

    assert window(large=True) == window(large=False) == 4


def test_contacts_have_names_of_their_own_in_a_large_field() -> None:
    """Names are not negative, which would mean that there is no contact, and tell the contacts of
    two shapes apart, of a box across the row and the column from which on numbers repeat."""
    builder = ModelBuilder()
    builder.add_shape(0, HeightField(np.zeros((600, 600)), (30, 30)))
    builder.add_solid(Sphere(0.1), 1.0, position=(0, 29.5, 0.1))
    pitch = 60 / 599
    for place in ((5.0, 29.5), (512 * pitch - 30, 512 * pitch - 30)):
        builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(*place, 0.1))
    model, state = builder.build()
    found = jax.device_get(jax.jit(detect)(model, state))
    live = found.gap < 1e-3
    names = np.column_stack([found.shapes, found.feature])[live]
    assert (names[:, 2] >= 0).all() and len(np.unique(names, axis=0)) == len(names)
    assert np.unique(names[:, :2], axis=0).shape == (3, 2)
