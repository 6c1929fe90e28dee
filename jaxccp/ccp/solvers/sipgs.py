"""Sequential impulses: Gauss–Seidel sweeps on the velocities of the bodies."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import ConeType
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.ccp.sweeps.gauss_seidel import GaussSeidel, SweepState
from jaxccp.ccp.sweeps.sweep import Blocks
from jaxccp.math import safe


@dataclass(frozen=True)
class SIPGS(GaussSeidel):
    """Sequential impulses on the velocities of the bodies, joints first, then contacts.

    Each row's impulse is what its effective mass 1/(J M⁻¹ Jᵀ + E) makes of its velocity; the sum
    of a row's impulses so far is clamped, and the bodies' velocities follow at once: Catto,
    "Iterative dynamics with temporal coherence" (GDC 2005), after Moreau's time stepping, and
    VEROSIM's SIPGS. Of a contact the normal goes first, then its tangents within what that
    allows: the disc ‖λ_t‖ ≤ μ λ_n, or the box of VEROSIM with ``Cones(…, cone_type="pyramid")``.
    That is Coulomb's law. Under the convex one, which does not separate so, a contact's three
    rows go together as in PSOR.

    Beyond the original: the true cone; whitened rows of twelve numbers in place of a 12 × 12 mass
    matrix per contact; contacts that share no body at once; and the residual every solver stops
    by, beside the original's criterion.
    """

    cone_types: ClassVar[tuple[ConeType, ...]] = ("cone", "pyramid")
    coupled: ClassVar[bool] = False
    extrapolates: ClassVar[tuple[Law, ...]] = ("ccp",)
    """Under Coulomb's law, with normal and tangents apart, extrapolation may end in a cycle."""

    impulse_tolerance: float = 0.0
    """Also stop when a sweep's changes of impulses sum up to no more than this [N·s], VEROSIM's
    criterion (0.1 there); 0 stops when a sweep changes nothing."""

    def resolve(self, problem: Problem, law: Law) -> Solver:
        if problem.delassus.split() is None:
            raise ValueError(
                "SIPGS works on the velocities of bodies and needs a BodyDelassus, not a "
                f"{type(problem.delassus).__name__}: build one, or use PSOR"
            )
        return super().resolve(problem, law)

    def update(
        self, law: Law, blocks: Blocks, x: Float[Array, "w 3"], u: Float[Array, "w 3"]
    ) -> Float[Array, "w 3"]:
        if law == "ccp":
            z = x - u / (1.0 + safe.norm(blocks.coupling))[:, None]
            contacts = blocks.section.project(z, blocks.mu)
        else:
            normal = jnp.maximum(x[:, 0] - u[:, 0], 0.0)
            slip = u[:, 1:] + blocks.coupling * (normal - x[:, 0])[:, None]
            tangent = self._limited(blocks, x[:, 1:] - slip, (blocks.mu * normal)[:, None])
            contacts = jnp.concatenate([normal[:, None], tangent], axis=1)
        return blocks.constrained(contacts, x[:, 0] - u[:, 0])

    def _limited(
        self, blocks: Blocks, tangent: Float[Array, "w 2"], limit: Float[Array, "w 1"]
    ) -> Float[Array, "w 2"]:
        """Return the nearest point of the disc, or of the square, that the normal impulse
        allows."""
        if blocks.cone_type == "pyramid":
            return jnp.clip(tangent, -limit, limit)
        length = safe.norm(tangent)[:, None]
        return jnp.where(length > limit, safe.divide(limit, length) * tangent, tangent)

    def done(self, task: Task, state: SweepState) -> Bool[Array, ""]:
        scalars, contacts = task.problem.cones.split(state.lam - state.before)
        change = jnp.sum(jnp.abs(scalars)) + jnp.sum(safe.norm(contacts))
        return change <= self.impulse_tolerance
