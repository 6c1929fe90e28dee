"""Equality rows solved for: what remains of the bodies' freedom."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.dynamics.maximal.articulated import Articulated, articulate
from jaxccp.dynamics.maximal.forest import Forest
from jaxccp.math.saddle import pseudo_inverse

REFINEMENTS = 1

Pair = tuple[Array, Array]
"""Whitened velocities of the bodies [nb 6] and multipliers [m]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Loops:
    """What trees have of loose rows, l of them."""

    moved: Float[Array, "l nb 6"]
    """By a unit impulse of each."""
    held: Float[Array, "l m"]
    """Multipliers of the trees' rows then."""
    closing: Float[Array, "l l"]
    """Impulses of the loose rows per velocity that they are to undo."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Equalities:
    """Rows W w + E λ + r = 0 on whitened velocities w = w_free + Wᵀ λ, and their factors.

    Those of the forest are eliminated along it; those that close loops, few as a rule, by the
    pseudo-inverse of what is then left of W W ᵀ + E, since they may be redundant: a planar loop in
    space holds every body in its plane twice. What redundant rows share a load in is then the
    smallest possible, and contradictions between them move nothing.
    """

    rows: Float[Array, "m 6*k"]
    bodies: Int[Array, "m k"]
    compliance: Float[Array, " m"]
    trees: Articulated
    loops: Loops | None

    def solve(self, push: Float[Array, "nb 6"], r: Float[Array, " m"]) -> Pair:
        """w and λ with w − Wᵀ λ = ``push`` and W w + E λ = −``r``; differentiable in all of these.

        The factors only serve to solve a linear system, whose derivative is another solve; they
        are not differentiated.
        """
        factors = lax.stop_gradient(self)

        def matvec(x: Array) -> Array:
            w, negative = split(x)
            back = w + self.spread(negative)
            return join(back, self.velocity(w) - self.compliance * negative)

        def solve(matvec, b: Array) -> Array:
            x = join(*factors._direct(split(b)))
            for _ in range(REFINEMENTS):
                x = x + join(*factors._direct(split(b - matvec(x))))
            return x

        # One vector: a transpose in one of two right-hand sides alone is beyond JAX.
        def join(w: Array, per_row: Array) -> Array:
            return jnp.concatenate([w.reshape(-1), per_row])

        def split(x: Array) -> Pair:
            return x[: push.size].reshape(push.shape), x[push.size :]

        w, negative = split(lax.custom_linear_solve(matvec, join(push, -r), solve, symmetric=True))
        return w, -negative

    def velocity(self, w: Float[Array, "nb 6"]) -> Float[Array, " m"]:
        """W w."""
        return jnp.einsum("mi,mi->m", self.rows, w[self.bodies].reshape(self.rows.shape))

    def spread(self, lam: Float[Array, " m"]) -> Float[Array, "nb 6"]:
        """Wᵀ λ."""
        return _spread(self.rows * lam[:, None], self.bodies, self.trees.forest.total[0])

    def _direct(self, b: Pair) -> Pair:
        """w and −λ, by the factors."""
        push, r = b[0], -b[1]
        w, lam = self.trees.solve(push, r)
        if self.loops is not None:
            loose = self.trees.forest.loose
            more = -self.loops.closing @ (self.velocity(w)[loose] + r[loose])
            w = w + jnp.einsum("l,lbi->bi", more, self.loops.moved)
            lam = (lam + more @ self.loops.held).at[loose].set(more)
        return w, -lam


def equalities(
    rows: Float[Array, "m 12"],
    bodies: Int[Array, "m 2"],
    compliance: Float[Array, " m"],
    forest: Forest,
) -> Equalities:
    """Factorise; ``forest`` says which rows hang which body on which."""
    trees = articulate(lax.stop_gradient(rows), lax.stop_gradient(compliance), forest)
    loops = _close(lax.stop_gradient((rows, bodies, compliance)), trees)
    return Equalities(rows, bodies, compliance, trees, loops)


def _close(table: tuple[Array, Array, Array], trees: Articulated) -> Loops | None:
    """The factors of the loose rows."""
    loose = trees.forest.loose
    if not loose.size:
        return None
    own, pairs, compliance = (leaf[loose] for leaf in table)
    apart = jnp.eye(loose.size, dtype=own.dtype)[:, :, None] * own
    pushes = jax.vmap(partial(_spread, pairs=pairs, bodies=trees.forest.total[0]))(apart)
    moved, held = jax.vmap(trees.solve, (0, None))(pushes, jnp.zeros_like(table[2]))
    coupled = jnp.einsum("li,kli->lk", own, moved[:, pairs].reshape(-1, *own.shape))
    matrix = coupled + jnp.diag(compliance)
    # Measured against the rows on bodies that nothing holds: 0 then is what trees hold already.
    scale = jnp.sum(own * own, axis=1) + compliance
    scale = 1.0 / jnp.sqrt(jnp.where(scale > 0, scale, 1.0))
    closing = scale[:, None] * pseudo_inverse(scale[:, None] * matrix * scale) * scale
    return Loops(moved, held, closing)


def _spread(parts: Float[Array, "m 6*k"], pairs: Array, bodies: int) -> Float[Array, "nb 6"]:
    """Sums over the bodies of what rows have for k each."""
    total = jnp.zeros((bodies, 6), parts.dtype)
    return total.at[pairs.reshape(-1)].add(parts.reshape(-1, 6))
