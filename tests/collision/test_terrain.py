"""Height fields against planes they could be, and what is particular to them."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.collision import NO_CONTACT, PAIRS
from jaxccp.model import HeightField
from jaxccp.scene.tables import grid_table
from tests.collision.scenes import geometry, pick, reach, shapes

KINDS = ["sphere", "box"]
"""One that touches in a point and one in polygons; the others differ in their points only."""
HALF = (2.0, 1.5)
SLOPE = np.array([0.3, -0.2])
COUNT = 40


def field(height) -> HeightField:
    """A 13 × 9 grid of a function of x and y."""
    x, y = np.meshgrid(np.linspace(-HALF[0], HALF[0], 13), np.linspace(-HALF[1], HALF[1], 9))
    return HeightField(height(x, y), HALF)


GROUNDS = {
    "slope": field(lambda x, y: SLOPE[0] * x + SLOPE[1] * y),
    "ridge": field(lambda x, y: -0.5 * np.abs(x)),
    "valley": field(lambda x, y: 0.5 * np.abs(x)),
}
TABLE = grid_table(list(GROUNDS.values()), reach=0.75)


def ground(name: str, count: int | None = None):
    row = list(GROUNDS).index(name)
    one = replace(geometry((0, 0, 0), GROUNDS[name].size), grid=pick(TABLE, row))
    if count is None:
        return one
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *jnp.shape(x))), one)


@cache
def kernel(kind: str):
    return jax.jit(jax.vmap(PAIRS["height_field", kind].kernel))


@pytest.mark.parametrize("kind", KINDS)
def test_a_slope_is_a_plane(kind: str) -> None:
    """Gap and normal, apart and overlapping, at any place within the cells."""
    rng = np.random.default_rng(0)
    b = shapes(kind, COUNT, rng, spread=0.3)
    normal = np.array([*-SLOPE, 1]) / np.linalg.norm([*SLOPE, 1])
    below = np.array(
        [reach(kind, jax.tree.map(np.asarray, pick(b, i)), -normal) for i in range(COUNT)]
    )
    # `reach` counts from the origin: the height of the lowest point, then as we like it.
    wanted = rng.uniform(-0.05, 0.05, COUNT)
    b = replace(b, position=b.position + (wanted + below)[:, None] * normal)
    m = kernel(kind)(ground("slope", COUNT), b)
    np.testing.assert_allclose(np.min(m.distance, axis=1), wanted, atol=1e-6)
    near = np.asarray(m.distance) < np.asarray(wanted)[:, None] + 1e-3
    np.testing.assert_allclose(np.asarray(m.normal)[near] @ normal, 1, atol=1e-9)


def test_a_box_on_a_slope_stands_on_its_corners() -> None:
    normal = np.array([*-SLOPE, 1]) / np.linalg.norm([*SLOPE, 1])
    turn = Rotation.align_vectors(normal, [0, 0, 1])[0].as_matrix()
    half = np.array([0.25, 0.2, 0.1])
    b = geometry((0.13, 0.07, 0) + normal * 0.099, half, 0, turn)
    shift = normal * (SLOPE @ [0.13, 0.07]) * normal[2]
    b = replace(b, position=b.position + shift)
    a, b = ground("slope", COUNT), jax.tree.map(lambda x: jnp.broadcast_to(x, (COUNT, *x.shape)), b)
    m = pick(kernel("box")(a, b), 0)
    live = np.asarray(m.distance) < 0.01
    np.testing.assert_allclose(np.asarray(m.distance)[live], -1e-3, atol=1e-9)
    local = (np.asarray(m.position)[live] - np.asarray(b.position[0])) @ turn
    for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        gaps = np.abs(local[:, :2] - [x * half[0], y * half[1]]).max(axis=1)
        assert gaps.min() < 1e-6


def test_a_ball_on_a_ridge_and_in_a_valley() -> None:
    """On the ridge it touches the edge; in the valley both sides, and never the edge between."""
    ball = [geometry((0, 0.1, z), (0, 0, 0), 0.2) for z in (0.21, 0.2 * np.hypot(1, 0.5) - 1e-3)]
    b = jax.tree.map(lambda *x: jnp.stack([*x] * (COUNT // 2)), *ball)
    a = jax.tree.map(
        lambda x, y: jnp.stack([x, y] * (COUNT // 2)), ground("ridge"), ground("valley")
    )
    m = kernel("sphere")(a, b)
    assert np.all(np.isfinite(m.position))
    on_ridge, in_valley = pick(m, 0), pick(m, 1)
    live = np.asarray(on_ridge.distance) < 0.05
    np.testing.assert_allclose(np.asarray(on_ridge.distance)[live], 0.01, atol=1e-7)
    np.testing.assert_allclose(np.asarray(on_ridge.normal)[live][:, 2], 1, atol=1e-6)
    live = np.asarray(in_valley.distance) < 0.05
    sides = np.asarray(in_valley.normal)[live]
    gap = (0.2 * np.hypot(1, 0.5) - 1e-3) / np.hypot(1, 0.5) - 0.2
    np.testing.assert_allclose(np.asarray(in_valley.distance)[live], gap, atol=1e-7)
    expected = 0.5 / np.hypot(1, 0.5)
    # A neighbouring triangle may add a point that is tilted by less than the filter resolves.
    np.testing.assert_allclose(np.abs(sides[:, 0]), expected, atol=1e-3)
    assert {-1, 1} == set(np.sign(sides[:, 0]))


def test_deep_under_ground_it_is_lifted_straight_up_and_beside_it_nothing_is() -> None:
    sunk = geometry((0.1, 0.2, -1.0 + 0.03 - 0.04), (0, 0, 0), 0.1)
    outside = geometry((5.0, 0, 0), (0, 0, 0), 0.1)
    b = jax.tree.map(lambda *x: jnp.stack([*x] * (COUNT // 2)), sunk, outside)
    m = kernel("sphere")(ground("slope", COUNT), b)
    normal = np.array([*-SLOPE, 1]) / np.linalg.norm([*SLOPE, 1])
    least = np.argmin(m.distance[0])
    height = np.asarray(sunk.position) @ normal
    np.testing.assert_allclose(m.distance[0, least], height - 0.1, atol=1e-6)
    np.testing.assert_allclose(m.normal[0, least], normal, atol=1e-9)
    assert np.all(np.asarray(m.distance[1]) > 1.0)
    assert np.all(np.asarray(m.distance[1]) <= NO_CONTACT)
