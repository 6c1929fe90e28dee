"""Test eigenvalues and vectors of symmetric matrices, also where some are equal."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.math.eigen import eigen


def test_derivatives_are_those_of_central_differences() -> None:
    random = np.random.default_rng(0)
    matrix, change = (part + part.T for part in random.standard_normal((2, 4, 4)))
    vectors = jax.jvp(eigen, (jnp.asarray(matrix),), (jnp.asarray(change),))[1]
    h = 1e-6
    (low, before), (high, after) = (np.linalg.eigh(matrix + s * h * change) for s in (-1, 1))
    np.testing.assert_allclose(vectors[0], (high - low) / (2 * h), rtol=1e-7)
    same = np.sign(np.sum(before * after, axis=0))
    signs = np.sign(np.sum(np.asarray(eigen(jnp.asarray(matrix))[1]) * after, axis=0))
    np.testing.assert_allclose(vectors[1], signs * (after - same * before) / (2 * h), atol=1e-6)


def test_what_equal_values_share_has_a_finite_derivative() -> None:
    """The sum of two equal eigenvalues, and what their vectors span, have finite derivatives."""
    random = np.random.default_rng(1)
    rotation, _ = np.linalg.qr(random.standard_normal((4, 4)))
    matrix = jnp.asarray(rotation @ np.diag([1.0, 1.0, 3.0, 3.0]) @ rotation.T)
    change = random.standard_normal((4, 4))
    change = jnp.asarray(change + change.T)

    def shared(at: jax.Array) -> tuple[jax.Array, jax.Array]:
        values, vectors = eigen(at)
        return values[:2].sum(), vectors[:, :2] @ vectors[:, :2].T

    total, span = jax.jvp(shared, (matrix,), (change,))[1]
    h = 1e-6
    ends = []
    for side in (-1, 1):
        values, vectors = np.linalg.eigh(matrix + side * h * change)
        ends.append((values[:2].sum(), vectors[:, :2] @ vectors[:, :2].T))
    np.testing.assert_allclose(total, (ends[1][0] - ends[0][0]) / (2 * h), rtol=1e-8)
    np.testing.assert_allclose(span, (ends[1][1] - ends[0][1]) / (2 * h), atol=1e-8)
    reverse = jax.grad(lambda at: jnp.sum(shared(at)[1] ** 3))(matrix)
    assert np.isfinite(reverse).all()
