"""The one driver of every algorithm: loop, stopping, best iterate, Coulomb's law, statistics."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.delassus import DenseDelassus
from jaxccp.ccp.derivative import IMPULSES, attach
from jaxccp.ccp.elimination.delassus import EliminatedDelassus
from jaxccp.ccp.feasible import admissible, contradiction
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solution import Solution, Statistics, Status
from jaxccp.ccp.solver import Solver, Task
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.math import safe

INEXACTNESS, LEAST = 3.0, 0.01
"""Under Coulomb's law the convex problem of the moment is solved until its residual is below this
fraction of the law's own, then De Saxcé's shift is renewed: to begin with after every iteration,
which on most problems takes half as many of them as waiting; where friction is high it may circle,
so that the fraction shrinks down to the second number."""
CALMER, PATIENCE = 1 / 3, 100
"""The factor by which it does, and the renewals without a new best iterate after which."""
TABLED_ROWS = 1500
"""Largest problem with eliminated equalities whose N is made a matrix for the iterations."""


@dataclass(frozen=True)
class Stop:
    """When to stop: residual ≤ atol + rtol · max‖r_c‖ [m/s], or at the iteration limit."""

    atol: float | Float[Array, ""] | None = None
    """[m/s]; None takes 1e-8 in float64 and 1e-5 in float32."""
    rtol: float | Float[Array, ""] = 0.0
    max_iterations: int | Int[Array, ""] = 1000
    history: int = 0
    """Residuals to record: of the start and of the first ``history`` − 1 iterations."""

    def tolerance(self, problem: Problem) -> Float[Array, ""]:
        """The residual at which ``problem`` counts as solved [m/s]."""
        double = jnp.finfo(problem.r.dtype).eps < 1e-10
        atol = (1e-8 if double else 1e-5) if self.atol is None else self.atol
        return atol + self.rtol * problem.scale()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Progress:
    algorithm: Any
    shift: Float[Array, " c"]
    inexactness: Float[Array, ""]
    stale: Int[Array, ""]
    """Renewals since the best iterate or the last change of ``inexactness``."""
    lam: Float[Array, " n"]
    n_lam: Float[Array, " n"]
    residual: Float[Array, ""]
    iterations: Int[Array, ""]
    finite: Bool[Array, ""]
    done: Bool[Array, ""]
    """The algorithm itself has nothing left to do."""
    history: Float[Array, " k"]


def solve(
    problem: Problem,
    solver: Solver | None = None,
    guess: Float[Array, " n"] | None = None,
    *,
    law: Law = "ccp",
    stop: Stop | None = None,
) -> Solution:
    """Solve a cone complementarity problem; differentiable in every number of ``problem``.

    Works under ``jit``, ``vmap`` and both modes of differentiation, to any order; the derivative
    is implicit (:mod:`jaxccp.ccp.derivative`), so it does not depend on the solver nor on the
    guess, and is as accurate as the solution. Trouble is reported in ``statistics``, never raised.

    Args:
        problem: n rows.
        solver: any algorithm of :mod:`jaxccp.ccp.solvers`; APGD when None.
        guess: multipliers to start from [N·s], or the part of them that is better than zero.
        law: ``"ccp"`` (convex) or ``"ncp"`` (Coulomb's law, by De Saxcé's fixed point).
        stop: tolerance and iteration limit.
    """
    if law not in ("ccp", "ncp"):
        raise ValueError(f'law must be "ccp" or "ncp", not {law!r}')
    if problem.r.shape[-1] != problem.cones.rows or problem.delassus.rows != problem.cones.rows:
        raise ValueError(
            f"row counts differ: r has {problem.r.shape[-1]}, the cones {problem.cones.rows} and "
            f"the Delassus operator {problem.delassus.rows}; the layout is scalar rows, then "
            f"{problem.cones.width} rows per contact"
        )
    if not problem.cones.rows:
        return Solution(problem.r, problem.r, _nothing_to_do(problem.r.dtype, stop or Stop()))
    frozen = _tabled(lax.stop_gradient(problem))
    start = jnp.zeros_like(problem.r) if guess is None else lax.stop_gradient(guess)
    algorithm = (solver or APGD()).chosen(frozen, law)
    # One row that nothing can satisfy must not decide which iterate is the best for all others.
    solvable = admissible(frozen)
    tolerance = (stop or Stop()).tolerance(solvable)
    best = _iterate(solvable, algorithm, start, law, stop or Stop())
    feasible = contradiction(frozen, solvable, law) <= tolerance
    lam = attach(law, problem, checkpoint_name(best.lam, IMPULSES))
    statistics = _statistics(frozen, best, tolerance, feasible)
    return Solution(lam, problem.velocity(lam), statistics)


def _tabled(problem: Problem) -> Problem:
    """With a matrix where a product with it is cheaper than one along trees of bodies."""
    delassus = problem.delassus
    if isinstance(delassus, EliminatedDelassus) and delassus.rows <= TABLED_ROWS:
        return replace(problem, delassus=DenseDelassus(delassus.dense()))
    return problem


def _iterate(problem: Problem, solver: Solver, guess: Array, law: Law, stop: Stop) -> _Progress:
    rho = problem.step_sizes()
    tolerance = stop.tolerance(problem)
    # An algorithm that knows only the convex law is led to Coulomb's by De Saxcé's fixed point.
    shifts = not solver.solves(law)
    task = Task(problem, rho, tolerance, solver.prepare(problem, rho), "ccp" if shifts else law)

    def law_residual(lam: Array, n_lam: Array) -> tuple[Array, Array]:
        u = n_lam + problem.r
        shift = problem.de_saxce(u) if law == "ncp" else jnp.zeros_like(problem.cones.mu)
        return _worst(problem.shifted(shift), rho, lam, n_lam), shift

    def shifted(shift: Array) -> Task:
        return replace(task, problem=problem.shifted(shift)) if shifts else task

    def running(progress: _Progress) -> Array:
        return (
            (progress.residual > tolerance)
            & (progress.iterations < stop.max_iterations)
            & progress.finite
            & ~progress.done
        )

    def body(progress: _Progress) -> _Progress:
        now = shifted(progress.shift)
        algorithm = solver.step(now, progress.algorithm)
        lam, n_lam = solver.candidate(now, algorithm)
        residual, shift = law_residual(lam, n_lam)
        done = solver.done(now, algorithm)
        better = residual < progress.residual
        inexactness, stale = progress.inexactness, jnp.where(better, 0, progress.stale)
        if shifts:
            renew = done | (_worst(now.problem, rho, lam, n_lam) <= inexactness * residual)
            shift = jnp.where(renew, shift, progress.shift)
            done = done & False
            stale = stale + (renew & ~better)
            calmer = jnp.maximum(CALMER * inexactness, LEAST)
            inexactness = jnp.where(stale >= PATIENCE, calmer, inexactness)
            stale = jnp.where(stale >= PATIENCE, 0, stale)
        return _Progress(
            algorithm,
            shift,
            inexactness,
            stale,
            jnp.where(better, lam, progress.lam),
            jnp.where(better, n_lam, progress.n_lam),
            jnp.where(better, residual, progress.residual),
            progress.iterations + 1,
            jnp.isfinite(residual),
            done,
            _recorded(progress.history, progress.iterations + 1, residual),
        )

    lam = problem.cones.project(jnp.where(jnp.isfinite(guess), guess, 0.0))
    n_lam = problem.delassus.apply(lam)
    finite = jnp.all(jnp.isfinite(n_lam)) & jnp.all(jnp.isfinite(problem.r))
    # A guess from another contact situation can be worse than none at all; a part of it is not.
    curvature, slope = lam @ n_lam, problem.r @ lam
    share = jnp.clip(safe.divide(-slope, curvature), 0.0, 1.0)
    share = jnp.where(0.5 * curvature + slope < 0, 1.0, share)
    useful = share > 0
    lam, n_lam = jnp.where(useful, share * lam, 0.0), jnp.where(useful, share * n_lam, 0.0)
    residual, shift = law_residual(lam, n_lam)
    # Without a guess, u is the velocity of free flight, which says nothing about sliding.
    shift = jnp.where(useful, shift, 0.0)
    finite = finite & jnp.isfinite(residual)
    algorithm = solver.init(shifted(shift), lam, n_lam)
    history = _recorded(jnp.full(stop.history, jnp.inf, residual.dtype), jnp.int32(0), residual)
    start = _Progress(
        algorithm,
        shift,
        jnp.full((), INEXACTNESS, residual.dtype),
        jnp.int32(0),
        lam,
        n_lam,
        residual,
        jnp.int32(0),
        finite,
        jnp.asarray(False),
        history,
    )
    return lax.while_loop(running, body, start)


def _recorded(history: Array, at: Array, residual: Array) -> Array:
    return history.at[at].set(residual, mode="drop") if history.shape[0] else history


def _worst(problem: Problem, rho: Array, lam: Array, n_lam: Array) -> Array:
    return jnp.max(problem.residual(lam, n_lam + problem.r, rho), initial=0.0)


def _statistics(problem: Problem, best: _Progress, tolerance: Array, feasible: Array) -> Statistics:
    rho = problem.step_sizes()
    u = best.n_lam + problem.r
    ccp = problem.residual(best.lam, u, rho)
    shifted = problem.shifted(problem.de_saxce(u))
    ncp = shifted.residual(best.lam, best.n_lam + shifted.r, rho)
    # The loop's own number: evaluated once more it may round to the other side of the tolerance.
    solved = best.residual <= tolerance
    stopped = jnp.where(best.done, Status.STALLED, Status.MAX_ITERATIONS)
    finite = jnp.where(solved, Status.CONVERGED, stopped)
    finite = jnp.where(feasible, finite, Status.INFEASIBLE)
    status = jnp.where(best.finite, finite, Status.NON_FINITE)
    return Statistics(
        status.astype(jnp.int32),
        best.iterations,
        jnp.max(ccp, initial=0.0),
        jnp.max(ncp, initial=0.0),
        _rms(ccp),
        _rms(ncp),
        best.history,
    )


def _nothing_to_do(dtype: jnp.dtype, stop: Stop) -> Statistics:
    zero = jnp.zeros((), dtype)
    history = jnp.full(stop.history, jnp.inf, dtype).at[:1].set(0.0)
    return Statistics(jnp.int32(Status.CONVERGED), jnp.int32(0), zero, zero, zero, zero, history)


def _rms(residual: Array) -> Array:
    return safe.norm(residual) / max(residual.shape[0], 1) ** 0.5
