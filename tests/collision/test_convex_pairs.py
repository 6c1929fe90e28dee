"""Test pairs that share the kernels of ``collision/kernels/convex_contact``, all in one program.

The kernel of one point gives what the other one has in its last slot, which is checked; then that
one serves all pairs.
"""

from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from jaxccp.collision import NO_CONTACT, PAIRS, Geometry
from jaxccp.collision.detect import detect
from jaxccp.collision.kernels.convex_contact import face_contact, point_contact
from jaxccp.model import Box, Cylinder
from jaxccp.scene import ModelBuilder
from tests.collision.pool import (
    Pool,
    directional_derivative,
    displaced,
    motions,
    placed,
    pool,
    rows,
    values,
)
from tests.collision.shape_pairs import CLOSE, cast, degenerate, in_numpy, pick, reach, shapes

KINDS = [kinds for kinds, pair in PAIRS.items() if pair.kernel in (point_contact, face_contact)]
every_pair = pytest.mark.parametrize("kinds", KINDS, ids=["-".join(kinds) for kinds in KINDS])
COUNT = 40
FIRST, SECOND = rows(KINDS, COUNT)
ROTATION = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix()
SHIFT = np.array([0.3, -2.0, 1.0])
STEP = 5e-6
detected = jax.jit(detect)


def contacts(x, some: Pool):
    shape = placed(some, x)
    m = jax.vmap(face_contact)(pick(shape, FIRST), pick(shape, SECOND))
    return values(m, CLOSE), m


@jax.jit
def compiled(some: Pool, direction: dict):
    """Return values, manifolds, and first and second derivatives of the values along a motion."""
    derivative = partial(directional_derivative, contacts, some, direction)
    first, second, (results, manifold) = jax.jvp(derivative, (0.0,), (1.0,), has_aux=True)
    return results, manifold, first, second


@cache
def random() -> Pool:
    return pool(shapes, COUNT, seed=8)


@cache
def aligned() -> Pool:
    return pool(degenerate, COUNT, seed=8)


@cache
def contacts_of(which: str):
    """Return contacts of random shapes, degenerate ones, or the random ones moved as one body."""
    some = aligned() if which == "aligned" else random()
    if which == "carried":
        some = {
            kind: replace(
                s, position=s.position @ ROTATION.T + SHIFT, rotation=ROTATION @ s.rotation
            )
            for kind, s in some.items()
        }
    return in_numpy(compiled(some, motions(some))[1])[0]


def of(kinds, tree):
    """Return the rows of one pair of kinds."""
    start = COUNT * KINDS.index(kinds)
    return pick(tree, slice(start, start + COUNT))


@every_pair
@pytest.mark.parametrize("which", ["random", "aligned"])
def test_well_formed(kinds, which):
    m = of(kinds, contacts_of(which))
    assert all(np.isfinite(x).all() for x in (m.distance, m.position, m.normal))
    np.testing.assert_allclose(np.linalg.norm(m.normal, axis=-1), 1, atol=1e-12)
    live = m.distance < NO_CONTACT
    assert live.any(axis=1).all()
    for features, alive in zip(m.feature, live, strict=True):
        assert len(set(features[alive])) == alive.sum()


@every_pair
def test_carried_along(kinds):
    before, after = of(kinds, contacts_of("random")), of(kinds, contacts_of("carried"))
    live = before.distance < NO_CONTACT
    np.testing.assert_allclose(before.distance, after.distance, atol=1e-8)
    np.testing.assert_array_equal(before.feature[live], after.feature[live])
    np.testing.assert_allclose(
        (before.position @ ROTATION.T + SHIFT)[live], after.position[live], atol=1e-5
    )
    np.testing.assert_allclose((before.normal @ ROTATION.T)[live], after.normal[live], atol=1e-5)


def test_one_point_is_the_last_of_many():
    kinds = [k for k in KINDS if PAIRS[k].kernel is point_contact]
    index = np.concatenate([np.arange(COUNT) + COUNT * KINDS.index(k) for k in kinds])
    assert np.all(contacts_of("random").distance[index, :-1] == NO_CONTACT)

    @jax.jit
    def single(some):
        shape = placed(some, motions(some))
        return jax.vmap(point_contact)(pick(shape, FIRST[index]), pick(shape, SECOND[index]))

    last = jax.tree.map(lambda x: x[index][:, -1:], contacts_of("random"))
    for x, y in zip(jax.tree.leaves(single(random())), jax.tree.leaves(last), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-9)


@every_pair
def test_gap_is_the_largest_separation_over_all_directions(kinds):
    """The gap is the largest separation by scipy from its normal; no random direction is better.

    Overlapping shapes may part in several directions, and now and then another one is better.
    """
    a = in_numpy(pick(random()[kinds[0]], slice(COUNT)))[0]
    b = in_numpy(pick(random()[kinds[1]], slice(COUNT, None)))[0]
    m = of(kinds, contacts_of("random"))
    directions = np.random.default_rng(1).normal(size=(300, 3))
    separated = overlapping = worse = 0
    for i in range(COUNT):
        first, second = pick(a, i), pick(b, i)
        deepest = np.argmin(m.distance[i])
        gap, normal = m.distance[i][deepest], m.normal[i][deepest]

        def separation(n, first=first, second=second):
            n = n / np.linalg.norm(n)
            return -reach(kinds[0], first, n) - reach(kinds[1], second, -n)

        best = max(separation(n) for n in directions)
        if gap > 1e-3:
            separated += 1
            assert best <= gap + 1e-7
            exact = separation(normal)
            # The normal of a polygon is its face's, not quite that of the least gap.
            assert exact <= gap + 1e-7
            start = normal
            for _ in range(5):  # the simplex collapses on kinks: it is spread out anew
                if gap - exact > 1e-6:
                    options = {"xatol": 1e-10, "fatol": 1e-12}
                    start = minimize(
                        lambda n, f=separation: -f(n), start, method="Nelder-Mead", options=options
                    ).x
                    exact = separation(start)
            assert abs(gap - exact) <= 2e-5
        elif gap < -1e-3:
            overlapping += 1
            worse += best > gap + 0.01 * abs(gap) + 2e-3
    assert separated > 5 and overlapping > 0
    assert worse <= max(1, 0.05 * overlapping)


@cache
def derivatives():
    """Return derivatives along random motions, of random pairs and of degenerate ones.

    For random pairs also the differences, and whether both are smooth there.
    """
    rng = np.random.default_rng(3)
    parts = []
    for _ in range(3):
        direction = motions(random(), rng)
        (v0, m0, *_), (v1, m1, *_), (v, m, first, second) = (
            in_numpy(*compiled(shifted(direction, t), direction)) for t in (-STEP, STEP, 0)
        )
        same = np.all((m0.feature == m.feature) & (m1.feature == m.feature), axis=1)
        kink = np.abs(v0 + v1 - 2 * v).max(axis=(1, 2)) / STEP
        parts.append((same & (kink < 1e-3), (v1 - v0) / (2 * STEP), first, second))
    degenerate_ones = in_numpy(*compiled(aligned(), motions(aligned(), rng)))[2:]
    return jax.tree.map(lambda *x: np.stack(x, axis=1), *parts), degenerate_ones


def shifted(direction: dict, t: float) -> Pool:
    return {kind: displaced(shape, t * direction[kind]) for kind, shape in random().items()}


@every_pair
def test_derivatives(kinds):
    """First derivatives agree with central differences; all are finite where degenerate."""
    assert all(np.isfinite(x).all() for x in of(kinds, derivatives()[1]))
    smooth, difference, first, second = of(kinds, derivatives()[0])
    assert np.isfinite(first).all() and np.isfinite(second).all()
    assert smooth.mean() > 0.6
    # A point that begins to slide along an edge keeps its name, so kinks must be told from below.
    scale = 1 + np.abs(difference[smooth]).max()
    np.testing.assert_allclose(
        first[smooth][..., 0], difference[smooth][..., 0], atol=2e-7 * scale, rtol=0
    )
    np.testing.assert_allclose(first[smooth], difference[smooth], rtol=2e-5, atol=2e-5 * scale)


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 6])
def test_a_box_at_the_rim_of_a_cap(angle):
    """A small box near the rim of a disc stands on all corners; one that overhangs the rim, on its
    corners within the disc and on the ends of the arc below it; wherever the rim's points are."""
    radius, half = 0.5, 0.02
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for place in (0.47, 0.49):
        builder = ModelBuilder()
        builder.add_shape(0, Cylinder(radius, 0.02))
        position = (*turn @ [place, 0], 0.02 + half)
        quaternion = (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
        builder.add_solid(Box((half, half, half)), 1.0, position=position, quaternion=quaternion)
        found = jax.device_get(detected(*builder.build()))
        got = found.position[found.gap < 1e-3][:, :2] @ turn
        far = min(place + half, np.sqrt(radius**2 - half**2))
        expected = np.array([(x, y) for x in (place - half, far) for y in (-half, half)])
        assert (np.linalg.norm(got[:, None] - expected, axis=2).min(axis=0) < 1e-8).all()
        assert (np.linalg.norm(got, axis=1) < radius + 1e-8).all()


@pytest.mark.slow
def test_float32():
    """Values and reverse-mode derivatives are finite in float32: nothing is divided by zero."""
    weights = np.random.default_rng(1).normal(size=(len(FIRST), 9, 7)).astype(np.float32)

    def total(x, some):
        rows, m = contacts(x, some)
        return jnp.sum(rows * weights), m

    gradient = jax.jit(jax.grad(total, has_aux=True))
    for which, some in (("random", random()), ("aligned", aligned())):
        slope, m = gradient(*cast((motions(some), some), jnp.float32))
        assert m.distance.dtype == jnp.float32
        assert all(np.isfinite(x).all() for x in jax.tree.leaves((slope, m)))
        if which == "random":
            error = np.abs(np.min(m.distance, axis=1) - np.min(contacts_of(which).distance, axis=1))
            assert np.max(error) < 1e-4


@pytest.mark.slow
def test_float32_of_a_small_shape_beside_a_large_one():
    """Shapes that a plane separates by a gap are not reported closer, at a thousandth the size."""
    rng = np.random.default_rng(5)
    factor = np.where(np.arange(2 * COUNT) < COUNT, 30.0, 0.03)
    grown = {
        kind: replace(s, size=s.size * factor[:, None], radius=s.radius * factor)
        for kind, s in random().items()
    }
    shape = placed(grown, motions(grown))
    a, b = pick(shape, FIRST), pick(shape, SECOND)
    normal = rng.normal(size=(len(FIRST), 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    gap = rng.choice([0.01, 0.1, 1.0], len(FIRST))

    def reach_of(shape: Geometry, normal):
        assert shape.core is not None
        return shape.core.transformed(jnp.zeros(3), shape.rotation).reach(normal)

    height = jax.vmap(reach_of)(a, normal) + jax.vmap(reach_of)(b, -normal) + gap
    a, b = replace(a, position=0 * normal), replace(b, position=height[:, None] * normal)
    m = jax.jit(jax.vmap(face_contact))(*cast((a, b), jnp.float32))
    assert (np.min(m.distance, axis=1) > gap - 1e-3).all()
