"""The Delassus operator of rows of which several act along the same coordinate."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.operators.operator import Delassus, SplitDelassus
from jaxccp.content import ByContent, cached_table
from jaxccp.math import small


@dataclass(frozen=True, eq=False)
class Repetition(ByContent):
    """The table that names the one of k distinct rows of which each of s scalar rows is a
    multiple."""

    index: np.ndarray
    """Index from 0 to k − 1 of the distinct row that each scalar row is a multiple of [s]; every
    one of the k occurs."""

    @property
    def count(self) -> int:
        """The number k of distinct rows."""
        return int(np.max(self.index, initial=-1)) + 1

    @property
    def times(self) -> int:
        """The number of times that ``index`` repeats 0, 1, …, k − 1; 0 for any other order."""
        times, rest = divmod(len(self.index), max(self.count, 1))
        return 0 if rest or np.any(self.index != np.tile(np.arange(self.count), times)) else times

    @cached_table
    def members(self) -> np.ndarray:
        """Scalar rows that are multiples of each distinct row, padded with s [k m]."""
        rows = [np.flatnonzero(self.index == one) for one in range(self.count)]
        width = max(map(len, rows), default=0)
        padding = len(self.index)
        return np.array(
            [np.pad(row, (0, width - len(row)), constant_values=padding) for row in rows], int
        ).reshape(self.count, width)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RepeatedDelassus(SplitDelassus):
    """The operator N = F N₀ Fᵀ + diag(E); each scalar row is a multiple of one of the k scalar rows
    of N₀, and each contact's rows are multiples of N₀'s.

    The limits of a joint, its dry friction and its servo act along the same coordinate, so N₀ has
    fewer rows than N, and its products cost less.
    """

    distinct: Delassus
    """N₀, without compliance: k scalar rows, then those of the contacts."""
    factor: Float[Array, " n"]
    """Nonzero entry of each row of F."""
    compliance: Float[Array, " n"]
    """E [m/(s · N·s)], ≥ 0, one per row."""
    repetition: Repetition = field(metadata={"static": True})
    """Column of the nonzero entry of each scalar row of F."""

    @property
    def rows(self) -> int:
        return self.compliance.shape[-1]

    @property
    def whitened(self) -> Float[Array, "n v"]:
        """W of all rows, if N₀ is a :class:`~jaxccp.ccp.operators.whitened.WhitenedDelassus`."""
        return self.factor[:, None] * self._repeat(self.distinct.whitened)  # type: ignore[attr-defined]

    def split(self) -> "RepeatedDelassus | None":  # type: ignore[override]
        return None if self.distinct.split() is None else self

    def impulse(self, lam: Float[Array, " n"]) -> Float[Array, "..."]:
        return self._split_distinct.impulse(self._collect(lam))

    def velocity(self, whitened: Float[Array, "..."]) -> Float[Array, " n"]:
        return self.factor * self._repeat(self._split_distinct.velocity(whitened))

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        velocity = self._repeat(self.distinct.apply(self._collect(lam)))
        return self.factor * velocity + self.compliance * lam

    def diagonal(self) -> Float[Array, " n"]:
        return self.factor * self.factor * self._repeat(self.distinct.diagonal()) + self.compliance

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        single, blocks = self.distinct.blocks(self.repetition.count, width)
        factor, compliance = (
            x[scalars:].reshape(-1, width) for x in (self.factor, self.compliance)
        )
        blocks = factor[:, :, None] * blocks * factor[:, None, :] + jax.vmap(jnp.diag)(compliance)
        single = self.factor[:scalars] ** 2 * single[self.repetition.index]
        return single + self.compliance[:scalars], blocks

    def dense(self) -> Float[Array, "n n"]:
        rows = self.factor[:, None] * self._repeat(self.distinct.dense())
        return small.plus_diagonal(self.factor * self._repeat(rows, axis=1), self.compliance)

    def scaled(self, s: Float[Array, " n"]) -> "RepeatedDelassus":
        return replace(self, factor=s * self.factor, compliance=s * s * self.compliance)

    def for_iterations(self) -> Delassus:
        return replace(self, distinct=self.distinct.for_iterations())

    @property
    def _split_distinct(self) -> SplitDelassus:
        split = self.distinct.split()
        if split is None:
            raise TypeError(f"a {type(self.distinct).__name__} is not stored as W Wᵀ")
        return split

    def _repeat(self, distinct: Array, axis: int = 0) -> Array:
        """Return what belongs to the distinct rows, along an axis, for every row."""
        count, times = self.repetition.count, self.repetition.times
        scalars, contacts = jnp.split(distinct, [count], axis)
        if times:
            return jnp.concatenate([*[scalars] * times, contacts], axis)
        repeated = jnp.take(scalars, self.repetition.index, axis)
        return jnp.concatenate([repeated, contacts], axis)

    def _collect(self, lam: Float[Array, " n"]) -> Float[Array, " k"]:
        """Return Fᵀ λ."""
        weighted, scalars = self.factor * lam, len(self.repetition.index)
        if self.repetition.times:
            sums = jnp.sum(weighted[:scalars].reshape(self.repetition.times, -1), axis=0)
        else:
            padded = jnp.append(weighted[:scalars], 0.0)
            sums = jnp.sum(padded[self.repetition.members], axis=1)
        return jnp.concatenate([sums, weighted[scalars:]])
