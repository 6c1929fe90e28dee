"""Nesterov's extrapolation around any iteration y = T(x), with restarts and a way back."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.math import trees

Point = Any
"""A pytree whose first leaf is the scaled multipliers, and others linear images of them."""

RUNAWAY = 100.0
"""Growth of the step over the shortest one that is not put up with."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Momentum:
    """The momentum says where an extrapolated iteration stands.

    O'Donoghue & Candès, Found. Comput. Math. 15 (2015): the extrapolation starts anew when it
    points against the step T(x) − x. That is sound for gradient steps, and for Gauss–Seidel
    sweeps forward and backward in turn, whose pair is a gradient step in some norm (Li, Sun &
    Toh, SIAM J. Optim. 28, 2018); a forward sweep has complex eigenvalues, which extrapolation
    can blow up, but seldom does, and costs half as much. So: forward sweeps until the step is
    a hundred times the shortest so far, then on from the point of that one in pairs.
    """

    x: Point
    """Where the next sweep starts."""
    origin: Point
    """Where the pair of sweeps under way started, ``x`` outside of pairs."""
    y: Point
    """The last point extrapolated from."""
    best: Point
    """The point with the shortest step since the start or the last way back, and that step."""
    shortest: Float[Array, ""]
    theta: Float[Array, ""]
    paired: Bool[Array, ""]
    backward: Bool[Array, ""]
    """Whether the next sweep is the second one of a pair."""

    @staticmethod
    def start(x: Point, paired: bool = False) -> "Momentum":
        one, no = jnp.ones((), jax.tree.leaves(x)[0].dtype), jnp.asarray(False)
        return Momentum(x, x, x, x, one * jnp.inf, one, jnp.asarray(paired), no)

    def advanced(self, y: Point, *, extrapolate: bool = True) -> "Momentum":
        """Return the momentum after the step x ↦ ``y``."""
        end, origin, last = (jax.tree.leaves(point)[0] for point in (y, self.origin, self.y))
        size: Array = jnp.linalg.norm(end - origin)
        against = jnp.sum((end - origin) * (end - last)) < 0
        runaway = size > RUNAWAY * self.shortest
        fresh = against | runaway
        shorter = size < self.shortest

        square = self.theta * self.theta
        theta = 0.5 * (self.theta * jnp.sqrt(square + 4) - square)
        beta = self.theta * (1 - self.theta) / (square + theta)
        beta = jnp.where(fresh, 0.0, beta) if extrapolate else 0.0
        base = trees.where(runaway, self.best, y)
        x = jax.tree.map(lambda a, b: a + beta * (a - b), base, self.y)
        after = Momentum(
            x,
            x,
            base,
            trees.where(shorter, y, self.best),
            jnp.where(runaway, jnp.inf, jnp.where(shorter, size, self.shortest)),
            jnp.where(fresh, 1.0, theta),
            self.paired | runaway,
            jnp.asarray(False),
        )
        half = replace(self, x=y, backward=jnp.asarray(True))
        return trees.where(self.paired & ~self.backward, half, after)
