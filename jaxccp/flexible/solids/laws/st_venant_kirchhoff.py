"""Saint-Venant and Kirchhoff's elasticity of Green's strains."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.solids.hyperelastic import Hyperelastic


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StVenantKirchhoff(Hyperelastic):
    """The energy Ψ = μ tr E² + λ/2 (tr E)² of Green's strain E = ½ (Fᵀ F − 1): MuJoCo's law of
    flexes.

    Smooth and finite for every F. It softens when compressed to less than 0.58 of its length. It
    does not distinguish inverted elements from others, so an inverted element stays inverted.
    """

    def density(self, y: Float[Array, "3 3"]) -> Float[Array, ""]:
        strain = self._strain(y)
        return self.mu * jnp.sum(strain**2) + 0.5 * self.lam * jnp.trace(strain) ** 2

    def stiffness(self, y: Float[Array, "3 3"]) -> Float[Array, "3 3 3 3"]:
        """Return the stiffness as one derivative of the stress F S, S = 2 μ E + λ tr(E) 1."""
        eye = jnp.eye(3, dtype=y.dtype)

        def stress(y: Array) -> Array:
            strain = self._strain(y)
            return (2.0 * self.mu * strain + self.lam * jnp.trace(strain) * eye) @ y

        return jax.jacfwd(stress)(y)

    def viscosity(self, y: Float[Array, "3 3"]) -> Float[Array, "3 3 3 3"]:
        """Return the viscosity of the stress C (E + α Ė), at any strain."""
        slope = jax.jacfwd(self._strain)(y)
        trace = jnp.einsum("iimc->mc", slope)
        shear = 2.0 * self.mu * jnp.einsum("ijmc,ijnd->mcnd", slope, slope)
        return self.retardation * (shear + self.lam * jnp.einsum("mc,nd->mcnd", trace, trace))

    @staticmethod
    def _strain(y: Float[Array, "3 3"]) -> Float[Array, "3 3"]:
        return 0.5 * (y @ y.T - jnp.eye(3, dtype=y.dtype))
