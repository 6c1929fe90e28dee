"""Test height fields against planes that they could be, and at edges and below the ground."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.collision import NO_CONTACT, Geometry
from jaxccp.collision.kernels.terrain import terrain
from jaxccp.collision.kernels.terrain_sphere import terrain_sphere
from jaxccp.model import HeightField
from jaxccp.scene.tables.mesh_tables import grid_table
from tests.collision.pool import (
    KINDS,
    Pool,
    directional_derivative,
    displaced,
    motions,
    placed,
    values,
)
from tests.collision.shape_pairs import cast, geometry, in_numpy, pick, reach, shapes

HALF = (2.0, 1.5)
SLOPE = np.array([0.3, -0.2])
NORMAL = np.array([*-SLOPE, 1]) / np.linalg.norm([*SLOPE, 1])
COUNT = 6
"""Shapes of each kind; every test places some of them, at least."""
MOVE = 5e-6
CLOSE = 0.1


def field(height) -> HeightField:
    """Return a 9 × 7 grid of a function of x and y."""
    x, y = np.meshgrid(np.linspace(-HALF[0], HALF[0], 9), np.linspace(-HALF[1], HALF[1], 7))
    return HeightField(height(x, y), HALF)


GROUNDS = {
    "slope": field(lambda x, y: SLOPE[0] * x + SLOPE[1] * y),
    "ridge": field(lambda x, y: -0.5 * np.abs(x)),
    "valley": field(lambda x, y: 0.5 * np.abs(x)),
}
TABLE = grid_table(list(GROUNDS.values()), reach=0.75)


def ground(names: list[str]) -> Geometry:
    """Return a ground for each shape of each kind, taking the names in turn."""
    index = [list(GROUNDS).index(names[i % len(names)]) for i in range(COUNT * len(KINDS))]
    size = np.broadcast_to([*HALF, 1.0], (len(index), 3))
    flat = np.broadcast_to(np.eye(3), (len(index), 3, 3))
    fields = geometry(np.zeros((len(index), 3)), size, np.zeros(len(index)), flat)
    return replace(fields, grid=pick(TABLE, np.array(index)))


def contacts(x, some: tuple[Pool, Geometry]):
    m = jax.vmap(terrain)(some[1], placed(some[0], x))
    return values(m, CLOSE), m


@jax.jit
def compiled(some: Pool, fields: Geometry, direction: dict):
    """Return values, manifolds, and derivatives of the values along a motion.

    Args:
        some: shapes of every kind.
        fields: the ground of each shape.
        direction: the motion, ten numbers for every shape.
    """
    first, (results, manifold) = directional_derivative(contacts, (some, fields), direction)
    return results, manifold, first


def touch(kind: str, shape: Geometry, names: list[str]):
    """Return manifolds of shapes of one kind, each on its ground.

    Args:
        kind: the kind of shape.
        shape: the shapes.
        names: names of the grounds, taken in turn.
    """
    some = dict(on_the_slope()[0])
    every = len(shape.radius)
    some[kind] = jax.tree.map(lambda x, y: jnp.concatenate([x, y[every:]]), shape, some[kind])
    _, manifold, *_ = compiled(some, ground(names), motions(some))
    return pick(of(kind, in_numpy(manifold)[0]), slice(every))


def of(kind: str, tree):
    start = COUNT * KINDS.index(kind)
    return pick(tree, slice(start, start + COUNT))


@cache
def on_the_slope() -> tuple[Pool, dict]:
    """Return shapes of every kind, apart from the slope and overlapping it, and their gaps."""
    rng = np.random.default_rng(0)
    some, gaps = {}, {}
    for kind in KINDS:
        b = shapes(kind, COUNT, rng, spread=0.3)
        if kind == "convex":
            b = replace(b, size=b.size * 0.7)
        below = np.array([reach(kind, in_numpy(pick(b, i))[0], -NORMAL) for i in range(COUNT)])
        # `reach` counts from the origin: the height of the lowest point, then as we like it.
        gaps[kind] = rng.uniform(-0.05, 0.05, COUNT)
        some[kind] = replace(b, position=b.position + (gaps[kind] + below)[:, None] * NORMAL)
    return some, gaps


@cache
def slope_contacts():
    """Return contacts and derivatives on the slope, whether smooth, and central differences."""
    some = on_the_slope()[0]
    direction = motions(some, np.random.default_rng(3))
    fields = ground(["slope"])
    back, centre, ahead = (
        in_numpy(
            *compiled({k: displaced(some[k], t * direction[k]) for k in KINDS}, fields, direction)
        )
        for t in (-MOVE, 0.0, MOVE)
    )
    same = np.all(
        (back[1].feature == centre[1].feature) & (ahead[1].feature == centre[1].feature), 1
    )
    kink = np.abs(ahead[0] + back[0] - 2 * centre[0]).max(axis=(1, 2)) / MOVE
    return centre, same & (kink < 1e-3), (ahead[0] - back[0]) / (2 * MOVE)


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=pytest.mark.long) if k == "capsule" else k for k in KINDS]
)
def test_a_slope_is_a_plane(kind: str) -> None:
    """Gap and normal are a plane's, apart and overlapping, at any place within the cells."""
    m = of(kind, slope_contacts()[0][1])
    expected = on_the_slope()[1][kind]
    np.testing.assert_allclose(np.min(m.distance, axis=1), expected, atol=1e-6)
    close = m.distance < expected[:, None] + 1e-3
    np.testing.assert_allclose(m.normal[close] @ NORMAL, 1, atol=1e-9)
    live = m.distance < NO_CONTACT
    for features, alive in zip(m.feature, live, strict=True):
        assert len(set(features[alive])) == alive.sum()


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives(kind: str) -> None:
    """First derivatives agree with central differences."""
    (_, _, first), smooth, difference = of(kind, slope_contacts())
    assert np.isfinite(first).all()
    assert smooth.mean() >= 0.5
    scale = 1 + np.abs(difference[smooth]).max()
    np.testing.assert_allclose(first[smooth], difference[smooth], rtol=2e-5, atol=2e-5 * scale)


@pytest.mark.slow
def test_float32() -> None:
    """Gaps and normals have nearly all digits in float32, and reverse derivatives are finite."""
    some = on_the_slope()[0]
    fields = ground(["slope", "ridge", "valley"])

    def total(x, some):
        rows, m = contacts(x, some)
        return jnp.sum(rows), m

    gradient = jax.jit(jax.grad(total, has_aux=True))
    slope, m = gradient(*cast((motions(some), (some, fields)), jnp.float32))
    assert m.distance.dtype == jnp.float32
    assert all(np.isfinite(x).all() for x in jax.tree.leaves((slope, m)))
    for kind in KINDS:
        on_slope = np.arange(COUNT * KINDS.index(kind), COUNT * (KINDS.index(kind) + 1)) % 3 == 0
        of_kind = of(kind, m)
        distance, normal = of_kind.distance[on_slope], of_kind.normal[on_slope]
        expected = on_the_slope()[1][kind][on_slope]
        np.testing.assert_allclose(np.min(distance, axis=1), expected, atol=1e-6)
        lowest = normal[np.arange(len(normal)), np.argmin(distance, axis=1)]
        np.testing.assert_allclose(lowest, np.broadcast_to(NORMAL, lowest.shape), atol=1e-6)


def test_a_box_on_a_slope_stands_on_its_corners() -> None:
    rotation = Rotation.align_vectors(NORMAL, [0, 0, 1])[0].as_matrix()
    half = np.array([0.25, 0.2, 0.1])
    centre = np.array([0.13, 0.07, 0]) + NORMAL * 0.099
    centre += NORMAL * (SLOPE @ [0.13, 0.07]) * NORMAL[2]
    box = geometry(centre[None], half[None], np.zeros(1), rotation[None])
    m = pick(touch("box", box, ["slope"]), 0)
    live = m.distance < 0.01
    np.testing.assert_allclose(m.distance[live], -1e-3, atol=1e-9)
    local = (m.position[live] - centre) @ rotation
    for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        gaps = np.abs(local[:, :2] - [x * half[0], y * half[1]]).max(axis=1)
        assert gaps.min() < 1e-6


def balls(*places, radius: float) -> Geometry:
    count = len(places)
    rotation = np.broadcast_to(np.eye(3), (count, 3, 3))
    return geometry(np.array(places), np.zeros((count, 3)), np.full(count, radius), rotation)


def test_a_ball_on_a_ridge_and_in_a_valley() -> None:
    """A ball touches the edge of a ridge, and both sides of a valley, never the edge between."""
    high, low = 0.21, 0.2 * np.hypot(1, 0.5) - 1e-3
    at = (0, 0.1, high), (0, 0.1, low)
    m = touch("sphere", balls(*at, radius=0.2), ["ridge", "valley"])
    assert np.all(np.isfinite(m.position))
    on_ridge, in_valley = pick(m, 0), pick(m, 1)
    live = on_ridge.distance < 0.05
    np.testing.assert_allclose(on_ridge.distance[live], 0.01, atol=1e-7)
    np.testing.assert_allclose(on_ridge.normal[live][:, 2], 1, atol=1e-6)
    live = in_valley.distance < 0.05
    sides = in_valley.normal[live]
    gap = low / np.hypot(1, 0.5) - 0.2
    np.testing.assert_allclose(in_valley.distance[live], gap, atol=1e-7)
    expected = 0.5 / np.hypot(1, 0.5)
    # A neighbouring triangle may add a point that is tilted by less than the filter resolves.
    np.testing.assert_allclose(np.abs(sides[:, 0]), expected, atol=1e-3)
    assert {-1, 1} == set(np.sign(sides[:, 0]))


def test_deep_under_ground_it_is_lifted_straight_up_and_beside_it_nothing_is() -> None:
    sunk = np.array([0.1, 0.2, -1.0 + 0.03 - 0.04])
    m = touch("sphere", balls(sunk, (5.0, 0, 0), radius=0.1), ["slope"])
    deepest = np.argmin(m.distance[0])
    np.testing.assert_allclose(m.distance[0, deepest], sunk @ NORMAL - 0.1, atol=1e-6)
    np.testing.assert_allclose(m.normal[0, deepest], NORMAL, atol=1e-9)
    assert np.all(m.distance[1] > 1.0)
    assert np.all(m.distance[1] <= NO_CONTACT)


def test_small_shapes_under_a_valley_are_lifted() -> None:
    """Under its edge no side has a point that projects into the other."""
    deep = np.array([0.0, 0.1, -0.2])
    flat = np.eye(3)[None]
    for kind, shape in (
        ("sphere", balls(deep, radius=0.05)),
        ("box", geometry(deep[None], np.full((1, 3), 0.05), np.zeros(1), flat)),
    ):
        m = pick(touch(kind, shape, ["valley"]), 0)
        live = m.distance < 0
        assert np.unique(np.sign(m.normal[live][:, 0])).tolist() == [-1, 1], kind
        assert m.distance.min() < -0.2 / np.hypot(1, 0.5), kind


def test_a_field_of_small_cells_has_the_normals_of_its_slope() -> None:
    """A ball of 1 mm whose centre is below cells of 0.1 mm, in float32, is lifted along the normal
    of their slope."""
    x, y = np.meshgrid(np.linspace(-2e-4, 2e-4, 5), np.linspace(-2e-4, 2e-4, 5))
    fine = HeightField(SLOPE[0] * x + SLOPE[1] * y, (2e-4, 2e-4))
    radius = 1e-3
    centre = -5e-5 * NORMAL
    flat = np.eye(3)[None]
    a = geometry(np.zeros((1, 3)), np.array([[2e-4, 2e-4, 1.0]]), np.zeros(1), flat)
    a = replace(a, grid=grid_table([fine], reach=radius))
    b = geometry(centre[None], np.zeros((1, 3)), np.array([radius]), flat)
    m = jax.jit(jax.vmap(terrain_sphere))(*cast((a, b), jnp.float32))
    deepest = np.argmin(m.distance[0])
    np.testing.assert_allclose(m.distance[0, deepest], -1.05e-3, rtol=1e-5)
    np.testing.assert_allclose(m.normal[0, deepest], NORMAL, atol=1e-5)
