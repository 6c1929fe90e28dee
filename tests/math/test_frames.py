"""Test that contact frames are orthonormal, right-handed and smooth on either half sphere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.math.contact_frame import contact_frame

AXES = np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.8, -0.0], [1e-9, 0, -1], [0, 1, -1e-300]]])


def normals() -> np.ndarray:
    random = np.random.default_rng(0).normal(size=(200, 3))
    vectors = np.vstack([AXES, random])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_are_rotations_with_the_normal_first(dtype: type) -> None:
    n = normals()
    frame = contact_frame(jnp.asarray(n, dtype))
    assert frame.dtype == dtype and frame.shape == (len(n), 3, 3)
    eps = 10 * float(np.finfo(dtype).eps)
    np.testing.assert_array_equal(frame[:, 0], n.astype(dtype))
    product = np.einsum("bij,bkj->bik", frame, frame)
    np.testing.assert_allclose(product, np.broadcast_to(np.eye(3), product.shape), atol=eps)
    np.testing.assert_allclose(np.linalg.det(np.asarray(frame, float)), 1, atol=eps)
    np.testing.assert_allclose(np.cross(frame[:, 1], frame[:, 2]), frame[:, 0], atol=eps)


def test_derivatives() -> None:
    n = normals()
    jacobian = jax.vmap(jax.jacrev(contact_frame))(jnp.asarray(n))
    assert np.all(np.isfinite(jacobian))
    away = np.abs(n[:, 2]) > 1e-3  # the charts meet at z = 0
    steps = 1e-6 * np.eye(3)
    differences = [
        (np.asarray(contact_frame(jnp.asarray(n + d))) - contact_frame(jnp.asarray(n - d))) / 2e-6
        for d in steps
    ]
    expected = np.stack(differences, axis=-1)
    np.testing.assert_allclose(jacobian[away], expected[away], atol=1e-8)
    # Of the function on the sphere: turning the normal keeps the frame orthonormal.
    axis = np.random.default_rng(1).normal(size=n.shape)
    rate = np.einsum("bijk,bk->bij", jacobian, np.cross(axis, n))
    spin = np.einsum("bij,bkj->bik", rate, contact_frame(jnp.asarray(n)))
    np.testing.assert_allclose(spin, -np.swapaxes(spin, 1, 2), atol=1e-9)
