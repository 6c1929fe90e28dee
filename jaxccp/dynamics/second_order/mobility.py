"""What forces do to generalised velocities: the inverse of a mass matrix, loops being held."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.closing import closing_saddle
from jaxccp.dynamics.reduced.mass import mass_matrix
from jaxccp.dynamics.reduced.reduced_system import effective_mass
from jaxccp.dynamics.reduced.screws import Screws, screws
from jaxccp.dynamics.reduced.velocities import Velocities, joined
from jaxccp.dynamics.reduced.velocity_rows import coordinate_rates, row_parts
from jaxccp.dynamics.rows import acting_rows, forbidding_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math.saddle import Saddle
from jaxccp.model.family import FrameMap
from jaxccp.model.kinematics import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Mobility:
    """L Lᵀ, the inverse of a mass matrix, on motions that loops and held tendons allow."""

    velocities: Velocities
    """J of the bodies, and L."""
    saddle: Saddle | None
    """The rows that close loops and hold tendons, if any."""

    def accelerations(
        self, force: Float[Array, " nv"], drift: Float[Array, " m"]
    ) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
        """v̇ and λ with M v̇ = f + Aᵀ λ and A v̇ + drift = 0."""
        whitened = self.velocities.whiten(force)
        if self.saddle is None:
            return self.velocities.unwhiten(whitened), drift
        held, multipliers = self.saddle.solve(whitened[:, None], drift[:, None])
        return self.velocities.unwhiten(held[:, 0]), multipliers[:, 0]

    def whiten(self, rows: Float[Array, "n nv"]) -> Float[Array, "n nv"]:
        """Rows J on the velocities as W = J L P, P being what the loops leave of L's motions; W Wᵀ
        is J M⁻¹ Jᵀ under the loops, and velocities gained by impulses λ are L Wᵀ λ."""
        whitened = self.velocities.whiten(rows)
        if self.saddle is None:
            return whitened
        none = jnp.zeros_like(rows, shape=(len(self.saddle.rows), len(rows)))
        return self.saddle.solve(whitened.T, none)[0].T


@dataclass(frozen=True)
class Configuration:
    """A state in generalised coordinates: the Jacobians of bodies and coordinates at it."""

    model: Model
    state: State
    motion: JointMotion
    screws: Screws
    jacobians: Velocities
    """Of the bodies; without L."""
    coordinates: Float[Array, "k nv"]
    """Rates of all axes, then of all tendons, per velocity."""
    mass: BodyMass

    @staticmethod
    def of(model: Model, state: State, motion: JointMotion) -> "Configuration":
        """Make the configuration at a state whose joints are where its ``joint_positions`` have
        them."""
        moving = screws(model, state)
        jacobians = Velocities.of(model, state, FrameMap(moving.bodies(state.position)))
        along = coordinate_rates(model, motion, jacobians)
        mass = BodyMass.of(model, state)
        return Configuration(model, state, motion, moving, jacobians, along, mass)

    def mobility(self, h: Array | float | None = None) -> Mobility:
        """Return the mobility of M, or of M + h D + h² K for a length ``h`` [s] with the springs,
        dampers and servos along coordinates and what families have of them."""
        model, state, mass = self.model, self.state, self.mass
        if h is None:
            matrix = self.inertia()
        else:
            matrix = effective_mass(self.screws, state, mass, self._compliant(h))
        velocities = self.jacobians.rooted(model, state, matrix, 0.0 if h is None else h)
        if not len(model.topology.linkage.closing):
            return Mobility(velocities, None)
        return Mobility(velocities, closing_saddle(model, state, self.closing(), velocities))

    def inertia(self) -> Float[Array, "n n"]:
        """M of the trees, rotors included."""
        model, mass = self.model, self.mass
        matrix = mass_matrix(self.screws, self.state.position, mass.mass, mass.inertia)
        which = model.topology.linkage.compliant
        along = self.coordinates[which, : self.screws.dofs.count]
        return matrix + along.T @ (model.axes.armature[which, None] * along)

    def momenta(self, velocity: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """M v of any velocities; of accelerations, too."""
        trees, *families = self.jacobians.split(velocity)
        weightless = jnp.zeros_like(self.model.gravity)
        pairs = zip(self.model.families, self.state.families, families, strict=True)
        own = [family.momentum(here.q, v, weightless, 0.0) for family, here, v in pairs]
        return joined([self.inertia() @ trees, *own])

    def closing(self) -> Rows:
        """The rows that close loops and hold tendons, on the bodies; their bias means nothing."""
        return forbidding_rows(self.step(1.0)).of(self.model.topology.linkage.closing)

    def step(self, h: Array | float, control: Float[Array, " nm"] | None = None) -> Step:
        """What rows are made from."""
        if control is None:
            control = jnp.zeros_like(self.model.actuators.gear)
        return Step(self.model, self.state, self.motion, h, control)

    def reduced_step(self, h: Array | float) -> Step:
        """Return the same step for rows on the generalised velocities."""
        control = jnp.zeros_like(self.model.actuators.gear)
        return Step(self.model, self.state, self.motion, h, control, self.coordinates)

    def _compliant(self, h: Array | float) -> Rows:
        soft, _ = row_parts(self.model.topology)
        first: int = self.model.topology.linkage.forbidden
        return acting_rows(self.reduced_step(h)).of(np.asarray(soft) - first)
