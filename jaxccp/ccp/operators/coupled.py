"""The Delassus operator N = J H⁻¹ Jᵀ + E of bodies whose mass matrix H is not block diagonal."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from jaxccp.ccp.operators.body import BodyDelassus
from jaxccp.ccp.operators.operator import Delassus


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CoupledDelassus(Delassus):
    """The Delassus operator of bodies that stiffness or damping couples, H by its Cholesky factor.

    A product costs one product with J and Jᵀ each and two triangular solves over all bodies.
    """

    jacobian: BodyDelassus
    """The rows of J and E; J acts on the velocities themselves, not on whitened ones."""
    factor: Float[Array, "6*nb 6*nb"]
    """C, lower triangular, with H = C Cᵀ."""

    @property
    def rows(self) -> int:
        return self.jacobian.rows

    def velocities(self, impulse: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
        """Return the velocities H⁻¹ p of the bodies for impulses p on them."""
        return cho_solve((self.factor, True), impulse.reshape(-1)).reshape(-1, 6)

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        velocities = self.velocities(self.jacobian.impulse(lam))
        return self.jacobian.velocity(velocities) + self.jacobian.compliance * lam

    def _whitened(self) -> Float[Array, "n 6*nb"]:
        """Return W = J C⁻ᵀ."""
        unit = jnp.eye(self.rows, dtype=self.factor.dtype)
        rows = jax.vmap(self.jacobian.impulse)(unit).reshape(self.rows, -1)
        return solve_triangular(self.factor, rows.T, lower=True).T

    def diagonal(self) -> Float[Array, " n"]:
        whitened = self._whitened()
        return jnp.einsum("ni,ni->n", whitened, whitened) + self.jacobian.compliance

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        whitened = self._whitened()
        sizes = self.jacobian.contact_rows.shape[:2]
        contacts = whitened[scalars:].reshape(*sizes, whitened.shape[1])
        blocks = jnp.einsum("cki,cli->ckl", contacts, contacts)
        compliance = jax.vmap(jnp.diag)(self.jacobian.compliance[scalars:].reshape(sizes))
        return self.diagonal()[:scalars], blocks + compliance

    def dense(self) -> Float[Array, "n n"]:
        whitened = self._whitened()
        return whitened @ whitened.T + jnp.diag(self.jacobian.compliance)

    def scaled(self, s: Float[Array, " n"]) -> "CoupledDelassus":
        return CoupledDelassus(self.jacobian.scaled(s), self.factor)
