"""Mobility: the map from forces to accelerations, loops being constraints."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.free_body_velocities import free_body_masses
from jaxccp.dynamics.reduced.free_motion import effective_mass
from jaxccp.dynamics.reduced.loop_constraints import loop_saddle
from jaxccp.dynamics.reduced.mass import mass_matrix
from jaxccp.dynamics.reduced.screws import Screws, screws
from jaxccp.dynamics.reduced.velocities import Velocities, concatenated
from jaxccp.dynamics.reduced.velocity_rows import coordinate_rates, row_parts
from jaxccp.dynamics.rows import bilateral_rows, coordinate_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math.saddle import Saddle
from jaxccp.model.family import FrameMap
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Mobility:
    """The map M⁻¹ = L Lᵀ from forces to accelerations, with loops and tendons of given length as
    constraints."""

    velocities: Velocities
    """J of the bodies, and L."""
    saddle: Saddle | None
    """Factors of the rows that close loops and set tendon lengths; None where there are none."""

    def accelerations(
        self, force: Float[Array, " nv"], drift: Float[Array, " m"]
    ) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
        """Solve M v̇ = f + Aᵀ λ and A v̇ + drift = 0 for v̇ and λ.

        Args:
            force: f [N, N m].
            drift: accelerations along the rows at v̇ = 0 [m/s², rad/s²].
        """
        whitened = self.velocities.whiten(force)
        if self.saddle is None:
            return self.velocities.unwhiten(whitened), drift
        velocities, multipliers = self.saddle.solve(whitened[:, None], drift[:, None])
        return self.velocities.unwhiten(velocities[:, 0]), multipliers[:, 0]

    def whiten(self, rows: Float[Array, "n nv"]) -> Float[Array, "n nv"]:
        """Return W = J L P of rows J on the velocities, P being the projection on the motions that
        the loops allow.

        W Wᵀ is J M⁻¹ Jᵀ under the loop constraints, and impulses λ add the velocities L Wᵀ λ.
        """
        whitened = self.velocities.whiten(rows)
        if self.saddle is None:
            return whitened
        none = jnp.zeros_like(rows, shape=(len(self.saddle.rows), len(rows)))
        return self.saddle.solve(whitened.T, none)[0].T


@dataclass(frozen=True)
class Configuration:
    """A state in generalised coordinates, with the Jacobians of bodies and coordinates."""

    model: Model
    """The model."""
    state: State
    """The state."""
    motion: JointMotion
    """Motion of joints and tendons."""
    screws: Screws
    """Screws of the degrees of freedom."""
    jacobians: Velocities
    """J of the bodies; L is only set in the ``velocities`` of a :class:`Mobility`."""
    coordinates: Float[Array, "k nv"]
    """Rates of all axes, then of all tendons, per velocity."""
    mass: BodyMass
    """Mass operator of the bodies."""

    @staticmethod
    def of(model: Model, state: State, motion: JointMotion) -> "Configuration":
        """Return the configuration of a state whose poses agree with its ``joint_positions``.

        Args:
            model: the model.
            state: the state.
            motion: motion of its joints and tendons.
        """
        trees = screws(model, state)
        tree_map = FrameMap(trees.bodies(state.position))
        jacobians = Velocities.of(model, state, tree_map, free_bodies=True)
        coordinates = coordinate_rates(model, motion, jacobians)
        mass = BodyMass.of(model, state)
        return Configuration(model, state, motion, trees, jacobians, coordinates, mass)

    def mobility(self, h: Array | float | None = None) -> Mobility:
        """Return the mobility of M, or that of M + h D + h² K for a step of ``h`` [s].

        D and K are those of springs, dampers and servos along coordinates, and those of families.
        """
        model, state, mass = self.model, self.state, self.mass
        if h is None:
            matrix = self.inertia()
        else:
            compliant = self._compliant(h)
            matrix = effective_mass(model.topology, self.screws, state, mass, compliant)
        velocities = self.jacobians.with_mass_root(model, state, matrix, 0.0 if h is None else h)
        if not len(row_order(model.topology.linkage).loop_rows):
            return Mobility(velocities, None)
        return Mobility(velocities, loop_saddle(model, state, self.closing(), velocities))

    def inertia(self) -> Float[Array, "n n"]:
        """Return the mass matrix of the trees, including rotors."""
        rates = self.coordinates[self._compliant_coordinates, : self.screws.dofs.count]
        return self._tree_mass() + rates.T @ (self._armature[:, None] * rates)

    def mass_matrix(self) -> Float[Array, "nv nv"]:
        """Return M over all velocities, including rotors."""
        model, state = self.model, self.state
        pairs = zip(model.families, state.families, strict=True)
        blocks = [family.mass_matrix(family_state.q, 0.0) for family, family_state in pairs]
        if self.jacobians.free_bodies is not None:
            blocks.append(free_body_masses(model, state))
        rates = self.coordinates[self._compliant_coordinates]
        return block_diag(self._tree_mass(), *blocks) + rates.T @ (self._armature[:, None] * rates)

    def momenta(self, velocity: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return M v for velocities v [N s, N m s], or M v̇ for accelerations."""
        trees, free_bodies = self.jacobians.split(velocity)[0], self.jacobians.free_bodies
        weightless = jnp.zeros_like(self.model.gravity)
        families = self.jacobians.families(velocity)
        pairs = zip(self.model.families, self.state.families, families, strict=True)
        family_momenta = [
            family.momentum(family_state.q, v, weightless, 0.0) for family, family_state, v in pairs
        ]
        momenta = [self._tree_mass() @ trees, *family_momenta]
        if free_bodies is not None:
            twist = self.jacobians.twists(velocity)
            momenta.append(free_bodies.pull(self.mass.apply(twist)))
        rates = self.coordinates[self._compliant_coordinates]
        return concatenated(momenta) + (self._armature * (rates @ velocity)) @ rates

    @property
    def _compliant_coordinates(self) -> np.ndarray:
        return self.model.topology.linkage.compliant

    @property
    def _armature(self) -> Float[Array, " k"]:
        return self.model.axes.armature[self._compliant_coordinates]

    def _tree_mass(self) -> Float[Array, "n n"]:
        """Return the mass matrix of the trees without rotors."""
        mass = self.mass
        return mass_matrix(self.screws, self.state.position, mass.mass, mass.inertia)

    def closing(self) -> Rows:
        """Return the loop and tendon rows on the bodies; their bias is not meaningful."""
        loop_rows = row_order(self.model.topology.linkage).loop_rows
        return bilateral_rows(self.step(1.0)).select(loop_rows)

    def step(self, h: Array | float, control: Float[Array, " nm"] | None = None) -> Step:
        """Return the inputs of rows over the bodies, for a step of ``h`` [s]."""
        if control is None:
            control = jnp.zeros_like(self.model.actuators.gear)
        return Step(self.model, self.state, self.motion, h, control)

    def reduced_step(self, h: Array | float) -> Step:
        """Return the inputs of rows over the generalised velocities, for a step of ``h`` [s]."""
        control = jnp.zeros_like(self.model.actuators.gear)
        return Step(self.model, self.state, self.motion, h, control, self.coordinates)

    def _compliant(self, h: Array | float) -> Rows:
        soft, _ = row_parts(self.model.topology)
        first: int = row_order(self.model.topology.linkage).n_bilateral
        return coordinate_rows(self.reduced_step(h)).select(np.asarray(soft) - first)
