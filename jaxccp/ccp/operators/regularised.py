"""The Delassus operator with a compliance added to its rows."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators.blocks import BlockDiagonal, diagonal
from jaxccp.ccp.operators.factors import Factors
from jaxccp.ccp.operators.operator import Delassus


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RegularisedDelassus(Delassus):
    """The operator N + diag(E) for an operator N of any form."""

    rigid: Delassus
    """N, without the added compliance."""
    compliance: Float[Array, " n"]
    """E [m/(s · N·s)], ≥ 0, one per row."""

    @property
    def rows(self) -> int:
        return self.rigid.rows

    @property
    def factor_rows(self) -> int:
        return self.rigid.factor_rows

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.rigid.apply(lam) + self.compliance * lam

    def diagonal(self) -> Float[Array, " n"]:
        return self.rigid.diagonal() + self.compliance

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        single, blocks = self.rigid.blocks(scalars, width)
        added = diagonal(self.compliance, scalars, width)
        return single + added.scalars, blocks + added.blocks

    def dense(self) -> Float[Array, "n n"]:
        return self.rigid.dense() + jnp.diag(self.compliance)

    def scaled(self, s: Float[Array, " n"]) -> "RegularisedDelassus":
        return RegularisedDelassus(self.rigid.scaled(s), s * s * self.compliance)

    def factorised(
        self,
        left: BlockDiagonal,
        right: BlockDiagonal,
        complement: BlockDiagonal,
        ridge: Array | float,
        symmetric: bool,
    ) -> Factors:
        """Factorise as N does, with L E R added to C; see :meth:`Delassus.factorised`.

        Args:
            left: L.
            right: R.
            complement: C.
            ridge: number added to the diagonal.
            symmetric: whether the matrix is symmetric positive definite.
        """
        added = left @ diagonal(self.compliance, left.scalars.shape[0], left.width) @ right
        return self.rigid.factorised(left, right, complement.plus(added, 0.0), ridge, symmetric)
