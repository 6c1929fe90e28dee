"""Newton's method for implicit accelerations, with the derivative of what it converges to."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.derivative import IMPULSES
from jaxccp.ccp.operators.factors import Factors
from jaxccp.ccp.solution import DerivativeStatus, Status

MOST = 30
"""Iterations."""
SHRINKS = 0.2
"""Ratio of a residual to the one before above which the Jacobian is taken anew."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Newton:
    """How the iterations of a step went."""

    iterations: Int[Array, ""]
    residual: Float[Array, ""]
    """Largest entry of what Newton's method would still change [m/s², rad/s²]: by how much the
    accelerations miss, also along motions so stiff that the equations cannot be met as closely."""
    status: Int[Array, ""]
    """A :class:`jaxccp.Status`."""
    derivative: Int[Array, ""]
    """A :class:`jaxccp.DerivativeStatus`."""

    def after(self, iterations: Int[Array, " k"]) -> "Newton":
        """The last of several, with the sum of their iterations."""
        return replace(self, iterations=jnp.sum(iterations, dtype=jnp.int32))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Iterate:
    x: Float[Array, " n"]
    change: Float[Array, " n"]
    """What the next iteration takes from x."""
    worst: Float[Array, ""]
    shrinks: Bool[Array, ""]
    rounded: Bool[Array, ""]
    """Whether what is left is rounding: a Jacobian taken anew did not shrink it."""
    count: Int[Array, ""]


def root(
    residual: Callable[[Float[Array, " n"]], Float[Array, " n"]],
    guess: Float[Array, " n"],
    tolerance: Float[Array, ""] | float,
    rounding: Float[Array, ""],
    factorised: Callable[[Callable, Float[Array, " n"]], Factors],
    first: int = 0,
) -> tuple[Float[Array, " n"], Newton]:
    """x where residual(x) vanishes, by Newton's method until it would change x, from its entry
    ``first`` on, by no more than the tolerance [m/s²].

    The exact Jacobian is taken where a step begins, and once more where iterations with it shrink
    the change by less than :data:`SHRINKS`. At least one iteration is taken, so that what stops
    at the tolerance is far below it. Stiff equations may not resolve as much: a change up to
    ``rounding`` [m/s²] that not even a new Jacobian shrinks counts as solved.

    The derivative is that of the root, in forward and reverse mode: one linear solve with the
    Jacobian there (``lax.custom_root``), whatever the iterations were. ``factorised`` makes factors
    of the Jacobian from its product with a vector, and from a vector. Where there are multipliers,
    before ``first``, they are right but for a little, and the linear solve is refined once.
    """

    def found(f: Callable, x: Array) -> _Iterate:
        def unsolved(now: _Iterate) -> Array:
            more = (now.worst > tolerance) & ~now.rounded & (now.count < MOST)
            return (more & jnp.isfinite(now.worst)) | (now.count == 0)

        def with_jacobian(now: _Iterate) -> _Iterate:
            miss, push = jax.linearize(f, now.x)
            factors = factorised(push, miss)

            def to_change(miss: Array) -> tuple[Array, Array]:
                change = factors.solve(miss)
                return change, jnp.max(jnp.abs(change[first:]), initial=0.0)

            def goes_on(now: _Iterate) -> Array:
                return unsolved(now) & now.shrinks

            def once(now: _Iterate) -> _Iterate:
                x = now.x - now.change
                change, worst = to_change(f(x))
                shrinks = worst < SHRINKS * now.worst
                return replace(
                    now, x=x, change=change, worst=worst, shrinks=shrinks, count=now.count + 1
                )

            change, worst = to_change(miss)
            start = replace(now, change=change, worst=worst, shrinks=jnp.asarray(True))
            end = lax.while_loop(goes_on, once, start)
            vain = ~end.shrinks & (end.count == start.count + 1)
            return replace(end, rounded=vain & (end.worst <= rounding))

        far, false = jnp.full((), jnp.inf, x.dtype), jnp.asarray(False)
        start = _Iterate(x, x, far, false, false, jnp.zeros((), jnp.int32))
        return lax.while_loop(unsolved, with_jacobian, start)

    def tangent(linear: Callable, y: Array) -> Array:
        factors = factorised(linear, y)

        def refined(solve: Callable) -> Callable:
            def twice(product: Callable, b: Array) -> Array:
                x = solve(b)
                return x + solve(b - product(x)) if first else x

            return twice

        return lax.custom_linear_solve(
            linear, y, refined(factors.solve), refined(factors.solve_transposed)
        )

    # Iterated apart from the derivative, so that reverse mode that keeps the root iterates no more.
    fixed, closed_over = jax.closure_convert(residual, guess)
    # Traced once, for the residual and its derivative alike.
    fixed = jax.jit(fixed)
    still = [lax.stop_gradient(value) for value in closed_over]
    end = found(lambda x: fixed(x, *still), lax.stop_gradient(guess))
    x = checkpoint_name(end.x, IMPULSES)
    x = lax.custom_root(residual, x, lambda _, x: x, tangent)
    solved = (end.worst <= tolerance) | end.rounded
    status = jnp.where(solved, Status.CONVERGED, Status.MAX_ITERATIONS)
    status = jnp.where(jnp.isfinite(end.worst), status, Status.NON_FINITE).astype(jnp.int32)
    derivative = jnp.where(solved, DerivativeStatus.VALID, DerivativeStatus.INVALID)
    return x, Newton(end.count, end.worst, status, derivative.astype(jnp.int32))
