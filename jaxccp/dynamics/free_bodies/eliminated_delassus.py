"""The Delassus operator of the rows that remain after equality rows have been eliminated."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators import BodyDelassus, Delassus
from jaxccp.ccp.operators.dense import densified
from jaxccp.dynamics.free_bodies.equalities import Equalities


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EliminatedDelassus(Delassus):
    """Delassus operator N = W P Wᵀ + diag(E) of the remaining rows if equality rows b hold.

    P = 1 − W_bᵀ (W_b W_bᵀ + E_b)⁻¹ W_b. A product takes two passes along the trees of bodies.
    """

    rest: BodyDelassus
    """Operator of the remaining rows, as if no rows were eliminated."""
    equalities: Equalities
    """The eliminated rows and their factors."""

    @property
    def rows(self) -> int:
        """Number of remaining rows."""
        return self.rest.rows

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        no_residual = jnp.zeros_like(self.equalities.compliance)
        velocity, _ = self.equalities.solve(self.rest.impulse(lam), no_residual)
        return self.rest.velocity(velocity) + self.rest.compliance * lam

    def diagonal(self) -> Float[Array, " n"]:
        scalars = self.rest.scalar_rows.shape[0]
        scalars_, blocks = self.blocks(scalars)
        return jnp.concatenate([scalars_, jnp.diagonal(blocks, axis1=1, axis2=2).reshape(-1)])

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        rest = self.rest
        scalar_diagonal = self._diagonal_blocks(rest.scalar_rows[:, None], rest.scalar_bodies)[
            :, 0, 0
        ]
        blocks = self._diagonal_blocks(rest.contact_rows, rest.contact_bodies)
        compliance = jax.vmap(jnp.diag)(rest.compliance[scalars:].reshape(blocks.shape[:2]))
        return scalar_diagonal + rest.compliance[:scalars], blocks + compliance

    def _diagonal_blocks(self, rows: Float[Array, "b w 6*k"], bodies: Int[Array, "b k"]) -> Array:
        """Return the diagonal blocks of W P Wᵀ, one for each block of rows, by a product with each
        row."""
        no_residual = jnp.zeros_like(self.equalities.compliance)

        def block(rows: Array, bodies: Array) -> Array:
            def velocity_of(row: Array) -> Array:
                momentum = jnp.zeros((self.rest.bodies, 6), row.dtype)
                momentum = momentum.at[bodies].add(row.reshape(-1, 6))
                return self.equalities.solve(momentum, no_residual)[0][bodies].reshape(-1)

            return rows @ jax.vmap(velocity_of)(rows).T

        return jax.vmap(block)(rows, bodies)

    def dense(self) -> Float[Array, "n n"]:
        return jax.vmap(self.apply)(jnp.eye(self.rows, dtype=self.rest.compliance.dtype))

    def scaled(self, s: Float[Array, " n"]) -> "EliminatedDelassus":
        return EliminatedDelassus(self.rest.scaled(s), self.equalities)

    def for_iterations(self) -> Delassus:
        return densified(self)
