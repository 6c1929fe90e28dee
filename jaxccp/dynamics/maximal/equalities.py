"""Equality rows solved for: what remains of the bodies' freedom."""

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.dynamics.maximal.articulated import Articulated, articulate
from jaxccp.dynamics.maximal.forest import Forest
from jaxccp.dynamics.rows.row import Rows
from jaxccp.math import safe
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

    Rows so compliant that they hardly hold a body, α = 1/E being small, are λ = −α W w − α r and
    have no unknowns: α may be 0, and has its derivative there.

    Those of the forest are eliminated along it; those that close loops, few as a rule, by the
    pseudo-inverse of what is then left of W W ᵀ + E, since they may be redundant: a planar loop in
    space holds every body in its plane twice. What redundant rows share a load in is then the
    smallest possible, and contradictions between them move nothing.
    """

    rows: Float[Array, "m 6*k"]
    """W."""
    bodies: Int[Array, "m k"]
    stiffness: Float[Array, " m"]
    """α of compliant rows."""
    compliance: Float[Array, " m"]
    """E of rows that have unknowns; 1 in the place of the others."""
    unknown: Bool[Array, " m"]
    """Which rows have unknowns."""
    trees: Articulated
    loops: Loops | None
    rigid: int = field(metadata={"static": True})
    """The number of rows without compliance, which come first."""

    def solve(self, push: Float[Array, "nb 6"], r: Float[Array, " m"]) -> Pair:
        """w and λ with w − Wᵀ λ = ``push`` and of rigid rows W w = −``r``, of compliant ones
        λ = −α W w − ``r``; differentiable in all of these.

        The factors only serve to solve a linear system, whose derivative is another solve; they
        are not differentiated.
        """
        factors = lax.stop_gradient(self)

        def matvec(x: Array) -> Array:
            w, negative = split(x)
            velocity = self.velocity(w)
            back = w + self.spread(jnp.where(self.unknown, negative, self.stiffness * velocity))
            return join(back, jnp.where(self.unknown, velocity, 0.0) - self.compliance * negative)

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

        rate = jnp.concatenate([r[: self.rigid], (self.compliance * r)[self.rigid :]])
        b = join(
            push - self.spread(jnp.where(self.unknown, 0.0, r)),
            jnp.where(self.unknown, -rate, 0.0),
        )
        w, negative = split(lax.custom_linear_solve(matvec, b, solve, symmetric=True))
        yielding = -self.stiffness * self.velocity(w) - r
        return w, jnp.where(self.unknown, -negative, yielding)

    def velocity(self, w: Float[Array, "nb 6"]) -> Float[Array, " m"]:
        """W w."""
        return jnp.einsum("mi,mi->m", self.rows, w[self.bodies].reshape(self.rows.shape))

    def spread(self, lam: Float[Array, " m"]) -> Float[Array, "nb 6"]:
        """Wᵀ λ."""
        return _spread(self.rows * lam[:, None], self.bodies, self.trees.forest.total[0])

    def _direct(self, b: Pair) -> Pair:
        """w and −λ, by the factors."""
        push, r = b[0], jnp.where(self.unknown, -b[1], 0.0)
        w, lam = self.trees.solve(push, r)
        if self.loops is not None:
            loose = self.trees.forest.loose
            more = -self.loops.closing @ (self.velocity(w)[loose] + r[loose])
            w = w + jnp.einsum("l,lbi->bi", more, self.loops.moved)
            lam = (lam + more @ self.loops.held).at[loose].set(more)
        return w, jnp.where(self.unknown, -lam, -b[1])


def equalities(
    rows: Rows, whitened: Float[Array, "m 6*k"], rigid: int, forest: Forest
) -> Equalities:
    """Factorise equality rows, so that they can be solved for.

    Args:
        rows: the first of them rigid, the others compliant.
        whitened: W of these.
        rigid: how many are rigid.
        forest: says which rows hang which body on which.
    """
    alpha, bodies = rows.stiffness, rows.bodies
    firm = jnp.arange(len(alpha)) < rigid
    fixed_rows, fixed_alpha = lax.stop_gradient((whitened, alpha))
    unknown = firm | (fixed_alpha * jnp.sum(fixed_rows**2, axis=1) > 1.0)
    inverse = safe.divide(jnp.ones_like(alpha), alpha)
    # Factors have all rows by their compliance; rows without stiffness hold nothing.
    empty = ~firm & (fixed_alpha <= 0)
    fixed_rows = jnp.where(empty[:, None], 0.0, fixed_rows)
    factor_compliance = jnp.where(empty, 1.0, jnp.where(firm, 0.0, lax.stop_gradient(inverse)))
    trees = articulate(fixed_rows, factor_compliance, forest)
    return Equalities(
        rows=whitened,
        bodies=bodies,
        stiffness=alpha,
        compliance=jnp.where(unknown, jnp.where(firm, 0.0, inverse), 1.0),
        unknown=unknown,
        trees=trees,
        loops=_close((fixed_rows, lax.stop_gradient(bodies), factor_compliance), trees),
        rigid=rigid,
    )


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
