"""The cone complementarity problem and the residual every solver is judged by."""

from dataclasses import dataclass, replace
from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import Delassus
from jaxccp.math import safe
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.math.jitted import jitted

Law = Literal["ccp", "ncp"]
"""``ccp``: the convex problem; ``ncp``: Coulomb's law (De Saxcé's correction added)."""
ROUNDINGS = 2.0
"""Roundings of the largest velocity that a residual has where nothing is left to improve."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Problem:
    """Find λ with K ∋ λ ⟂ u = N λ + r ∈ K* (and −u in the normal cone of K on box rows)."""

    delassus: Delassus
    r: Float[Array, " n"]
    """Velocities of the rows at λ = 0, bias included [m/s]."""
    cones: Cones

    def checked(self) -> "Problem":
        """Return the problem as arrays of floats.

        Raises:
            ValueError: the shapes of r, cones and Delassus operator do not fit one another.
        """
        cones = self.cones.checked()
        r = as_floats("r", self.r, [...])
        if r.ndim != 1:
            as_floats("r", r, [Dimension("rows", cones.rows)])
        if not len(r) == cones.rows == self.delassus.rows:
            raise ValueError(
                f"row counts differ: r has {len(r)}, the cones {cones.rows} and the Delassus "
                f"operator {self.delassus.rows}; the layout is scalar rows, then {cones.width} "
                "rows per contact"
            )
        return Problem(self.delassus.checked(r.dtype), r, cones)

    def multipliers(self, what: str, lam: Float[Floats, " n"]) -> Float[Array, " n"]:
        """Return multipliers [N·s] as an array of floats; raise ``ValueError``, naming ``what``,
        unless there is one for each row."""
        return as_floats(what, lam, [Dimension("rows", self.cones.rows)], self.r.dtype)

    def velocity(self, lam: Float[Floats, " n"]) -> Float[Array, " n"]:
        """u = N λ + r [m/s]."""
        return self.delassus.apply(self.multipliers("lam", lam)) + self.r

    def objective(self, lam: Float[Floats, " n"]) -> Float[Array, ""]:
        """½ λᵀ N λ + rᵀ λ [J]; the CCP's solutions are its minimisers over K."""
        lam = self.multipliers("lam", lam)
        return lam @ (0.5 * self.delassus.apply(lam) + self.r)

    def step_sizes(self) -> Float[Array, " n"]:
        """ρ of each row [kg]: w / trace(N_cc) of its contact of w rows, 1 / N_ii of a scalar row.

        One value per contact, so that scaling by it keeps the cone. A block of zeros (a contact
        between two fixed bodies) gets 1.
        """
        scalars, contacts = self.cones.split(self.delassus.diagonal())
        return self._masses(jnp.concatenate([scalars, jnp.mean(contacts, axis=1)]))

    def normal_masses(self) -> Float[Array, " n"]:
        """The mass that each row feels [kg], 1 / N_ii, of a contact that of its normal row; 1 where
        that is infinite."""
        scalars, contacts = self.cones.split(self.delassus.diagonal())
        return self._masses(jnp.concatenate([scalars, contacts[:, 0]]))

    def _masses(self, inverse: Float[Array, " b"]) -> Float[Array, " n"]:
        """1 / ``inverse`` of scalar rows, then contacts, as a value for each row; 1 for zeros."""
        s, positive = self.cones.lo.shape[0], inverse > 0
        mass = jnp.where(positive, 1.0 / jnp.where(positive, inverse, 1.0), 1.0)
        return self.cones.spread(mass[:s], mass[s:])

    def shifted(self, shift: Float[Array, " c"]) -> "Problem":
        """Return the same problem with ``shift`` [m/s] added to the contacts' normal rows of r."""
        return replace(self, r=self.cones.add_normal(self.r, shift))

    def without(self, contacts: Bool[Array, " c"]) -> "Problem":
        """The problem in which these are contacts of zero rows that move apart."""
        cones, dtype = self.cones, self.r.dtype
        kept = cones.spread(jnp.ones_like(cones.lo), (~contacts).astype(dtype))
        apart = cones.add_normal(jnp.zeros_like(self.r), contacts.astype(dtype))
        r = jnp.where(kept > 0, self.r, apart)
        return replace(self, delassus=self.delassus.scaled(kept), r=r)

    def de_saxce(self, u: Float[Array, " n"]) -> Float[Array, " c"]:
        """μ ‖u_t‖ of each contact [m/s], the shift that turns the CCP into Coulomb's law.

        Under a pyramid the norm is the support function of its section; spinning and rolling add
        theirs.
        De Saxcé & Feng, Math. Comput. Modelling 28 (1998); Acary et al., ZAMM 91 (2011), eq. 12.
        """
        return self.cones.de_saxce(u)

    def corrected(self, u: Float[Array, " n"], law: Law) -> Float[Array, " n"]:
        """ũ, the velocities that ``law`` has in K*: with De Saxcé's shift under Coulomb's."""
        if law == "ccp":
            return u
        return self.cones.add_normal(u, self.de_saxce(u))

    def residual(
        self,
        lam: Float[Array, " n"],
        u: Float[Array, " n"],
        rho: Float[Array, " n"],
    ) -> Float[Array, " blocks"]:
        """‖λ_c − Π_K(λ_c − ρ_c u_c)‖ / ρ_c of each scalar row, then of each contact [m/s].

        ``u`` is given, not computed, so that a solver that has N λ at hand pays nothing; pass
        the De Saxcé-shifted velocity for Coulomb's law.
        """
        return _residual(self.cones, lam, u, rho)

    def rounding(self) -> Float[Array, ""]:
        """Return the residual that rounding may leave at the solution [m/s]: :data:`ROUNDINGS`
        times the machine's precision times the largest velocity r that multipliers cancel."""
        scalars, contacts = self.cones.split(self.r)
        wanted = jnp.where(self.cones.lo < 0, jnp.abs(scalars), jnp.maximum(-scalars, 0.0))
        closing = jnp.where(contacts[:, 0] < 0, safe.norm(contacts), 0.0)
        largest = jnp.max(jnp.concatenate([wanted, closing]), initial=0.0)
        return ROUNDINGS * jnp.finfo(self.r.dtype).eps * lax.stop_gradient(largest)

    def scale(self) -> Float[Array, ""]:
        """max ‖r_c‖ over the row blocks [m/s], what a relative tolerance multiplies."""
        scalars, contacts = self.cones.split(self.r)
        blocks = jnp.concatenate([jnp.abs(scalars), safe.norm(contacts)])
        return jnp.max(blocks, initial=0.0)


@jitted
def _residual(cones: Cones, lam: Array, u: Array, rho: Array) -> Array:
    gap = (lam - cones.project(lam - rho * u)) / rho
    scalars, contacts = cones.split(gap)
    return jnp.concatenate([jnp.abs(scalars), safe.norm(contacts)])


def residuals(problem: Problem, lam: Float[Array, " n"], law: Law) -> Float[Array, " blocks"]:
    """The residual of each row block under ``law`` [m/s], N λ computed afresh."""
    u = problem.corrected(problem.velocity(lam), law)
    return problem.residual(lam, u, problem.step_sizes())
