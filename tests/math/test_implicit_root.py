"""Test derivatives of roots against those of roots known in closed form."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.math.implicit_root import Linear, RootFunction


def solve(linear: Linear, y: jax.Array) -> jax.Array:
    """Return the x with linear(x) = y."""
    return jnp.linalg.solve(jax.vmap(linear, out_axes=1)(jnp.eye(len(y))), y)


def cube_roots(a: jax.Array, count: jax.Array) -> jax.Array:
    """Return the cube roots of ``a``, found by ``count`` steps of Newton's method."""
    root = jnp.ones_like(a)
    function = RootFunction.of(lambda x: x**3 - a * count / count, root)
    frozen = function.without_derivative()
    step = jax.lax.stop_gradient
    root = jax.lax.while_loop(
        lambda at: at[1] < count,
        lambda at: (at[0] - frozen(at[0]) / (3 * step(at[0]) ** 2), at[1] + 1),
        (root, jnp.zeros_like(count)),
    )[0]
    return function.with_derivative(root, solve)


def test_first_and_second_derivatives_in_both_modes() -> None:
    """Derivatives of x = a^(1/3) are dx/da = a^(−2/3)/3 and d²x/da² = −2 a^(−5/3)/9."""
    a, count = jnp.array([0.5, 2.0, 8.0]), jnp.array(30)
    first, second = np.diag(a ** (-2 / 3) / 3), -2 * a ** (-5 / 3) / 9
    np.testing.assert_allclose(cube_roots(a, count), np.cbrt(a), rtol=1e-12)
    for mode in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(mode(cube_roots)(a, count), first, rtol=1e-12, atol=1e-15)
        twice = jax.jacfwd(mode(cube_roots))(a, count)
        np.testing.assert_allclose(np.einsum("iii->i", twice), second, rtol=1e-12)


def test_inside_loops_and_batches() -> None:
    """Two roots in a scan, in a batch, have the derivatives of x = a^(1/9)."""

    def nested(a: jax.Array) -> jax.Array:
        def body(x: jax.Array, _: None) -> tuple[jax.Array, None]:
            return cube_roots(x, jnp.array(30)), None

        return jnp.sum(jax.lax.scan(body, a, None, length=2)[0])

    a = jnp.linspace(0.5, 3.0, 8).reshape(4, 2)
    gradient = jax.jit(jax.vmap(jax.grad(nested)))(a)
    np.testing.assert_allclose(gradient, a ** (-8 / 9) / 9, rtol=1e-12)
