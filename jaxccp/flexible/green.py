"""Saint-Venant and Kirchhoff's law: Green's strains, and stresses linear in them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.law import StrainLaw
from jaxccp.flexible.moduli import PAIRS
from jaxccp.math.linear3 import cross


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GreenLaw(StrainLaw):
    """The elastic law ½ εᵀ C ε of Green's strains ε = ½ (Fᵀ F − 1) with doubled shear components.

    y are the columns of the deformation gradient F.
    """

    moduli: Float[Array, "6 6"]
    """C [Pa]."""
    retardation: Float[Array, ""]
    """α of Kelvin and Voigt's damping [s]."""

    def strain(self, y: Float[Array, "3 3"]) -> Float[Array, "6"]:
        products = (y @ y.T - jnp.eye(3, dtype=y.dtype))[PAIRS[:, 0], PAIRS[:, 1]]
        return products * jnp.asarray([0.5, 0.5, 0.5, 1.0, 1.0, 1.0], y.dtype)

    def stiffness(self, y: Float[Array, "3 3"]) -> Float[Array, "3 3 3 3"]:
        stress = self.moduli @ self.strain(y)
        i, j = PAIRS.T
        tensor = jnp.zeros((3, 3), y.dtype).at[i, j].set(stress).at[j, i].set(stress)
        return self.convex(y) + jnp.einsum("mn,ij->minj", tensor, jnp.eye(3, dtype=y.dtype))

    def ratio(self, y: Float[Array, "3 3"]) -> Float[Array, ""]:
        return y[0] @ cross(y[1], y[2])
