"""Newton's method for implicit accelerations, with the derivative of what it converges to."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.ccp.solution import DerivativeStatus, Status

MOST = 20
"""Iterations."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Newton:
    """How the iterations of a step went."""

    iterations: Int[Array, ""]
    residual: Float[Array, ""]
    """Largest entry of the residual [m/s², rad/s²]."""
    status: Int[Array, ""]
    """A :class:`jaxccp.Status`."""
    derivative: Int[Array, ""]
    """A :class:`jaxccp.DerivativeStatus`."""

    def after(self, iterations: Int[Array, " k"]) -> "Newton":
        """The last of several, with the sum of their iterations."""
        return replace(self, iterations=jnp.sum(iterations, dtype=jnp.int32))


def root(
    residual: Callable[[Float[Array, " n"]], Float[Array, " n"]],
    guess: Float[Array, " n"],
    tolerance: Float[Array, ""] | float,
) -> tuple[Float[Array, " n"], Newton]:
    """x with |residual(x)| ≤ tolerance [m/s²], by Newton's method with the exact Jacobian.

    At least one iteration is taken, so that what stops at the tolerance is far below it. The
    derivative is that of the root, in forward and reverse mode: one linear solve with the Jacobian
    there (``lax.custom_root``), whatever the iterations were.
    """
    identity = jnp.eye(len(guess), dtype=guess.dtype)

    def found(f: Callable, x: Array) -> tuple[Array, tuple[Array, Array]]:
        def goes_on(now: tuple[Array, Array, Array]) -> Array:
            _, miss, count = now
            worst = jnp.max(jnp.abs(miss), initial=0.0)
            open_ = (worst > tolerance) & (count < MOST) & jnp.isfinite(worst)
            return open_ | (count == 0)

        def once(now: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            x, _, count = now
            miss, push = jax.linearize(f, x)
            x = x - jnp.linalg.solve(jax.vmap(push, out_axes=1)(identity), miss)
            return x, f(x), count + 1

        x, miss, count = lax.while_loop(goes_on, once, (x, x, jnp.int32(0)))
        return x, (jnp.max(jnp.abs(miss), initial=0.0), count)

    def tangent(linear: Callable, y: Array) -> Array:
        return jnp.linalg.solve(jax.vmap(linear, out_axes=1)(identity), y)

    start = lax.stop_gradient(guess)
    x, (worst, count) = lax.custom_root(residual, start, found, tangent, has_aux=True)
    worst, count = lax.stop_gradient((worst, count))
    solved = worst <= tolerance
    status = jnp.where(solved, Status.CONVERGED, Status.MAX_ITERATIONS)
    status = jnp.where(jnp.isfinite(worst), status, Status.NON_FINITE).astype(jnp.int32)
    derivative = jnp.where(solved, DerivativeStatus.VALID, DerivativeStatus.INVALID)
    return x, Newton(count, worst, status, derivative.astype(jnp.int32))
