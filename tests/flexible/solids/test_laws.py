"""Test elastic laws: Hooke's law at rest, published stresses, definite stiffness."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.flexible.solids.laws import LAWS
from jaxccp.flexible.solids.positive_part import positive_part
from jaxccp.flexible.solids.rotation import rotation
from tests.flexible.solids.published import stress as published

MU, LAM = 3.0, 5.0
RNG = np.random.default_rng(0)
STRAINED = np.eye(3) + 0.35 * RNG.normal(size=(3, 3))
UNIT = np.eye(9).reshape(9, 3, 3)
DEGENERATE = {
    "collapsed": np.zeros((3, 3)),
    "line": np.diag([1.0, 0.0, 0.0]),
    "flat": np.diag([1.0, 1.0, 0.0]),
    "mirrored": np.diag([1.0, 1.0, -1.0]),
    "inside out": -np.eye(3),
    "huge": np.diag([1e3, 1e3, -1e3]),
}


def random_rotation(seed: int) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return q * np.linalg.det(q)


@pytest.fixture(params=LAWS)
def name(request):
    return request.param


@pytest.fixture
def law(name):
    return LAWS[name](*map(jnp.asarray, (MU, LAM, 0.1)))


def stress(law, gradient: np.ndarray) -> np.ndarray:
    """Return the first Piola–Kirchhoff stress ∂Ψ/∂F; laws take the columns of F as rows."""
    slope = jax.jit(jax.grad(type(law).density, argnums=1))
    return np.asarray(slope(law, jnp.asarray(gradient.T))).T


def test_stresses_are_the_published_ones(name, law):
    """Stresses are the published ones, and with them bulk and shear moduli at any strain.

    The strains are homogeneous dilatation and simple shear.
    """
    shear, dilated = np.eye(3), 1.3 * np.eye(3)
    shear[0, 1] = 0.8
    for f in (STRAINED, shear, dilated, random_rotation(1) @ STRAINED):
        assert np.linalg.det(f) > 0
        np.testing.assert_allclose(stress(law, f), published(name, f, MU, LAM), atol=1e-12)


def test_at_rest_it_is_hookes_law(law):
    rest = jnp.eye(3)
    np.testing.assert_allclose(law.density(rest), 0.0, atol=1e-14)
    np.testing.assert_allclose(stress(law, np.eye(3)), 0.0, atol=1e-14)
    even = 0.5 * (UNIT + UNIT.transpose(0, 2, 1))
    trace = np.trace(UNIT, axis1=1, axis2=2)
    hooke = 2 * MU * np.einsum("aij,bij->ab", even, even) + LAM * np.outer(trace, trace)
    for matrix in (law.stiffness(rest), law.convex(rest)):
        np.testing.assert_allclose(matrix.reshape(9, 9), hooke, atol=1e-13)
    np.testing.assert_allclose(law.viscosity(rest).reshape(9, 9), 0.1 * hooke, atol=1e-13)


def test_turning_space_or_the_material_changes_nothing(law):
    expected = law.density(jnp.asarray(STRAINED))
    for rotated in (random_rotation(2) @ STRAINED, STRAINED @ random_rotation(3)):
        np.testing.assert_allclose(law.density(jnp.asarray(rotated)), expected, rtol=1e-13)


def test_the_implicit_stiffness_is_definite_and_free_of_rotations(law):
    convex = jax.jit(type(law).convex)
    for seed in range(20):
        y = jnp.asarray(np.eye(3) + np.random.default_rng(seed).normal(size=(3, 3)))
        matrix = np.asarray(convex(law, y)).reshape(9, 9)
        size = np.abs(matrix).max()
        assert np.linalg.eigvalsh(matrix)[0] > -1e-13 * size
        for axis in np.eye(3):
            spin = np.cross(axis, y).reshape(9)
            assert np.abs(matrix @ spin).max() < 1e-12 * size


def test_the_implicit_stiffness_has_the_derivative_of_differences(law):
    step, y = 1e-5, jnp.asarray(STRAINED.T)
    convex = jax.jit(jax.vmap(type(law).convex, (None, 0)))
    _, slope = jax.vmap(lambda direction: jax.jvp(law.convex, (y,), (direction,)))(
        jnp.asarray(UNIT)
    )
    central = (convex(law, y + step * UNIT) - convex(law, y - step * UNIT)) / (2 * step)
    np.testing.assert_allclose(slope, central, atol=1e-7 * np.abs(central).max())


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_it_stays_finite_where_elements_degenerate(law, precision):
    law = jax.tree.map(lambda leaf: leaf.astype(precision), law)

    def every(y):
        return law.density(y), jax.grad(type(law).density, argnums=1)(law, y), law.convex(y)

    values = jax.jit(jax.vmap(lambda y: (every(y), jax.jacfwd(every)(y))))
    for leaf in jax.tree.leaves(values(np.array([*DEGENERATE.values()], precision))):
        assert leaf.dtype == precision and np.isfinite(leaf).all()


@pytest.mark.parametrize(("precision", "error"), [(np.float32, 1e-6), (np.float64, 1e-13)])
def test_the_nearest_rotation_is_that_of_the_singular_values(precision, error):
    matrices = np.eye(3) + 0.7 * np.random.default_rng(4).normal(size=(2000, 3, 3))
    u, s, v = np.linalg.svd(matrices)
    sign = np.sign(np.linalg.det(u @ v))
    u[:, :, 2] *= sign[:, None]
    rotations = jax.jit(jax.vmap(rotation))(matrices.astype(precision))
    assert rotations.dtype == precision and (sign < 0).any()
    np.testing.assert_allclose(np.linalg.det(rotations), 1.0, atol=10 * error)
    clear = s[:, 1] + sign * s[:, 2] > 0.05
    np.testing.assert_allclose(rotations[clear], (u @ v)[clear], atol=error)


def test_the_positive_part_and_its_derivative_at_repeated_eigenvalues():
    """The positive part of D = diag(2, 2, −1, −1) has the slope of perturbation theory.

    That is the slope of the positive part of D + t A in any direction A.
    """
    matrix = jnp.diag(jnp.array([2.0, 2.0, -1.0, -1.0]))
    direction = np.random.default_rng(5).normal(size=(4, 4))
    direction = direction + direction.T
    value, slope = jax.jvp(positive_part, (matrix,), (jnp.asarray(direction),))
    np.testing.assert_allclose(value, np.diag([2.0, 2.0, 0.0, 0.0]), atol=1e-14)
    weights = np.array([[1.0, 2 / 3], [2 / 3, 0.0]]).repeat(2, 0).repeat(2, 1)
    np.testing.assert_allclose(slope, weights * direction, atol=1e-14)


@pytest.mark.parametrize("values", [(1, 1, -0.5), (2, 2, -1, -1), (3, 0.7, 0, -2)])
def test_the_second_derivative_of_the_positive_part(values):
    """It is that of central differences, also at repeated eigenvalues."""
    rng, n = np.random.default_rng(6), len(values)
    direction, weight = rng.normal(size=(2, n, n))
    direction = direction + direction.T
    if 0 in values:  # The derivative exists in directions that leave an eigenvalue 0.
        direction[2], direction[:, 2] = 0, 0

    def value(t):
        return jnp.sum(
            weight * jnp.sin(positive_part(jnp.diag(jnp.array(values, float)) + t * direction))
        )

    slope, h = jax.jit(jax.grad(value)), 1e-4
    for second in (jax.jacfwd(slope), jax.grad(slope)):
        central = (slope(h) - slope(-h)) / (2 * h)
        np.testing.assert_allclose(second(0.0), central, rtol=1e-6)
