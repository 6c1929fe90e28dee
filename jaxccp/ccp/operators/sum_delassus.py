"""The Delassus operator as a sum of contributions of several kinds of velocities."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add

import jax
from jaxtyping import Array, Float

from jaxccp.ccp.operators.dense import densified
from jaxccp.ccp.operators.operator import Delassus


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SumDelassus(Delassus):
    """The operator N = N₁ + N₂ + …, each over all rows, for rows that act on several kinds of
    velocities.

    An example are the velocities of a robot and those of many free bodies around it, whose mass
    matrices are stored separately. Only one of the parts has the compliance.
    """

    parts: tuple[Delassus, ...]
    """N₁, N₂, …"""

    @property
    def rows(self) -> int:
        return self.parts[0].rows

    def _sum(self, of: Callable[[Delassus], Array]) -> Array:
        """Return the sum of a function over the parts."""
        return reduce(add, map(of, self.parts))

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        return self._sum(lambda part: part.apply(lam))

    def diagonal(self) -> Float[Array, " n"]:
        return self._sum(lambda part: part.diagonal())

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        parts_of_blocks = [part.blocks(scalars, width) for part in self.parts]
        return jax.tree.map(lambda *of: reduce(add, of), *parts_of_blocks)

    def bound(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c 3 3"]]:
        parts_of_blocks = [part.bound(scalars) for part in self.parts]
        return jax.tree.map(lambda *of: reduce(add, of), *parts_of_blocks)

    def dense(self) -> Float[Array, "n n"]:
        return self._sum(lambda part: part.dense())

    def scaled(self, s: Float[Array, " n"]) -> "SumDelassus":
        return SumDelassus(tuple(part.scaled(s) for part in self.parts))

    def for_iterations(self) -> Delassus:
        return densified(self)
