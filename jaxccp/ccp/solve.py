"""The function that solves a problem with any algorithm."""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, TypeVar

import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.consistency import inconsistency, made_consistent
from jaxccp.ccp.derivative import IMPULSES, Gradient, attach
from jaxccp.ccp.derivative.gradient import check_gradient, relaxation
from jaxccp.ccp.iteration import Progress, iterate
from jaxccp.ccp.operators import Delassus
from jaxccp.ccp.problem import Law, Problem, check_law
from jaxccp.ccp.redundancy import can_open, can_share_loads, loads_matter, share
from jaxccp.ccp.solution import DerivativeStatus, Solution, Statistics, Status
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers import resolved
from jaxccp.execution import trees
from jaxccp.execution.jitted import compiled_outside_of_jit
from jaxccp.math import safe
from jaxccp.math.array_input import Dimension, Floats, as_floats

_Tree = TypeVar("_Tree")


@dataclass(frozen=True)
class Stop:
    """Stopping rule: residual ≤ atol + rtol · max‖r_c‖ [m/s], or the iteration limit.

    Raises:
        ValueError: a tolerance is negative, ``rtol`` is not below 1, or ``max_iterations`` or
            ``history`` is not a whole number ≥ 0.
    """

    atol: float | Float[Array, ""] | None = None
    """Absolute tolerance [m/s]. None takes 1e-8 in float64 and 1e-5 in float32, or the rounding
    error of the problem's velocities (:meth:`Problem.rounding`) if that is larger. For example, a
    servo 0.1 rad away from its target requires 50 rad/s in a step of 2 ms, of which float32 keeps
    seven digits."""
    rtol: float | Float[Array, ""] = 0.0
    """Tolerance relative to max‖r_c‖ over all rows. In a step these include open contacts and
    limits, whose r is the gap divided by the step: it may be far larger than what impulses must
    cancel."""
    max_iterations: int | Int[Array, ""] = 1000
    """Limit on the number of iterations, at most 2³¹ − 1."""
    history: int = 0
    """Number of residuals to record: at the start and after the first ``history`` − 1 iterations.
    """

    def __post_init__(self) -> None:
        if isinstance(self.atol, Real) and not self.atol >= 0:
            raise ValueError(f"Stop: atol must be a speed ≥ 0 [m/s], not {self.atol!r}")
        if isinstance(self.rtol, Real) and not 0 <= self.rtol < 1:
            raise ValueError(
                f"Stop: rtol must lie in [0, 1), not {self.rtol!r}: a limit on the iterations is "
                "given by max_iterations"
            )
        limit = self.max_iterations
        if isinstance(limit, Real):
            if not (isinstance(limit, Integral) and limit >= 0):
                raise ValueError(f"Stop: max_iterations must be a whole number ≥ 0, not {limit!r}")
            object.__setattr__(self, "max_iterations", min(int(limit), 2**31 - 1))
        if not (isinstance(self.history, Integral) and self.history >= 0):
            raise ValueError(f"Stop: history must be a whole number ≥ 0, not {self.history!r}")

    def tolerance(self, problem: Problem) -> Float[Array, ""]:
        """Return the residual at which ``problem`` counts as solved [m/s]."""
        asked = self.absolute(problem.r.dtype) + self.rtol * problem.scale()
        return asked if self.atol is not None else jnp.maximum(asked, problem.rounding())

    def absolute(self, dtype: jnp.dtype) -> float | Float[Array, ""]:
        """Return the absolute tolerance in the precision ``dtype`` [m/s]."""
        if self.atol is not None:
            return self.atol
        return 1e-8 if jnp.finfo(dtype).eps < 1e-10 else 1e-5


def check_stop(stop: Any) -> None:
    """Check that ``stop`` is a stopping rule.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(stop, Stop):
        raise TypeError(f"stop must be a Stop, such as Stop(atol=1e-8), not {stop!r}")


def solve(
    problem: Problem,
    solver: Solver | str | None = None,
    guess: Float[Floats, " n"] | None = None,
    *,
    law: Law = "ccp",
    stop: Stop | None = None,
    gradient: Gradient = "always",
    distant: Bool[Floats, " c"] | None = None,
    unique: bool = False,
) -> Solution:
    """Solve a cone complementarity problem; differentiable in every number of ``problem``.

    It works under ``jit``, ``vmap`` and both modes of differentiation, to any order. Outside of
    ``jit`` it is a program of its own, compiled once for each shape of problem. The derivative
    is implicit (:mod:`jaxccp.ccp.derivative`) and as accurate as the solution. It depends neither
    on the solver nor on the guess; if redundant contacts slide, this requires ``unique``. Numerical
    trouble is reported in ``statistics``, never raised.

    Args:
        problem: n rows.
        solver: any algorithm of :mod:`jaxccp.ccp.solvers`, or its name there; APGD when None.
        guess: multipliers to start from [N·s]. They are projected on K and, unless bounds
            exclude 0, multiplied by a factor in [0, 1], so that they do not raise the objective.
        law: ``"ccp"`` (convex) or ``"ncp"`` (Coulomb's law, by De Saxcé's fixed point).
        stop: tolerance and iteration limit.
        gradient: ``"converged"`` makes the derivative of a solution zero if its residual is above
            the tolerance, or if the linear system of the derivative cannot be solved. A
            :class:`jaxccp.Relaxed` gives the derivative of relaxed complementarity, which includes
            contacts that are about to change. ``"always"`` does neither.
        distant: mask of contacts that are left out of the problem, with zero impulse, and only
            contribute to the derivative.
        unique: if redundant contacts slide, choose the load sharing of vanishing compliance
            (:mod:`jaxccp.ccp.redundancy`), which depends on neither solver nor guess. It determines
            the velocities and their derivative under Coulomb's law, and the derivative alone under
            the convex law. It has no effect with pyramids or rolling friction.

    Returns:
        Multipliers, velocities of the rows, and statistics.

    Raises:
        ValueError: unknown law, solver or gradient, shapes that do not fit one another, or a solver
            that does not accept this problem.
        TypeError: ``solver`` is neither an instance nor a name, or ``stop`` is no :class:`Stop`.
    """
    check_gradient(gradient)
    check_law(law)
    stop = Stop() if stop is None else stop
    check_stop(stop)
    problem = problem.checked()
    if distant is not None:
        contacts = Dimension("contacts", len(problem.cones.mu))
        distant = as_floats("distant", distant, [contacts]) != 0
    member = resolved("apgd" if solver is None else solver)
    if not problem.cones.rows:
        return Solution(problem.r, problem.r, empty_statistics(problem.r.dtype, stop))
    kept = lax.stop_gradient(problem if distant is None else problem.without(distant))
    frozen = replace(kept, delassus=kept.delassus.for_iterations())
    start = jnp.zeros_like(problem.r) if guess is None else problem.multipliers("guess", guess)
    start = lax.stop_gradient(start)
    # Which algorithm an automatic choice comes to may depend on numbers that are known here.
    algorithm = member.resolve(frozen, law)
    limits = stop.atol, stop.rtol, stop.max_iterations
    settings = algorithm, law, stop.history, gradient, unique and can_share_loads(problem)
    return _solve(settings, problem, frozen, kept.delassus, start, limits)


@compiled_outside_of_jit
def _solve(
    settings: tuple[Solver, Law, int, Gradient, bool],
    problem: Problem,
    frozen: Problem,
    stored: Delassus,
    start: Float[Array, " n"],
    limits: tuple[Array | float | None, Array | float, Array | int],
) -> Solution:
    """Solve a problem that is checked.

    Args:
        settings: algorithm, law, length of the history, gradient, and whether load sharing is to be
            unique.
        problem: n rows.
        frozen: the same without derivatives and distant contacts, as iterations have it.
        stored: the operator of ``frozen`` in the form for few factorisations, not many products.
        start: multipliers to start from, without derivatives.
        limits: absolute and relative tolerance, and limit of iterations, of :class:`Stop`.
    """
    algorithm, law, history, gradient, unique = settings
    stop = Stop(*limits, history)
    # A row that cannot be satisfied must not determine which iterate is the best for all others.
    solvable = made_consistent(frozen)
    tolerance = lax.stop_gradient(stop.tolerance(solvable))
    limit = jnp.asarray(stop.max_iterations, jnp.int32)
    best = iterate(solvable, algorithm, start, law, tolerance, limit, history)
    shared = jnp.asarray(True)
    if unique:
        best, shared = _with_shared_loads(replace(solvable, delassus=stored), best, tolerance, law)
    feasible = inconsistency(frozen, solvable, law) <= tolerance
    guarded = gradient == "converged"
    impulses = checkpoint_name(best.lam, IMPULSES)
    lam = attach(law, problem, impulses, guarded, relaxation(gradient), unique)
    valid = best.finite & (best.residual <= tolerance)
    failed = DerivativeStatus.ZERO if guarded else DerivativeStatus.INVALID
    usable = jnp.asarray(DerivativeStatus.VALID, jnp.int32)
    derivative = jnp.where(valid, usable, failed)
    if law == "ncp":
        shared = shared & ~can_open(frozen, best.lam, tolerance)
    statistics = _statistics(frozen, best, tolerance, feasible, shared, derivative)
    solved = lam, problem.velocity(lam)
    return Solution(*(stop_gradient_unless(valid, solved) if guarded else solved), statistics)


def stop_gradient_unless(valid: Bool[Array, ""], tree: _Tree) -> _Tree:
    """Return ``tree`` with derivative zero unless ``valid``.

    Args:
        valid: whether to keep the derivative.
        tree: a pytree of arrays.
    """
    return trees.where(valid, tree, lax.stop_gradient(tree))


def _with_shared_loads(
    problem: Problem, best: Progress, tolerance: Array, law: Law
) -> tuple[Progress, Array]:
    """Return the best iterate with shared loads, and whether it has them or does not need them."""
    ambiguous = best.residual <= tolerance
    ambiguous &= loads_matter(problem, best.lam, best.n_lam + problem.r, tolerance)
    end = share(problem, best.lam, best.n_lam, tolerance, ambiguous, law)
    residual = problem.max_residual(end.lam, end.n_lam, problem.step_sizes(), law)
    done = replace(best, lam=end.lam, n_lam=end.n_lam, residual=residual)
    best = replace(
        trees.where(end.converged, done, best), iterations=best.iterations + end.iterations
    )
    return best, end.converged | ~ambiguous


def _statistics(
    problem: Problem,
    best: Progress,
    tolerance: Array,
    feasible: Array,
    unique: Array,
    derivative: Array,
) -> Statistics:
    """Return the statistics of a solve, with the residuals of the best iterate under both laws."""
    rho = problem.step_sizes()
    u = best.n_lam + problem.r
    ccp = problem.residual(best.lam, u, rho)
    shifted = problem.shifted(problem.de_saxce(u))
    ncp = shifted.residual(best.lam, best.n_lam + shifted.r, rho)
    # The residual of the loop: computed again, it may round to the other side of the tolerance.
    solved = best.residual <= tolerance
    stopped = jnp.where(best.done, Status.STALLED, Status.MAX_ITERATIONS)
    converged = jnp.where(unique, Status.CONVERGED, Status.NOT_UNIQUE)
    finite = jnp.where(solved, converged, stopped)
    finite = jnp.where(feasible, finite, Status.INFEASIBLE)
    status = jnp.where(best.finite, finite, Status.NON_FINITE)
    return Statistics(
        status=status.astype(jnp.int32),
        derivative=derivative.astype(jnp.int32),
        iterations=best.iterations,
        residual_ccp=jnp.max(ccp, initial=0.0),
        residual_ncp=jnp.max(ncp, initial=0.0),
        rms_ccp=_rms(ccp),
        rms_ncp=_rms(ncp),
        history=best.history,
    )


def empty_statistics(dtype: jnp.dtype, stop: Stop) -> Statistics:
    """Return the statistics of a problem without rows, which is solved at once.

    Args:
        dtype: dtype of the residuals.
        stop: stopping rule, which has the length of the history.
    """
    zero = jnp.zeros((), dtype)
    history = jnp.full(stop.history, jnp.inf, dtype).at[:1].set(0.0)
    fine = jnp.int32(Status.CONVERGED), jnp.int32(DerivativeStatus.VALID)
    return Statistics(*fine, jnp.int32(0), zero, zero, zero, zero, history)


def _rms(residual: Array) -> Array:
    """Return the root mean square of the residuals, 0 if there are none."""
    return safe.norm(residual) / max(residual.shape[0], 1) ** 0.5
