"""Nesterov's extrapolation of any iteration y = T(x), with restarts and a fallback to the best
point."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.execution import trees

Point = Any
"""A pytree of arrays. The first leaf is the scaled multipliers; the others are linear functions of
them."""

RUNAWAY = 100.0
"""Ratio of a step to the shortest step so far above which the iteration falls back to the best
point."""


def nesterov(theta: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the next θ and the extrapolation β = θ (1 − θ) / (θ² + θ₊), with θ₊² = (1 − θ₊) θ².

    Nesterov, Introductory Lectures on Convex Optimization (2004), section 2.2, constant step scheme
    II without strong convexity.
    """
    square = theta * theta
    after = 0.5 * (theta * jnp.sqrt(square + 4) - square)
    return after, theta * (1 - theta) / (square + after)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Momentum:
    """State of an extrapolated iteration.

    O'Donoghue & Candès, Found. Comput. Math. 15 (2015): the extrapolation restarts when it points
    against the step T(x) − x. This is sound for gradient steps, and for pairs of a forward and a
    backward Gauss–Seidel sweep, which are a gradient step in some norm (Li, Sun & Toh, SIAM J.
    Optim. 28, 2018). A forward sweep alone has complex eigenvalues. Extrapolation can amplify them,
    but seldom does, and a forward sweep costs half as much. So sweeps run forward until a step is a
    hundred times the shortest so far. From then on they run in pairs, from the point of the
    shortest step.
    """

    x: Point
    """The point where the next sweep starts."""
    origin: Point
    """The point where the present pair of sweeps started; ``x`` if sweeps do not run in pairs."""
    y: Point
    """The last point from which the iteration was extrapolated."""
    best: Point
    """The point with the shortest step since the start or the last fallback."""
    shortest: Float[Array, ""]
    """Length of that step."""
    theta: Float[Array, ""]
    """Nesterov's θ, 1 at a restart."""
    paired: Bool[Array, ""]
    """Whether sweeps run in pairs, forward and backward."""
    backward: Bool[Array, ""]
    """Whether the next sweep is the second one of a pair."""

    @staticmethod
    def start(x: Point, paired: bool = False) -> "Momentum":
        """Return the state before the first sweep.

        Args:
            x: the point to start from.
            paired: whether sweeps run in pairs from the start.
        """
        unit, false = jnp.ones((), jax.tree.leaves(x)[0].dtype), jnp.asarray(False)
        return Momentum(
            x=x,
            origin=x,
            y=x,
            best=x,
            shortest=unit * jnp.inf,
            theta=unit,
            paired=jnp.asarray(paired),
            backward=false,
        )

    def advanced(self, y: Point, *, extrapolate: bool = True) -> "Momentum":
        """Return the state after the sweep that maps :attr:`x` to ``y``.

        Args:
            y: the result of the sweep from ``x``.
            extrapolate: whether to extrapolate beyond ``y``.
        """
        end, origin, last = (jax.tree.leaves(point)[0] for point in (y, self.origin, self.y))
        size: Array = jnp.linalg.norm(end - origin)
        against = jnp.sum((end - origin) * (end - last)) < 0
        runaway = size > RUNAWAY * self.shortest
        fresh = against | runaway
        shorter = size < self.shortest

        theta, beta = nesterov(self.theta)
        beta = jnp.where(fresh, 0.0, beta) if extrapolate else 0.0
        base = trees.where(runaway, self.best, y)
        x = jax.tree.map(lambda a, b: a + beta * (a - b), base, self.y)
        after = Momentum(
            x=x,
            origin=x,
            y=base,
            best=trees.where(shorter, y, self.best),
            shortest=jnp.where(runaway, jnp.inf, jnp.where(shorter, size, self.shortest)),
            theta=jnp.where(fresh, 1.0, theta),
            paired=self.paired | runaway,
            backward=jnp.asarray(False),
        )
        half = replace(self, x=y, backward=jnp.asarray(True))
        return trees.where(self.paired & ~self.backward, half, after)
