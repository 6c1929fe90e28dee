"""How trees move on until they are hit within a step: axes and inertia at the time of impact."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.dynamics.reduced.bias import jacobian_rate, trust
from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.screws import Screws
from jaxccp.dynamics.reduced.velocities import Velocities
from jaxccp.math.linear3 import cross
from jaxccp.model.family import FrameMap


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Approach:
    """Rates, along the velocities without contact, of all that an impulse on bodies on joints
    depends on.

    An impulse λ at the time τ adds M̂(τ)⁻¹ J(τ)ᵀ λ to the velocities, where J(τ) = J + τ J̇ and
    M̂(τ) = M̂ + τ Ṁ. With L Lᵀ = M̂⁻¹ and S = Lᵀ Ṁ L, the root of M̂(τ)⁻¹ is L (1 − ½ τ S), all to
    first order in τ, which is what derivatives through an impact take. What an impulse adds to the
    momenta of bodies, M_b(τ) J_b(τ) Δv, they carry on to the end of the step.
    """

    map: FrameMap
    """J̇, zero for bodies that no joint moves."""
    growth: Float[Array, "nv nv"]
    """S."""
    spin: Float[Array, "nb 3"]
    """Of the bodies on joints."""

    @staticmethod
    def of(
        screws: Screws,
        position: Float[Array, "nb 3"],
        mass: BodyMass,
        velocities: Velocities,
        velocity: Float[Array, " nv"],
        h: Float[Array, ""] | float,
    ) -> "Approach":
        """Compute the approach at the velocities that a step of ``h`` [s] has without contact; less
        of it where that is no small angle (:data:`jaxccp.dynamics.reduced.bias.FAST`)."""
        dofs = screws.dofs
        trees, *_ = velocities.split(velocity)
        jacobian = velocities.maps[0].jacobian
        twist = velocities.maps[0].twists(trees)
        share = trust(dofs, twist[:, 3:], h) @ jnp.asarray(dofs.trees, twist.dtype)
        rate = share[:, None, None] * jacobian_rate(screws, twist, position, trees)
        spin = share[:, None] * twist[:, 3:]
        change = jax.vmap(_momentum_rate, (None, None, 2, 2), 2)(mass, spin, rate, jacobian)
        # Jᵀ d(M_b J)/dt has all of J̇ᵀ M_b J but its transpose.
        half = jnp.einsum("biv,biw->vw", jacobian, change)
        curved = jax.vmap(mass.apply, 2, 2)(jacobian)
        growth = half + jnp.einsum("biv,biw->vw", rate, curved)
        more = velocities.count - len(trees)
        growth = jnp.pad(growth, ((0, more), (0, more)))
        return Approach(FrameMap(rate), velocities.whiten(velocities.whiten(growth).T), spin)

    def twist_rate(self, velocity: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        """J̇ v: of the twists of bodies, at constant velocities."""
        return self.map.twists(velocity[: self.map.count])

    def along(
        self, rows: Float[Array, "c 2 w 6"], bodies: Int[Array, "c 2"], time: Float[Array, " c"]
    ) -> Float[Array, "c w nv"]:
        """What rows of contacts on bodies are to the velocities at their times of impact [s], less
        what they are at the start of the step."""
        more = self.map.along(time[:, None, None, None] * rows, bodies)
        return jnp.pad(more, ((0, 0), (0, 0), (0, len(self.growth) - self.map.count)))

    def whitened(
        self, rows: Float[Array, "c w nv"], time: Float[Array, " c"]
    ) -> Float[Array, "c w nv"]:
        """Whitened rows of contacts at their times of impact [s], from those with the present L."""
        return rows - 0.5 * time[:, None, None] * (rows @ self.growth)

    def momentum(
        self, mass: BodyMass, twist: Float[Array, "nb 6"], late: Float[Array, " nv"]
    ) -> Float[Array, "nb 6"]:
        """What the momenta that impulses add to bodies differ by from those at the start of the
        step, from velocities that impulses add, each times its time of impact: ``late``, and the
        twists of bodies that these are."""
        trees = late[: self.map.count]
        return _momentum_rate(mass, self.spin, self.map.twists(trees), twist)


def _momentum_rate(
    mass: BodyMass, spin: Float[Array, "nb 3"], rate: Float[Array, "nb 6"], twist: Array
) -> Float[Array, "nb 6"]:
    """d(M_b J_b)/dt v = M_b J̇_b v + Ṁ_b J_b v with Ṁ_b of the inertia I: ω × I − I (ω ×), from
    J̇ v and J v."""
    turned = jnp.pad(cross(spin, twist[:, 3:]), ((0, 0), (3, 0)))
    gained = cross(spin, mass.apply(twist)[:, 3:])
    return mass.apply(rate - turned) + jnp.pad(gained, ((0, 0), (3, 0)))
