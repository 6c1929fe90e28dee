"""Violation of each condition of a solution by given multipliers, and the row where it is
largest."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.ccp.problem import Law, Problem, check_law
from jaxccp.math import safe


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Worst:
    """The largest violation of one condition."""

    value: Float[Array, ""]
    """Size of the violation, in the unit of its condition."""
    row: Int[Array, ""]
    """Index of its row: a scalar row, or the normal row of a contact; −1 where nothing is
    violated."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Violations:
    """The worst violation of each condition of K ∋ λ ⟂ u ∈ K*."""

    equality: Worst
    """|u| of equality rows [m/s]."""
    inequality: Worst
    """Distance of u from K* over inequality rows and contacts [m/s]."""
    impulse: Worst
    """Distance of λ from K [N·s]."""
    complementarity: Worst
    """|λ · u| of contacts and inequalities. For box rows, |u| times the distance of λ to the bound
    at which the sign of u is allowed [J]."""


def violations(problem: Problem, lam: Float[Array, " n"], law: Law = "ccp") -> Violations:
    """Return the worst violation of each condition of ``law`` at multipliers ``lam``, in physical
    units.

    It extends Chrono's ``ComputeFeasabilityViolation`` to cones. Unlike the single residual that
    solvers stop by, it tells which condition fails.

    Args:
        problem: n rows.
        lam: multipliers [N·s].
        law: the law of contact.

    Raises:
        ValueError: there is no such law, or shapes do not fit one another.
    """
    check_law(law)
    problem = problem.checked()
    lam, cones = problem.multipliers("lam", lam), problem.cones
    u = problem.corrected(problem.velocity(lam), law)
    (scalar, contact), (x, impulse) = cones.split(u), cones.split(lam)
    below, above = jnp.isfinite(cones.lo), jnp.isfinite(cones.hi)
    up, down = jnp.maximum(scalar, 0.0), jnp.maximum(-scalar, 0.0)
    # A velocity > 0 requires λ on its lower bound, a velocity < 0 requires λ on its upper bound.
    unbounded = jnp.maximum(jnp.where(below, 0.0, up), jnp.where(above, 0.0, down))
    free = ~below & ~above
    room_below = jnp.where(below, x - jnp.where(below, cones.lo, 0.0), 0.0)
    room_above = jnp.where(above, jnp.where(above, cones.hi, 0.0) - x, 0.0)
    none = jnp.zeros_like(cones.mu)
    outside = safe.norm(cones.section.project(-contact, cones.mu))  # −Π_K(−u) = u − Π_K*(u)
    scalar_distance, contact_distance = cones.split(lam - cones.project(lam))
    products = jnp.abs(up * room_below) + jnp.abs(down * room_above)
    width = cones.width
    return Violations(
        _worst(jnp.where(free, jnp.abs(scalar), 0.0), none, width),
        _worst(jnp.where(free, 0.0, unbounded), outside, width),
        _worst(jnp.abs(scalar_distance), safe.norm(contact_distance), width),
        _worst(products, jnp.abs(jnp.einsum("ci,ci->c", impulse, contact)), width),
    )


def _worst(scalars: Float[Array, " s"], contacts: Float[Array, " c"], width: int) -> Worst:
    """Return the largest violation, and its row in the flat vector over all rows: a scalar row, or
    the normal row of a contact; −1 if all are 0.

    Args:
        scalars: violation of each scalar row.
        contacts: violation of each contact.
        width: number of rows of a contact.
    """
    s, c = scalars.shape[0], contacts.shape[0]
    rows = jnp.concatenate([jnp.full(1, -1), jnp.arange(s), s + width * jnp.arange(c)])
    values = jnp.concatenate([jnp.zeros(1, scalars.dtype), scalars, contacts])
    where = jnp.argmax(values)
    return Worst(values[where], rows[where].astype(jnp.int32))
