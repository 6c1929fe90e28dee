"""Test what every kernel of one pair must do; a new pair inherits these tests."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import lsq_linear
from scipy.spatial.transform import Rotation

from jaxccp.collision import NO_CONTACT, PAIRS, Geometry, Manifold
from tests.collision.shape_pairs import (
    CLOSE,
    cast,
    core_half,
    degenerate,
    in_numpy,
    pick,
    reach,
    shapes,
)

SHARED = tuple(
    f"jaxccp.collision.kernels.{name}" for name in ("convex_contact", "terrain", "terrain_sphere")
)
"""Modules whose kernels serve many pairs or need a grid, with tests of their own."""
KINDS = [kinds for kinds, pair in PAIRS.items() if pair.kernel.__module__ not in SHARED]
IDS = ["-".join(kinds) for kinds in KINDS]
every_pair = pytest.mark.parametrize("kinds", KINDS, ids=IDS)
COUNT = 1000


@cache
def batched(kinds):
    """Return the kernel for COUNT pairs, compiled once a precision for all tests."""
    return jax.jit(jax.vmap(PAIRS[kinds].kernel))


def random_pairs(kinds, seed=0, count=COUNT):
    rng = np.random.default_rng(seed)
    a, b = shapes(kinds[0], count, rng), shapes(kinds[1], count, rng)
    return a, b


def degenerate_pairs(kinds, seed=0, count=COUNT):
    rng = np.random.default_rng(seed)
    return degenerate(kinds[0], count, rng), degenerate(kinds[1], count, rng)


def random_and_degenerate(kinds, seed=0):
    both = zip(random_pairs(kinds, seed), degenerate_pairs(kinds, seed), strict=True)
    return tuple(jax.tree.map(lambda x, y: jnp.concatenate([x, y]), *pair) for pair in both)


every_precision = pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])


@every_pair
@every_precision
def test_manifolds_are_well_formed(kinds, dtype):
    several = (cast(pair, dtype) for pair in (random_pairs(kinds), degenerate_pairs(kinds)))
    manifold = jax.tree.map(
        lambda *leaves: jnp.concatenate(leaves), *(batched(kinds)(*pair) for pair in several)
    )
    points = PAIRS[kinds].points
    assert manifold.distance.shape == (2 * COUNT, points)
    assert manifold.position.shape == manifold.normal.shape == (2 * COUNT, points, 3)
    assert manifold.feature.shape == (2 * COUNT, points) and manifold.feature.dtype == jnp.int32
    for leaf in (manifold.distance, manifold.position, manifold.normal):
        assert leaf.dtype == dtype
        assert jnp.all(jnp.isfinite(leaf))
    np.testing.assert_allclose(
        np.linalg.norm(manifold.normal, axis=-1), 1, atol=1e-5 if dtype == jnp.float32 else 1e-12
    )
    live = np.asarray(manifold.distance) < NO_CONTACT
    assert live.any(axis=1).all(), "a pair without any contact point"
    for features, alive in zip(np.asarray(manifold.feature), live, strict=True):
        assert len(set(features[alive])) == alive.sum()


@every_pair
@pytest.mark.parametrize("dtype", [jnp.float32, pytest.param(jnp.float64, marks=pytest.mark.long)])
def test_first_and_second_derivatives_are_finite(kinds, dtype):
    kernel = PAIRS[kinds].kernel
    weights = np.random.default_rng(1).normal(size=(PAIRS[kinds].points, 7))

    def total(a: Geometry, b: Geometry, hulls):
        m = kernel(replace(a, hull=hulls[0]), replace(b, hull=hulls[1]))
        values = jnp.concatenate([m.distance[:, None], m.position, m.normal], axis=1)
        return jnp.sum(values * jnp.asarray(weights, dtype))

    def derivatives(pair, direction, hulls):
        """Return the derivative of the gradient along a direction, and the gradient.

        Args:
            pair: two shapes without hulls.
            direction: change of both.
            hulls: hulls of both, or None.
        """
        return jax.jvp(lambda p: jax.grad(total, (0, 1))(*p, hulls), (pair,), (direction,))

    def bare(pair):
        """Return shapes without hulls, whose faces are integers and have no derivatives."""
        return tuple(replace(shape, hull=None) for shape in pair)

    pairs = cast(random_and_degenerate(kinds, seed=2), dtype)
    directions = cast(random_and_degenerate(kinds, seed=3), dtype)
    hulls = [shape.hull for shape in pairs]
    both = jax.jit(jax.vmap(derivatives))(bare(pairs), bare(directions), hulls)
    assert all(jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(both))


def displaced(shape: Geometry, twist: np.ndarray) -> Geometry:
    """Shift, rotate (a rotation vector, in the world) and grow a shape by ten numbers."""
    x = jnp.asarray(twist)
    zero = jnp.zeros(())
    spin = jnp.array([[zero, -x[5], x[4]], [x[5], zero, -x[3]], [-x[4], x[3], zero]])
    # Exact to second order, which is all that first derivatives and central differences see.
    rotation = (jnp.eye(3) + spin + spin @ spin / 2) @ shape.rotation
    return replace(
        shape,
        position=shape.position + x[:3],
        rotation=rotation,
        size=shape.size + x[6:9],
        radius=shape.radius + x[9],
    )


@every_pair
def test_derivatives_match_central_differences(kinds):
    kernel, step = PAIRS[kinds].kernel, 1e-5

    def values(x, a, b):
        m = kernel(displaced(a, x[:10]), displaced(b, x[10:]))
        rows = jnp.concatenate([m.distance[:, None], m.position, m.normal], axis=1)
        return jnp.where((m.distance < CLOSE)[:, None], rows, 0.0), m.feature

    def at(x, a, b):
        """Return values and features at each x, and the derivative at the first, which is zero.

        Args:
            x: motions of both shapes, ten numbers each.
            a: first shape.
            b: second shape.
        """
        jacobian = jax.jacfwd(lambda x: values(x, a, b)[0])(x[0])
        return *jax.vmap(lambda x: values(x, a, b))(x), jnp.moveaxis(jacobian, -1, 0)

    count = 200
    a, b = random_pairs(kinds, seed=4, count=count)
    steps = step * np.concatenate([np.zeros((1, 20)), np.eye(20), -np.eye(20)])
    results, features, exact = jax.jit(jax.vmap(at, (None, 0, 0)))(steps, a, b)
    centre, ahead, back = results[:, :1], results[:, 1:21], results[:, 21:]

    difference = (ahead - back) / (2 * step)
    # A switch of features within the step shows as another name, or as a kink.
    kink = np.abs(ahead + back - 2 * centre) / step
    same = np.all(features == features[:, :1], axis=(1, 2))
    smooth = same & (kink.max(axis=(1, 2, 3)) < 0.05)
    assert smooth.mean() > 0.8
    np.testing.assert_allclose(
        exact[smooth], difference[smooth], rtol=1e-6, atol=1e-6 * max(1, np.abs(difference).max())
    )


@every_pair
def test_rigid_motion_of_both_changes_nothing_else(kinds):
    a, b = random_pairs(kinds, seed=5)
    rotation = Rotation.random(None, np.random.default_rng(6)).as_matrix()
    shift = np.array([0.3, -2.0, 1.0])

    def carried(shape: Geometry) -> Geometry:
        position = shape.position @ rotation.T + shift
        return replace(shape, position=position, rotation=rotation @ shape.rotation)

    kernel = batched(kinds)
    before, after = kernel(a, b), kernel(carried(a), carried(b))
    live = np.asarray(before.distance) < NO_CONTACT
    np.testing.assert_array_equal(before.feature[live], after.feature[live])
    np.testing.assert_allclose(before.distance, after.distance, atol=1e-9)
    np.testing.assert_allclose(
        (before.position @ rotation.T + shift)[live], after.position[live], atol=1e-9
    )
    np.testing.assert_allclose((before.normal @ rotation.T)[live], after.normal[live], atol=1e-9)


@pytest.mark.parametrize("kind", [a for a, b in KINDS if a == b])
def test_swapping_alike_shapes_only_turns_the_normals(kind):
    a, b = random_pairs((kind, kind), seed=7)
    kernel = batched((kind, kind))
    forward, swapped = kernel(a, b), kernel(b, a)
    agreeing = 0
    for m, n in zip(rows(forward), rows(swapped), strict=True):
        if m.shape == n.shape:
            n[:, 4:] *= -1
            gap = np.linalg.norm(m[:, None] - n[None], axis=-1)
            agreeing += gap.min(axis=1).max() < 1e-7 and gap.min(axis=0).max() < 1e-7
    # The rest prefer a face of either box, or a point on either capsule, to within a tolerance.
    assert agreeing > 0.97 * COUNT
    nearest = np.abs(np.min(forward.distance, axis=1) - np.min(swapped.distance, axis=1))
    assert np.max(nearest) < 6e-3


def rows(manifold: Manifold) -> list[np.ndarray]:
    """Return the live contacts of each pair as rows (distance, position, normal)."""
    values = np.concatenate(
        [np.asarray(manifold.distance)[..., None], manifold.position, manifold.normal], axis=-1
    )
    return [v[v[:, 0] < NO_CONTACT] for v in values]


def closest(kinds, a: Geometry, b: Geometry) -> float:
    """Return the distance of two cores by bounded least squares over their local coordinates [m].

    Args:
        kinds: kinds of both shapes.
        a: first shape.
        b: second shape.
    """
    half_a, half_b = core_half(kinds[0], a), core_half(kinds[1], b)
    matrix = np.hstack([np.asarray(a.rotation) * half_a, -np.asarray(b.rotation) * half_b])
    free = np.abs(matrix).max(axis=0) > 0
    target = np.asarray(b.position - a.position)
    if not free.any():
        return float(np.linalg.norm(target))
    result = lsq_linear(matrix[:, free], target, (-1, 1), method="bvls", tol=1e-14)
    return float(np.linalg.norm(matrix[:, free] @ result.x - target))


@pytest.mark.parametrize(
    "kinds", [k for k in KINDS if "plane" not in k], ids=[i for i in IDS if "plane" not in i]
)
def test_least_distance_of_separated_cores_is_euclidean(kinds):
    a, b = random_pairs(kinds, seed=8)
    a, b, manifold = in_numpy(a, b, batched(kinds)(a, b))
    checked = 0
    for i in range(400):
        first, second = pick(a, i), pick(b, i)
        exact = closest(kinds, first, second)
        radii = float(first.radius + second.radius)
        if exact < 1e-3:
            continue
        checked += 1
        smallest = float(np.min(manifold.distance[i]))
        above = 1e-9
        if kinds == ("capsule", "capsule"):
            above += 5e-5 * radii**2 / exact
        elif kinds == ("capsule", "box"):
            above += 1e-5 * radii
        elif kinds == ("box", "box"):
            above += 5e-3 * float(min(first.size.min(), second.size.min())) + 1e-2 * exact
        assert -1e-9 <= smallest - (exact - radii) <= above, i
    assert checked > 100


@pytest.mark.parametrize("kind", [b for a, b in KINDS if a == "plane"])
def test_least_distance_from_a_plane_is_that_of_the_lowest_point(kind):
    a, b = random_pairs(("plane", kind), seed=9)
    a, b, m = in_numpy(a, b, batched(("plane", kind))(a, b))
    for i in range(COUNT):
        normal = a.rotation[i, :, 2]
        height = -reach(kind, pick(b, i), -normal) - a.position[i] @ normal
        assert abs(np.min(m.distance[i]) - height) < 1e-12


@every_pair
def test_contact_points_lie_on_both_shapes(kinds):
    """Half the distance along the normal leads from a contact point to either surface.

    The closest point lies on it; others may lie below it, on the ball of a point of the core. Only
    the points of a face polygon may be above, and only by the allowance of clipping.
    """
    a, b = random_pairs(kinds, seed=10)
    m = batched(kinds)(a, b)
    distance = np.asarray(m.distance)
    separated = (distance > 1e-3) & (distance < NO_CONTACT)
    closest_points = separated & (distance == distance.min(axis=1, keepdims=True))
    for kind, shape, sign in ((kinds[0], a, -1), (kinds[1], b, 1)):
        if kind not in ("sphere", "capsule", "box"):  # cores of the others are no boxes
            continue
        on = m.position + sign * (distance / 2)[..., None] * m.normal
        local = np.einsum("nij,nki->nkj", shape.rotation, on - shape.position[:, None])
        half = core_half(kind, shape)[:, None]
        height = np.linalg.norm(local - np.clip(local, -half, half), axis=-1)
        height -= np.asarray(shape.radius)[:, None]
        if kinds == ("box", "box"):
            assert height[separated].max() < 1e-3 * np.max(shape.size)
            # Between faces of rounded boxes the least point may be inside a face.
            closest_points = closest_points & np.asarray(shape.radius == 0)[:, None]
            assert np.all(height[closest_points] > -1e-9)
        else:
            assert height[separated].max() < 1e-9
            # A capsule's own points are the closest to within 1e-5 of its radius.
            np.testing.assert_allclose(height[closest_points], 0, atol=1e-4)
