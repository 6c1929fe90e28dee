"""The Delassus operator as the product of rows with the square root of the inverse mass."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators.dense import densified
from jaxccp.ccp.operators.operator import Delassus, SplitDelassus
from jaxccp.math import small


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WhitenedDelassus(SplitDelassus):
    """The operator N = W Wᵀ + diag(E), W = J L with L Lᵀ = M⁻¹, for rows that may act on every
    velocity.

    It suits mechanisms in reduced coordinates, which have few velocities and contacts that depend
    on most of them.
    """

    whitened: Float[Array, "n v"]
    """W."""
    compliance: Float[Array, " n"]
    """E [m/(s · N·s)], ≥ 0, one per row."""

    @property
    def rows(self) -> int:
        return self.compliance.shape[-1]

    def impulse(self, lam: Float[Array, " n"]) -> Float[Array, " v"]:
        return lam @ self.whitened

    def velocity(self, whitened: Float[Array, " v"]) -> Float[Array, " n"]:
        return self.whitened @ whitened

    def diagonal(self) -> Float[Array, " n"]:
        return jnp.sum(self.whitened * self.whitened, axis=1) + self.compliance

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        contacts = self.whitened[scalars:].reshape(-1, width, self.whitened.shape[1])
        compliance = jax.vmap(jnp.diag)(self.compliance[scalars:].reshape(-1, width))
        blocks = jnp.einsum("civ,cjv->cij", contacts, contacts) + compliance
        return self.diagonal()[:scalars], blocks

    def dense(self) -> Float[Array, "n n"]:
        return small.plus_diagonal(self.whitened @ self.whitened.T, self.compliance)

    def scaled(self, s: Float[Array, " n"]) -> "WhitenedDelassus":
        return WhitenedDelassus(s[:, None] * self.whitened, s * s * self.compliance)

    def for_iterations(self) -> Delassus:
        return densified(self)
