"""Axes and inertia of trees at the time of impact within a step, to first order in time."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.trees.bias import jacobian_rate, small_angle_weight
from jaxccp.dynamics.trees.screws import Screws
from jaxccp.dynamics.trees.velocity_space import VelocitySpace
from jaxccp.math.linear3 import cross
from jaxccp.model.family import FrameMap


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ImpactTimeLinearisation:
    """Rates of J and M̂ at the velocities without contact, to map impulses that act within a step.

    An impulse λ at the time τ adds M̂(τ)⁻¹ J(τ)ᵀ λ to the velocities, where J(τ) = J + τ J̇ and
    M̂(τ) = M̂ + τ Ṁ. With L Lᵀ = M̂⁻¹ and S = Lᵀ Ṁ L, the root of M̂(τ)⁻¹ is L (1 − ½ τ S). All of
    this is to first order in τ, which suffices for derivatives through an impact. The momenta
    M_b(τ) J_b(τ) Δv that an impulse adds to the bodies last until the end of the step.
    """

    map: FrameMap
    """J̇, zero for bodies without joints."""
    mass_rate: Float[Array, "nv nv"]
    """S = Lᵀ Ṁ L."""
    spin: Float[Array, "nb 3"]
    """Angular velocity of the jointed bodies [rad/s]."""

    @staticmethod
    def of(
        screws: Screws,
        position: Float[Array, "nb 3"],
        mass: BodyMass,
        space: VelocitySpace,
        velocity: Float[Array, " nv"],
        h: Float[Array, ""] | float,
    ) -> "ImpactTimeLinearisation":
        """Return the rates at the velocities that a step has without contact.

        They are reduced if bodies rotate by more than
        :data:`jaxccp.dynamics.trees.bias.SMALL_ANGLE` in the step.

        Args:
            screws: the degrees of freedom.
            position: centres of mass.
            mass: mass operator of the bodies.
            space: generalised velocities, with J and L.
            velocity: velocities without contact.
            h: length of the step [s].
        """
        dofs = screws.dofs
        trees, *_ = space.split(velocity)
        jacobian = space.maps[0].jacobian
        twist = space.maps[0].twists(trees)
        weight = small_angle_weight(dofs, twist[:, 3:], h) @ jnp.asarray(dofs.trees, twist.dtype)
        rate = weight[:, None, None] * jacobian_rate(screws, twist, position, trees)
        spin = weight[:, None] * twist[:, 3:]
        change = jax.vmap(_momentum_rate, (None, None, 2, 2), 2)(mass, spin, rate, jacobian)
        # Ṁ = Jᵀ d(M_b J)/dt + J̇ᵀ M_b J, summed over the bodies.
        half_rate = jnp.einsum("biv,biw->vw", jacobian, change)
        mass_rate = half_rate + jnp.einsum("biv,biw->vw", rate, mass.columns(jacobian))
        padding = space.count - len(trees)
        mass_rate = jnp.pad(mass_rate, ((0, padding), (0, padding)))
        return ImpactTimeLinearisation(
            FrameMap(rate), space.whiten(space.whiten(mass_rate).T), spin
        )

    def twist_rate(self, velocity: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        """Return J̇ v, the rates of the bodies' twists at constant velocities [m/s², rad/s²]."""
        return self.map.twists(velocity[: self.map.count])

    def project_row_change(
        self, rows: Float[Array, "c k w 6"], bodies: Int[Array, "c k"], time: Float[Array, " c"]
    ) -> Float[Array, "c w nv"]:
        """Return the change of contact rows over the velocities between the start of the step and
        their impact.

        Args:
            rows: rows over the twists of k of their bodies.
            bodies: these bodies of each contact.
            time: time of each impact [s].
        """
        change = self.map.project_rows(time[:, None, None, None] * rows, bodies)
        return jnp.pad(change, ((0, 0), (0, 0), (0, len(self.mass_rate) - self.map.count)))

    def whiten_at_impact(
        self, rows: Float[Array, "c w nv"], time: Float[Array, " c"]
    ) -> Float[Array, "c w nv"]:
        """Return the whitened rows of contacts at their times of impact.

        Args:
            rows: the same rows whitened by L at the start of the step.
            time: time of each impact [s].
        """
        return rows - 0.5 * time[:, None, None] * (rows @ self.mass_rate)

    def late_momentum_change(
        self, mass: BodyMass, twist: Float[Array, "nb 6"], late: Float[Array, " nv"]
    ) -> Float[Array, "nb 6"]:
        """Return the momenta that late impulses add to bodies, minus those that they would add at
        the start of the step [N s, N m s].

        Args:
            mass: mass operator of the bodies.
            twist: twists of the bodies for the velocities ``late``.
            late: velocities that impulses add, each times its time of impact.
        """
        trees = late[: self.map.count]
        return _momentum_rate(mass, self.spin, self.map.twists(trees), twist)


def _momentum_rate(
    mass: BodyMass, spin: Float[Array, "nb 3"], rate: Float[Array, "nb 6"], twist: Array
) -> Float[Array, "nb 6"]:
    """Return d(M_b J_b)/dt v = M_b J̇_b v + Ṁ_b J_b v from J̇ v and J v; Ṁ_b contains ω × I − I (ω
    ×)."""
    rotation_part = jnp.pad(cross(spin, twist[:, 3:]), ((0, 0), (3, 0)))
    inertia_rate = cross(spin, mass.apply(twist)[:, 3:])
    return mass.apply(rate - rotation_part) + jnp.pad(inertia_rate, ((0, 0), (3, 0)))
