"""Smooth motion and impulses of a step of second order, solved in turn."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from jaxccp.ccp.solution import Solution
from jaxccp.dynamics.rollouts.checkpoints import keep_impulses
from jaxccp.dynamics.second_order.contact_stage import ContactStage
from jaxccp.dynamics.second_order.contact_stage_problem import ContactStageProblem, Impulses
from jaxccp.dynamics.second_order.newton import NewtonReport
from jaxccp.dynamics.steppers.alpha_carry import StepEnd
from jaxccp.dynamics.steppers.settings import ConeSettings
from jaxccp.model.state import State

SWEEPS = 2
"""Number of times that smooth motion and impulses are solved in turn. The first time, the smooth
forces do not see the impulses; after the second the error of that is of order h³."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sweep:
    """Results of one sweep."""

    end: StepEnd
    """End of the step."""
    newton: NewtonReport
    """Report of the smooth motion."""
    problem: ContactStageProblem
    """The cone problem of the impulses."""
    solution: Solution
    """Its solution."""
    impulses: Impulses
    """Impulses of the step."""


def sweeps(
    settings: ConeSettings,
    stage: ContactStage,
    guess: tuple[Array, Impulses],
    solve_motion: Callable[[Array, Impulses], tuple[Array, NewtonReport]],
    end_of: Callable[[Array, Impulses], StepEnd],
    state_at: Callable[[StepEnd], State],
) -> Sweep:
    """Solve smooth motion and impulses in turn, and return the last results with the worst status
    and the iterations of all.

    Args:
        settings: settings of the stepper: solver, law, stop and derivative.
        stage: the contacts and bounded rows of the step.
        guess: unknowns of the smooth motion, and impulses, to begin with.
        solve_motion: solves the smooth motion under given impulses, from a guess.
        end_of: end of the step for given unknowns and impulses.
        state_at: state at the end of the step.
    """
    model, h = stage.middle.model, stage.h

    # Reverse mode recomputes a sweep from its start; storing it would stack some 500 arrays.
    @keep_impulses
    def sweep(current: tuple[Array, Impulses], _: None) -> tuple[tuple[Array, Impulses], Sweep]:
        x, newton = solve_motion(*current)
        prior = current[1]
        end = end_of(x, prior)
        problem = stage.problem(state_at(end), end.velocity, prior)
        start = problem.guess(prior.scalars, prior.contacts)
        solution = settings.solve(model, problem.problem, start, stage.distant)
        impulses = problem.after(solution.lam)
        gained = stage.stiff_mobility.space.unwhiten(impulses.whitened - prior.whitened)
        end = replace(
            end,
            velocity=end.velocity + gained,
            displacement=end.displacement + h * (impulses.transport - prior.transport),
        )
        return (x, impulses), Sweep(end, newton, problem, solution, impulses)

    _, table = lax.scan(sweep, guess, None, length=SWEEPS)
    last = jax.tree.map(lambda leaf: leaf[-1], table)
    every = table.solution.statistics
    # The second sweep builds on the impulses of the first, and so does its derivative.
    statistics = replace(
        last.solution.statistics,
        status=jnp.max(every.status),
        derivative=jnp.max(every.derivative),
        iterations=jnp.sum(every.iterations, dtype=jnp.int32),
    )
    solution = replace(last.solution, statistics=statistics)
    return replace(last, newton=NewtonReport.of_all(table.newton), solution=solution)
