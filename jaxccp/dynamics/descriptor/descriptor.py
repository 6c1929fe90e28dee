"""A step's problem taken apart, as Chrono's ChSystemDescriptor has it: H, J, E, f and b.

    H v − Jᵀ λ = f        J v + E λ + b = u        K ∋ λ ⟂ u ∈ K*

With equality rows alone this is Z x = d, Z = [[H, Jᵀ], [J, −E]], x = (v, −λ), d = (f, −b).
Eliminating v gives the problem that solvers see, N = J H⁻¹ Jᵀ + E and r = J H⁻¹ f + b.
"""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import BodyDelassus, CoupledDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.dynamics.descriptor.offsets import Offsets
from jaxccp.dynamics.descriptor.reduced_descriptor import ReducedDescriptor, describe_reduced
from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.dynamics.step import StepSystem
from jaxccp.math import linear3
from jaxccp.model.model import Model


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KRMBlocks:
    """Stiffness, damping and mass matrices between pairs of bodies: bushings, beams, added mass.

    Each is symmetric and positive semidefinite, over (linear, angular) of the first body, then of
    the second, world axes. They only add to H: the forces of these elements at the present pose are
    given to the step as applied forces.
    """

    bodies: Int[Array, "k 2"]
    """The two bodies of each block."""
    stiffness: Float[Array, "k 12 12"]
    """K = −∂force/∂position [N/m, N, N m]."""
    damping: Float[Array, "k 12 12"]
    """R = −∂force/∂velocity [N s/m, N s, N m s]."""
    mass: Float[Array, "k 12 12"]
    """M [kg, kg m, kg m²]."""

    def combined(
        self, stiffness: Array | float, damping: Array | float, mass: Array | float
    ) -> Float[Array, "k 12 12"]:
        """Return c_K K + c_R R + c_M M; a step of Euler implicit linearised takes h², h and 1.

        Args:
            stiffness: c_K.
            damping: c_R.
            mass: c_M.
        """
        return stiffness * self.stiffness + damping * self.damping + mass * self.mass


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Descriptor:
    """The blocks of one step's problem; products with them never assemble a matrix."""

    mass: Float[Array, "nb 6 6"]
    """Mass matrix of each body, linear then angular; the identity for fixed bodies."""
    pairs: Int[Array, "k 2"]
    """The two bodies of each coupling block."""
    coupling: Float[Array, "k 12 12"]
    """Blocks that H has besides the masses, between pairs of bodies; zero for fixed bodies."""
    jacobian: BodyDelassus
    """J and E: the rows on the bodies, not whitened, zero for fixed bodies."""
    force: Float[Array, "nb 6"]
    """f: momenta without constraint impulses, M V + h (applied forces) [N s, N m s]."""
    bias: Float[Array, " n"]
    """b [m/s]."""
    cones: Cones
    """Set of the admissible multipliers."""
    free: tuple[bool, ...] = field(metadata={"static": True})
    """Mask of the bodies that are not fixed."""

    @property
    def offsets(self) -> Offsets:
        """Offsets of bodies and rows in global vectors."""
        return Offsets(self.free, self.cones.rows)

    def matrix(self) -> Float[Array, "6*nb 6*nb"]:
        """Return H over all bodies as a dense matrix; the identity for fixed bodies."""
        nb = len(self.free)
        every = jnp.arange(nb)
        tiles = jnp.zeros((nb, nb, 6, 6), self.mass.dtype).at[every, every].set(self.mass)
        parts = jnp.swapaxes(self.coupling.reshape(-1, 2, 6, 2, 6), 2, 3)
        tiles = tiles.at[self.pairs[:, :, None], self.pairs[:, None, :]].add(parts)
        return jnp.swapaxes(tiles, 1, 2).reshape(6 * nb, 6 * nb)

    def problem(self) -> Problem:
        """Return the problem in the multipliers alone, the Schur complement by a Cholesky
        factorisation of H.

        Without K/R/M blocks :attr:`jaxccp.dynamics.StepSystem.problem` is the same and costs less.
        """
        delassus = CoupledDelassus(self.jacobian, jnp.linalg.cholesky(self.matrix()))
        r = self.jacobian.velocity(delassus.velocities(self.force)) + self.bias
        return Problem(delassus, r, self.cones)

    def velocities(self, lam: Float[Array, " n"]) -> Float[Array, "nb 6"]:
        """Return v = H⁻¹ (f + Jᵀ λ), the twists after the impulses ``lam`` [m/s, rad/s]."""
        impulse = (self.force + self.jacobian.impulse(lam)).reshape(-1)
        return jax.scipy.linalg.solve(self.matrix(), impulse, assume_a="pos").reshape(-1, 6)

    def product(self, unknowns: Float[Array, " v+n"]) -> Float[Array, " v+n"]:
        """Return Z x without assembling Z."""
        v, l = self.offsets.split(unknowns)
        pairs = jnp.einsum("kij,kj->ki", self.coupling, v[self.pairs].reshape(-1, 12))
        h_v = jnp.einsum("bij,bj->bi", self.mass, v)
        h_v = h_v.at[self.pairs.reshape(-1)].add(pairs.reshape(-1, 6))
        rows = self.jacobian.velocity(v) - self.jacobian.compliance * l
        return self.offsets.join(h_v + self.jacobian.impulse(l), rows)

    def right_hand_side(self) -> Float[Array, " v+n"]:
        """Return d = (f, −b)."""
        return self.offsets.join(self.force, -self.bias)

    def project(self, unknowns: Float[Array, " v+n"]) -> Float[Array, " v+n"]:
        """Return x = (v, −λ) with λ projected on K."""
        v, l = self.offsets.split(unknowns)
        return self.offsets.join(v, -self.cones.project(-l))

    def active(self) -> "Descriptor":
        """Return the descriptor without the slots that hold no contact: those with no Jacobian, no
        compliance and b ∈ K*.

        Their impulse is zero and they act on nothing. The shapes of the result depend on the
        numbers, so this does not work under ``jit``.
        """
        _, compliance = self.cones.split(self.jacobian.compliance)
        scalars, bias = self.cones.split(self.bias)
        rows = np.asarray(self.jacobian.contact_rows).reshape(len(self.cones.mu), -1)
        unused = ~(np.any(rows, axis=1) | np.any(compliance, axis=1))
        unused &= ~np.any(self.cones.section.project(-bias, self.cones.mu), axis=1)
        keep = np.flatnonzero(~unused)
        s = len(scalars)
        jacobian = replace(
            self.jacobian,
            contact_rows=self.jacobian.contact_rows[keep],
            contact_bodies=self.jacobian.contact_bodies[keep],
            compliance=self.cones.join(self.jacobian.compliance[:s], compliance[keep]),
        )
        rolling = self.cones.rolling
        rolling = None if rolling is None else rolling[keep]
        cones = replace(self.cones, mu=self.cones.mu[keep], rolling=rolling)
        bias = self.cones.join(scalars, bias[keep])
        return replace(self, jacobian=jacobian, bias=bias, cones=cones)


def describe(
    model: Model,
    system: StepSystem,
    blocks: KRMBlocks | None = None,
    weights: tuple[Array | float, Array | float, Array | float] = (0.0, 0.0, 1.0),
) -> Descriptor | ReducedDescriptor:
    """Return the blocks of a step's problem, in global axes and physical units.

    If the mass matrix is block diagonal the blocks are over the twists of bodies, a
    :class:`Descriptor`; else over the velocities of trees and families, with the families'
    stiffness and damping in H.

    Args:
        model: the model from which ``system`` was assembled.
        system: the result of :func:`jaxccp.dynamics.assemble_system`; over the twists of bodies
            with ``eliminate=False``, and with the forces of ``blocks`` at the present pose among
            its applied forces.
        blocks: K/R/M blocks, over the twists of bodies; H is then M + c_K K + c_R R + c_M M.
        weights: c_K, c_R, c_M: (h², h, 1) for a step of Euler implicit linearised of length h.

    Raises:
        ValueError: rows over the twists of bodies are eliminated, ``blocks`` are given for bodies
            that share a mass matrix, or
            :func:`jaxccp.dynamics.descriptor.reduced_descriptor.describe_reduced` raises.
    """
    if system.shared is not None:
        if blocks is not None:
            raise ValueError(
                "K/R/M blocks couple twists of bodies: assemble the system of "
                "jaxccp.model.cut_joints.with_block_diagonal_mass(model)"
            )
        return describe_reduced(system.shared, system)
    bodies = system.free_bodies
    assert bodies is not None and bodies.delassus is not None
    if len(system.eliminated):
        raise ValueError("rows are missing from this system: assemble it with eliminate=False")
    root, free = bodies.root, np.asarray(model.topology.free, bool)
    mask = jnp.asarray(free)
    dtype = root.linear.dtype
    eye = jnp.eye(3, dtype=dtype)
    linear_root = jnp.where(mask, 1.0 / jnp.where(mask, root.linear, 1.0), 0.0)
    angular_root = linear3.inverse(jnp.where(mask[:, None, None], root.angular, eye))
    angular_root = jnp.where(mask[:, None, None], angular_root, 0.0)
    inverse = InverseRoot(linear_root, angular_root)  # L⁻¹
    mass = jnp.where(mask, linear_root * linear_root, 1.0)[:, None, None] * eye
    inertia = jnp.einsum("bki,bkj->bij", angular_root, angular_root)
    inertia = jnp.where(mask[:, None, None], inertia, eye)
    masses = jnp.zeros((len(free), 6, 6), dtype).at[:, :3, :3].set(mass).at[:, 3:, 3:].set(inertia)

    pairs, coupling = jnp.zeros((0, 2), jnp.int32), jnp.zeros((0, 12, 12), dtype)
    if blocks is not None:
        movable = jnp.repeat(mask[blocks.bodies], 6, axis=1)
        pairs = blocks.bodies
        coupling = jnp.where(
            movable[:, :, None] & movable[:, None, :], blocks.combined(*weights), 0.0
        ).astype(dtype)

    whitened = bodies.delassus
    jacobian = replace(
        whitened,
        scalar_rows=_times(whitened.scalar_rows[:, None], inverse, whitened.scalar_bodies)[:, 0],
        contact_rows=_times(whitened.contact_rows, inverse, whitened.contact_bodies),
    )
    force = jnp.einsum("bij,bj->bi", masses, bodies.free_velocity)
    bias = system.problem.r - jacobian.velocity(bodies.free_velocity)
    cones = system.problem.cones
    return Descriptor(masses, pairs, coupling, jacobian, force, bias, cones, tuple(map(bool, free)))


def _times(rows: Float[Array, "b m 6*k"], factor: InverseRoot, bodies: Int[Array, "b k"]) -> Array:
    """Multiply rows by a block diagonal matrix over the bodies."""
    parts = rows.reshape(*rows.shape[:2], bodies.shape[1], 6)
    linear = parts[..., :3] * factor.linear[bodies][:, None, :, None]
    angular = jnp.einsum("bkpi,bpij->bkpj", parts[..., 3:], factor.angular[bodies])
    return jnp.concatenate([linear, angular], axis=-1).reshape(rows.shape)
