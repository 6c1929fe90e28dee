"""Rows that no impulse can move, and the velocities that the law demands of them."""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.problem import Law, Problem


def made_consistent(problem: Problem) -> Problem:
    """Return ``problem`` with the velocities that no impulse can change replaced by the nearest
    ones that the convex law admits.

    N is positive semidefinite, so that a zero on its diagonal is a row of zeros: there u = r. An
    equality asks r = 0 of it, an inequality r ≥ 0, a contact r_n ≥ 0 and, without a tangent that
    could move, r_n ≥ μ‖r_t‖. All other rows have the solutions they had, if they had any, under
    Coulomb's law too: impulses in rows of zeros act on nothing.
    """
    cones = problem.cones
    diagonal, blocks = cones.split(problem.delassus.diagonal())
    scalars, contacts = cones.split(problem.r)
    lowest = jnp.where(jnp.isinf(cones.hi), 0.0, -jnp.inf)
    highest = jnp.where(jnp.isinf(cones.lo), 0.0, jnp.inf)
    scalars = _fixed_rows_replaced(diagonal, scalars, jnp.clip(scalars, lowest, highest))
    normal, tangents = contacts[:, 0], contacts[:, 1:]
    immobile = jnp.all(blocks[:, 1:] == 0, axis=1)
    floor = jnp.where(immobile, cones.section.shift(tangents, cones.mu), 0.0)
    normal = _fixed_rows_replaced(blocks[:, 0], normal, jnp.maximum(normal, floor))
    return replace(problem, r=cones.join(scalars, contacts.at[:, 0].set(normal)))


def inconsistency(problem: Problem, consistent: Problem, law: Law) -> Float[Array, ""]:
    """Return the largest velocity of a row of zeros that ``law`` forbids [m/s]; where it is
    positive the problem has no solution.

    Args:
        problem: the problem as it was posed.
        consistent: :func:`made_consistent` of it.
        law: the law of contact.
    """
    change = consistent.r - problem.r
    if law == "ncp":  # sliding lifts nothing
        scalars, contacts = problem.cones.split(change)
        closing = -problem.cones.split(problem.r)[1][:, :1]
        contacts = jnp.minimum(contacts, jnp.maximum(closing, 0.0))
        change = problem.cones.join(scalars, contacts)
    return jnp.max(jnp.abs(change), initial=0.0)


def _fixed_rows_replaced(
    diagonal: Array, r: Float[Array, " k"], allowed: Float[Array, " k"]
) -> Array:
    """Return ``r`` with ``allowed`` in rows of zeros; what is not finite stays, so that it is
    noticed."""
    return jnp.where((diagonal == 0) & jnp.isfinite(r), allowed, r)
