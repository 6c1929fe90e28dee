"""The interface of the Delassus operator N = J M̂⁻¹ Jᵀ + E, for solvers and for the derivative.

J is the Jacobian of the rows, M̂ the mass matrix of a step (with its implicit stiffness and damping)
and E the diagonal compliance of the rows.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.operators.band import Band
from jaxccp.ccp.operators.blocks import BlockDiagonal
from jaxccp.ccp.operators.factors import Factors, dense_factors
from jaxccp.execution import trees

NeighbourMax = Callable[[Int[Array, " b"]], Int[Array, " b"]]
"""Function that maps one number ≥ 0 per block to, for each block, the largest number among the
blocks coupled to it, itself included or not."""


class Delassus:
    """A symmetric positive semidefinite n × n operator: s scalar rows, then contacts of w rows.

    Subclasses are frozen dataclasses of arrays that implement :attr:`rows`, :meth:`apply`,
    :meth:`diagonal`, :meth:`blocks`, :meth:`dense` and :meth:`scaled`. The other methods have a
    default; subclasses override them where they have something cheaper. Solvers use only what this
    class and :class:`SplitDelassus` define; sweeps have products of their own for some subclasses
    (:mod:`jaxccp.ccp.sweeps.rows`).
    """

    band: Band | None = None
    """Order of the contacts in which their blocks lie near the diagonal; None if unknown."""

    @property
    def rows(self) -> int:
        """Number n of rows."""
        raise NotImplementedError

    def checked(self, dtype: jnp.dtype) -> "Delassus":
        """Return the operator with arrays of floats; by default the operator as it is.

        Args:
            dtype: dtype that the arrays are converted to.

        Raises:
            ValueError: the shapes of its arrays do not fit one another; or its values are known,
                and not symmetric or out of range.
        """
        return self

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return N λ [m/s]."""
        raise NotImplementedError

    def diagonal(self) -> Float[Array, " n"]:
        """Return the diagonal of the matrix [1/kg]."""
        raise NotImplementedError

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        """Return the diagonal entries of the scalar rows, and the diagonal blocks of the contacts
        [1/kg].

        Args:
            scalars: number of scalar rows.
            width: rows of a contact.
        """
        raise NotImplementedError

    def dense(self) -> Float[Array, "n n"]:
        """Return the dense matrix N [1/kg]."""
        raise NotImplementedError

    def scaled(self, s: Float[Array, " n"]) -> "Delassus":
        """Return S N S with S = diag(s)."""
        raise NotImplementedError

    def split(self) -> "SplitDelassus | None":
        """Return the operator itself if it is stored as N = W Wᵀ + diag(E), else None."""
        return None

    def for_iterations(self) -> "Delassus":
        """Return the same operator in the form whose products are cheapest."""
        return self

    @property
    def factor_rows(self) -> int:
        """Number of rows of the dense matrix that :meth:`factorised` factorises; 0 if it factorises
        one with a narrow band, which always pays."""
        return self.rows

    def factorised(
        self,
        left: BlockDiagonal,
        right: BlockDiagonal,
        complement: BlockDiagonal,
        ridge: Array | float,
        symmetric: bool,
    ) -> Factors:
        """Return the factors of C + L N R + ridge · I with block diagonal C, L and R.

        Args:
            left: L.
            right: R.
            complement: C.
            ridge: number added to the diagonal.
            symmetric: whether L = Rᵀ and the matrix is positive definite; the factors are NaN where
                it is not.
        """
        coupled = left.columns(right.transpose().columns(self.dense()).T)
        identity = jnp.eye(self.rows, dtype=coupled.dtype)
        return dense_factors(coupled + complement.dense() + ridge * identity, symmetric)

    def neighbour_maximum(self, scalars: int) -> NeighbourMax:
        """Return a function that maps one number per row block to, for each block, the largest
        number among the blocks that N couples to it. Blocks are scalar rows and contacts of three
        rows.

        Args:
            scalars: number of scalar rows.
        """
        pairs = couplings(self.dense(), scalars)
        return lambda x: jnp.max(jnp.where(pairs, x, 0), axis=1, initial=0)

    def bound(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c 3 3"]]:
        """Return the diagonal entries and blocks of a block diagonal matrix D with N ≤ D.

        D takes each diagonal block of N times 1 plus the number of blocks coupled to it, because
        xᵢᵀNᵢⱼxⱼ + xⱼᵀNⱼᵢxᵢ ≤ xᵢᵀNᵢᵢxᵢ + xⱼᵀNⱼⱼxⱼ for a positive semidefinite N.
        """
        single, blocks = self.blocks(scalars)
        count = 1 + jnp.sum(couplings(self.dense(), scalars), axis=1, dtype=blocks.dtype)
        return count[:scalars] * single, count[scalars:, None, None] * blocks


class SplitDelassus(Delassus):
    """Base class of operators stored as the factors of N = W Wᵀ + diag(E); W = J L with L Lᵀ =
    M̂⁻¹."""

    compliance: Float[Array, " n"]
    """E [m/(s · N·s)], ≥ 0, one per row."""

    def impulse(self, lam: Float[Array, " n"]) -> Float[Array, "..."]:
        """Return Wᵀ λ, the change of the whitened velocities by the multipliers."""
        raise NotImplementedError

    def velocity(self, whitened: Float[Array, "..."]) -> Float[Array, " n"]:
        """Return W w, the velocities of the rows."""
        raise NotImplementedError

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.velocity(self.impulse(lam)) + self.compliance * lam

    def split(self) -> "SplitDelassus":
        return self


def check_indices(what: str, indices: Int[Array, "..."], count: int) -> None:
    """Check that indices are in range, if their values are known.

    Args:
        what: name of the array, with which an error message begins.
        indices: indices from 0 to ``count`` − 1.
        count: number of things to choose from.

    Raises:
        ValueError: an index is negative or too large.
    """
    if not trees.is_traced(indices):
        known = np.asarray(indices)
        wrong = known[(known < 0) | (known >= count)]
        if wrong.size:
            raise ValueError(f"{what} must lie between 0 and {count - 1}, not {wrong[0]}")


def couplings(matrix: Float[Array, "n n"], scalars: int) -> Bool[Array, "b b"]:
    """Return a mask of the pairs of different row blocks that N couples.

    Args:
        matrix: n rows.
        scalars: number of scalar rows.
    """
    n = matrix.shape[0]
    blocks = scalars + (n - scalars) // 3
    block = np.append(np.arange(scalars), np.repeat(np.arange(scalars, blocks), 3))
    rows = jnp.zeros((blocks, n), bool).at[block].max(matrix != 0)
    coupled_blocks = jnp.zeros((blocks, blocks), bool).at[:, block].max(rows)
    return (coupled_blocks | coupled_blocks.T) & ~jnp.eye(blocks, dtype=bool)
