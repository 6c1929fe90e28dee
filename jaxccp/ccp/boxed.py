"""The boxed LCP with friction index: rows with bounds, some of which move with another row.

−w_i ≤ λ_i ≤ w_i with w_i = h_i + μ_i λ_n for a tangent of a contact with normal row n ("findex" in
ODE), lo_i ≤ λ_i ≤ hi_i for other rows; u_i is 0 between the bounds, ≥ 0 on the lower and ≤ 0 on
the upper one. With h = 0 this is Coulomb's law with a friction pyramid; and the convex law, with
u_n − μ (|u_t1| + |u_t2|) in place of u_n.

λ and u are both read off ζ = λ − u (the u_n just said), given the ``side`` each row is on: −1 its
lower bound, 0 free, 1 its upper one. There N λ + r = u is a linear equation A ζ = const.
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
    scale: Float[Array, " n"]
    """√ρ: what impulses are divided by and velocities multiplied. One number per contact."""
    lo: Float[Array, " n"]
    """Lower bounds, 0 of tangents."""
    hi: Float[Array, " n"]
    mu: Float[Array, " n"]
    """μ of tangents, 0 of other rows."""
    lift: Float[Array, " n"]
    """``mu`` under the convex law; 0 under Coulomb's."""
    scalars: int = field(metadata={"static": True})

    @property
    def normal(self) -> np.ndarray:
        """The normal row of each tangent, and other rows' own."""
        row = np.arange(self.lo.shape[-1])
        return np.where(row < self.scalars, row, row - (row - self.scalars) % 3)

    @property
    def tangential(self) -> Bool[Array, " n"]:
        return jnp.asarray(self.normal != np.arange(self.lo.shape[-1]))

    @property
    def equality(self) -> Bool[Array, " n"]:
        return jnp.isinf(self.lo) & jnp.isinf(self.hi)

    def onto_normals(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """The sum over each contact's tangents, in its normal row."""
        contacts = x[self.scalars :].reshape(-1, 3)
        total = jnp.zeros_like(contacts).at[:, 0].set(contacts[:, 1] + contacts[:, 2])
        return jnp.concatenate([jnp.zeros(self.scalars, x.dtype), total.reshape(-1)])

    def widths(self, side: Array, zeta: Array) -> Float[Array, " n"]:
        """μ λ_n of tangents, 0 of other rows; linear in ζ."""
        return self.mu * jnp.where(side == 0, zeta, 0.0)[self.normal]

    def moving(self, side: Array, zeta: Array) -> Float[Array, " n"]:
        """λ less :meth:`fixed`; linear in ζ."""
        return jnp.where(side == 0, zeta, side * self.widths(side, zeta))

    def fixed(self, h: Array, side: Array) -> Float[Array, " n"]:
        """The bounds that rows are on where μ λ_n = 0."""
        bound = jnp.where(side < 0, self.lo, self.hi)
        return jnp.where(side == 0, 0.0, bound + jnp.where(self.tangential, side * h, 0.0))

    def velocity(self, side: Array, zeta: Array, lam: Array) -> Float[Array, " n"]:
        """u."""
        plain = lam - zeta
        return plain - self.onto_normals(self.lift * side * plain)

    def apply(self, side: Array, zeta: Array) -> Float[Array, " n"]:
        """A ζ."""
        lam = self.moving(side, zeta)
        return self.matrix @ lam - self.velocity(side, zeta, lam)

    def change(self, row: Array, bound: Array, side: Array) -> tuple[Array, Array]:
        """(f, b) with A = A' + b fᵀ, where ``row`` is free in A and on its ``bound`` in A'.

        f · ζ is the distance to the bound, up to its sign and a constant. A normal row takes its
        tangents' bounds, on their ``side``, along. A tangent of a closed contact changes from
        one bound to the other: A is the matrix of the other one then.
        """
        one = (jnp.arange(self.lo.shape[-1]) == row).astype(self.matrix.dtype)
        touching = side[self.normal] == 0
        f = one - self.onto_normals(jnp.where(touching, self.mu, 0.0) * bound * one)
        follows = self.tangential & (self.normal == row)
        moved = one + jnp.where(follows, self.mu * side, 0.0)
        lifts = self.onto_normals(self.lift * jnp.where(one > 0, bound, side) * moved)
        flips = (~touching & (self.mu > 0))[row]
        return f, jnp.where(flips, 2 * lifts, self.matrix @ moved - moved + lifts)

    def margins(self, h: Array, side: Array, zeta: Array, rate: Array):
        """Distance of ζ to each event (lower bounds, then upper ones) and its approach, 2 × n.

        Third, whether it is one: bounds that coincide, as a closed contact's tangents' do, are
        none. (Under the convex law those matter, as they choose the contact's friction.)
        """
        width, widening = h + self.widths(side, zeta), self.widths(side, rate)
        width, widening = (jnp.where(self.tangential, x, 0.0) for x in (width, widening))
        inside = jnp.stack([zeta - (self.lo - width), self.hi + width - zeta])
        inward = jnp.stack([rate + widening, widening - rate])
        sign = jnp.stack([jnp.where(side < 0, -1, 1), jnp.where(side > 0, -1, 1)])
        moves = (self.mu > 0) & ((side[self.normal] == 0) | (self.lift > 0))
        moves = moves | (self.hi > self.lo) | (self.tangential & (h > 0))
        # A contact opens only once its friction is on its bounds, which shrink to nothing there.
        sticks = self.onto_normals(((side == 0) & (self.mu > 0)).astype(zeta.dtype)) > 0
        watched = moves & ~((side == 0) & sticks) & jnp.stack([side <= 0, side >= 0])
        return sign * inside, -sign * inward, watched


def boxed_rows(problem: Problem, rho: Float[Array, " n"]) -> BoxedRows:
    """Return the rows of the convex law on pyramids."""
    cones, scale = problem.cones, jnp.sqrt(rho)
    zero = jnp.zeros_like(cones.mu)
    none = jnp.stack([zero, zero, zero], axis=1)
    mu = cones.join(jnp.zeros_like(cones.lo), none.at[:, 1:].set(cones.mu[:, None]))
    return BoxedRows(
        scale[:, None] * problem.delassus.dense() * scale,
        scale,
        cones.join(cones.lo, none) / scale,
        cones.join(cones.hi, none.at[:, 0].set(jnp.inf)) / scale,
        mu,
        mu,
        cones.lo.shape[-1],
    )
