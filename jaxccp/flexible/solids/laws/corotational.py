"""Corotational elasticity: Hooke's law in axes that rotate with the material."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.solids.hyperelastic import Hyperelastic
from jaxccp.flexible.solids.rotation import rotation


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Corotational(Hyperelastic):
    """The energy Ψ = μ ‖S − I‖² + λ/2 tr(S − I)² of F = R S: Hooke's law in axes that rotate with
    the material.

    Müller & Gross, Interactive virtual materials, Graphics Interface 2004; as an energy McAdams et
    al., ACM Trans. Graph. 30 (2011). Finite for every F, inverted ones included.
    """

    def density(self, y: Float[Array, "3 3"]) -> Float[Array, ""]:
        # Uses Fᵀ instead of F: its stretch tensor differs, but has the same invariants.
        strain = rotation(y).T @ y - jnp.eye(3, dtype=y.dtype)
        return self.mu * jnp.sum(strain**2) + 0.5 * self.lam * jnp.trace(strain) ** 2

    def stiffness(self, y: Float[Array, "3 3"]) -> Float[Array, "3 3 3 3"]:
        """Return the stiffness as one derivative of the stress, in which the derivative of R has
        cancelled."""

        def stress(y: Array) -> Array:
            nearest = rotation(y)
            trace = jnp.sum(nearest * y) - 3.0
            return 2.0 * self.mu * (y - nearest) + self.lam * trace * nearest

        return jax.jacfwd(stress)(y)
