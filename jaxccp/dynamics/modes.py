"""Small vibrations about an equilibrium: frequencies and shapes."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import block_diag, solve_triangular
from jaxtyping import Array, Float

from jaxccp.dynamics import at_rest, held
from jaxccp.math.eigen import eigen
from jaxccp.math.saddle import Saddle
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Modes:
    """The linear modes of a model, the lowest frequencies first."""

    square: Float[Array, " n"]
    """Square of the angular frequency [rad²/s²]; negative where the equilibrium is not stable. The
    last are infinite, as many as there are velocities that closed loops, held tendons and joints
    on frames of families take away."""
    shape: Float[Array, "n nv"]
    """Changes of the pose in tangent coordinates (:func:`jaxccp.tangent_names`), with unit
    generalised mass: φᵀ M φ = 1; 0 where the frequency is infinite."""
    blur: Float[Array, ""]
    """Rounding error of the squares [rad²/s²], on account of the highest one. In float32 the slow
    modes of slender bodies may lie below it."""

    @property
    def frequency(self) -> Float[Array, " n"]:
        """[Hz]; NaN where the equilibrium is not stable."""
        return jnp.sqrt(self.square) / (2 * jnp.pi)


@partial(jax.jit, static_argnames=("count",))
def modes(model: Model, state: State, count: int | None = None) -> Modes:
    """The undamped vibrations K φ = ω² M φ of trees and families about a state at rest, with A φ =
    0 for the rows A of what is held: closed loops, tendons and joints on frames of families.

    K has the curvature of these rows under the forces by which they hold, as that of a pendulum.
    Derivatives of the shapes are finite, also where frequencies are equal: such shapes do not turn
    into one another.

    Args:
        model: without contacts, which are not looked at.
        state: an equilibrium (:func:`jaxccp.equilibrium`).
        count: how many, all when None.

    Returns:
        Differentiable in the model and the state.

    Raises:
        ValueError: the model has actuators, tendons with laws of force or more than 100 degrees of
            freedom of rigid bodies, or there are fewer than ``count`` velocities.
    """
    at_rest.check(model, "modes")
    state = at_rest.still(model, checked_state(model, state))
    mass = block_diag(*at_rest.masses(model, state)) + held.rotors(model, state)
    size = len(mass)
    if count is not None and not 1 <= count <= size:
        raise ValueError(f"modes: count must be between 1 and {size}, not {count}")
    root = jnp.linalg.cholesky(mass)
    if held.acts(model):
        stiff, saddle = held.linearised(model, state, root)
    else:
        stiff, saddle = block_diag(*at_rest.stiffnesses(model, state)), None
    half = solve_triangular(root, stiff, lower=True)
    whole = solve_triangular(root, half.T, lower=True)
    whole = 0.5 * (whole + whole.T)
    if saddle is None:
        square, vectors = eigen(whole)
        most = jnp.max(jnp.abs(square))
    else:
        square, vectors, most = _left(whole, saddle)
    shapes = solve_triangular(root.T, vectors, lower=False).T
    blur = size * float(jnp.finfo(square.dtype).eps) * most
    return Modes(square[:count], shapes[:count], blur)


def _left(
    matrix: Float[Array, "nv nv"], saddle: Saddle
) -> tuple[Float[Array, " nv"], Float[Array, "nv nv"], Float[Array, ""]]:
    """Eigenvalues and vectors on what the rows leave, then infinite values with vectors 0; and what
    rounding errors are to be measured by."""
    one = jnp.eye(len(matrix), dtype=matrix.dtype)
    free, _ = saddle.solve(one, jnp.zeros_like(saddle.rows))
    within = free @ matrix @ free
    # No eigenvalue is above this, so that at twice as much there is what the rows take away.
    most = lax.stop_gradient(jnp.max(jnp.sum(jnp.abs(within), axis=1)))
    most = jnp.where(most > 0, most, 1.0)
    square, vectors = eigen(within + 2.0 * most * (one - free))
    taken = square > 1.5 * most
    return jnp.where(taken, jnp.inf, square), jnp.where(taken, 0.0, vectors), 2.0 * most
