"""N whose rows yield."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators.blocks import BlockDiagonal, diagonal
from jaxccp.ccp.operators.factors import Factors
from jaxccp.ccp.operators.operator import Delassus


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class YieldingDelassus(Delassus):
    """N + diag(E) of any N."""

    rigid: Delassus
    """N."""
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
        more = diagonal(self.compliance, scalars, width)
        return single + more.scalars, blocks + more.blocks

    def dense(self) -> Float[Array, "n n"]:
        return self.rigid.dense() + jnp.diag(self.compliance)

    def scaled(self, s: Float[Array, " n"]) -> "YieldingDelassus":
        return YieldingDelassus(self.rigid.scaled(s), s * s * self.compliance)

    def factorised(
        self,
        left: BlockDiagonal,
        right: BlockDiagonal,
        complement: BlockDiagonal,
        ridge: Array | float,
        symmetric: bool,
    ) -> Factors:
        """Factorise as N does, with a C that takes L E R along."""
        more = left @ diagonal(self.compliance, left.scalars.shape[0], left.width) @ right
        return self.rigid.factorised(left, right, complement.plus(more, 0.0), ridge, symmetric)
