"""Rows with a fixed velocity, and the velocities that the contact law allows on them."""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.problem import Law, Problem


def made_consistent(problem: Problem) -> Problem:
    """Return ``problem`` with inconsistent velocities replaced by the nearest consistent ones.

    N is positive semidefinite, so that a zero on its diagonal means a row of zeros. No impulse
    changes the velocity u = r of such a row. The convex law requires r = 0 for an equality, r ≥ 0
    for an inequality, r_n ≥ 0 for a contact, and r_n ≥ μ‖r_t‖ for a contact whose tangential rows
    are zeros too. The solutions of all other rows stay the same, under Coulomb's law too, because
    impulses in rows of zeros have no effect.
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
    """Return the largest amount [m/s] by which the velocity of a row of zeros violates ``law``.

    The problem has no solution if it is positive.

    Args:
        problem: the problem as it was posed.
        consistent: :func:`made_consistent` of it.
        law: the law of contact.
    """
    change = consistent.r - problem.r
    if law == "ncp":  # under Coulomb's law sliding does not require r_n > 0
        scalars, contacts = problem.cones.split(change)
        closing = -problem.cones.split(problem.r)[1][:, :1]
        contacts = jnp.minimum(contacts, jnp.maximum(closing, 0.0))
        change = problem.cones.join(scalars, contacts)
    return jnp.max(jnp.abs(change), initial=0.0)


def _fixed_rows_replaced(
    diagonal: Array, r: Float[Array, " k"], allowed: Float[Array, " k"]
) -> Array:
    """Return ``r`` with the entries of rows of zeros replaced by ``allowed``.

    NaN and infinite entries stay, so that the solve reports them.

    Args:
        diagonal: diagonal of N at these rows.
        r: velocities of the rows [m/s].
        allowed: the nearest consistent velocities [m/s].
    """
    return jnp.where((diagonal == 0) & jnp.isfinite(r), allowed, r)
