"""Small vibrations about an equilibrium: frequencies and shapes."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import block_diag, solve_triangular
from jaxtyping import Array, Float

from jaxccp.dynamics.inverse.inverse_dynamics import mass_matrix
from jaxccp.dynamics.statics import constraints, forces
from jaxccp.math.eigen import eigen
from jaxccp.math.saddle import Saddle
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Modes:
    """The linear vibration modes of a model, in the order of their frequencies."""

    square: Float[Array, " n"]
    """Square of each angular frequency [rad²/s²]; negative if the equilibrium is unstable. The last
    ones are infinite, one for each velocity that closed loops, tendons of given length and joints
    on frames of families remove."""
    shape: Float[Array, "n nv"]
    """Shapes in tangent coordinates (:func:`jaxccp.tangent_names`) with unit modal mass, φᵀ M φ =
    1; 0 if the frequency is infinite."""
    rounding_error: Float[Array, ""]
    """Rounding error of the squares [rad²/s²], caused by the highest one. In float32 the slow modes
    of slender bodies may be below it."""

    @property
    def frequency(self) -> Float[Array, " n"]:
        """Frequency of each mode [Hz]; NaN for an unstable one. The derivative of those that are 0
        or NaN is 0."""
        stable = self.square > 0
        root = jnp.sqrt(jnp.where(stable, self.square, 1.0))
        other = jnp.where(self.square == 0, 0.0, jnp.nan)
        return jnp.where(stable, root, other) / (2 * jnp.pi)


def modes(model: Model, state: State, count: int | None = None) -> Modes:
    """Return the undamped vibration modes of a model about an equilibrium.

    They solve K φ = ω² M φ over trees and families, with A φ = 0 for the rows A of constraints:
    closed loops, tendons of given length and joints on frames of families. K includes the curvature
    of these constraints times their forces, as for a pendulum. Derivatives of the shapes are finite
    even if frequencies are equal: such shapes are not mixed with each other.

    Args:
        model: the model; contacts do not act.
        state: an equilibrium (:func:`jaxccp.equilibrium`).
        count: number of modes; None: all.

    Returns:
        The modes, lowest frequencies first; differentiable in the model and the state.

    Raises:
        ValueError: see :func:`jaxccp.equilibrium`; or ``count`` is not between 1 and the number of
            velocities.
    """
    forces.check_conservative(model, "modes")
    return _modes(model, state, count)


@partial(jax.jit, static_argnames=("count",))
def _modes(model: Model, state: State, count: int | None) -> Modes:
    """Return the modes of a model that :func:`modes` has checked."""
    state = forces.rest_state(model, checked_state(model, state))
    mass = mass_matrix(model, state)
    size = len(mass)
    if count is not None and not 1 <= count <= size:
        raise ValueError(f"modes: count must be between 1 and {size}, not {count}")
    root = jnp.linalg.cholesky(mass)
    if constraints.has_constraints(model):
        stiffness, saddle = constraints.linearise_constraints(model, state, root)
    else:
        stiffness, saddle = block_diag(*forces.stiffnesses(model, state)), None
    half = solve_triangular(root, stiffness, lower=True)
    scaled = solve_triangular(root, half.T, lower=True)
    scaled = 0.5 * (scaled + scaled.T)
    if saddle is None:
        square, vectors = eigen(scaled)
        largest = jnp.max(jnp.abs(square), initial=0.0)
    else:
        square, vectors, largest = _constrained_eigen(scaled, saddle)
    shapes = solve_triangular(root.T, vectors, lower=False).T
    rounding_error = size * float(jnp.finfo(square.dtype).eps) * largest
    return Modes(square[:count], shapes[:count], rounding_error)


def _constrained_eigen(
    matrix: Float[Array, "nv nv"], saddle: Saddle
) -> tuple[Float[Array, " nv"], Float[Array, "nv nv"], Float[Array, ""]]:
    """Return eigenvalues and eigenvectors under the rows, padded with infinite values and zero
    vectors; also the scale of their rounding errors."""
    identity = jnp.eye(len(matrix), dtype=matrix.dtype)
    free, _ = saddle.solve(identity, jnp.zeros_like(saddle.rows))
    within = free @ matrix @ free
    # An upper bound of all eigenvalues; motions that the rows forbid are put at twice the bound.
    largest = lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(within), axis=1)))
    largest = jnp.where(largest > 0, largest, 1.0)
    square, vectors = eigen(within + 2.0 * largest * (identity - free))
    removed = square > 1.5 * largest
    return jnp.where(removed, jnp.inf, square), jnp.where(removed, 0.0, vectors), 2.0 * largest
