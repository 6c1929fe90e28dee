"""Test the root of an inverse mass matrix, and derivatives of what its products determine."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.model import MassRoot

RANDOM = np.random.default_rng(0)
START, SLOPE, CURVATURE = (RANDOM.normal(size=(6, 6)) for _ in range(3))
WEIGHT = RANDOM.normal(size=(6, 6))


def matrix(s: jax.Array) -> jax.Array:
    """Return a positive definite matrix along a curve."""
    half = jnp.asarray(START) + s * SLOPE + s * s * CURVATURE
    return half @ half.T + jnp.eye(6)


def by_root(s: jax.Array) -> jax.Array:
    root = MassRoot.of(matrix(s))
    return jnp.sum(WEIGHT * (root.whiten(jnp.eye(6)) @ root.inverse.T))


def by_inverse(s: jax.Array) -> jax.Array:
    return jnp.sum(WEIGHT * jnp.linalg.inv(matrix(s)))


def test_it_is_triangular_and_reads_the_lower_triangle() -> None:
    m = matrix(jnp.asarray(0.3))
    root = MassRoot.of(jnp.tril(m)).inverse
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(m), rtol=1e-10)
    np.testing.assert_array_equal(root, np.triu(root))


def test_derivatives_up_to_the_third_order() -> None:
    """Derivatives agree with those of a general inverse, in both modes."""
    at = jnp.asarray(0.3)
    ours, theirs = by_root, by_inverse
    for differentiate in (jax.jacfwd, jax.jacrev, jax.jacfwd):
        ours, theirs = differentiate(ours), differentiate(theirs)
        np.testing.assert_allclose(jax.jit(ours)(at), jax.jit(theirs)(at), rtol=1e-9)


def test_a_matrix_of_which_there_is_a_lower_triangle_has_the_same_derivative() -> None:
    def lower(s: jax.Array) -> jax.Array:
        root = MassRoot.of(jnp.tril(matrix(s)))
        return jnp.sum(WEIGHT * (root.inverse @ root.inverse.T))

    at = jnp.asarray(0.3)
    expected = jax.jit(jax.grad(by_inverse))(at)
    np.testing.assert_allclose(jax.jit(jax.grad(lower))(at), expected, rtol=1e-9)
