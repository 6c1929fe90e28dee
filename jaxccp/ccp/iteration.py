"""The loop that runs every algorithm: stages, stopping rule, best iterate, Coulomb's law,
history."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.execution import active_copies
from jaxccp.execution.batching import when
from jaxccp.math import safe

INEXACTNESS, MIN_INEXACTNESS = 3.0, 0.01
"""Start and smallest value of :attr:`_Loop.inexactness`. Under Coulomb's law the loop iterates on a
convex problem with De Saxcé's shift fixed, and renews the shift when the residual of that problem
is at most this number times the residual of Coulomb's law. At first it renews the shift after
nearly every iteration, which needs half as many iterations on most problems. This may cycle if
friction is high; then the number shrinks."""
SHRINKAGE, PATIENCE = 1 / 3, 100
"""Factor by which ``inexactness`` shrinks, and number of renewals without a new best iterate after
which it shrinks."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Progress:
    """Best iterate, residual and counters of a solve of n rows."""

    lam: Float[Array, " n"]
    """The best iterate, in K."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""
    residual: Float[Array, ""]
    """Residual of the best iterate under the chosen law [m/s]."""
    iterations: Int[Array, ""]
    """Iterations so far."""
    finite: Bool[Array, ""]
    """Whether the last iterate was finite."""
    done: Bool[Array, ""]
    """Whether the algorithm reports that further iterations change nothing."""
    history: Float[Array, " k"]
    """Residuals of the start and of the first k − 1 iterations [m/s], inf where there are none
    yet."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Loop:
    """Loop state of one algorithm."""

    algorithm: Any
    """State of the algorithm."""
    shift: Float[Array, " c"]
    """De Saxcé's shift in the problem that the algorithm iterates on [m/s]."""
    inexactness: Float[Array, ""]
    """Ratio of the convex residual to the residual of Coulomb's law below which the shift is
    renewed."""
    stale: Int[Array, ""]
    """Number of renewals since the best iterate or the last change of ``inexactness``."""
    progress: Progress
    """Best iterate and counters."""


def iterate(
    problem: Problem,
    solver: Solver,
    guess: Float[Array, " n"],
    law: Law,
    tolerance: Float[Array, ""],
    limit: Int[Array, ""],
    history: int,
) -> Progress:
    """Iterate from ``guess`` until the residual is below the tolerance or the iteration limit is
    reached.

    The algorithms of a sequence run one after the other, each in its own loop, which starts at the
    best iterate so far. Algorithms after the one that solves the problem cost nothing. One with a
    limit of its own gets at most half of the iterations, so that the next one has its turn.

    Args:
        problem: n rows.
        solver: the algorithm, or a sequence of algorithms.
        guess: multipliers to start from [N s].
        law: the law of contact.
        tolerance: the residual to reach [m/s].
        limit: the largest number of iterations.
        history: number of residuals to record.

    Returns:
        The best iterate and its residual.
    """
    rho = problem.step_sizes()
    progress = _start(problem, rho, guess, law, history)
    # An algorithm that overflows leaves a finite best iterate, from which the next one starts.
    valid = progress.finite
    for number, (member, steps) in enumerate(solver.stages()):
        # At least half of the iterations are left for the algorithms that follow.
        allowed = limit if steps is None else jnp.minimum(steps, limit // 2)
        last = jnp.minimum(progress.iterations + allowed, limit)
        # An algorithm of the convex law reaches Coulomb's by De Saxcé's fixed point.
        own_law: Law = law if member.solves(law) else "ccp"
        task = Task(
            problem=problem, rho=rho, tolerance=tolerance, data=None, turn=jnp.int32(0), law=own_law
        )

        start = replace(progress, finite=valid)

        def run_stage(
            member: Solver = member, task: Task = task, last: Array = last, start: Progress = start
        ) -> Progress:
            return _run_stage(member, task, law, last, start)

        unsolved = (progress.residual > tolerance) & (progress.iterations < limit)
        due = unsolved & valid
        progress = when(due, run_stage, progress) if number else run_stage()
    return progress


def _start(problem: Problem, rho: Array, guess: Array, law: Law, history: int) -> Progress:
    """Return the progress before the first iteration, at the projected guess times a factor in [0,
    1].

    The factor is 1 if the guess lowers the objective or the bounds exclude 0, else the factor that
    lowers the objective most.
    """
    lo, hi = problem.cones.lo, problem.cones.hi
    lam = problem.cones.project(jnp.where(jnp.isfinite(guess), guess, 0.0))
    n_lam = problem.delassus.apply(lam)
    # Comparisons with a bound that is not a number are false: no iterate would show it.
    numbers = ~(jnp.isnan(lo) | jnp.isnan(hi))
    finite = jnp.all(jnp.isfinite(n_lam) & jnp.isfinite(problem.r)) & jnp.all(numbers)
    # A guess from other contacts can be worse than zero; the right fraction of it is not.
    curvature, slope = lam @ n_lam, problem.r @ lam
    share = jnp.clip(safe.divide(-slope, curvature), 0.0, 1.0)
    kept = (0.5 * curvature + slope < 0) | jnp.any((lo > 0) | (hi < 0))
    share = jnp.where(kept, 1.0, share)
    useful = share > 0
    lam, n_lam = jnp.where(useful, share * lam, 0.0), jnp.where(useful, share * n_lam, 0.0)
    residual, _ = _law_residual(problem, rho, lam, n_lam, law)
    return Progress(
        lam=lam,
        n_lam=n_lam,
        residual=residual,
        iterations=jnp.int32(0),
        finite=finite & jnp.isfinite(residual),
        done=jnp.asarray(False),
        history=_recorded(jnp.full(history, jnp.inf, residual.dtype), jnp.int32(0), residual),
    )


def _run_stage(solver: Solver, task: Task, law: Law, last: Array, start: Progress) -> Progress:
    """Run one algorithm until iteration number ``last`` at most."""
    problem, rho = task.problem, task.rho
    task = task.with_data(solver.prepare(problem, rho))
    shifts = task.law != law

    def shifted(task: Task, shift: Array) -> Task:
        return replace(task, problem=task.problem.shifted(shift)) if shifts else task

    def running(given: tuple[Task, Array], loop: _Loop) -> Array:
        (task, last), now = given, loop.progress
        unsolved = (now.residual > task.tolerance) & (now.iterations < last)
        return unsolved & now.finite & ~now.done

    def turn(given: tuple[Task, Array], loop: _Loop, number: Array) -> _Loop:
        task = replace(given[0], turn=number)
        now, before = shifted(task, loop.shift), loop.progress
        algorithm = solver.step(now, loop.algorithm)
        lam, n_lam = solver.candidate(now, algorithm)
        residual, shift = _law_residual(task.problem, task.rho, lam, n_lam, law)
        done = solver.done(now, algorithm)
        # In a batch some copies finish before others; these keep their results.
        going = running(given, loop)
        better = going & (residual < before.residual)
        inexactness, stale = loop.inexactness, jnp.where(better, 0, loop.stale)
        if shifts:
            renew = done | (
                now.problem.max_residual(lam, n_lam, task.rho) <= inexactness * residual
            )
            shift = jnp.where(renew, shift, loop.shift)
            done = done & False
            stale = stale + (renew & ~better)
            smaller = jnp.maximum(SHRINKAGE * inexactness, MIN_INEXACTNESS)
            inexactness = jnp.where(stale >= PATIENCE, smaller, inexactness)
            stale = jnp.where(stale >= PATIENCE, 0, stale)
        progress = Progress(
            lam=jnp.where(better, lam, before.lam),
            n_lam=jnp.where(better, n_lam, before.n_lam),
            residual=jnp.where(better, residual, before.residual),
            iterations=before.iterations + going,
            finite=jnp.where(going, jnp.isfinite(residual), before.finite),
            done=jnp.where(going, done, before.done),
            history=_recorded(before.history, before.iterations + 1, residual, going),
        )
        return _Loop(algorithm, shift, inexactness, stale, progress)

    # Without a guess, u is the velocity of free flight, which does not predict sliding.
    _, shift = _law_residual(problem, rho, start.lam, start.n_lam, law)
    shift = jnp.where(jnp.any(start.lam != 0), shift, 0.0)
    initial = _Loop(
        solver.init(shifted(task, shift), start.lam, start.n_lam),
        shift,
        jnp.full((), INEXACTNESS, start.residual.dtype),
        jnp.int32(0),
        replace(start, done=jnp.asarray(False)),
    )
    return active_copies.iterate(running, turn, (task, last), initial).progress


def _law_residual(
    problem: Problem, rho: Array, lam: Array, n_lam: Array, law: Law
) -> tuple[Array, Array]:
    """Return the largest residual under ``law`` [m/s], and De Saxcé's shift, 0 under the convex
    law."""
    u = n_lam + problem.r
    shift = problem.de_saxce(u) if law == "ncp" else jnp.zeros_like(problem.cones.mu)
    return problem.shifted(shift).max_residual(lam, n_lam, rho), shift


def _recorded(history: Array, at: Array, residual: Array, going: Array | bool = True) -> Array:
    """Return ``history`` with the residual of iteration ``at``, if ``going`` and if there is space
    for it."""
    if not history.shape[0]:
        return history
    return history.at[jnp.where(going, at, len(history))].set(residual, mode="drop")
