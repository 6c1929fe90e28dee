"""Sequential impulses: Gauss–Seidel sweeps on the velocities of the bodies."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import ConeType
from jaxccp.ccp.problem import Law
from jaxccp.ccp.solver import Task
from jaxccp.ccp.sweeps.gauss_seidel import GaussSeidel, SweepState
from jaxccp.ccp.sweeps.sweep import Blocks
from jaxccp.math import safe


@dataclass(frozen=True)
class SIPGS(GaussSeidel):
    """Sequential impulses on the velocities of the bodies.

    With ``width`` 1 joints come first, then contacts; with more, blocks come in the order of their
    colours.

    A row's impulse changes by minus its velocity times its effective mass 1/(J M⁻¹ Jᵀ + E). The
    accumulated impulse of each row is clamped, and the velocities of its bodies are updated at
    once: Catto, "Iterative dynamics with temporal coherence" (GDC 2005), after Moreau's time
    stepping, and VEROSIM's SIPGS. In a contact the normal is updated first. Then its tangents are
    updated within the bound that the normal impulse sets: the disc ‖λ_t‖ ≤ μ λ_n, or the box of
    VEROSIM with ``Cones(…, cone_type="pyramid")``. This is Coulomb's law. The convex law cannot be
    separated like this, so the three rows of a contact are updated together as in PSOR.

    It differs from the original by the true cone; by whitened rows of twelve numbers in place of a
    12 × 12 mass matrix per contact; by updating contacts that share no body at once; and by the
    residual of all solvers as a stopping rule beside the original's criterion. Where N is not a
    :class:`~jaxccp.ccp.BodyDelassus`, the velocities of the rows follow from all impulses instead
    of from the velocities of the bodies, which changes the cost but not the iterates.
    """

    cone_types: ClassVar[tuple[ConeType, ...]] = ("cone", "pyramid")
    coupled: ClassVar[bool] = False
    extrapolates: ClassVar[tuple[Law, ...]] = ("ccp",)
    """Only the convex law: under Coulomb's law, with normal and tangents updated apart,
    extrapolation may end in a cycle."""

    impulse_tolerance: float = 0.0
    """Also stop when the sum of the impulse changes of a sweep is at most this [N·s], VEROSIM's
    criterion (0.1 there). With 0, stop when a sweep changes nothing."""

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
        """Return the nearest point to ``tangent`` in the disc, or in the square for pyramids, of
        half-width ``limit``."""
        if blocks.cone_type == "pyramid":
            return jnp.clip(tangent, -limit, limit)
        length = safe.norm(tangent)[:, None]
        return jnp.where(length > limit, safe.divide(limit, length) * tangent, tangent)

    def done(self, task: Task, state: SweepState) -> Bool[Array, ""]:
        scalars, contacts = task.problem.cones.split(state.lam - state.before)
        change = jnp.sum(jnp.abs(scalars)) + jnp.sum(safe.norm(contacts))
        return change <= self.impulse_tolerance
