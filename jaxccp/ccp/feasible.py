"""Rows that no impulse can move, and what the law demands of them all the same."""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.problem import Law, Problem


def admissible(problem: Problem) -> Problem:
    """``problem`` with the velocities that no impulse can change moved to where the convex law has
    them.

    N is positive semidefinite, so that a zero on its diagonal is a row of zeros: there u = r. An
    equality asks r = 0 of it, an inequality r ≥ 0, a contact r_n ≥ 0 and, without a tangent that
    could move, r_n ≥ μ‖r_t‖. All other rows have the solutions they had, if they had any, under
    Coulomb's law too: impulses in rows of zeros act on nothing.
    """
    cones = problem.cones
    diagonal, blocks = cones.split(problem.delassus.diagonal())
    scalars, contacts = cones.split(problem.r)
    least = jnp.where(jnp.isinf(cones.hi), 0.0, -jnp.inf)
    most = jnp.where(jnp.isinf(cones.lo), 0.0, jnp.inf)
    scalars = _moved(diagonal, scalars, jnp.clip(scalars, least, most))
    normal, tangents = contacts[:, 0], contacts[:, 1:]
    stiff = jnp.all(blocks[:, 1:] == 0, axis=1)
    floor = jnp.where(stiff, cones.section.shift(tangents, cones.mu), 0.0)
    normal = _moved(blocks[:, 0], normal, jnp.maximum(normal, floor))
    return replace(problem, r=cones.join(scalars, contacts.at[:, 0].set(normal)))


def contradiction(problem: Problem, moved: Problem, law: Law) -> Float[Array, ""]:
    """The largest velocity that rows of zeros have and ``law`` forbids [m/s]; ``moved`` is
    :func:`admissible` of ``problem``. Where it is positive the problem has no solution."""
    change = moved.r - problem.r
    if law == "ncp":  # sliding lifts nothing
        scalars, contacts = problem.cones.split(change)
        closing = -problem.cones.split(problem.r)[1][:, :1]
        contacts = jnp.minimum(contacts, jnp.maximum(closing, 0.0))
        change = problem.cones.join(scalars, contacts)
    return jnp.max(jnp.abs(change), initial=0.0)


def _moved(diagonal: Array, r: Float[Array, " k"], allowed: Float[Array, " k"]) -> Array:
    """``allowed`` on rows of zeros; what is not finite stays, to be noticed."""
    return jnp.where((diagonal == 0) & jnp.isfinite(r), allowed, r)
