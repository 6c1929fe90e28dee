"""What the Delassus operator N = J M̂⁻¹ Jᵀ + E is to solvers and to the derivative."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.operators.band import Band
from jaxccp.ccp.operators.blocks import BlockDiagonal
from jaxccp.ccp.operators.factors import Factors, dense_factors

NeighbourMax = Callable[[Int[Array, " b"]], Int[Array, " b"]]
"""x ≥ 0 ↦ of each block, the largest x among the blocks coupled to it; its own may be left out."""


class Delassus:
    """A symmetric positive semidefinite n × n operator: s scalar rows, then contacts of w rows.

    A form of it is a frozen dataclass of arrays that has :attr:`rows`, :meth:`apply`,
    :meth:`diagonal`, :meth:`blocks`, :meth:`dense` and :meth:`scaled`. All else follows from the
    matrix, and is there to be overridden where the form allows something cheaper. Solvers use
    nothing but what this class has.
    """

    band: Band | None = None
    """Where the blocks of contacts are if they lie near the diagonal; None: not known."""

    @property
    def rows(self) -> int:
        """n."""
        raise NotImplementedError

    def checked(self, dtype: jnp.dtype) -> "Delassus":
        """Return the operator as arrays of floats, of this type where they are none; raise
        ``ValueError`` where their shapes do not fit."""
        return self

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        """N λ."""
        raise NotImplementedError

    def diagonal(self) -> Float[Array, " n"]:
        """Return the diagonal of the matrix."""
        raise NotImplementedError

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        """The diagonal's entries of the scalar rows, and its blocks of contacts."""
        raise NotImplementedError

    def dense(self) -> Float[Array, "n n"]:
        """The matrix."""
        raise NotImplementedError

    def scaled(self, s: Float[Array, " n"]) -> "Delassus":
        """S N S, S = diag(s)."""
        raise NotImplementedError

    def split(self) -> "SplitDelassus | None":
        """Itself if it is kept as N = W Wᵀ + diag(E), else None."""
        return None

    def for_iterations(self) -> "Delassus":
        """The form in which many products cost least."""
        return self

    @property
    def factor_rows(self) -> int:
        """Rows of the matrix that :meth:`factorised` takes apart; 0 where it needs none."""
        return self.rows

    def factorised(
        self,
        left: BlockDiagonal,
        right: BlockDiagonal,
        complement: BlockDiagonal,
        ridge: Array | float,
        symmetric: bool,
    ) -> Factors:
        """Factors of C + L N R + ridge · I with block diagonal C, L and R.

        ``symmetric``: L = Rᵀ, and the matrix is positive definite; elsewhere NaN.
        """
        coupled = left.columns(right.transpose().columns(self.dense()).T)
        identity = jnp.eye(self.rows, dtype=coupled.dtype)
        matrix = coupled + complement.columns(identity) + ridge * identity
        return dense_factors(matrix, symmetric)

    def coupled(self, scalars: int) -> NeighbourMax:
        """Tell which row blocks are coupled: N has something between them."""
        pairs = couplings(self.dense(), scalars)
        return lambda x: jnp.max(jnp.where(pairs, x, 0), axis=1, initial=0)

    def bound(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c 3 3"]]:
        """The diagonal of a block diagonal matrix that N does not exceed.

        xᵢᵀNᵢⱼxⱼ + xⱼᵀNⱼᵢxᵢ ≤ xᵢᵀNᵢᵢxᵢ + xⱼᵀNⱼⱼxⱼ, N being positive semidefinite.
        """
        single, blocks = self.blocks(scalars)
        count = 1 + jnp.sum(couplings(self.dense(), scalars), axis=1, dtype=blocks.dtype)
        return count[:scalars] * single, count[scalars:, None, None] * blocks


class SplitDelassus(Delassus):
    """N = W Wᵀ + diag(E), kept as W and E; W = J L with L Lᵀ = M̂⁻¹."""

    compliance: Float[Array, " n"]
    """E [m/(s · N·s)], ≥ 0, one per row."""

    def impulse(self, lam: Float[Array, " n"]) -> Float[Array, "..."]:
        """Wᵀ λ: what the multipliers add to the whitened velocities."""
        raise NotImplementedError

    def velocity(self, whitened: Float[Array, "..."]) -> Float[Array, " n"]:
        """W w: the velocities of the rows."""
        raise NotImplementedError

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.velocity(self.impulse(lam)) + self.compliance * lam

    def split(self) -> "SplitDelassus":
        return self


def couplings(matrix: Float[Array, "n n"], scalars: int) -> Bool[Array, "b b"]:
    """Whether two different row blocks share a nonzero of the matrix."""
    n = matrix.shape[0]
    blocks = scalars + (n - scalars) // 3
    block = np.append(np.arange(scalars), np.repeat(np.arange(scalars, blocks), 3))
    rows = jnp.zeros((blocks, n), bool).at[block].max(matrix != 0)
    both = jnp.zeros((blocks, blocks), bool).at[:, block].max(rows)
    return (both | both.T) & ~jnp.eye(blocks, dtype=bool)
