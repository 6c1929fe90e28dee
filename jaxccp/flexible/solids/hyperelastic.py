"""What all laws of elastic solids have in common."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.law import Law
from jaxccp.flexible.solids.positive_part import positive_part
from jaxccp.math import linear3


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Hyperelastic(Law):
    """An isotropic law that is Hooke's where F = I, with energy 0 there. ``y`` are the columns of
    the deformation gradient F."""

    mu: Float[Array, ""]
    """Lamé's second constant, the shear modulus [Pa]."""
    lam: Float[Array, ""]
    """Lamé's first constant [Pa]."""
    retardation: Float[Array, ""]
    """α [s]: damping after Kelvin and Voigt, with α times the stiffness that steps are implicit in.
    """

    def dissipation(self, y: Float[Array, "3 3"], rate: Float[Array, "3 3"]) -> Float[Array, ""]:
        return 0.5 * jnp.einsum("mi,minj,nj->", rate, self.viscosity(y), rate)

    def convex(self, y: Float[Array, "3 3"]) -> Float[Array, "3 3 3 3"]:
        """(Q H Q)₊: the second derivative H on all changes of F but rotations, without its negative
        eigenvalues.

        A rotation costs no energy, but turns the stress, so that H alone would take angular
        momentum out of a step that is implicit in it; this is 0 on every rotation.
        """
        spin = -linear3.cross_matrix(y).reshape(9, 3)
        square = jnp.sum(y * y)
        eye = jnp.eye(3, dtype=y.dtype)
        # Singular where all is on a line: the rotations about it change nothing.
        least = float(jnp.finfo(y.dtype).eps) * (square + 1.0)
        gram = linear3.inverse((square + least) * eye - y.T @ y)
        rest = jnp.eye(9, dtype=y.dtype) - spin @ gram @ spin.T
        whole = self.stiffness(y).reshape(9, 9)
        return positive_part(rest @ whole @ rest).reshape(3, 3, 3, 3)

    def viscosity(self, y: Float[Array, "3 3"]) -> Float[Array, "3 3 3 3"]:
        return self.retardation * self.convex(y)

    def ratio(self, y: Float[Array, "3 3"]) -> Float[Array, ""]:
        return linear3.determinant(y)
