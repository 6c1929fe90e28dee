"""A step's problem taken apart, as Chrono's ChSystemDescriptor has it: H, J, E, f and b.

    H v − Jᵀ λ = f        J v + E λ + b = u        K ∋ λ ⟂ u ∈ K*

With equality rows alone this is Z x = d, Z = [[H, Jᵀ], [J, −E]], x = (v, −λ), d = (f, −b).
Eliminating v gives the problem that solvers see, N = J H⁻¹ Jᵀ + E and r = J H⁻¹ f + b.
"""

from dataclasses import dataclass, replace
from typing import Generic

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import BodyDelassus, WhitenedDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.dynamics.descriptor.mass_matrix import JacobianT, MassMatrix


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Descriptor(Generic[JacobianT]):
    """The blocks of one step's problem.

    Velocities v are twists of bodies [nb 6], or one vector of generalised velocities: of trees,
    then of each family. Rows that close loops of joints and set tendon lengths come first.
    """

    mass: MassMatrix[JacobianT]
    """H: M̂ = M + h R + h² K, with the stiffness and damping of K/R/M blocks over twists of bodies;
    over generalised velocities with those of families, of springs and dampers along coordinates,
    and of smooth contacts where a step is implicit in them."""
    jacobian: JacobianT
    """J and E: rows that are not whitened, on twists of bodies or on generalised velocities; zero
    for fixed bodies."""
    force: Float[Array, "..."]
    """f, in the shape of v: momenta without constraint impulses, M v + h (forces) [N s, N m s]."""
    bias: Float[Array, " n"]
    """b [m/s, rad/s]."""
    cones: Cones
    """Set of the admissible multipliers."""

    def join(self, velocity: Array, rows: Float[Array, " n"]) -> Float[Array, " v+n"]:
        """Return the unknowns of the whole system as one vector, those of the velocities first.

        Args:
            velocity: velocities or momenta, in the shape of v.
            rows: one number for each row.
        """
        return jnp.concatenate([self.mass.gather(velocity), rows])

    def split(self, unknowns: Float[Array, " v+n"]) -> tuple[Array, Float[Array, " n"]]:
        """Return the velocities and rows in a vector of unknowns, the inverse of :meth:`join`."""
        velocity, rows = jnp.split(unknowns, [self.mass.variables])
        return self.mass.scatter(velocity), rows

    def problem(self) -> Problem:
        """Return the problem in the multipliers alone, the Schur complement of H.

        Without K/R/M blocks :attr:`jaxccp.dynamics.StepSystem.problem` is the same and costs less.
        """
        delassus, velocity = self.mass.schur_complement(self.jacobian, self.force)
        return Problem(delassus, self.jacobian.velocity(velocity) + self.bias, self.cones)

    def velocities(self, lam: Float[Array, " n"]) -> Array:
        """Return v = H⁻¹ (f + Jᵀ λ), the velocities after the impulses ``lam`` [m/s, rad/s].

        They are those of the step, but for impacts that act late in it (restitution), over twists
        of bodies: J has the rows at the start of the step, as N does, while in the step an impulse
        turns a body as it is when it is hit. An angular velocity ω that changes by Δω is then off
        by up to about h ω Δω.
        """
        return self.mass.solve(self.force + self.jacobian.impulse(lam))

    def product(self, unknowns: Float[Array, " v+n"]) -> Float[Array, " v+n"]:
        """Return Z x without assembling Z."""
        v, l = self.split(unknowns)
        rows = self.jacobian.velocity(v) - self.jacobian.compliance * l
        return self.join(self.mass.apply(v) + self.jacobian.impulse(l), rows)

    def right_hand_side(self) -> Float[Array, " v+n"]:
        """Return d = (f, −b)."""
        return self.join(self.force, -self.bias)

    def project(self, unknowns: Float[Array, " v+n"]) -> Float[Array, " v+n"]:
        """Return x = (v, −λ) with λ projected on K."""
        v, l = self.split(unknowns)
        return self.join(v, -self.cones.project(-l))

    def active(self) -> "Descriptor[JacobianT]":
        """Return the descriptor without the slots that hold no contact: those with no Jacobian, no
        compliance and b ∈ K*.

        Their impulse is zero and they act on nothing. The shapes of the result depend on the
        numbers, so this does not work under ``jit``.
        """
        jacobian, (scalars, bias) = self.jacobian, self.cones.split(self.bias)
        s, shape = len(scalars), (len(self.cones.mu), self.cones.width)
        compliance = self.cones.split(jacobian.compliance)[1]
        if isinstance(jacobian, BodyDelassus):
            rows = jacobian.contact_rows
        else:
            rows = jacobian.whitened[s:].reshape(*shape, jacobian.whitened.shape[1])
        unused = ~np.any(rows, axis=(1, 2)) & ~np.any(compliance, axis=1)
        unused &= ~np.any(self.cones.section.project(-bias, self.cones.mu), axis=1)
        keep = np.flatnonzero(~unused)
        compliance = self.cones.join(jacobian.compliance[:s], compliance[keep])
        if isinstance(jacobian, BodyDelassus):
            jacobian = replace(
                jacobian,
                contact_rows=jacobian.contact_rows[keep],
                contact_bodies=jacobian.contact_bodies[keep],
                compliance=compliance,
            )
        else:
            kept = rows[keep].reshape(-1, rows.shape[2])
            jacobian = WhitenedDelassus(jnp.concatenate([jacobian.whitened[:s], kept]), compliance)
        rolling = self.cones.rolling
        rolling = None if rolling is None else rolling[keep]
        cones = replace(self.cones, mu=self.cones.mu[keep], rolling=rolling)
        bias = self.cones.join(scalars, bias[keep])
        return replace(self, jacobian=jacobian, bias=bias, cones=cones)
