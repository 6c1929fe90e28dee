"""Test the algebra of the second-order cone against its defining properties."""

import jax.numpy as jnp
import numpy as np

from jaxccp.ccp.cones import jordan

RNG = np.random.default_rng(0)


def inside(count: int) -> jnp.ndarray:
    """Return points inside Q, from its axis to near its boundary, over eight decades of size."""
    tangent = RNG.normal(size=(count, 2)) * 10.0 ** RNG.uniform(-4, 4, (count, 1))
    length = np.linalg.norm(tangent, axis=1, keepdims=True)
    return jnp.asarray(np.hstack([length * (1 + 10.0 ** RNG.uniform(-6, 2, (count, 1))), tangent]))


X, S, D = inside(200), inside(200), jnp.asarray(RNG.normal(size=(200, 3)))


def test_division_undoes_the_product() -> None:
    again = jordan.divide(X, jordan.product(X, D))
    # The condition of the division is that of the point: its distance to the boundary.
    condition = np.asarray(X[:, 0] ** 2 / jordan.determinant(X))
    error = np.abs(again - D).max(axis=1) / np.abs(D).max(axis=1)
    assert np.all(error <= 1e-15 * 20 * condition)


def test_the_scaling_maps_both_points_to_one() -> None:
    w, inverse = jordan.scaling(X, S)
    np.testing.assert_allclose(w, jnp.swapaxes(w, 1, 2), rtol=1e-12)
    left, right = (np.einsum("cij,cj->ci", m, p) for m, p in ((inverse, X), (w, S)))
    size = np.abs(right).max(axis=1, keepdims=True)
    assert np.all(np.abs(left - right) <= 1e-7 * size)
    assert np.all(left[:, 0] > np.linalg.norm(left[:, 1:], axis=1))
    # W maps the cone onto itself.
    image = np.einsum("cij,cj->ci", w, inside(200))
    assert np.all(image[:, 0] >= np.linalg.norm(image[:, 1:], axis=1) * (1 - 1e-9))


def test_reach_ends_on_the_boundary() -> None:
    t = np.asarray(jordan.reach(X, D))
    ends = np.isfinite(t)
    assert ends.any() and not ends.all()
    for fraction, within in ((0.999, True), (1.001, False)):
        at = np.asarray(X + jnp.where(ends, fraction * t, 0.0)[:, None] * D)[ends]
        assert np.all((at[:, 0] > np.hypot(at[:, 1], at[:, 2])) == within)
    distant = np.asarray(X + 1e9 * D)[~ends]
    assert np.all(distant[:, 0] >= np.hypot(distant[:, 1], distant[:, 2]))
