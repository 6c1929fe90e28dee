"""Pairs that share the kernels of ``jaxccp.collision.convex``: every one of them, in one program.

The kernels differ in the shapes' points only, so the derivatives are looked at in one pair of each
code path: faces against round sides, and a single point.
"""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from jaxccp.collision import NO_CONTACT, PAIRS
from jaxccp.collision.convex import __name__ as GENERAL
from tests.collision.scenes import cast, in_numpy, pick, reach
from tests.collision.test_pairs import degenerate_pairs, random_pairs

KINDS = [kinds for kinds, pair in PAIRS.items() if pair.kernel.__module__ == GENERAL]
every_pair = pytest.mark.parametrize("kinds", KINDS, ids=["-".join(kinds) for kinds in KINDS])
COUNT = 150
TURN = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix()
SHIFT = np.array([0.3, -2.0, 1.0])


@cache
def found(kinds):
    """Random pairs, degenerate ones, and the random ones moved as one body, with contacts."""

    def carried(shape):
        position = shape.position @ TURN.T + SHIFT
        return replace(shape, position=position, rotation=TURN @ shape.rotation)

    pairs = random_pairs(kinds, seed=8, count=COUNT)
    sets = pairs, degenerate_pairs(kinds, count=COUNT), tuple(map(carried, pairs))
    a, b = jax.tree.map(lambda *x: jnp.concatenate(x), *sets)
    manifold = jax.jit(jax.vmap(PAIRS[kinds].kernel))(a, b)
    return in_numpy(a, b, manifold)


@every_pair
def test_well_formed_and_carried_along(kinds):
    _, _, m = found(kinds)
    assert all(np.isfinite(x).all() for x in (m.distance, m.position, m.normal))
    np.testing.assert_allclose(np.linalg.norm(m.normal, axis=-1), 1, atol=1e-12)
    live = m.distance < NO_CONTACT
    assert live.any(axis=1).all()
    for features, alive in zip(m.feature, live, strict=True):
        assert len(set(features[alive])) == alive.sum()

    before, after = pick(m, slice(COUNT)), pick(m, slice(2 * COUNT, None))
    np.testing.assert_allclose(before.distance, after.distance, atol=1e-8)
    both = live[:COUNT]
    np.testing.assert_allclose(
        (before.position @ TURN.T + SHIFT)[both], after.position[both], atol=1e-5
    )
    np.testing.assert_allclose((before.normal @ TURN.T)[both], after.normal[both], atol=1e-5)


@every_pair
def test_gap_is_the_largest_separation_over_all_directions(kinds):
    """Against scipy, which starts from the direction found; no other of many may be better.

    Overlapping shapes may part in several directions, and now and then another one is better.
    """
    a, b, m = found(kinds)
    directions = np.random.default_rng(1).normal(size=(300, 3))
    apart = overlapping = worse = 0
    for i in range(COUNT):
        one, other = pick(a, i), pick(b, i)
        near = np.argmin(m.distance[i])
        gap, normal = m.distance[i][near], m.normal[i][near]

        def separation(n, one=one, other=other):
            n = n / np.linalg.norm(n)
            return -reach(kinds[0], one, n) - reach(kinds[1], other, -n)

        best = max(separation(n) for n in directions)
        if gap > 1e-3:
            apart += 1
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
    assert apart > 30 and overlapping > 10
    assert worse <= 0.05 * overlapping


REPRESENTATIVES = [("cylinder", "ellipsoid"), ("cylinder", "convex")]
_CLOSE = 0.3


@pytest.mark.slow
@pytest.mark.parametrize("kinds", REPRESENTATIVES, ids="-".join)
def test_derivatives(kinds):
    """Against central differences of order 2; finite, second ones too, where degenerate."""
    kernel, step, count = PAIRS[kinds].kernel, 1e-5, 60

    def moved(shape, x):
        spin = jnp.array([[0.0, -x[5], x[4]], [x[5], 0.0, -x[3]], [-x[4], x[3], 0.0]])
        return replace(
            shape,
            position=shape.position + x[:3],
            rotation=(jnp.eye(3) + spin + spin @ spin / 2) @ shape.rotation,
            size=shape.size + x[6:9],
            radius=shape.radius + x[9] * (shape.radius > 0),
        )

    def values(x, a, b):
        m = kernel(moved(a, x[:10]), moved(b, x[10:]))
        rows = jnp.concatenate([m.distance[:, None], m.position, m.normal], axis=1)
        return jnp.where((m.distance < _CLOSE)[:, None], rows, 0.0), m.feature

    @jax.jit
    @jax.vmap
    def everything(a, b, along):
        """Values around, the derivative, and its derivative along a direction."""
        steps = step * jnp.concatenate([jnp.zeros((1, 20)), jnp.eye(20), -jnp.eye(20)])
        around, features = jax.lax.map(lambda x: values(x, a, b), steps)

        def jacobian(x):
            return jax.jacfwd(lambda x: values(x, a, b)[0])(x)

        exact, second = jax.jvp(jacobian, (jnp.zeros(20),), (along,))
        return around, features, jnp.moveaxis(exact, -1, 0), second

    a, b = random_pairs(kinds, seed=4, count=count)
    pairs = jax.tree.map(
        lambda x, y: jnp.concatenate([x, y]), (a, b), degenerate_pairs(kinds, count=count)
    )
    along = np.random.default_rng(2).normal(size=(2 * count, 20))
    around, features, exact, second = everything(*pairs, along)
    assert np.isfinite(exact).all() and np.isfinite(second).all()
    around, features, exact = around[:count], features[:count], exact[:count]
    here, ahead, back = around[:, :1], around[:, 1:21], around[:, 21:]
    difference = (ahead - back) / (2 * step)
    kink = np.abs(ahead + back - 2 * here) / step
    same = np.all(features == features[:, :1], axis=(1, 2))
    smooth = same & (kink.max(axis=(1, 2, 3)) < 1e-3)
    assert smooth.mean() > 0.7
    # A point that begins to slide along an edge keeps its name, so kinks must be told from below.
    assert np.abs(exact - difference)[smooth][..., 0].max() < 1e-7
    np.testing.assert_allclose(exact[smooth], difference[smooth], rtol=2e-5, atol=2e-5)


@pytest.mark.slow
def test_float32():
    """A capsule has no disc, a cylinder no ball: nothing may be divided by what is zero."""
    kinds = "capsule", "cylinder"
    kernel = PAIRS[kinds].kernel
    a, b, exact = found(kinds)
    pair = cast((a, b), jnp.float32)
    weights = np.random.default_rng(1).normal(size=(PAIRS[kinds].points, 7)).astype(np.float32)

    def total(pair):
        m = kernel(*pair)
        rows = jnp.concatenate([m.distance[:, None], m.position, m.normal], axis=1)
        return jnp.sum(rows * weights), m

    @jax.jit
    @jax.vmap
    def everything(pair):
        along = jax.tree.map(jnp.ones_like, pair)
        return jax.jvp(lambda p: jax.grad(total, has_aux=True)(p), (pair,), (along,))

    (gradient, m), (second, _) = everything(pair)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves((gradient, second, m)))
    assert m.distance.dtype == jnp.float32
    error = np.abs(np.min(m.distance, axis=1) - np.min(exact.distance, axis=1))
    assert np.max(error[:COUNT]) < 1e-4
