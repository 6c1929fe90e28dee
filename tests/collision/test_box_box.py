"""Test in which points two boxes touch, and how deep."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.collision.kernels.box_box import box_box
from jaxccp.collision.kernels.faces import face_normals
from tests.collision.shape_pairs import cast, euler_rotation, geometry, in_numpy, shapes

CUBE = (0.1, 0.1, 0.1)
TABLE = (1.0, 1.0, 0.1)
GAP = 1e-3
ON_CORNER = Rotation.align_vectors([[0, 0, -1]], [[1, 1, 1]])[0].as_matrix()

kernel = jax.jit(box_box)


def touching(a, b, limit=0.01):
    m = kernel(a, b)
    close = np.asarray(m.distance) < limit
    return tuple(np.asarray(x)[close] for x in (m.distance, m.position, m.normal, m.feature))


SETTINGS = {
    "same on same": (CUBE, geometry((0, 0, 0.2), CUBE), 4),
    "small on big": (TABLE, geometry((0.3, 0.2, 0.2), CUBE), 4),
    "big on small": (CUBE, geometry((0.05, -0.03, 0.2), TABLE), 4),
    "shifted": (CUBE, geometry((0.05, 0.08, 0.2), CUBE), 4),
    "turned by 45°": (CUBE, geometry((0, 0, 0.2), CUBE, 0, euler_rotation("z", 45)), 8),
    "turned by 90°": (CUBE, geometry((0, 0, 0.2), CUBE, 0, euler_rotation("z", 90)), 4),
    "upside down": (CUBE, geometry((0, 0, 0.2), CUBE, 0, euler_rotation("x", 180)), 4),
    "on an edge": (
        TABLE,
        geometry((0, 0, 0.1 + 0.1 * 2**0.5), CUBE, 0, euler_rotation("x", 45)),
        2,
    ),
    "on a corner": (TABLE, geometry((0, 0, 0.1 + 0.1 * 3**0.5), CUBE, 0, ON_CORNER), 1),
    "rounded": (CUBE, geometry((0, 0, 0.2), CUBE, 0.02), 4),
}


@pytest.mark.parametrize("gap", [GAP, 0.0, -GAP])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_resting_boxes_have_every_point_once(name, gap, noise):
    size, b, count = SETTINGS[name]
    rng = np.random.default_rng(0)
    shift = np.array([0, 0, gap]) + noise * rng.normal(size=3)
    tilt = Rotation.from_rotvec(noise * rng.normal(size=3)).as_matrix()
    b = geometry(b.position + shift, b.size, b.radius, tilt @ b.rotation)
    distance, position, normal, feature = touching(geometry((0, 0, 0), size), b)
    assert len(distance) == len(set(feature)) == count
    np.testing.assert_allclose(distance, gap, atol=10 * noise + 1e-12)
    np.testing.assert_allclose(normal, np.tile([0, 0, 1], (count, 1)), atol=10 * noise + 1e-12)
    np.testing.assert_allclose(position[:, 2], size[2] + gap / 2, atol=10 * noise + 1e-12)
    distances = np.linalg.norm(position[:, None] - position, axis=-1) + np.eye(count)
    assert distances.min() > 0.01


@pytest.mark.parametrize("gap", [GAP, -GAP])
def test_crossed_edges_touch_once(gap):
    a = geometry((0, 0, 0), CUBE, 0, euler_rotation("x", 45))
    b = geometry((0.02, 0.03, 0.2 * 2**0.5 + gap), CUBE, 0, euler_rotation("y", 45))
    distance, position, normal, _ = touching(a, b)
    np.testing.assert_allclose(distance, [gap], atol=1e-12)
    np.testing.assert_allclose(normal, [[0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(position, [[0.02, 0, 0.1 * 2**0.5 + gap / 2]], atol=1e-12)


def test_diagonal_neighbours_touch_at_their_nearest_corners():
    shift = np.array([0.003, 0.002, 0.001])
    a, b = geometry((0, 0, 0), CUBE), geometry(0.2 + shift, CUBE)
    distance, position, normal, _ = touching(a, b)
    np.testing.assert_allclose(distance, [np.linalg.norm(shift)], atol=1e-12)
    np.testing.assert_allclose(normal, [shift / np.linalg.norm(shift)], atol=1e-12)
    np.testing.assert_allclose(position, [0.1 + shift / 2], atol=1e-12)


def test_sliding_off_a_face_the_gap_and_normal_go_on_continuously():
    a = geometry((0, 0, 0), CUBE)
    gaps, normals = [], []
    for x in np.linspace(0.19, 0.21, 81):
        m = kernel(a, geometry((x, 0.01, 0.205), CUBE))
        deepest = np.argmin(m.distance)
        gaps.append(float(m.distance[deepest]))
        normals.append(np.asarray(m.normal[deepest]))
    assert np.abs(np.diff(gaps)).max() < 6e-4
    assert np.linalg.norm(np.diff(normals, axis=0), axis=1).max() < 0.35


def test_the_deepest_point_has_the_depth_of_the_least_penetrating_axis():
    count = 2000
    rng = np.random.default_rng(1)
    a, b = shapes("box", count, rng, spread=0.15), shapes("box", count, rng, spread=0.15)
    smallest = np.min(jax.jit(jax.vmap(box_box))(a, b).distance, axis=1)
    a, b = in_numpy(a, b)
    radii = np.asarray(a.radius + b.radius)
    checked = 0
    for i in range(count):
        depth = largest_gap(a, b, i)
        if depth >= 0:
            continue
        checked += 1
        scale = min(np.min(a.size[i]), np.min(b.size[i]))
        preference = 5e-3 * scale + 0.01 * abs(depth)
        assert -preference - 1e-9 <= smallest[i] + radii[i] - depth <= preference + 1e-9, i
    assert checked > 500


def largest_gap(a, b, i) -> float:
    """Return the largest gap of the separating-axis test of the cores, projecting all corners [m].

    Args:
        a: first boxes.
        b: second boxes.
        i: place of the pair in both.
    """
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1)
    boxes = []
    for box in (a, b):
        half = np.asarray(box.size[i] - box.radius[i])[:, None]
        boxes.append(np.asarray(box.position[i])[:, None] + box.rotation[i] @ (signs * half))
    first, second = np.asarray(a.rotation[i]).T, np.asarray(b.rotation[i]).T
    crosses = [np.cross(e, f) for e in first for f in second]
    gaps = []
    for axis in (*first, *second, *crosses):
        length = np.linalg.norm(axis)
        if length > 1e-3:
            p, q = (axis @ corners / length for corners in boxes)
            gaps.append(max(q.min() - p.max(), p.min() - q.max()))
    return max(gaps)


def test_stack_in_float32_keeps_its_points_and_normals():
    rng = np.random.default_rng(2)
    single = jax.jit(box_box)
    for _ in range(50):
        tilt = Rotation.from_rotvec(1e-5 * rng.normal(size=3)).as_matrix()
        shift = 1e-5 * rng.normal(size=3)
        a = geometry((3, -2, 5), CUBE)
        b = geometry(np.array([3, -2, 5.2]) + shift, CUBE, 0, tilt)
        m = single(*cast((a, b), jnp.float32))
        close = np.asarray(m.distance) < 0.01
        assert close.sum() == 4
        np.testing.assert_allclose(np.asarray(m.normal)[close, 2], 1, atol=1e-4)
        np.testing.assert_allclose(np.asarray(m.distance)[close], shift[2], atol=1e-5)


def test_which_box_is_called_first_does_not_matter() -> None:
    """Points of nearly parallel faces agree to rounding in either order of the boxes."""
    rng = np.random.default_rng(2)
    for axis in np.eye(3):
        tilts = Rotation.from_rotvec(3e-3 * rng.normal(size=(20, 3)))
        shifts = 0.2 * axis + 0.02 * rng.normal(size=(20, 3)) * (1 - axis)
        for tilt, shift in zip(tilts.as_matrix(), shifts, strict=True):
            a, b = geometry((0, 0, 0), CUBE), geometry(shift, CUBE, 0, tilt)
            forward, swapped = touching(a, b, 0.02), touching(b, a, 0.02)
            order, swapped_order = (np.lexsort(np.round(x[1], 6).T) for x in (forward, swapped))
            assert len(order) == len(swapped_order)
            np.testing.assert_allclose(forward[0][order], swapped[0][swapped_order], atol=1e-13)
            np.testing.assert_allclose(forward[1][order], swapped[1][swapped_order], atol=1e-13)
            np.testing.assert_allclose(forward[2][order], -swapped[2][swapped_order], atol=1e-13)


def test_small_faces_of_a_large_shape_have_normals_of_their_own() -> None:
    """In float32 too: the corner of a plate of 3 m that is cut off by 1 mm."""
    plate = np.array([[0, 0, 0.1], [3, 0, 0.1], [3, 3, 0.1], [0, 3, 0.1]])
    cut = np.array([3, 3, 0.1]) - 1e-3 * np.eye(3)
    points = jnp.asarray(np.concatenate([plate, cut]), jnp.float32)
    normals = face_normals(points, jnp.array([[0, 1, 2, 3], [4, 5, 6, 6]]))
    np.testing.assert_allclose(normals, [[0, 0, 1], [3**-0.5] * 3], atol=1e-3)
