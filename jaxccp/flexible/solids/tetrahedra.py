"""Linear tetrahedra as elements of soft solids."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.elements import Elements, Points
from jaxccp.flexible.layout import Layout
from jaxccp.flexible.solids.laws import LAWS
from jaxccp.math import linear3


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tetrahedra(Elements):
    """Linear tetrahedra, with constant deformation gradient and lumped mass.

    Each node has a quarter of an element's volume, times the density there, so that the mass matrix
    is diagonal. Mass and centre of mass are exact if the density is uniform.
    """

    rest: Float[Array, "n 3"]
    """Positions of the nodes in the unstrained configuration [m]."""
    young: Float[Array, ""]
    """Young's modulus [Pa]."""
    poisson: Float[Array, ""]
    """Poisson's ratio."""
    density: Float[Array, "*corners"]
    """Mass per volume of the reference [kg/m³]: one number, or one for each corner of each element
    [e 4]."""
    retardation: Float[Array, ""]
    """α of Kelvin and Voigt's damping [s]."""
    layout: Layout = field(metadata={"static": True})
    """The layout, with the nodes of each element."""
    law: str = field(metadata={"static": True})
    """Name in :data:`jaxccp.flexible.solids.laws.LAWS`."""

    def points(self) -> Points:
        slopes, volume = self._shapes()
        mu = 0.5 * self.young / (1.0 + self.poisson)
        lam = 2.0 * mu * self.poisson / (1.0 - 2.0 * self.poisson)
        shape = len(volume), 1
        constants = (jnp.broadcast_to(constant, shape) for constant in (mu, lam, self.retardation))
        return Points(slopes[:, None], volume[:, None], LAWS[self.law](*constants))

    def masses(self) -> Float[Array, "e 4 4"]:
        """Return the lumped mass matrices [kg]: the diagonal has, for each node, a quarter of the
        element's volume times the density there."""
        _slopes, volume = self._shapes()
        quarter = 0.25 * self.density * jnp.broadcast_to(volume[:, None], (len(volume), 4))
        return quarter[:, :, None] * jnp.eye(4, dtype=volume.dtype)

    def _shapes(self) -> tuple[Float[Array, "e 3 4"], Float[Array, " e"]]:
        """Return the derivatives of the shape functions along the three axes [1/m], and the volumes
        [m³]."""
        corner = self.rest[self.layout.rows]
        edges = corner[:, 1:] - corner[:, :1]
        inverse = linear3.inverse(edges)
        slopes = jnp.concatenate([-jnp.sum(inverse, axis=2, keepdims=True), inverse], axis=2)
        return slopes, linear3.determinant(edges) / 6.0
