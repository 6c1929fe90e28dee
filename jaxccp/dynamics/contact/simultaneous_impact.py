"""Closed contacts of bodies that are hit within a step: their impulses before and at the impact."""

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.problem import Problem
from jaxccp.ccp.solution import DerivativeStatus, Solution, Status
from jaxccp.dynamics.contact.impact import Action
from jaxccp.math import safe

SolveStatus = tuple[Int[Array, ""], Int[Array, ""]]
"""Status of a solve (:class:`jaxccp.Status`), and of its derivative
(:class:`jaxccp.ccp.solution.DerivativeStatus`)."""


def count_impacts(
    timed: Bool[Array, " c"], delay: Float[Array, " c"], groups: Int[Array, "c 2"], count: int
) -> Float[Array, "g 2"]:
    """Return the number of impacts on each group of bodies and the sum of their delays.

    Args:
        timed: mask of the contacts that are impacts.
        delay: fraction of the step before each impact.
        groups: the two groups of bodies that each contact is between.
        count: number of groups.

    Returns:
        Number of impacts and sum of their delays, for each group.
    """
    hits = timed.astype(delay.dtype)
    counts_and_delays = jnp.stack([hits, hits * delay], axis=1)
    return jnp.zeros((count, 2), delay.dtype).at[groups].add(counts_and_delays[:, None])


def simultaneous_impacts(
    closed: Bool[Array, " c"],
    timed: Bool[Array, " c"],
    delay: Float[Array, " c"],
    bodies: Int[Array, "c 2"],
    movable: np.ndarray,
) -> tuple[Bool[Array, " c"], Float[Array, " c"]]:
    """Return the mask of the closed contacts that respond to an impact on one of their bodies, and
    the delays of all contacts.

    Args:
        closed: mask of the contacts that are closed at the start of the step.
        timed: mask of the contacts that are impacts.
        delay: fraction of the step before each contact's impact.
        bodies: the two bodies of each contact.
        movable: mask of the bodies that can be hit [nb].

    Returns:
        The mask, and the delays: for a responding contact the mean delay of the impacts on its two
            bodies, else ``delay``.
    """
    hits = count_impacts(timed, delay, bodies, len(movable))
    hits = jnp.where(jnp.asarray(movable)[:, None], hits, 0.0)[bodies].sum(axis=1)
    simultaneous = closed & ~timed & (hits[:, 0] > 0)
    return simultaneous, jnp.where(simultaneous, safe.divide(hits[:, 1], hits[:, 0]), delay)


def impulses_before_impact(
    problem: Problem,
    r_without_impacts: Float[Array, " n"],
    action: Action,
    solve: Callable[[Problem], Solution],
) -> tuple[Float[Array, " n"], SolveStatus]:
    """Return the impulses [N s] that simultaneous contacts have before the impact, and the status
    of their solve.

    The impact changes the direction in which such contacts slide, so that their friction has no
    single direction over the step. Therefore a problem without the impacts is solved first; its
    impulses count for the fraction of the step before the impact.

    Args:
        problem: the problem of the whole step.
        r_without_impacts: r of the problem without impacts [m/s].
        action: the action, with the simultaneous contacts and their delays.
        solve: solves a problem; only called where a contact is simultaneous.
    """

    def solve_part(without: Problem) -> tuple[Array, SolveStatus]:
        solution = solve(without)
        return solution.lam, (solution.statistics.status, solution.statistics.derivative)

    def no_impulses(without: Problem) -> tuple[Array, SolveStatus]:
        converged = jnp.int32(Status.CONVERGED), jnp.int32(DerivativeStatus.VALID)
        return jnp.zeros_like(without.r), converged

    without = replace(problem, r=r_without_impacts).without(action.timed & ~action.simultaneous)
    lam, status = lax.cond(action.simultaneous.any(), solve_part, no_impulses, without)
    scalars, blocks = problem.cones.split(lam)
    fraction = jnp.where(action.simultaneous, action.delay, 0.0)
    return problem.cones.join(jnp.zeros_like(scalars), fraction[:, None] * blocks), status


def add_impulses_before_impact(
    solution: Solution, earlier: Float[Array, " n"], earlier_status: SolveStatus
) -> Solution:
    """Add the impulses before the impact to the solution of the step.

    Args:
        solution: solution of the problem in which ``earlier`` has acted.
        earlier: impulses before the impact (:func:`impulses_before_impact`).
        earlier_status: status of their solve.

    Returns:
        The solution of the whole step, with the worse of the two statuses, also of its derivative.
    """
    statistics, (status, derivative) = solution.statistics, earlier_status
    statistics = replace(
        statistics,
        status=jnp.maximum(statistics.status, status),
        derivative=jnp.maximum(statistics.derivative, derivative),
    )
    return replace(solution, lam=earlier + solution.lam, statistics=statistics)
