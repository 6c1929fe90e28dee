"""Statics with constraints: loops of joints, tendons of given length, joints on families' frames.

    f(z) + Aᵀ λ = 0,  φ(z) = 0,  A = ∂φ/∂z

for the pose z in tangent coordinates and the multipliers λ, forces along the rows A.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag, solve_triangular
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import family_energy, spring_energy, weight_energy
from jaxccp.dynamics.statics import forces
from jaxccp.dynamics.trees.loop_constraints import loop_errors_at
from jaxccp.math import safe
from jaxccp.math.saddle import Saddle
from jaxccp.model.kinematics.configuration import count_velocities, integrate_configuration
from jaxccp.model.kinematics.joint_motion import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order, rows_on
from jaxccp.model.state import State

VANISHING = 0.1
"""Smallest length of a row that is used, relative to the longest row."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Balance:
    """Energy, forces and constraint errors of a pose with given multipliers."""

    potential: Float[Array, ""]
    """Potential energy U [J]."""
    force: Float[Array, " nv"]
    """Generalised forces f + Aᵀ λ [N, N m]."""
    error: Float[Array, " m"]
    """Errors φ of the constraints [m, rad]."""


def has_constraints(model: Model) -> bool:
    """Tell whether a model has constraints, or springs between frames of families.

    Args:
        model: the model.
    """
    linkage = model.topology.linkage
    on_families = rows_on(linkage, model.topology.family_frames)
    return len(row_order(linkage).loop_rows) > 0 or bool(on_families.any())


def balance_forces(model: Model, state: State, multipliers: Float[Array, " m"]) -> Balance:
    """Return the balance of a pose at rest.

    Args:
        model: the model.
        state: a state at rest.
        multipliers: forces along the rows [N, N m].
    """
    return _balance(
        model,
        state,
        *_lagrangian_gradient(model, state, multipliers, _zero_displacement(model, state)),
    )


def constraint_curvature(
    model: Model, state: State, multipliers: Float[Array, " m"]
) -> tuple[Float[Array, "nv nv"], Float[Array, "m nv"], Balance]:
    """Return the curvature of the constrained potential, the constraint rows, and the balance.

    Args:
        model: the model.
        state: a state at rest.
        multipliers: forces λ along the rows [N, N m].

    Returns:
        Second derivatives of U − λ φ, U being the potential of rigid bodies and of springs along
            axes and tendons; A; and the balance (:func:`balance_forces`).
    """

    def gradient(z: Array) -> tuple[tuple[Array, Array], tuple[Array, tuple[Array, Array]]]:
        slope, (error, potential) = _lagrangian_gradient(model, state, multipliers, z)
        return (slope, error), (slope, (error, potential))

    (coupled, rows), aux = jax.jacfwd(gradient, has_aux=True)(_zero_displacement(model, state))
    return coupled, rows, _balance(model, state, *aux)


def _balance(
    model: Model, state: State, slope: Float[Array, " nv"], at: tuple[Array, Array]
) -> Balance:
    error, potential = at
    force = _family_forces(model, state) - slope
    return Balance(potential + family_energy(model, state), force, error)


def _family_forces(model: Model, state: State) -> Float[Array, " nv"]:
    """Return the forces of the families, with zeros for the trees."""
    tree = jnp.zeros(model.topology.dofs.count, state.position.dtype)
    family_parts = [
        forces.family_force(model, *pair) for pair in forces.family_states(model, state)
    ]
    return jnp.concatenate([tree, *family_parts])


def whitened_saddle(rows: Float[Array, "m nv"], whitened: Float[Array, "m nv"]) -> Saddle:
    """Factorise the rows of constraints.

    Args:
        rows: the rows A.
        whitened: the same rows, whitened.
    """
    length = safe.norm(rows)
    return Saddle.of(whitened, safe.divide(safe.norm(whitened) * row_lengths(length), length))


def row_lengths(length: Float[Array, " m"]) -> Float[Array, " m"]:
    """Return the length by which each row is divided: its norm, at least :data:`VANISHING` times
    the largest norm.

    A row whose gradient nearly vanishes at this pose is thus not scaled up to the size of others.

    Args:
        length: norm of each row.
    """
    return jnp.maximum(length, VANISHING * jnp.max(length, initial=0.0))


def linearise_constraints(
    model: Model, state: State, root: Float[Array, "nv nv"]
) -> tuple[Float[Array, "nv nv"], Saddle]:
    """Return the stiffness matrix at rest and the factors of the constraint rows.

    Args:
        model: the model.
        state: an equilibrium.
        root: Cholesky factor of the mass matrix, by which rows are whitened.

    Returns:
        K, with the curvature of the rows under their constraint forces; and the rows.
    """

    rows, slope = jax.jacrev(lambda z: _errors_and_potential(model, state, z))(
        _zero_displacement(model, state)
    )
    saddle = whitened_saddle(rows, solve_triangular(root, rows.T, lower=True).T)
    force = solve_triangular(root, _family_forces(model, state) - slope, lower=True)
    _, multipliers = saddle.solve(force[:, None], jnp.zeros((len(rows), 1), root.dtype))
    coupled, _, _ = constraint_curvature(model, state, multipliers[:, 0])
    family_parts = [
        forces.family_stiffness(model, *pair) for pair in forces.family_states(model, state)
    ]
    tree = jnp.zeros((model.topology.dofs.count,) * 2, root.dtype)
    return coupled + block_diag(tree, *family_parts), saddle


def _lagrangian_gradient(
    model: Model, state: State, multipliers: Float[Array, " m"], z: Float[Array, " nv"]
) -> tuple[Float[Array, " nv"], tuple[Float[Array, " m"], Float[Array, ""]]]:
    """Return the gradient of U − λ φ, displaced by ``z``; and φ and U there."""

    def coupled(z: Array) -> tuple[Array, tuple[Array, Array]]:
        error, potential = _errors_and_potential(model, state, z)
        return potential - multipliers @ error, (error, potential)

    return jax.grad(coupled, has_aux=True)(z)


def _errors_and_potential(
    model: Model, state: State, z: Float[Array, " nv"]
) -> tuple[Float[Array, " m"], Float[Array, ""]]:
    """Return φ, and the potential U of rigid bodies and of springs along axes and tendons,
    displaced by ``z``."""
    displaced = integrate_configuration(model, state, z)
    motion = tree_motion(model, displaced)
    potential = weight_energy(model, displaced) + spring_energy(model, motion)
    return loop_errors_at(model, motion, displaced.time), potential


def _zero_displacement(model: Model, state: State) -> Float[Array, " nv"]:
    return jnp.zeros(count_velocities(model.topology, state.families), state.position.dtype)
