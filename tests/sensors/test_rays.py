"""Test rays against shapes, as MuJoCo has them, and their derivatives."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.spatial.transform import Rotation

from jaxccp import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HeightField,
    ModelBuilder,
    Plane,
    Sensor,
    Site,
    Sphere,
    attach_sensors,
)
from jaxccp.collision.manifold import Geometry
from jaxccp.model import SHAPES
from jaxccp.model.shapes import Shape
from jaxccp.scene.tables.mesh_tables import grid_table, hull_table
from jaxccp.sensors.rays import RAY_LENGTHS, ray_lengths
from tests.collision.shape_pairs import cast

mujoco = pytest.importorskip("mujoco")

CENTRE, HALF = np.array([0.1, -0.2, 0.3]), np.array([0.1, 0.2, 0.3])
CORNERS = HALF * np.stack(np.meshgrid(*[[-1, 1]] * 3), axis=-1).reshape(-1, 3)
SOLIDS: dict[str, tuple[Shape, int, list[float]]] = {
    "sphere": (Sphere(0.2), 2, [0.2, 0, 0]),
    "capsule": (Capsule(0.1, 0.3), 3, [0.1, 0.3, 0]),
    "ellipsoid": (Ellipsoid((0.1, 0.2, 0.3)), 4, [0.1, 0.2, 0.3]),
    "cylinder": (Cylinder(0.1, 0.3), 5, [0.1, 0.3, 0]),
    "box": (Box((0.1, 0.2, 0.3)), 6, [0.1, 0.2, 0.3]),
    "convex": (ConvexMesh(CORNERS), 6, [0.1, 0.2, 0.3]),
    "plane": (Plane(), 0, [0, 0, 0]),
}
"""Shapes, each with the number of MuJoCo's shape and its size."""
LEVEL = HeightField(np.zeros((2, 2)), (0.1, 0.1))


def lengths(
    shape: Shape, orientation: np.ndarray, origin: np.ndarray, direction: np.ndarray
) -> np.ndarray:
    builder = ModelBuilder()
    builder.add_body(1.0, np.eye(3))
    builder.add_shape(0, shape, CENTRE, orientation)
    model, state = builder.build()
    visible = np.ones((len(origin), 1), bool)
    return np.asarray(
        ray_lengths(model, state, jnp.asarray(origin), jnp.asarray(direction), visible)
    )


@pytest.mark.parametrize("kind", SOLIDS)
def test_rays_meet_shapes_where_mujocos_do(kind: str) -> None:
    """Rays from outside and inside, many of them grazing or missing, end where MuJoCo's do."""
    shape, number, size = SOLIDS[kind]
    rng = np.random.default_rng(3)
    orientation = rng.normal(size=4)
    orientation /= np.linalg.norm(orientation)
    origin = CENTRE + 0.3 * rng.normal(size=(200, 3))
    direction = CENTRE - origin + 0.15 * rng.normal(size=(200, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, orientation)
    args = (CENTRE, rotation, np.array(size, float))
    expected = np.array(
        [
            mujoco.mju_rayGeom(*args, *ray, number, None)
            for ray in zip(origin, direction, strict=True)
        ]
    )
    assert np.sum(expected >= 0) > 20
    actual = lengths(shape, orientation, origin, direction)
    np.testing.assert_allclose(actual, np.where(expected >= 0, expected, np.inf), atol=1e-12)


def test_rays_meet_a_mesh_with_points_along_its_edges() -> None:
    """The first three corners of many of its faces lie on a line to within float32."""
    side = np.linspace(-1, 1, 4)
    grid = np.stack(np.meshgrid(side, side, side), axis=-1).reshape(-1, 3) * (0.6, 0.3, 0.015)
    turn, level = Rotation.random(rng=np.random.default_rng(0)), np.array([1.0, 0, 0, 0])
    mesh = ConvexMesh(turn.apply(grid).astype(np.float32))
    rng = np.random.default_rng(0)
    origin = CENTRE + rng.normal(size=(200, 3))
    direction = CENTRE + turn.apply(rng.uniform(-1.1, 1.1, (200, 3)) * (0.6, 0.3, 0.0)) - origin
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    box = lengths(Box((0.6, 0.3, 0.015)), turn.as_quat(scalar_first=True), origin, direction)
    actual = lengths(mesh, level, origin, direction)
    assert np.isfinite(box).sum() > 100
    np.testing.assert_allclose(actual, box, atol=1e-5)


def test_small_spheres_far_away_are_met_in_float32() -> None:
    origin = jnp.array([[0.005, 0, -50.0], [0.015, 0, -50.0]], jnp.float32)
    direction = jnp.array([[0, 0, 1.0], [0, 0, 1.0]], jnp.float32)
    radius = jnp.full(2, 0.01, jnp.float32)
    point = jnp.zeros((2, 3), jnp.float32)
    geometry = Geometry(point, jnp.zeros((2, 3, 3), jnp.float32), point, radius)
    expected = [50 - np.sqrt(0.01**2 - 0.005**2), np.inf]
    actual = RAY_LENGTHS["sphere"](origin, direction, geometry)
    np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_rays_almost_along_the_axis_have_derivatives_in_float32() -> None:
    """The cap of an upright capsule, tilted by less than rounding, decides what they are."""
    size, radius = jnp.array([[0.1, 0.1, 0.3]], jnp.float32), jnp.array([0.1], jnp.float32)
    frame = jnp.eye(3, dtype=jnp.float32)[None]
    geometry = Geometry(jnp.zeros((1, 3), jnp.float32), frame, size, radius)
    origin = jnp.array([[0.05, 0, 2.0]], jnp.float32)

    def length(tilt: Array, kind: str) -> Array:
        direction = jnp.stack([tilt, jnp.zeros_like(tilt), jnp.full_like(tilt, -1.0)])[None]
        return RAY_LENGTHS[kind](origin, direction, geometry)[0]

    # At the cap the height falls by tan 30° across; the ray goes across by its length.
    height = 0.3 + np.sqrt(0.1**2 - 0.05**2)
    slope = {"capsule": (2 - height) / np.sqrt(3), "cylinder": 0.0}
    for kind, expected in slope.items():
        for tilt in (1e-10, 1e-14, 0.0):
            actual = jax.grad(length)(jnp.array(tilt, jnp.float32), kind)
            np.testing.assert_allclose(actual, expected, atol=1e-4)


@pytest.mark.parametrize("tilt", [1e-20, 1e-30, 0.0])
def test_rays_almost_along_faces_have_derivatives_in_float32(tilt: float) -> None:
    """A face across the ray is met at the same distance whatever the small tilt; faces almost along
    it, and ground below it, are not met."""
    size = jnp.array([[0.1, 0.1, 0.3]])
    hull, grid = hull_table([ConvexMesh(CORNERS / HALF)]), grid_table([LEVEL], 1.0)
    shape = cast(Geometry(0 * size, jnp.eye(3)[None], size, size[:, 0], hull, grid), jnp.float32)

    def length(tilt: Array, kind: str, origin: np.ndarray, sides: np.ndarray) -> Array:
        start, direction = jnp.asarray(origin, tilt.dtype), tilt * sides[0] + sides[1]
        return RAY_LENGTHS[kind](start[None, None], direction[None, None], shape)[0, 0]

    run = jax.value_and_grad(length)
    down, level = -np.eye(3, dtype=np.float32)[[0, 2]], -np.eye(3, dtype=np.float32)[[2, 0]]
    for kind, origin, sides, expected in (
        ("box", (0.05, 0, 2.0), down, 1.7),
        ("convex", (0.05, 0, 2.0), down, 1.7),
        ("cylinder", (2.0, 0, 0.1), level, 1.9),
        ("plane", (2.0, 0, 0.1), level, np.inf),
        ("height_field", (2.0, 0, 0.1), level, np.inf),
    ):
        value, slope = run(jnp.array(tilt, jnp.float32), kind, np.array(origin), sides)
        assert value == pytest.approx(expected, rel=1e-6), kind
        assert slope == 0.0, kind


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_no_ray_falls_between_the_triangles_of_a_height_field(dtype: type) -> None:
    """Rays to points on the edges within and between cells, from above and from far aside."""
    cells, place = 10, (np.arange(10) + 0.5) / 10
    first, second = (2 * (np.array(x) + place) / cells - 1 for x in ([[3]], [[6]]))
    edge = np.full_like(place, 2 * 6 / cells - 1)
    points = np.stack([[first[0], -first[0], 0 * place], [second[0], edge, 0 * place]])
    points = np.moveaxis(points, 1, 2).reshape(-1, 3) * (1.1, 1.1, 0)
    grid = grid_table([HeightField(np.zeros((cells + 1, cells + 1)), (1.1, 1.1))], 1.0)
    size = jnp.array([[1.1, 1.1, 1.0]])
    shape = cast(Geometry(0 * size, jnp.eye(3)[None], size, 0 * size[:, 0], grid=grid), dtype)
    rng = np.random.default_rng(0)
    towards = np.concatenate([[[0, 0, -1.0]], rng.normal(size=(60, 3))])
    towards[:, 2] = -np.abs(towards[:, 2]) - 0.3
    towards /= np.linalg.norm(towards, axis=1, keepdims=True)
    origin = (points[:, None] - 8 * towards).reshape(-1, 1, 3)
    direction = np.broadcast_to(towards, (len(points), *towards.shape)).reshape(-1, 1, 3)
    start, along = jnp.asarray(origin, dtype), jnp.asarray(direction, dtype)
    met = RAY_LENGTHS["height_field"](start, along, shape)
    np.testing.assert_allclose(met, 8.0, atol=1e-5)


def test_many_large_meshes_take_little_memory() -> None:
    """Less than a quarter of a number for each face and vertex of each, in reverse mode too."""
    rng, builder, count = np.random.default_rng(0), ModelBuilder(), 3
    for _ in range(count):
        points = rng.normal(size=(400, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        builder.add_shape(builder.add_body(1.0, np.eye(3)), ConvexMesh(points), CENTRE)
    model, state = builder.build()
    origin, direction = jnp.array([[0, 0, 3.0]]), jnp.array([[0, 0, -1.0]])
    visible = np.ones((1, count), bool)

    def length(size: Array) -> Array:
        shapes = replace(model.shapes, size=size)
        return ray_lengths(replace(model, shapes=shapes), state, origin, direction, visible).sum()

    for of in (length, jax.grad(length)):
        memory = jax.jit(of).lower(model.shapes.size).compile().memory_analysis()
        assert memory is not None
        assert memory.temp_size_in_bytes < 0.25 * count * 796 * 400 * points.itemsize


def test_rays_meet_the_surface_of_a_height_field() -> None:
    """Rays from above end on a height field; those beside it and from below miss."""
    grid = np.linspace(-1.0, 1.0, 5)
    heights = 0.3 * grid + 0.5 * grid[:, None]
    shape = HeightField(heights[:, :4], (0.75, 1.0), 2.0)
    origin = CENTRE + np.array([[0.2, 0.3, 4.0], [-0.7, 0.9, 4.0], [0.8, 0.0, 4.0], [0, 0, -4.0]])
    direction = np.array([[0.0, 0, -1], [0.0, 0, -1], [0.0, 0, -1], [0, 0, 1.0]])
    x, y = origin[:2, 0] - CENTRE[0] - 0.25, origin[:2, 1] - CENTRE[1]
    actual = lengths(shape, np.array([1.0, 0, 0, 0]), origin, direction)
    height = CENTRE[2] + 2.0 * (0.3 * x + 0.5 * y)
    np.testing.assert_allclose(actual[:2], origin[:2, 2] - height, atol=1e-12)
    assert np.all(np.isinf(actual[2:]))  # beside it, and from below


def test_every_shape_can_be_met() -> None:
    assert set(RAY_LENGTHS) == set(SHAPES)


def test_a_range_finder_of_the_builder() -> None:
    """A range finder sees past its own body, and its derivative is finite where it sees nothing;
    it shows NaN where it sees a shape at NaN."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(0, 0, 2.0), name="box")
    builder.add_solid(Sphere(0.2), 1.0, position=(0, 0, 1.0), name="ball")
    model, state = builder.build()
    down, up = Site("box", quaternion=(0, 1, 0, 0)), Site("box")
    sensors = attach_sensors(
        model, {"down": Sensor("rangefinder", down), "up": Sensor("rangefinder", up)}
    )

    def shown(height: jax.Array) -> jax.Array:
        raised = replace(state, position=state.position.at[2, 2].set(height))
        values = sensors.values(model, raised)
        return jnp.concatenate([values["down"], values["up"]])

    run = jax.jit(lambda z: jax.jvp(shown, (z,), (jnp.ones_like(z),)))
    value, slope = run(jnp.asarray(1.0))
    np.testing.assert_allclose(value, [0.8, -1.0], atol=1e-12)
    np.testing.assert_allclose(slope, [-1.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(run(jnp.asarray(jnp.nan))[0], [np.nan, np.nan])
