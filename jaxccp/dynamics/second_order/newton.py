"""Newton's method for implicit accelerations, with the derivative of the root it converges to."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.derivative import IMPULSES
from jaxccp.ccp.operators.factors import Factors
from jaxccp.ccp.solution import DerivativeStatus, Status
from jaxccp.math.implicit_root import RootFunction

MAX_ITERATIONS = 30
"""Largest number of iterations."""
MAX_CONTRACTION = 0.2
"""Ratio of the sizes of two successive changes above which the Jacobian is computed again."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NewtonReport:
    """Report of the Newton iterations of a step."""

    iterations: Int[Array, ""]
    """Number of iterations."""
    residual: Float[Array, ""]
    """Largest entry of the next change that Newton's method would make [m/s², rad/s²]: the error of
    the accelerations. Very stiff motions have a lower bound on it by rounding."""
    status: Int[Array, ""]
    """A :class:`jaxccp.Status`."""
    derivative: Int[Array, ""]
    """A :class:`jaxccp.ccp.solution.DerivativeStatus`."""

    @staticmethod
    def of_all(reports: "NewtonReport") -> "NewtonReport":
        """Return the report of several solves, one after the other: the residual of the last, the
        worst status, and the total number of iterations.

        Args:
            reports: their reports, with an axis k in front.
        """
        return NewtonReport(
            iterations=jnp.sum(reports.iterations, dtype=jnp.int32),
            residual=reports.residual[-1],
            status=jnp.max(reports.status),
            derivative=jnp.max(reports.derivative),
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Iterate:
    x: Float[Array, " n"]
    change: Float[Array, " n"]
    """Change that the next iteration subtracts from x."""
    worst: Float[Array, ""]
    shrinks: Bool[Array, ""]
    rounded: Bool[Array, ""]
    """Whether the remaining change is rounding: a new Jacobian did not reduce it."""
    count: Int[Array, ""]


def find_root(
    residual: Callable[[Float[Array, " n"]], Float[Array, " n"]],
    guess: Float[Array, " n"],
    tolerance: Float[Array, ""] | float,
    rounding: Float[Array, ""],
    factorised: Callable[[Callable, Float[Array, " n"]], Factors],
    first: int = 0,
) -> tuple[Float[Array, " n"], NewtonReport]:
    """Return the root x of ``residual``, by Newton's method.

    It stops when the next change of x, from its entry ``first`` on, is within the tolerance. The
    Jacobian is that at ``guess``; it is computed again after an iteration whose change is more than
    :data:`MAX_CONTRACTION` times the last one. There is at least one iteration, so the result is
    far more accurate than the tolerance. Rounding may keep stiff equations above the tolerance: a
    change up to ``rounding`` that a new Jacobian does not reduce counts as converged.

    The derivative is that of the root, in forward and reverse mode: one linear solve with the
    Jacobian there, whatever the iterations were. With multipliers, the entries before ``first``,
    the factors are slightly inexact, and the linear solve is refined once.

    Args:
        residual: the function.
        guess: initial value of x.
        tolerance: largest last change [m/s²].
        rounding: largest change that may be rounding [m/s²].
        factorised: makes factors of the Jacobian from its product with a vector, and from a vector.
        first: number of multipliers before the accelerations in x.

    Returns:
        The root, and the report of the iterations.
    """

    # The iterations are separate from the derivative: with the root stored, reverse mode does not
    # iterate.
    function = RootFunction.of(residual, guess)
    final = _iterate(
        function.without_derivative(),
        lax.stop_gradient(guess),
        tolerance,
        rounding,
        factorised,
        first,
    )
    x = checkpoint_name(final.x, IMPULSES)
    x = function.with_derivative(x, partial(_solve_linear, factorised, first))
    solved = (final.worst <= tolerance) | final.rounded
    status = jnp.where(solved, Status.CONVERGED, Status.MAX_ITERATIONS)
    status = jnp.where(jnp.isfinite(final.worst), status, Status.NON_FINITE).astype(jnp.int32)
    derivative = jnp.where(solved, DerivativeStatus.VALID, DerivativeStatus.INVALID)
    return x, NewtonReport(final.count, final.worst, status, derivative.astype(jnp.int32))


def _iterate(
    f: Callable,
    x: Array,
    tolerance: Array | float,
    rounding: Array,
    factorised: Callable[[Callable, Array], Factors],
    first: int,
) -> _Iterate:
    """Return the last iterate of Newton's method.

    Args:
        f: the residual.
        x: initial value.
        tolerance: see :func:`find_root`.
        rounding: see :func:`find_root`.
        factorised: see :func:`find_root`.
        first: see :func:`find_root`.
    """

    def unconverged(current: _Iterate) -> Array:
        above_tolerance = (
            (current.worst > tolerance) & ~current.rounded & (current.count < MAX_ITERATIONS)
        )
        return (above_tolerance & jnp.isfinite(current.worst)) | (current.count == 0)

    def with_jacobian(current: _Iterate) -> _Iterate:
        error, jacobian_product = jax.linearize(f, current.x)
        factors = factorised(jacobian_product, error)

        def to_change(error: Array) -> tuple[Array, Array]:
            change = factors.solve(error)
            return change, jnp.max(jnp.abs(change[first:]), initial=0.0)

        def contracting(current: _Iterate) -> Array:
            return unconverged(current) & current.shrinks

        def update(current: _Iterate) -> _Iterate:
            x = current.x - current.change
            change, worst = to_change(f(x))
            shrinks = worst < MAX_CONTRACTION * current.worst
            return replace(
                current,
                x=x,
                change=change,
                worst=worst,
                shrinks=shrinks,
                count=current.count + 1,
            )

        change, worst = to_change(error)
        start = replace(current, change=change, worst=worst, shrinks=jnp.asarray(True))
        final = lax.while_loop(contracting, update, start)
        ineffective = ~final.shrinks & (final.count == start.count + 1)
        return replace(final, rounded=ineffective & (final.worst <= rounding))

    infinite, false = jnp.full((), jnp.inf, x.dtype), jnp.asarray(False)
    start = _Iterate(
        x=x, change=x, worst=infinite, shrinks=false, rounded=false, count=jnp.zeros((), jnp.int32)
    )
    return lax.while_loop(unconverged, with_jacobian, start)


def _solve_linear(
    factorised: Callable[[Callable, Array], Factors],
    first: int,
    linear: Callable,
    y: Array,
) -> Array:
    """Solve linear(x) = y with the factors of its matrix; refine once if there are multipliers.

    Args:
        factorised: see :func:`find_root`.
        first: number of multipliers.
        linear: a linear function.
        y: right-hand side.
    """
    factors = factorised(linear, y)

    def with_refinement(solve: Callable) -> Callable:
        def refine(product: Callable, b: Array) -> Array:
            x = solve(b)
            return x + solve(b - product(x)) if first else x

        return refine

    return lax.custom_linear_solve(
        linear, y, with_refinement(factors.solve), with_refinement(factors.solve_transposed)
    )
