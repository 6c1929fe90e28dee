"""The Delassus operator of what is left after equality rows have been eliminated."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators import BodyDelassus, Delassus
from jaxccp.ccp.operators.dense import densified
from jaxccp.dynamics.maximal.equalities import Equalities


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EliminatedDelassus(Delassus):
    """N = W P Wᵀ + diag(E), P = 1 − W_bᵀ (W_b W_bᵀ + E_b)⁻¹ W_b over the equality rows b.

    A product is two passes along the trees of bodies.
    """

    rest: BodyDelassus
    """The rows that are left, on the bodies as if nothing held them."""
    equalities: Equalities

    @property
    def rows(self) -> int:
        return self.rest.rows

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        free = jnp.zeros_like(self.equalities.compliance)
        moved, _ = self.equalities.solve(self.rest.impulse(lam), free)
        return self.rest.velocity(moved) + self.rest.compliance * lam

    def diagonal(self) -> Float[Array, " n"]:
        scalars = self.rest.scalar_rows.shape[0]
        own, blocks = self.blocks(scalars)
        return jnp.concatenate([own, jnp.diagonal(blocks, axis1=1, axis2=2).reshape(-1)])

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        rest = self.rest
        own = self._own(rest.scalar_rows[:, None], rest.scalar_bodies)[:, 0, 0]
        blocks = self._own(rest.contact_rows, rest.contact_bodies)
        compliance = jax.vmap(jnp.diag)(rest.compliance[scalars:].reshape(blocks.shape[:2]))
        return own + rest.compliance[:scalars], blocks + compliance

    def _own(self, rows: Float[Array, "b w 6*k"], bodies: Int[Array, "b k"]) -> Array:
        """W P Wᵀ of each block of rows by itself, by a product with each row."""
        held = lax.stop_gradient(self.equalities)
        free = jnp.zeros_like(held.compliance)

        def block(rows: Array, bodies: Array) -> Array:
            def moved(row: Array) -> Array:
                push = jnp.zeros((self.rest.bodies, 6), row.dtype)
                push = push.at[bodies].add(row.reshape(-1, 6))
                return held.solve(push, free)[0][bodies].reshape(-1)

            return rows @ jax.vmap(moved)(rows).T

        return jax.vmap(block)(lax.stop_gradient(rows), bodies)

    def dense(self) -> Float[Array, "n n"]:
        return jax.vmap(self.apply)(jnp.eye(self.rows, dtype=self.rest.compliance.dtype))

    def scaled(self, s: Float[Array, " n"]) -> "EliminatedDelassus":
        return EliminatedDelassus(self.rest.scaled(s), self.equalities)

    def for_iterations(self) -> Delassus:
        return densified(self)
