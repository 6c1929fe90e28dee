"""Test that the kernel of spheres on height fields finds what the shared kernel does."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.collision import Geometry
from jaxccp.collision.cores import core_table
from jaxccp.collision.kernels.terrain import POINT_BITS, terrain
from jaxccp.collision.kernels.terrain_sphere import terrain_sphere
from jaxccp.model import HeightField
from jaxccp.scene.tables.mesh_tables import grid_table

COUNT, HALF = 200, 1.0
RADII = (0.02, 0.3)
MAX_DISTANCE = 0.1
"""Gaps that are compared [m]; from further away the window need not hold the nearest point."""


def pairs() -> tuple[Geometry, Geometry]:
    """Return a rough field, and spheres of many sizes below, in, on and above it."""
    random = np.random.default_rng(3)
    ground = HeightField(random.uniform(0, 0.3, (9, 9)), (HALF, HALF))
    grid = jax.tree.map(lambda leaf: jnp.repeat(leaf, COUNT, 0), _arrays(ground))
    rotation = jnp.broadcast_to(jnp.eye(3), (COUNT, 3, 3))
    place = random.uniform([-HALF, -HALF, 0.0], [HALF, HALF, 0.6], (COUNT, 3))
    place[::8, 2] -= 0.5
    size = jnp.broadcast_to(jnp.array([HALF, HALF, 1.0]), (COUNT, 3))
    field = Geometry(jnp.zeros((COUNT, 3)), rotation, size, jnp.zeros(COUNT), grid=grid)
    radius = jnp.asarray(random.uniform(*RADII, COUNT))
    sphere = Geometry(jnp.asarray(place), rotation, jnp.zeros((COUNT, 3)), radius)
    return field, replace(sphere, core=core_table([("sphere", sphere)]))


def _arrays(ground: HeightField) -> Any:
    return grid_table([ground], reach=RADII[1] + MAX_DISTANCE)


def test_it_finds_what_the_shared_kernel_finds() -> None:
    """Triangles, gaps, places and normals agree, and how gaps change with a motion."""
    field, sphere = pairs()
    move = jnp.asarray(np.random.default_rng(4).standard_normal((COUNT, 3)))

    def contacts_by(kernel: Any) -> tuple[Any, Any]:
        def at(place: jax.Array) -> Any:
            return jax.vmap(kernel)(field, replace(sphere, position=place))

        return jax.jit(lambda: jax.jvp(at, (sphere.position,), (move,)))()

    (special, slope), (shared, expected) = jax.device_get(
        (contacts_by(terrain_sphere), contacts_by(terrain))
    )
    compared = 0
    for i in range(COUNT):
        names = [
            {
                int(name) >> POINT_BITS: k
                for k, name in enumerate(m.feature[i])
                if m.distance[i, k] < MAX_DISTANCE
            }
            for m in (special, shared)
        ]
        assert names[0].keys() == names[1].keys()
        for name, k in names[0].items():
            j = names[1][name]
            assert special.distance[i, k] == pytest.approx(shared.distance[i, j], abs=1e-9)
            np.testing.assert_allclose(special.normal[i, k], shared.normal[i, j], atol=1e-7)
            np.testing.assert_allclose(special.position[i, k], shared.position[i, j], atol=1e-7)
            assert slope.distance[i, k] == pytest.approx(expected.distance[i, j], abs=1e-6)
            compared += 1
    assert compared > COUNT / 2
    below = np.asarray(sphere.position)[:, 2] < 0
    assert below.any() and (special.distance[below].min(axis=1) < 0).all()
