"""The boxed LCP with friction index: rows with bounds, some of which depend on another row.

−w_i ≤ λ_i ≤ w_i with w_i = h_i + μ_i λ_n for a tangent of a contact with normal row n ("findex" in
ODE), lo_i ≤ λ_i ≤ hi_i for other rows; u_i is 0 between the bounds, ≥ 0 on the lower and ≤ 0 on the
upper bound. With h = 0 this is Coulomb's law with a friction pyramid. It is the convex law if u_n −
μ (|u_t1| + |u_t2|) replaces u_n.

λ and u (with this u_n) both follow from ζ = λ − u and the ``side`` of each row: −1 on its lower
bound, 0 free, 1 on its upper bound. For given sides N λ + r = u is a linear equation A ζ = const.
"""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Problem


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BoxedRows:
    """The rows of a problem, scaled to diagonals near 1."""

    matrix: Float[Array, "n n"]
    """√ρ N √ρ."""
    scale: Float[Array, " n"]
    """√ρ of each row [√kg], one number per contact: impulses are divided by it and velocities
    multiplied."""
    lo: Float[Array, " n"]
    """Lower bounds, 0 for tangents."""
    hi: Float[Array, " n"]
    """Upper bounds, 0 for tangents and ∞ for normals."""
    mu: Float[Array, " n"]
    """Friction coefficient of each tangent, 0 for other rows."""
    lift: Float[Array, " n"]
    """``mu`` under the convex law, which lowers a contact's normal velocity by μ (|u_t1| + |u_t2|);
    0 under Coulomb's."""
    scalars: int = field(metadata={"static": True})
    """Number of scalar rows, which precede those of the contacts."""

    @property
    def normal(self) -> np.ndarray:
        """Index of each tangent's normal row; of every other row its own index."""
        row = np.arange(self.lo.shape[-1])
        return np.where(row < self.scalars, row, row - (row - self.scalars) % 3)

    @property
    def tangential(self) -> Bool[Array, " n"]:
        """Mask of the tangential rows of contacts."""
        return jnp.asarray(self.normal != np.arange(self.lo.shape[-1]))

    @property
    def equality(self) -> Bool[Array, " n"]:
        """Mask of the rows without bounds."""
        return jnp.isinf(self.lo) & jnp.isinf(self.hi)

    def onto_normals(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the sum over each contact's tangents in its normal row, and 0 in all other
        rows."""
        contacts = x[self.scalars :].reshape(-1, 3)
        total = jnp.zeros_like(contacts).at[:, 0].set(contacts[:, 1] + contacts[:, 2])
        return jnp.concatenate([jnp.zeros(self.scalars, x.dtype), total.reshape(-1)])

    def half_widths(self, side: Array, zeta: Array) -> Float[Array, " n"]:
        """Return the half-width μ λ_n of each tangent's box, and 0 for other rows; it is linear in
        ζ.

        Args:
            side: −1, 0 or 1 for each row: on its lower bound, free, on its upper bound.
            zeta: ζ of each row.
        """
        return self.mu * jnp.where(side == 0, zeta, 0.0)[self.normal]

    def linear_part(self, side: Array, zeta: Array) -> Float[Array, " n"]:
        """Return the part of λ that is linear in ζ: λ less :meth:`constant_part`.

        Args:
            side: which bound each row is on, as in :meth:`half_widths`.
            zeta: ζ of each row.
        """
        return jnp.where(side == 0, zeta, side * self.half_widths(side, zeta))

    def constant_part(self, h: Array, side: Array) -> Float[Array, " n"]:
        """Return the part of λ that does not depend on ζ: of rows on a bound the value of that
        bound at λ_n = 0, of free rows 0.

        Args:
            h: half-width of each tangent's box that does not move with λ_n.
            side: which bound each row is on, as in :meth:`half_widths`.
        """
        bound = jnp.where(side < 0, self.lo, self.hi)
        return jnp.where(side == 0, 0.0, bound + jnp.where(self.tangential, side * h, 0.0))

    def velocity(self, side: Array, zeta: Array, lam: Array) -> Float[Array, " n"]:
        """Return the velocities u of the rows.

        Args:
            side: which bound each row is on, as in :meth:`half_widths`.
            zeta: ζ of each row.
            lam: λ of each row.
        """
        plain = lam - zeta
        return plain - self.onto_normals(self.lift * side * plain)

    def apply(self, side: Array, zeta: Array) -> Float[Array, " n"]:
        """Return the product A ζ.

        Args:
            side: which bound each row is on, as in :meth:`half_widths`.
            zeta: ζ of each row.
        """
        lam = self.linear_part(side, zeta)
        return self.matrix @ lam - self.velocity(side, zeta, lam)

    def change(self, row: Array, bound: Array, side: Array) -> tuple[Array, Array]:
        """Return (f, b) with A = A' + b fᵀ, where ``row`` is free in A and on its ``bound`` in A'.

        f · ζ is the distance to the bound, up to its sign and a constant. A change of a normal row
        also changes the bounds of its tangents, on their ``side``. A tangent of an open contact
        changes from one bound to the other; then A is the matrix with the tangent on the other
        bound.

        Args:
            row: index of the row that changes.
            bound: −1 for its lower bound, 1 for its upper one.
            side: which bound each row is on, as in :meth:`half_widths`.
        """
        unit = (jnp.arange(self.lo.shape[-1]) == row).astype(self.matrix.dtype)
        touching = side[self.normal] == 0
        f = unit - self.onto_normals(jnp.where(touching, self.mu, 0.0) * bound * unit)
        follows = self.tangential & (self.normal == row)
        direction = unit + jnp.where(follows, self.mu * side, 0.0)
        lifts = self.onto_normals(self.lift * jnp.where(unit > 0, bound, side) * direction)
        flips = (~touching & (self.mu > 0))[row]
        return f, jnp.where(flips, 2 * lifts, self.matrix @ direction - direction + lifts)

    def margins(self, h: Array, side: Array, zeta: Array, rate: Array):
        """Return the distance of ζ to each event, the speed of its approach and whether it is an
        event, each 2 × n: first the lower bounds, then the upper ones.

        An event is a row that reaches or leaves a bound along the path. Bounds that coincide, as
        those of an open contact's tangents do, are no events. (Under the convex law those are
        events, as they choose the contact's friction.)

        Args:
            h: half-width of each tangent's box that does not move with λ_n.
            side: which bound each row is on, as in :meth:`half_widths`.
            zeta: ζ of each row.
            rate: derivative of ζ along the path.
        """
        width, widening = h + self.half_widths(side, zeta), self.half_widths(side, rate)
        width, widening = (jnp.where(self.tangential, x, 0.0) for x in (width, widening))
        inside = jnp.stack([zeta - (self.lo - width), self.hi + width - zeta])
        inward = jnp.stack([rate + widening, widening - rate])
        sign = jnp.stack([jnp.where(side < 0, -1, 1), jnp.where(side > 0, -1, 1)])
        has_width = (self.mu > 0) & ((side[self.normal] == 0) | (self.lift > 0))
        has_width = has_width | (self.hi > self.lo) | (self.tangential & (h > 0))
        # A contact opens only after its friction is on its bounds, which shrink to 0 there.
        sticks = self.onto_normals(((side == 0) & (self.mu > 0)).astype(zeta.dtype)) > 0
        watched = has_width & ~((side == 0) & sticks) & jnp.stack([side <= 0, side >= 0])
        return sign * inside, -sign * inward, watched


def boxed_rows(problem: Problem, rho: Float[Array, " n"]) -> BoxedRows:
    """Return the rows of a problem under the convex law with friction pyramids.

    Args:
        problem: n rows, with pyramids.
        rho: step size of each row [kg], one value per contact.
    """
    cones, scale = problem.cones, jnp.sqrt(rho)
    zero = jnp.zeros_like(cones.mu)
    none = jnp.stack([zero, zero, zero], axis=1)
    mu = cones.join(jnp.zeros_like(cones.lo), none.at[:, 1:].set(cones.mu[:, None]))
    return BoxedRows(
        matrix=scale[:, None] * problem.delassus.dense() * scale,
        scale=scale,
        lo=cones.join(cones.lo, none) / scale,
        hi=cones.join(cones.hi, none.at[:, 0].set(jnp.inf)) / scale,
        mu=mu,
        lift=mu,
        scalars=cones.lo.shape[-1],
    )
