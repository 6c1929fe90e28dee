"""A step of Newton's method towards an equilibrium with constraints
(:mod:`jaxccp.dynamics.statics.constraints`):

    H Δ − Aᵀ δ = f + Aᵀ λ,  A Δ = −φ,  H = M/h² + K − ∂(Aᵀ λ)/∂z,

one dense matrix of trees and families.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import block_diag, cho_solve
from jaxtyping import Array, Float

from jaxccp.dynamics.statics import forces
from jaxccp.dynamics.statics.constraints import (
    Balance,
    constraint_curvature,
    row_lengths,
    whitened_saddle,
)
from jaxccp.dynamics.trees.loop_constraints import loop_errors
from jaxccp.math import safe
from jaxccp.math.saddle import Saddle
from jaxccp.model.kinematics.configuration import integrate_configuration
from jaxccp.model.model import Model
from jaxccp.model.state import State

CORRECTIONS = 2
"""Number of corrections of the constraint errors after a step; without them steps would have to be
short."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NewtonFactors:
    """Factors of H = M/h² + K − ∂(Aᵀ λ)/∂z and of the rows A of the constraints at one pose, in
    scaled coordinates y = unit z, in which entries are around 1."""

    unit: Float[Array, " nv"]
    """Scale of each coordinate: the square root of its stiffness."""
    matrix: Float[Array, "nv nv"]
    """H in the coordinates y."""
    root: Float[Array, "nv nv"]
    """Cholesky factor of P H P + (1 − P), P being the projection on the motions that the rows
    allow; NaN if H is not positive definite on them."""
    saddle: Saddle
    """Factors of A."""
    weight: Float[Array, " m"]
    """Scale of each row: the square root of the stiffness of the coordinates that it depends on."""

    def step(self, balance: Balance) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
        """Return the change Δ of the pose and the change δ of the multipliers.

        Args:
            balance: forces and constraint errors at the start of the step.
        """
        force, no_error = balance.force / self.unit, jnp.zeros_like(balance.error)
        correction = self._solve_saddle(jnp.zeros_like(force), balance.error)[0]
        free_force, _ = self._solve_saddle(force - self.matrix @ correction, no_error)
        change = correction + cho_solve((self.root, True), free_force)
        _, less = self._solve_saddle(self.matrix @ change - force, no_error)
        return change / self.unit, -less

    def close_constraints(self, model: Model, state: State) -> State:
        """Return the state moved so that its constraint errors vanish to first order.

        Args:
            model: the model.
            state: a state at rest.
        """

        def correct(_: Array, at: State) -> State:
            change, _multipliers = self._solve_saddle(
                jnp.zeros_like(self.unit), loop_errors(model, at)
            )
            return integrate_configuration(model, at, change / self.unit)

        return lax.fori_loop(0, CORRECTIONS, correct, state)

    def lowers_merit(
        self, before: Balance, after: Balance, multipliers: Float[Array, " m"]
    ) -> Array:
        """Tell whether a step lowered U − λ φ + ½ (weight φ)², or halved all forces.

        Args:
            before: balance at the start of the step.
            after: balance at its end.
            multipliers: λ.
        """
        merit, force = [], []
        for balance in (before, after):
            stretch = self.weight * balance.error
            merit.append(balance.potential - multipliers @ balance.error + 0.5 * stretch @ stretch)
            pull = self.saddle.rows.T @ (self.weight * stretch)
            force.append(jnp.sum((balance.force / self.unit) ** 2) + jnp.sum(pull**2))
        return (merit[1] < merit[0]) | (force[1] < 0.25 * force[0])

    def _solve_saddle(self, force: Array, error: Array) -> tuple[Array, Array]:
        displacement, multiplier_change = self.saddle.solve(force[:, None], error[:, None])
        return displacement[:, 0], multiplier_change[:, 0]


def factorise(
    model: Model,
    state: State,
    multipliers: Float[Array, " m"],
    h: Float[Array, ""],
    tangent: bool = False,
) -> tuple[NewtonFactors, Balance]:
    """Factorise the matrices of a step of time h.

    The stiffness of the families is the exact one if H is then positive definite on the motions
    that the rows allow; otherwise it is the positive definite one of their steps. Derivatives of an
    equilibrium need the exact one.

    Args:
        model: the model.
        state: a state at rest.
        multipliers: forces along the rows [N, N m].
        h: length of the step [s].
        tangent: whether to use the exact stiffness in any case; the factors are then NaN if H is
            not positive definite.

    Returns:
        The factors, and the balance at the start of the step.
    """
    coupled, rows, balance = constraint_curvature(model, state, multipliers)
    pairs = forces.family_states(model, state)
    tree = forces.tree_mass(model, state) / h**2
    masses = block_diag(tree, *(f.mass_matrix(s.q, 0.0) / h**2 for f, s in pairs))
    steady = block_diag(tree, *(f.mass_matrix(s.q, h) / h**2 for f, s in pairs))
    stiffness = [forces.family_stiffness(model, *pair) for pair in pairs]
    stiffness = coupled + block_diag(jnp.zeros_like(tree), *stiffness)
    exact = _factors(stiffness + masses, rows)
    if tangent:
        return exact, balance
    stable = _factors(coupled + steady, rows)
    usable = jnp.all(jnp.isfinite(exact.root))
    return jax.tree.map(lambda *two: jnp.where(usable, *two), exact, stable), balance


def _factors(matrix: Float[Array, "nv nv"], rows: Float[Array, "m nv"]) -> NewtonFactors:
    length = safe.norm(rows)
    stiffness = jnp.abs(jnp.diag(matrix))
    row_stiffness = safe.divide(jnp.sqrt(rows**2 @ stiffness), length)
    weight = safe.divide(row_stiffness, row_lengths(length))
    # Add the rows as springs, or very soft coordinates would seem to be all that the rows move.
    unit = jnp.sqrt(stiffness + weight**2 @ rows**2)
    saddle = whitened_saddle(rows, rows / unit)
    scaled = matrix / unit[:, None] / unit
    identity = jnp.eye(len(unit), dtype=unit.dtype)
    free, _ = saddle.solve(identity, jnp.zeros_like(rows))
    within = free @ scaled @ free + identity - free
    # Add the magnitude of rounding errors, so that the matrix stays positive definite.
    within = within + len(unit) * float(jnp.finfo(unit.dtype).eps) * identity
    return NewtonFactors(unit, scaled, jnp.linalg.cholesky(within), saddle, weight)
