"""The blocks of a step's problem over generalised velocities: of trees, then of each family.

    H v − Jᵀ λ = f        J v + E λ + b = u        K ∋ λ ⟂ u ∈ K*

as :mod:`jaxccp.dynamics.descriptor.descriptor` has them over twists of bodies.
H is M̂ = M + h R + h² K, of
families with their own stiffness and damping, of trees with that of springs and dampers along
coordinates, and of smooth contacts between all of them where a step is implicit in these.
"""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag, cho_solve, solve_triangular
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import Delassus, WhitenedDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.dynamics.step import StepSystem
from jaxccp.dynamics.trees.shared_mass import SharedMass
from jaxccp.model.family import MassRoot


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FactoredDelassus(WhitenedDelassus):
    """Delassus operator N = J H⁻¹ Jᵀ + E, given by the factor of H.

    Iterations keep rows and velocities separate, so that solvers of the saddle system Z see both.
    """

    def for_iterations(self) -> Delassus:
        return self


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReducedDescriptor:
    """H, J, E, f and b over nv generalised velocities and n rows.

    Rows that close loops of joints and set tendon lengths come first: equality rows without
    compliance.
    """

    factor: Float[Array, "nv nv"]
    """C, lower triangular, with H = C Cᵀ. It has blocks for the trees and for each family, unless
    smooth contacts couple them."""
    jacobian: Float[Array, "n nv"]
    """J."""
    compliance: Float[Array, " n"]
    """Diagonal of E."""
    force: Float[Array, " nv"]
    """f: momenta without impulses, M v + h (forces) [N s, N m s]."""
    bias: Float[Array, " n"]
    """b [m/s, rad/s]."""
    cones: Cones
    """Set of the admissible multipliers."""
    sizes: tuple[int, ...] = field(metadata={"static": True})
    """Number of velocities of the trees, of each family, and of free bodies where they are coupled
    with these."""

    def matrix(self) -> Float[Array, "nv nv"]:
        """Return H as a dense matrix."""
        return self.factor @ self.factor.T

    def problem(self) -> Problem:
        """Return the Schur complement N = J H⁻¹ Jᵀ + E, r = J H⁻¹ f + b, computed with the factor
        of H."""
        whitened = solve_triangular(self.factor, self.jacobian.T, lower=True).T
        free = solve_triangular(self.factor, self.force, lower=True)
        r = whitened @ free + self.bias
        return Problem(FactoredDelassus(whitened, self.compliance), r, self.cones)

    def velocities(self, lam: Float[Array, " n"]) -> Float[Array, " nv"]:
        """Return v = H⁻¹ (f + Jᵀ λ), the velocities after the impulses ``lam``."""
        return cho_solve((self.factor, True), self.force + lam @ self.jacobian)

    def product(self, unknowns: Float[Array, " nv+n"]) -> Float[Array, " nv+n"]:
        """Return Z x with Z = [[H, Jᵀ], [J, −E]]."""
        v, l = jnp.split(unknowns, [len(self.force)])
        momenta = self.factor @ (v @ self.factor) + l @ self.jacobian
        return jnp.concatenate([momenta, self.jacobian @ v - self.compliance * l])

    def right_hand_side(self) -> Float[Array, " nv+n"]:
        """Return d = (f, −b)."""
        return jnp.concatenate([self.force, -self.bias])

    def project(self, unknowns: Float[Array, " nv+n"]) -> Float[Array, " nv+n"]:
        """Return x = (v, −λ) with λ projected on K."""
        v, l = jnp.split(unknowns, [len(self.force)])
        return jnp.concatenate([v, -self.cones.project(-l)])


def describe_reduced(shared: SharedMass, system: StepSystem) -> ReducedDescriptor:
    """Return the blocks of a step's problem over the velocities that share a mass matrix.

    Args:
        shared: trees and families of the step.
        system: the step's system.

    Raises:
        ValueError: there are free bodies outside the mass matrix, or impacts that act late in the
            step.
    """
    if system.free_bodies is not None:
        raise ValueError(
            "this system has loose bodies outside the mass matrix of its trees and families: "
            "take jaxccp.model.cut_joints.with_block_diagonal_mass(model) and eliminate=False, for "
            "blocks over the twists of bodies, or model.with_dense(…) for one matrix of all"
        )
    if system.topology.rebounds:
        raise ValueError(
            "impacts that act when they happen move a mechanism by another H than the one at the "
            "start of the step: build the model with impact_times 'bounces' and without restitution"
        )
    # Without free bodies and late impacts this is the problem's operator.
    delassus, space = shared.impulse_map, shared.motion.space
    assert delassus is not None
    whitened, compliance, cones = delassus.whitened, delassus.compliance, system.problem.cones
    free, bias = shared.motion.whitened, system.problem.r
    loops = shared.loop_constraints
    if loops is not None:
        # Loop rows are eliminated, which has changed the other rows and the velocities: undo this.
        rows, response = loops.saddle.rows, loops.response
        bias = jnp.concatenate([jnp.zeros(len(rows), bias.dtype), bias])
        whitened = jnp.concatenate([rows, whitened - response.T @ rows])
        compliance = jnp.concatenate([jnp.zeros(len(rows), compliance.dtype), compliance])
        bounds = jnp.full(len(rows), jnp.inf, bias.dtype)
        lo, hi = jnp.concatenate([-bounds, cones.lo]), jnp.concatenate([bounds, cones.hi])
        cones = replace(cones, lo=lo, hi=hi)
    # At this point the free velocities still satisfy the loop rows.
    bias = bias - whitened @ free
    if loops is not None:
        free = free - loops.free_impulses @ loops.saddle.rows
    sizes = space.sizes if len(space.roots) > 1 else (space.count,)
    factor = block_diag(*map(_factor, space.roots, sizes))
    return ReducedDescriptor(
        # Factorised again: the tangent of L⁻ᵀ is not triangular, and solves read a triangle.
        jnp.linalg.cholesky(factor @ factor.T),
        whitened @ factor.T,
        compliance,
        factor @ free,
        bias,
        cones,
        space.sizes,
    )


def _factor(root: MassRoot, size: int) -> Float[Array, "k k"]:
    """Return C = L⁻ᵀ of a block of H."""
    identity = jnp.eye(size, dtype=root.inverse.dtype)
    inverse = jax.vmap(root.unwhiten, out_axes=1)(identity)
    # A general inverse, since the tangent of L is not triangular.
    return jnp.linalg.inv(inverse.T)
