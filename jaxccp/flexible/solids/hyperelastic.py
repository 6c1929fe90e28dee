"""The base class of all laws of elastic solids."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.execution.batching import anywhere
from jaxccp.flexible.law import Law
from jaxccp.flexible.solids.positive_part import positive_part
from jaxccp.math import linear3


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Hyperelastic(Law):
    """Base class of isotropic laws that are Hooke's law at F = I, with energy 0 there.

    ``y`` are the columns of the deformation gradient F.
    """

    mu: Float[Array, ""]
    """Lamé's second constant, the shear modulus [Pa]."""
    lam: Float[Array, ""]
    """Lamé's first constant [Pa]."""
    retardation: Float[Array, ""]
    """Retardation time α of Kelvin and Voigt's damping [s]: the viscosity is α times
    :meth:`convex`, unless the law has its own."""

    def dissipation(self, y: Float[Array, "3 3"], rate: Float[Array, "3 3"]) -> Float[Array, ""]:
        return 0.5 * jnp.einsum("mi,minj,nj->", rate, self.viscosity(y), rate)

    def convex(self, y: Float[Array, "3 3"]) -> Float[Array, "3 3 3 3"]:
        """Return (Q H Q)₊: the second derivative H projected to changes of F without rotation, then
        without its negative eigenvalues.

        A rotation does not change the energy, but it rotates the stress, so that a step implicit in
        H itself would lose angular momentum. This stiffness is 0 for every rotation.
        """
        spin = -linear3.cross_matrix(y).reshape(9, 3)
        square = jnp.sum(y * y)
        eye = jnp.eye(3, dtype=y.dtype)
        # Singular if F maps to a line: a rotation about the line does not change F.
        regularisation = float(jnp.finfo(y.dtype).eps) * (square + 1.0)
        gram = linear3.inverse((square + regularisation) * eye - y.T @ y)
        eye_9 = jnp.eye(9, dtype=y.dtype)
        rest = eye_9 - spin @ gram @ spin.T
        matrix = rest @ self.stiffness(y).reshape(9, 9) @ rest
        # Usually the matrix is definite; a Cholesky factorisation tests this at less cost than
        # eigenvalues.
        size = lax.stop_gradient(jnp.trace(matrix))
        factor = jnp.linalg.cholesky(lax.stop_gradient(matrix + size * (eye_9 - rest)))
        indefinite = ~jnp.all(jnp.isfinite(factor))
        matrix = lax.cond(
            anywhere(indefinite),
            lambda: jnp.where(indefinite, positive_part(matrix), matrix),
            lambda: matrix,
        )
        return matrix.reshape(3, 3, 3, 3)

    def viscosity(self, y: Float[Array, "3 3"]) -> Float[Array, "3 3 3 3"]:
        return self.retardation * self.convex(y)

    def ratio(self, y: Float[Array, "3 3"]) -> Float[Array, ""]:
        return linear3.determinant(y)
