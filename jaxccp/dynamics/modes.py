"""Small vibrations about an equilibrium: frequencies and shapes."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from jaxccp.dynamics import at_rest
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Modes:
    """The linear modes of a model, the lowest frequencies first."""

    square: Float[Array, " n"]
    """Square of the angular frequency [rad²/s²]; negative where the equilibrium is not stable."""
    shape: Float[Array, "n nv"]
    """Changes of the pose in tangent coordinates (:func:`jaxccp.tangent_names`), with unit
    generalised mass: φᵀ M φ = 1."""
    blur: Float[Array, ""]
    """Rounding error of the squares [rad²/s²], on account of the highest one. In float32 the slow
    modes of slender bodies may lie below it."""

    @property
    def frequency(self) -> Float[Array, " n"]:
        """[Hz]; NaN where the equilibrium is not stable."""
        return jnp.sqrt(self.square) / (2 * jnp.pi)


@partial(jax.jit, static_argnames=("count",))
def modes(model: Model, state: State, count: int | None = None) -> Modes:
    """The undamped vibrations K φ = ω² M φ of trees and families about a state at rest.

    Args:
        model: without contacts, which are not looked at.
        state: an equilibrium (:func:`jaxccp.equilibrium`).
        count: how many, all when None.

    Raises:
        ValueError: the model has closed loops, joints on frames of families or actuators, or there
            are fewer than ``count`` velocities.
    """
    at_rest.check(model, "modes", holds=False)
    stiff = block_diag(*at_rest.stiffnesses(model, state))
    size = len(stiff)
    if count is not None and not 1 <= count <= size:
        raise ValueError(f"modes: count must be between 1 and {size}, not {count}")
    root = jnp.linalg.cholesky(block_diag(*at_rest.masses(model, state)))
    half = jax.scipy.linalg.solve_triangular(root, stiff, lower=True)
    whole = jax.scipy.linalg.solve_triangular(root, half.T, lower=True)
    square, vectors = jnp.linalg.eigh(0.5 * (whole + whole.T))
    shapes = jax.scipy.linalg.solve_triangular(root.T, vectors, lower=False).T
    blur = size * float(jnp.finfo(square.dtype).eps) * jnp.max(jnp.abs(square))
    return Modes(square[:count], shapes[:count], blur)
