"""Mobility: the map from forces to accelerations, loops being constraints."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.rows import bilateral_rows, coordinate_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.trees.free_motion import effective_mass
from jaxccp.dynamics.trees.loop_constraints import loop_saddle
from jaxccp.dynamics.trees.mass import lower_mass_matrix
from jaxccp.dynamics.trees.screws import Screws, screws
from jaxccp.dynamics.trees.velocity_rows import coordinate_jacobian, row_parts
from jaxccp.dynamics.trees.velocity_space import VelocitySpace, concatenated
from jaxccp.math import small
from jaxccp.math.saddle import Saddle
from jaxccp.model.family import FrameMap
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order, rows_on
from jaxccp.model.state import State


def compliant_family_coordinates(model: Model) -> np.ndarray:
    """Return the indices of the coordinates with a spring, damper or rotor that frames of families
    move."""
    topology, linkage = model.topology, model.topology.linkage
    springs = row_order(linkage).of("spring")
    return linkage.compliant[rows_on(linkage, topology.family_frames)[springs]]


def rotors_on_families(model: Model) -> np.ndarray:
    """Return the indices of the coordinates with a rotor that frames of families move. The mass
    matrix then couples trees and families."""
    return np.intersect1d(model.topology.linkage.rotors, compliant_family_coordinates(model))


def _rotors_on_trees(model: Model) -> np.ndarray:
    return np.setdiff1d(model.topology.linkage.compliant, compliant_family_coordinates(model))


def _all_rotors(model: Model) -> np.ndarray:
    return np.union1d(_rotors_on_trees(model), rotors_on_families(model)).astype(int)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Mobility:
    """The map M⁻¹ = L Lᵀ from forces to accelerations, with loops and tendons of given length as
    constraints."""

    space: VelocitySpace
    """Generalised velocities, with J and L."""
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
        whitened = self.space.whiten(force)
        if self.saddle is None:
            return self.space.unwhiten(whitened), drift
        velocities, multipliers = self.saddle.solve(whitened[:, None], drift[:, None])
        return self.space.unwhiten(velocities[:, 0]), multipliers[:, 0]

    def whiten(self, rows: Float[Array, "n nv"]) -> Float[Array, "n nv"]:
        """Return W = J L P of rows J on the velocities, P being the projection on the motions that
        the loops allow.

        W Wᵀ is J M⁻¹ Jᵀ under the loop constraints, and impulses λ add the velocities L Wᵀ λ.
        """
        whitened = self.space.whiten(rows)
        if self.saddle is None:
            return whitened
        none = jnp.zeros_like(rows, shape=(len(self.saddle.rows), len(rows)))
        return self.saddle.solve(whitened.T, none)[0].T


@jax.tree_util.register_dataclass
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
    space: VelocitySpace
    """Generalised velocities, with J; with L only in a :class:`SmoothMotion`'s ``at``."""
    coordinate_jacobian: Float[Array, "k nv"]
    """Rates of all axes, then of all tendons, per unit of each velocity."""
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
        tree_map = FrameMap(trees.body_jacobian(state.position))
        space = VelocitySpace.of(model, state, tree_map, free_bodies=True)
        jacobian = coordinate_jacobian(model, motion, space)
        mass = BodyMass.of(model, state)
        return Configuration(
            model=model,
            state=state,
            motion=motion,
            screws=trees,
            space=space,
            coordinate_jacobian=jacobian,
            mass=mass,
        )

    def mobility(self, h: Array | float | None = None) -> Mobility:
        """Return the mobility of M, or that of M + h D + h² K for a step of ``h`` [s].

        D and K are those of families, and those of springs, dampers and servos without force limits
        along coordinates that no frame of a family moves.
        """
        model, state, mass = self.model, self.state, self.mass
        if h is None:
            matrix = self.tree_mass_matrix()
        else:
            compliant = self._compliant(h)
            matrix = effective_mass(
                model.topology, self.screws, self.space.maps[0].jacobian, state, mass, compliant
            )
        coupling = None
        if len(rotors_on_families(model)):
            rates, armature = self._rotors(rotors_on_families(model))
            coupling = rates.T @ (armature[:, None] * rates)
        space = self.space.with_mass_root(model, state, matrix, 0.0 if h is None else h, coupling)
        if not len(row_order(model.topology.linkage).loop_rows):
            return Mobility(space, None)
        return Mobility(space, loop_saddle(model, state, self.loop_rows(), space))

    def tree_mass_matrix(self) -> Float[Array, "n n"]:
        """Return the mass matrix of the trees, including rotors along their coordinates."""
        rates, armature = self._rotors(_rotors_on_trees(self.model))
        rates = rates[:, : self.screws.dofs.count]
        return self._tree_mass() + rates.T @ (armature[:, None] * rates)

    def mass_matrix(self) -> Float[Array, "nv nv"]:
        """Return M over all velocities, including rotors."""
        model, state = self.model, self.state
        rates, armature = self._rotors(_all_rotors(model))
        blocks = self.space.mass_matrix(model, state, self._tree_mass(), 0.0)
        return blocks + rates.T @ (armature[:, None] * rates)

    def momenta(self, velocity: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return M v for velocities v [N s, N m s], or M v̇ for accelerations."""
        trees, free_bodies = self.space.split(velocity)[0], self.space.free_bodies
        weightless = jnp.zeros_like(self.model.gravity)
        families = self.space.families(velocity)
        pairs = zip(self.model.families, self.state.families, families, strict=True)
        family_momenta = [
            family.momentum(family_state.q, v, weightless, 0.0) for family, family_state, v in pairs
        ]
        momenta = [self._tree_mass() @ trees, *family_momenta]
        if free_bodies is not None:
            twist = self.space.twists(velocity)
            momenta.append(free_bodies.pull(self.mass.apply(twist)))
        rates, armature = self._rotors(_all_rotors(self.model))
        return concatenated(momenta) + (armature * (rates @ velocity)) @ rates

    def velocities_of_momenta(
        self, twist: Float[Array, "nb 6"], rotor_rate: Float[Array, " k"]
    ) -> Float[Array, " nv"]:
        """Return the velocities v with the momenta of bodies and rotors, M v = Jᵀ P + Rᵀ a ρ; loops
        and tendons of given length exert no impulses.

        Args:
            twist: twists of the bodies, whose momenta are P.
            rotor_rate: rates ρ of the rotors along all axes, then all tendons [m/s, rad/s].
        """
        index, root = _all_rotors(self.model), self.mobility().space
        rates, armature = self._rotors(index)
        momenta = self.space.pull(self.mass.apply(twist)) + (armature * rotor_rate[index]) @ rates

        def solve(_: Callable, momenta: Array) -> Array:
            return root.unwhiten(root.whiten(momenta))

        return lax.custom_linear_solve(self.momenta, momenta, solve, symmetric=True)

    def _rotors(self, index: np.ndarray) -> tuple[Float[Array, "k nv"], Float[Array, " k"]]:
        """Return the rates of coordinates per velocity, and the armatures along them."""
        return self.coordinate_jacobian[index], self.model.axes.armature[index]

    def _tree_mass(self) -> Float[Array, "n n"]:
        """Return the mass matrix of the trees without rotors."""
        jacobian, position = self.space.maps[0].jacobian, self.state.position
        return small.symmetric(lower_mass_matrix(self.screws, jacobian, position, self.mass))

    def loop_rows(self) -> Rows:
        """Return the loop and tendon rows on the bodies; their bias is not meaningful."""
        order = row_order(self.model.topology.linkage)
        return bilateral_rows(self.step(1.0)).select(order.loop_rows)

    def step(self, h: Array | float, control: Float[Array, " nm"] | None = None) -> Step:
        """Return the inputs of rows over the bodies, for a step of ``h`` [s]."""
        if control is None:
            control = jnp.zeros_like(self.model.actuators.gear)
        return Step(self.model, self.state, self.motion, h, control)

    def reduced_step(self, h: Array | float) -> Step:
        """Return the inputs of rows over the generalised velocities, for a step of ``h`` [s]."""
        control = jnp.zeros_like(self.model.actuators.gear)
        return Step(
            model=self.model,
            state=self.state,
            motion=self.motion,
            h=h,
            control=control,
            coordinate_jacobian=self.coordinate_jacobian,
        )

    def _compliant(self, h: Array | float) -> Rows:
        soft, _ = row_parts(self.model.topology)
        first: int = row_order(self.model.topology.linkage).n_bilateral
        return coordinate_rows(self.reduced_step(h)).select(np.asarray(soft) - first)
