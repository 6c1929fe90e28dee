"""Projected successive over-relaxation: Gauss–Seidel sweeps with projections on the cones."""

from dataclasses import dataclass

from jaxtyping import Array, Float

from jaxccp.ccp.problem import Law
from jaxccp.ccp.sweeps.gauss_seidel import GaussSeidel
from jaxccp.ccp.sweeps.sweep import Blocks


@dataclass(frozen=True)
class PSOR(GaussSeidel):
    """Gauss–Seidel over the row blocks, each projected on its cone, with relaxation.

        λ_c ← σ Π_K(λ_c − ω S² ũ_c) + (1 − σ) λ_c

    ũ_c includes the changes of all blocks before it: Tasora & Anitescu, "A matrix-free cone
    complementarity approach", CMAME 200 (2011). ω and σ ("sharpness") are those of Chrono's PSOR.
    S² scales a contact's normal and its tangents differently, and the projection is the nearest
    point in that metric (:mod:`~jaxccp.ccp.scaling`); with one number for all three rows, as in
    Chrono, it takes twice the sweeps. Under Coulomb's law ũ includes De Saxcé's correction from the
    contact's own velocity: the nonsmooth Gauss–Seidel method of Jean, CMAME 177 (1999). For
    friction in the box ±μ λ_n of the present normal impulse, as in Chrono, use ``Cones(…,
    cone_type="pyramid")`` under Coulomb's law.
    """

    omega: float = 1.0
    """Relaxation ω in (0, 2)."""
    sharpness: float = 1.0
    """σ in (0, 1], the fraction of the projected step that is taken."""

    def update(
        self, law: Law, blocks: Blocks, x: Float[Array, "w 3"], u: Float[Array, "w 3"]
    ) -> Float[Array, "w 3"]:
        if law == "ncp":
            u = u.at[:, 0].add(blocks.section.shift(u[:, 1:], blocks.mu))
        z = x - self.omega * u
        projected = blocks.constrained(blocks.section.project(z, blocks.mu), z[:, 0])
        return self.sharpness * projected + (1.0 - self.sharpness) * x
