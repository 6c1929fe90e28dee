"""What is closed already when its bodies are hit within a step: what it does until then, and when
it answers."""

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.problem import Problem
from jaxccp.dynamics.impact import Action
from jaxccp.math import safe


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
    solve: Callable[[Problem], Float[Array, " n"]],
) -> Float[Array, " n"]:
    """Return the impulses [N s] by which contacts that answer an impact hold until it comes.

    They slide another way before it than after it, so that friction has not one direction for all
    of the step: what they would do in a step without the impacts, they do for the part of it that
    passes until then.

    Args:
        problem: that of the whole step.
        resting: its r [m/s] as it is without impacts.
        action: which contacts answer, and when.
        solve: finds the impulses of a problem.
    """
    without = replace(problem, r=resting).without(action.timed & ~action.answers)
    none = jnp.zeros_like(resting)
    found = lax.cond(action.answers.any(), solve, lambda _: none, without)
    own, blocks = problem.cones.split(found)
    part = jnp.where(action.answers, action.delay, 0.0)
    return problem.cones.join(jnp.zeros_like(own), part[:, None] * blocks)
