"""Test projections against brute force, their algebra, and the spectrum of their Jacobian."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from jaxccp.ccp import Cones, equality, inequality
from jaxccp.ccp.cones import coulomb_spectrum, project_coulomb

MUS = (0.0, 0.3, 1.0, 4.0, 1e6)


def points(count: int = 60) -> np.ndarray:
    """Return points inside, outside, in the polar cone, on the axis and at the apex."""
    random = np.random.default_rng(0).normal(size=(count, 3))
    axis = [[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 0, -2], [1e-12, 0, 0], [0, 1e-12, 0]]
    return np.vstack([random, random * [0.01, 1, 1], np.array(axis)])


def cones(count: int, mu: float, dtype: type = np.float64) -> Cones:
    empty = jnp.zeros(0, dtype)
    return Cones(empty, empty, jnp.full(count, mu, dtype))


def project(x: np.ndarray, mu: float) -> np.ndarray:
    return np.asarray(jax.jit(project_coulomb)(jnp.asarray(x), jnp.full(len(x), mu, x.dtype)))


def nearest(x: np.ndarray, mu: float) -> np.ndarray:
    """Return the nearest point of the cone to ``x``, by minimisation.

    By rotational symmetry it lies in the half-plane of the axis and ``x``: two unknowns are enough.
    """
    length = np.hypot(x[1], x[2])
    direction = x[1:] / length if length else np.array([1.0, 0.0])

    def distance(p: np.ndarray) -> float:
        return (p[0] - x[0]) ** 2 + (p[1] - length) ** 2

    constraint = {"type": "ineq", "fun": lambda p: [mu * p[0] - p[1], p[0], p[1]]}
    start = np.array([abs(x[0]) + length, 0.0])
    best = minimize(distance, start, constraints=constraint, options={"ftol": 1e-15}).x
    return np.array([best[0], *(best[1] * direction)])


@pytest.mark.parametrize("mu", MUS[:-1])
def test_projection_is_the_nearest_point(mu: float) -> None:
    x = points(15)
    expected = np.stack([nearest(point, mu) for point in x])
    np.testing.assert_allclose(project(x, mu), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mu", MUS)
def test_projection_lands_in_the_cone_and_stays(mu: float, dtype: type) -> None:
    x = points().astype(dtype)
    p, eps = project(x, mu), 20 * float(np.finfo(dtype).eps)
    assert p.dtype == dtype and np.isfinite(p).all()
    assert np.all(np.hypot(p[:, 1], p[:, 2]) <= mu * p[:, 0] + eps * (1 + mu * np.abs(p[:, 0])))
    np.testing.assert_allclose(project(p, mu), p, atol=eps)


@pytest.mark.parametrize("mu", MUS)
def test_moreau(mu: float) -> None:
    """Moreau's decomposition x = Π_K(x) + Π_K°(x) holds, and its parts are perpendicular.

    The second part is minus the projection onto the dual cone.
    """
    x = points()
    k = cones(len(x), mu)
    p = np.asarray(k.project(jnp.asarray(x.ravel()))).reshape(-1, 3)
    d = np.asarray(k.project_dual(jnp.asarray(-x.ravel()))).reshape(-1, 3)
    np.testing.assert_allclose(p - d, x, atol=1e-14)
    np.testing.assert_allclose(np.sum(p * d, axis=1), 0, atol=1e-9)
    # The dual of ‖λ_t‖ ≤ μ λ_n is u_n ≥ μ ‖u_t‖.
    slack = d[:, 0] - mu * np.hypot(d[:, 1], d[:, 2])
    assert np.all(slack >= -1e-14 * (1 + mu) ** 2)


@pytest.mark.parametrize("mu", MUS)
def test_nonexpansive(mu: float) -> None:
    x = points()
    y = np.random.default_rng(1).permutation(x)
    before = np.linalg.norm(x - y, axis=1)
    after = np.linalg.norm(project(x, mu) - project(y, mu), axis=1)
    assert np.all(after <= before * (1 + 1e-12))


def test_limits_of_friction() -> None:
    x = points()
    np.testing.assert_allclose(project(x, 0.0), np.maximum(x, 0) * [1, 0, 0], atol=1e-15)
    half_space = np.where(x[:, :1] > 0, x, x * [0, 1, 1])
    moderate = (np.abs(x[:, 0]) > 1e-3) | (x[:, 0] == 0)
    np.testing.assert_allclose(project(x, 1e6)[moderate], half_space[moderate], atol=2e-5)


@pytest.mark.parametrize("mu", MUS)
def test_spectrum_is_that_of_the_jacobian(mu: float) -> None:
    x = points()
    regular = (np.linalg.norm(x, axis=1) > 1e-9) & ((x[:, 1:] != 0).any(axis=1) | (mu > 0))
    x = x[regular]  # the projection has no derivative at the apex, nor for μ = 0 on its ray
    mus = jnp.full(len(x), mu)
    values, vectors = jax.jit(coulomb_spectrum)(jnp.asarray(x), mus)
    np.testing.assert_allclose(
        np.einsum("bij,bik->bjk", vectors, vectors), np.tile(np.eye(3), (len(x), 1, 1)), atol=1e-14
    )
    assert np.all((values >= 0) & (values <= 1))
    spectral = np.einsum("bij,bj,bkj->bik", vectors, values, vectors)
    single = jax.jacfwd(lambda p: project_coulomb(p[None], mus[:1])[0])
    smooth = x[:, 0] != 0 if mu in (0.0, 1e6) else np.full(len(x), True)
    np.testing.assert_allclose(spectral[smooth], jax.jit(jax.vmap(single))(x)[smooth], atol=1e-9)
    steps = 1e-7 * np.eye(3)
    differences = [(project(x + d, mu) - project(x - d, mu)) / 2e-7 for d in steps]
    expected = np.stack(differences, axis=2)
    off_kinks = np.abs(np.abs(x[:, 0]) - mu * np.hypot(x[:, 1], x[:, 2])) > 1e-5
    off_kinks &= np.abs(x[:, 0]) > 1e-5 if mu == 0 else np.abs(x[:, 0]) * mu > 1e-5
    off_kinks &= np.abs(mu * x[:, 0] - np.hypot(x[:, 1], x[:, 2])) > 1e-5 * (1 + mu)
    off_kinks &= np.abs(x[:, 0] + mu * np.hypot(x[:, 1], x[:, 2])) > 1e-5 * (1 + mu)
    assert off_kinks.sum() > 40
    np.testing.assert_allclose(spectral[off_kinks], expected[off_kinks], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives_are_finite_at_the_kinks(dtype: type) -> None:
    on_surface = [[[1, mu, 0], [-mu, 1, 0], [-mu, 0, 0], [mu, 0, 0]] for mu in MUS]
    x = jnp.asarray([np.vstack([points(20), kinks]) for kinks in on_surface], dtype)

    def total(p: jax.Array, mu: jax.Array) -> jax.Array:
        values, vectors = coulomb_spectrum(p[None], mu[None])
        return jnp.sum(project_coulomb(p[None], mu[None])) + jnp.sum(values) + jnp.sum(vectors)

    @jax.jit
    @partial(jax.vmap, in_axes=(0, 0))
    @partial(jax.vmap, in_axes=(0, None))
    def derivatives(p: jax.Array, mu: jax.Array):
        return jax.grad(total, (0, 1))(p, mu), jax.hessian(total, (0, 1))(p, mu)

    leaves = jax.tree.leaves(derivatives(x, jnp.asarray(MUS, dtype)))
    assert all(np.isfinite(leaf).all() for leaf in leaves)


def test_scalar_rows() -> None:
    pieces = [equality(1), inequality(2), (jnp.array([-1.0, -0.5]), jnp.array([2.0, -0.5]))]
    lo, hi = (jnp.concatenate(bounds) for bounds in zip(*pieces, strict=True))
    k = Cones(lo, hi, jnp.array([0.5]))
    x = jnp.array([-7.0, -1.0, 3.0, 5.0, 0.0, 2.0, 0.5, 0.0])
    np.testing.assert_array_equal(k.project(x), [-7, 0, 3, 2, -0.5, 2, 0.5, 0])
    # Admissible velocities: none on an equality, ≥ 0 on an inequality, any on a bounded row.
    dual = k.project_dual(jnp.array([-7.0, -1.0, 3.0, 5.0, -4.0, 0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(dual, [0, 0, 3, 5, -4, 0, 0, 0])
    assert k.rows == 8
    scalars, contacts = k.split(x)
    np.testing.assert_array_equal(k.join(scalars, contacts), x)
    np.testing.assert_array_equal(
        k.spread(jnp.arange(5.0), jnp.array([9.0])), [0, 1, 2, 3, 4, 9, 9, 9]
    )


def test_bounds_take_the_dtype_asked_for() -> None:
    for make in (equality, inequality):
        assert all(bound.dtype == np.float32 for bound in make(3, jnp.dtype("float32")))
