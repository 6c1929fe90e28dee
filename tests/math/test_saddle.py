"""Test constrained least change, redundant constraints included, against numpy's pseudo-inverse."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.math.saddle import Saddle

V, K = 7, 3


def constraints(dtype: type = np.float64) -> jax.Array:
    """Return three rows, then twice the first one, the sum of the others, and zeros."""
    a = np.random.default_rng(0).normal(size=(3, V))
    return jnp.asarray(np.stack([*a, 2 * a[0], a[1] + a[2], 0 * a[0]]), dtype)


def solve(
    a: jax.Array, p: jax.Array, r: jax.Array, scale: jax.Array | None = None
) -> tuple[jax.Array, jax.Array]:
    return Saddle.of(a, jnp.ones(len(a), a.dtype) if scale is None else scale).solve(p, r)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_against_the_pseudo_inverse(dtype: type) -> None:
    """The solution is the pseudo-inverse's; contradicting right-hand sides have no effect."""
    a, random = constraints(dtype), np.random.default_rng(1)
    p, r = random.normal(size=(V, K)), random.normal(size=(len(a), K))
    w, lam = jax.jit(solve)(a, jnp.asarray(p, dtype), jnp.asarray(r, dtype))
    exact = np.asarray(constraints())
    pseudo = np.linalg.pinv(exact, rcond=1e-9)
    tolerance = {"atol": 100 * np.finfo(dtype).eps}
    np.testing.assert_allclose(w, p - pseudo @ (exact @ p + r), **tolerance)
    np.testing.assert_allclose(lam, -pseudo.T @ (p + pseudo @ r), **tolerance)


def test_rows_share_by_scale() -> None:
    """The row that counts as three times as long bears a ninth of the load of an equal row."""
    a = jnp.asarray([[1.0, 2.0], [1.0, 2.0]])
    _, lam = solve(a, jnp.asarray([[3.0], [4.0]]), jnp.zeros((2, 1)), jnp.asarray([1.0, 3.0]))
    assert lam[0, 0] / lam[1, 0] == pytest.approx(9.0)
    assert lam.sum() == pytest.approx(-11 / 5)


def test_noise_is_no_row() -> None:
    """A row that is small against its scale has no effect, even with a large right-hand side."""
    w, lam = solve(1e-9 * jnp.ones((1, 3)), jnp.zeros((3, 1)), jnp.ones((1, 1)))
    assert not np.any(w) and not np.any(lam)


def test_derivatives_agree_with_central_differences() -> None:
    """Derivatives agree with central differences, in rows that repeat each other, too."""
    random = np.random.default_rng(2)
    change, p, weight = (jnp.asarray(random.normal(size=(V, V))) for _ in range(3))
    r = constraints() @ p

    def end(t: jax.Array) -> jax.Array:
        a = constraints() @ (jnp.eye(V) + t * change)
        w, lam = solve(a, p + t * weight, (1 + t) * r)
        return jnp.sum(weight * w) + jnp.sum(jnp.sin(a @ p) * lam)

    h, zero = 1e-6, jnp.zeros(())
    secant = float(end(zero + h) - end(zero - h)) / (2 * h)
    forward = float(jax.jvp(end, (zero,), (jnp.ones(()),))[1])
    assert forward == pytest.approx(secant, rel=1e-7)
    assert jax.grad(end)(zero) == pytest.approx(forward, rel=1e-12)
