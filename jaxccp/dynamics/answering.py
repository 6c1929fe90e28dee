"""What is closed already when its bodies are hit within a step: what it does until then, and when
it answers."""

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.problem import Problem
from jaxccp.ccp.solution import DerivativeStatus, Solution, Status
from jaxccp.dynamics.impact import Action
from jaxccp.math import safe

Verdict = tuple[Int[Array, ""], Int[Array, ""]]
"""The status of a solve, and that of its derivative."""


def hits_of(
    timed: Bool[Array, " c"], delay: Float[Array, " c"], groups: Int[Array, "c 2"], count: int
) -> Float[Array, "g 2"]:
    """The number of impacts on each of ``count`` groups of bodies, and the sum of their delays, of
    contacts between the bodies of two ``groups``."""
    hits = timed.astype(delay.dtype)
    both = jnp.stack([hits, hits * delay], axis=1)
    return jnp.zeros((count, 2), delay.dtype).at[groups].add(both[:, None])


def answering(
    closed: Bool[Array, " c"],
    timed: Bool[Array, " c"],
    delay: Float[Array, " c"],
    bodies: Int[Array, "c 2"],
    moves: np.ndarray,
) -> tuple[Bool[Array, " c"], Float[Array, " c"]]:
    """Tell which of the ``closed`` contacts answer the impacts that are ``timed``: those between
    ``bodies`` of which one is hit; and the delays, theirs being the mean of the impacts on these
    two. ``moves`` is the mask of the bodies that can be hit [nb]."""
    hits = hits_of(timed, delay, bodies, len(moves))
    hits = jnp.where(jnp.asarray(moves)[:, None], hits, 0.0)[bodies].sum(axis=1)
    answers = closed & ~timed & (hits[:, 0] > 0)
    return answers, jnp.where(answers, safe.divide(hits[:, 1], hits[:, 0]), delay)


def until_hit(
    problem: Problem,
    resting: Float[Array, " n"],
    action: Action,
    solve: Callable[[Problem], Solution],
) -> tuple[Float[Array, " n"], Verdict]:
    """Return the impulses [N s] by which contacts that answer an impact hold until it comes, and
    what the solve for them says.

    They slide another way before it than after it, so that friction has not one direction for all
    of the step: what they would do in a step without the impacts, they do for the part of it that
    passes until then.

    Args:
        problem: that of the whole step.
        resting: its r [m/s] as it is without impacts.
        action: which contacts answer, and when.
        solve: solves a problem; only called where any contact answers.
    """

    def found(without: Problem) -> tuple[Array, Verdict]:
        solution = solve(without)
        return solution.lam, (solution.statistics.status, solution.statistics.derivative)

    def nothing(without: Problem) -> tuple[Array, Verdict]:
        fine = jnp.int32(Status.CONVERGED), jnp.int32(DerivativeStatus.VALID)
        return jnp.zeros_like(without.r), fine

    without = replace(problem, r=resting).without(action.timed & ~action.answers)
    lam, verdict = lax.cond(action.answers.any(), found, nothing, without)
    own, blocks = problem.cones.split(lam)
    part = jnp.where(action.answers, action.delay, 0.0)
    return problem.cones.join(jnp.zeros_like(own), part[:, None] * blocks), verdict


def after_hit(solution: Solution, held: Float[Array, " n"], verdict: Verdict) -> Solution:
    """The solution of a whole step from that of its problem after the impulses ``held``
    (:func:`until_hit`)."""
    seen, (status, derivative) = solution.statistics, verdict
    seen = replace(
        seen,
        status=jnp.where(seen.status == Status.CONVERGED, status, seen.status),
        derivative=jnp.maximum(seen.derivative, derivative),
    )
    return replace(solution, lam=held + solution.lam, statistics=seen)
