"""The blocks of a step's problem, taken from its assembled system."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators import WhitenedDelassus
from jaxccp.dynamics.descriptor.descriptor import Descriptor
from jaxccp.dynamics.descriptor.mass_matrix import BodyMassMatrix, FactoredMassMatrix
from jaxccp.dynamics.free_bodies.free_bodies import FreeBodies
from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.dynamics.step import StepSystem
from jaxccp.dynamics.trees.shared_mass import SharedMass
from jaxccp.execution import trees
from jaxccp.math import linear3
from jaxccp.math.array_input import Dimension, as_floats
from jaxccp.model.family import MassRoot
from jaxccp.model.model import Model


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KRMBlocks:
    """Stiffness, damping and mass matrices between pairs of bodies: bushings, beams, added mass.

    Each is symmetric and positive semidefinite, over (linear, angular) of the first body, then of
    the second, world axes. They only add to H: you must give the forces of these elements at the
    present pose to the step, as its applied forces.
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
        """Return c_K K + c_R R + c_M M; an implicit Euler step takes h², h and 1.

        Args:
            stiffness: c_K.
            damping: c_R.
            mass: c_M.
        """
        return stiffness * self.stiffness + damping * self.damping + mass * self.mass

    def checked(self, bodies: Sequence[str]) -> "KRMBlocks":
        """Return the blocks as arrays, after checking them against the bodies of a model.

        Args:
            bodies: name of each body.

        Raises:
            ValueError: an array has another shape; or indices of bodies are not whole numbers, or
                are known and out of range or not of two different bodies.
        """
        pairs = jnp.asarray(self.bodies)
        blocks = Dimension("blocks", len(pairs) if pairs.ndim == 2 else 1)
        as_floats("blocks.bodies", pairs, [blocks, 2])
        wrong = not jnp.issubdtype(pairs.dtype, jnp.integer)
        if not trees.is_traced(pairs):
            known = np.asarray(pairs)
            wrong |= bool(np.any((known < 0) | (known >= len(bodies))))
            wrong |= bool(np.any(known[:, 0] == known[:, 1]))
        if wrong:
            raise ValueError(
                "blocks.bodies must be pairs of two different bodies, by their indices 0 to "
                f"{len(bodies) - 1} (model.topology.body gives that of a name), not {self.bodies}"
            )
        return KRMBlocks(
            pairs,
            *(
                as_floats(f"blocks.{name}", getattr(self, name), [blocks, 12, 12])
                for name in ("stiffness", "damping", "mass")
            ),
        )


def describe(
    model: Model,
    system: StepSystem,
    blocks: KRMBlocks | None = None,
    weights: tuple[Array | float, Array | float, Array | float] | None = None,
) -> Descriptor:
    """Return the blocks of a step's problem, in global axes and physical units.

    If the mass matrix is block diagonal the blocks are over the twists of bodies; else over the
    velocities of trees and families, with the families' stiffness and damping in H. Over the
    twists of bodies N and r have impacts that act late in the step (restitution), but velocities
    then are not quite those of the step (:meth:`Descriptor.velocities`).

    Args:
        model: the model from which ``system`` was assembled.
        system: the result of :func:`jaxccp.dynamics.assemble_system`; over the twists of bodies
            with ``eliminate=False``, and with the forces of ``blocks`` at the present pose among
            its applied forces.
        blocks: K/R/M blocks, over the twists of bodies; H is then M + c_K K + c_R R + c_M M.
        weights: c_K, c_R, c_M; None: (h², h, 1), as in an implicit Euler step of the system's
            length h.

    Raises:
        ValueError: rows over the twists of bodies are eliminated; ``blocks`` have an array of
            another shape, or are known not to be between two bodies of the model. If bodies share
            a mass matrix: ``blocks`` are given, there are free bodies outside that matrix, or
            impacts act late in the step.
    """
    if system.shared is None:
        assert system.free_bodies is not None
        return _over_twists(model, system, system.free_bodies, blocks, weights)
    if blocks is not None:
        raise ValueError(
            "K/R/M blocks couple twists of bodies: assemble the system of "
            "jaxccp.model.cut_joints.with_block_diagonal_mass(model)"
        )
    return _over_velocities(system, system.shared)


def _over_twists(
    model: Model,
    system: StepSystem,
    bodies: FreeBodies,
    blocks: KRMBlocks | None,
    weights: tuple[Array | float, Array | float, Array | float] | None,
) -> Descriptor:
    """Return the blocks over the twists of bodies; see :func:`describe`."""
    assert bodies.delassus is not None
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
        blocks, h = blocks.checked(model.topology.bodies), system.h
        weights = (h * h, h, 1.0) if weights is None else weights
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
    matrix = BodyMassMatrix(masses, pairs, coupling, tuple(map(bool, free)))
    return Descriptor(matrix, jacobian, force, bias, cones)


def _times(rows: Float[Array, "b m 6*k"], factor: InverseRoot, bodies: Int[Array, "b k"]) -> Array:
    """Multiply rows by a block diagonal matrix over the bodies."""
    parts = rows.reshape(*rows.shape[:2], bodies.shape[1], 6)
    linear = parts[..., :3] * factor.linear[bodies][:, None, :, None]
    angular = jnp.einsum("bkpi,bpij->bkpj", parts[..., 3:], factor.angular[bodies])
    return jnp.concatenate([linear, angular], axis=-1).reshape(rows.shape)


def _over_velocities(system: StepSystem, shared: SharedMass) -> Descriptor:
    """Return the blocks over the velocities that share a mass matrix; see :func:`describe`."""
    if system.free_bodies is not None:
        raise ValueError(
            "blocks over generalised velocities have one mass matrix, of trees and families, and "
            "the free bodies of this system are outside it, with rows over their twists: take "
            "jaxccp.model.cut_joints.with_block_diagonal_mass(model) and eliminate=False, for "
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
    # Factorised again: the tangent of L⁻ᵀ is not triangular, and solves read a triangle.
    matrix = FactoredMassMatrix(jnp.linalg.cholesky(factor @ factor.T), space.sizes)
    jacobian = WhitenedDelassus(whitened @ factor.T, compliance)
    return Descriptor(matrix, jacobian, factor @ free, bias, cones)


def _factor(root: MassRoot, size: int) -> Float[Array, "k k"]:
    """Return C = L⁻ᵀ of a block of H."""
    identity = jnp.eye(size, dtype=root.inverse.dtype)
    inverse = jax.vmap(root.unwhiten, out_axes=1)(identity)
    # A general inverse, since the tangent of L is not triangular.
    return jnp.linalg.inv(inverse.T)
