"""Test quaternions against scipy's rotations, their derivatives against central differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.math import quaternion

COUNT = 50
EYE = np.array([1.0, 0.0, 0.0, 0.0])


@pytest.fixture(params=[np.float32, np.float64], ids=["f32", "f64"])
def dtype(request: pytest.FixtureRequest) -> type:
    return request.param


def rotations(seed: int) -> Rotation:
    return Rotation.random(COUNT, rng=np.random.default_rng(seed))


def wxyz(rotation: Rotation) -> np.ndarray:
    return rotation.as_quat(scalar_first=True)


def close(actual: jax.Array, expected: np.ndarray, dtype: type) -> None:
    assert actual.dtype == dtype
    np.testing.assert_allclose(actual, expected, atol=20 * float(np.finfo(dtype).eps), rtol=0)


def same_rotation(actual: jax.Array, expected: np.ndarray, dtype: type) -> None:
    sign = np.sign(np.sum(np.asarray(actual) * expected, axis=-1, keepdims=True))
    close(actual, sign * expected, dtype)


def test_multiply_composes_left_after_right(dtype: type) -> None:
    p, q = rotations(0), rotations(1)
    product = quaternion.multiply(jnp.asarray(wxyz(p), dtype), jnp.asarray(wxyz(q), dtype))
    same_rotation(product, wxyz(p * q), dtype)


def test_conjugate_is_the_inverse(dtype: type) -> None:
    q = rotations(2)
    same_rotation(quaternion.conjugate(jnp.asarray(wxyz(q), dtype)), wxyz(q.inv()), dtype)


def test_rotate_and_matrix(dtype: type) -> None:
    q, v = rotations(3), np.random.default_rng(3).normal(size=(COUNT, 3))
    ours = jnp.asarray(wxyz(q), dtype)
    close(quaternion.rotate(ours, jnp.asarray(v, dtype)), q.apply(v), dtype)
    close(quaternion.to_matrix(ours), q.as_matrix(), dtype)


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e-12, 1e-5, 1e-4, 2e-4, 1e-2, 1.0, 3.1, 20.0])
def test_exp(dtype: type, scale: float) -> None:
    vectors = np.random.default_rng(4).normal(size=(COUNT, 3))
    vectors *= scale / np.linalg.norm(vectors, axis=1, keepdims=True)
    ours = quaternion.exp(jnp.asarray(vectors, dtype))
    same_rotation(ours, wxyz(Rotation.from_rotvec(vectors)), dtype)
    # Small rotations keep their relative accuracy, else angular velocities would be lost.
    imaginary = np.linalg.norm(ours[:, 1:], axis=1)
    if 1e-20 < scale < 1:
        np.testing.assert_allclose(imaginary, np.sin(scale / 2), rtol=1e-6)


def test_exp_is_smooth_at_zero(dtype: type) -> None:
    zero = jnp.zeros(3, dtype)
    expected = np.vstack([np.zeros(3), 0.5 * np.eye(3)])
    for mode in (jax.jacfwd, jax.jacrev):
        close(mode(quaternion.exp)(zero), expected, dtype)
    second = jax.hessian(quaternion.exp)(zero)
    close(second[0], -0.25 * np.eye(3), dtype)
    close(second[1:], np.zeros((3, 3, 3)), dtype)


@pytest.mark.parametrize("angle", [0.99e-4, 1.01e-4, 1e-3, 1.0, 3.0])
def test_derivative_of_exp(angle: float) -> None:
    """Differences agree at the series' end, too: with h = angle / 100 none of them crosses it."""
    vector = angle * np.array([2.0, -1.0, 2.0]) / 3.0
    step = 1e-2 * angle if angle < 1e-2 else 1e-5

    def exact(v: np.ndarray) -> np.ndarray:
        q = wxyz(Rotation.from_rotvec(v))
        return q if q[0] > 0 else -q

    differences = [(exact(vector + d) - exact(vector - d)) / (2 * step) for d in step * np.eye(3)]
    ours = jax.jacfwd(quaternion.exp)(jnp.asarray(vector))
    np.testing.assert_allclose(ours, np.stack(differences, axis=1), atol=1e-8)


def test_normalize(dtype: type) -> None:
    q = np.random.default_rng(5).normal(size=(COUNT, 4))
    unit = q / np.linalg.norm(q, axis=1, keepdims=True)
    close(quaternion.normalize(jnp.asarray(q, dtype)), unit, dtype)
    zero = jnp.zeros(4, dtype)
    close(quaternion.normalize(zero), EYE, dtype)
    close(jax.jacrev(quaternion.normalize)(zero), np.zeros((4, 4)), dtype)


def test_angle(dtype: type) -> None:
    p, q = rotations(6), rotations(7)
    ours = quaternion.angle(jnp.asarray(wxyz(p), dtype), jnp.asarray(-wxyz(q), dtype))
    close(ours, (p.inv() * q).magnitude(), dtype)


def test_small_angles_keep_their_accuracy(dtype: type) -> None:
    eye = jnp.asarray(EYE, dtype)
    rotation = quaternion.exp(jnp.asarray([0.0, 1e-5, 0.0], dtype))
    np.testing.assert_allclose(quaternion.angle(eye, rotation), 1e-5, rtol=1e-5)


def test_angle_of_equal_rotations_has_derivative_zero(dtype: type) -> None:
    eye = jnp.asarray(EYE, dtype)
    close(quaternion.angle(eye, eye), np.zeros(()), dtype)
    for argument in (0, 1):
        close(jax.grad(quaternion.angle, argument)(eye, eye), np.zeros(4), dtype)
