"""The cone complementarity problem, and the residual that all solvers stop by."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import Delassus
from jaxccp.execution.jitted import jitted
from jaxccp.math import safe
from jaxccp.math.array_input import Dimension, Floats, as_floats

Law = Literal["ccp", "ncp"]
"""Contact law: ``"ccp"`` is the convex cone complementarity problem, ``"ncp"`` is Coulomb's law, by
De Saxcé's correction."""
ROUNDINGS = 3.0
"""Residual that counts as converged in :meth:`Problem.rounding`, in machine epsilons of the largest
velocity. Of 512 problems of a hand under servos half converge to 1.0, the worst to 2.02, after any
number of iterations."""


def check_law(law: Law) -> None:
    """Check that ``law`` is the name of a contact law.

    Raises:
        ValueError: it is not.
    """
    if law not in get_args(Law):
        raise ValueError(f'law must be "ccp" or "ncp", not {law!r}')


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Problem:
    """The problem to find λ with K ∋ λ ⟂ u = N λ + r ∈ K*; on box rows −u is in the normal cone of
    K.

    Rows may also be angular, with r in rad/s, λ in N·m·s and N in 1/(kg·m²). Residuals and
    tolerances compare the numbers of both kinds.
    """

    delassus: Delassus
    """The Delassus operator N [1/kg]."""
    r: Float[Array, " n"]
    """Velocities of the rows at λ = 0, including the bias [m/s]."""
    cones: Cones
    """K, the set of admissible multipliers."""

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
        """Return multipliers [N·s] as an array of floats with one entry per row.

        Args:
            what: name of the argument, for the message.
            lam: the multipliers.

        Raises:
            ValueError: the number of multipliers differs from the number of rows.
        """
        return as_floats(what, lam, [Dimension("rows", self.cones.rows)], self.r.dtype)

    def velocity(self, lam: Float[Floats, " n"]) -> Float[Array, " n"]:
        """Return the velocities u = N λ + r of the rows [m/s]."""
        problem = self.checked()
        return problem.delassus.apply(problem.multipliers("lam", lam)) + problem.r

    def objective(self, lam: Float[Floats, " n"]) -> Float[Array, ""]:
        """Return ½ λᵀ N λ + rᵀ λ [J], which the solutions of the CCP minimise over K."""
        problem = self.checked()
        lam = problem.multipliers("lam", lam)
        return lam @ (0.5 * problem.delassus.apply(lam) + problem.r)

    def step_sizes(self) -> Float[Array, " n"]:
        """Return the step size ρ of each row [kg]: w / trace(N_cc) of a contact of w rows, 1 / N_ii
        of a scalar row.

        One value per contact, so that scaling by it keeps the cone. A block of zeros (a contact
        between two fixed bodies) gets 1.
        """
        scalars, contacts = self.cones.split(self.delassus.diagonal())
        return self._masses(jnp.concatenate([scalars, jnp.mean(contacts, axis=1)]))

    def normal_masses(self) -> Float[Array, " n"]:
        """Return the effective mass 1 / N_ii of each row [kg]; 1 where N_ii is 0.

        All rows of a contact have that of its normal row.
        """
        scalars, contacts = self.cones.split(self.delassus.diagonal())
        return self._masses(jnp.concatenate([scalars, contacts[:, 0]]))

    def _masses(self, inverse: Float[Array, " b"]) -> Float[Array, " n"]:
        """Return 1 / ``inverse`` for each row; 1 where ``inverse`` is 0.

        Args:
            inverse: one number for each scalar row, then one for each contact.
        """
        s, positive = self.cones.lo.shape[0], inverse > 0
        mass = jnp.where(positive, 1.0 / jnp.where(positive, inverse, 1.0), 1.0)
        return self.cones.spread(mass[:s], mass[s:])

    def shifted(self, shift: Float[Array, " c"]) -> "Problem":
        """Return the same problem with ``shift`` [m/s] added to the contacts' normal rows of r."""
        return replace(self, r=self.cones.add_normal(self.r, shift))

    def without(self, contacts: Bool[Array, " c"]) -> "Problem":
        """Return the problem without the flagged contacts: their rows of N are zeros, and they
        separate at 1 m/s."""
        cones, dtype = self.cones, self.r.dtype
        kept = cones.spread(jnp.ones_like(cones.lo), (~contacts).astype(dtype))
        separating = cones.add_normal(jnp.zeros_like(self.r), contacts.astype(dtype))
        r = jnp.where(kept > 0, self.r, separating)
        return replace(self, delassus=self.delassus.scaled(kept), r=r)

    def de_saxce(self, u: Float[Array, " n"]) -> Float[Array, " c"]:
        """Return De Saxcé's shift μ ‖u_t‖ of each contact [m/s]; with it the CCP becomes Coulomb's
        law.

        Under a pyramid the norm is the support function of its section; spinning and rolling
        friction add their terms. De Saxcé & Feng, Math. Comput. Modelling 28 (1998); Acary et al.,
        ZAMM 91 (2011), eq. 12.
        """
        return self.cones.de_saxce(u)

    def corrected(self, u: Float[Array, " n"], law: Law) -> Float[Array, " n"]:
        """Return ũ, the velocities that must lie in K* under ``law`` [m/s].

        It is u under the convex law. Under Coulomb's law De Saxcé's shift is added to the normal
        rows.

        Args:
            u: velocities of the rows [m/s].
            law: the law of contact.
        """
        if law == "ccp":
            return u
        return self.cones.add_normal(u, self.de_saxce(u))

    def residual(
        self,
        lam: Float[Array, " n"],
        u: Float[Array, " n"],
        rho: Float[Array, " n"],
    ) -> Float[Array, " blocks"]:
        """Return ‖λ_c − Π_K(λ_c − ρ_c u_c)‖ / ρ_c of each scalar row, then of each contact [m/s].

        ``u`` is an argument, so that a solver that knows N λ need not compute it again.

        Args:
            lam: multipliers [N·s].
            u: velocities of the rows [m/s], De Saxcé-shifted for Coulomb's law.
            rho: step size of each row [kg], one value per contact.
        """
        return _residual(self.cones, lam, u, rho)

    def max_residual(
        self,
        lam: Float[Array, " n"],
        n_lam: Float[Array, " n"],
        rho: Float[Array, " n"],
        law: Law = "ccp",
    ) -> Float[Array, ""]:
        """Return the largest residual over the row blocks under ``law`` [m/s].

        Args:
            lam: multipliers [N·s].
            n_lam: N λ [m/s].
            rho: step size of each row [kg], one value per contact.
            law: the law of contact.
        """
        u = self.corrected(n_lam + self.r, law)
        return jnp.max(self.residual(lam, u, rho), initial=0.0)

    def rounding(self) -> Float[Array, ""]:
        """Return the residual that rounding may leave at the solution [m/s].

        It is :data:`ROUNDINGS` times the machine epsilon times :meth:`largest_cancelled`.
        """
        largest = lax.stop_gradient(self.largest_cancelled())
        return ROUNDINGS * jnp.finfo(self.r.dtype).eps * largest

    def largest_cancelled(self) -> Float[Array, ""]:
        """Return the largest velocity r that multipliers must cancel [m/s], the unit of errors.

        Rows that are open without multipliers do not count: their r, such as the gap of a distant
        limit divided by the step, may be far larger.
        """
        scalars, contacts = self.cones.split(self.r)
        cancelled = jnp.where(self.cones.lo < 0, jnp.abs(scalars), jnp.maximum(-scalars, 0.0))
        closing = jnp.where(contacts[:, 0] < 0, safe.norm(contacts), 0.0)
        return jnp.max(jnp.concatenate([cancelled, closing]), initial=0.0)

    def scale(self) -> Float[Array, ""]:
        """Return the largest ‖r_c‖ over the row blocks [m/s], the unit of relative tolerances."""
        scalars, contacts = self.cones.split(self.r)
        blocks = jnp.concatenate([jnp.abs(scalars), safe.norm(contacts)])
        return jnp.max(blocks, initial=0.0)


@jitted
def _residual(cones: Cones, lam: Array, u: Array, rho: Array) -> Array:
    """Return the residual of each row block; see :meth:`Problem.residual`."""
    gap = (lam - cones.project(lam - rho * u)) / rho
    scalars, contacts = cones.split(gap)
    return jnp.concatenate([jnp.abs(scalars), safe.norm(contacts)])


def residuals(problem: Problem, lam: Float[Array, " n"], law: Law) -> Float[Array, " blocks"]:
    """Return the residual of each row block under ``law`` [m/s]; N λ is computed anew.

    Args:
        problem: n rows.
        lam: multipliers [N·s].
        law: the law of contact.

    Raises:
        ValueError: there is no such law, or shapes do not fit one another.
    """
    check_law(law)
    problem = problem.checked()
    lam = problem.multipliers("lam", lam)
    u = problem.corrected(problem.velocity(lam), law)
    return problem.residual(lam, u, problem.step_sizes())
