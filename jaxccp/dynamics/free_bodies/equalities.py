"""Equality rows on bodies, factorised so that they can be solved for."""

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.dynamics.free_bodies.articulated import Articulated, articulate
from jaxccp.dynamics.free_bodies.forest import Forest
from jaxccp.dynamics.rows.row import Rows
from jaxccp.math import safe
from jaxccp.math.saddle import pseudo_inverse

REFINEMENTS = 1
"""Number of steps of iterative refinement."""

Pair = tuple[Array, Array]
"""Whitened velocities of the bodies [nb 6] and multipliers [m]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LoopFactors:
    """Factors of the l rows that close loops, under the rows of the trees."""

    velocity_response: Float[Array, "l nb 6"]
    """Whitened velocities per unit impulse of each row."""
    tree_multipliers: Float[Array, "l m"]
    """Multipliers of the trees' rows per unit impulse of each row."""
    inverse: Float[Array, "l l"]
    """Impulses of the loop rows per velocity error."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Equalities:
    """Rows W w + E λ + r = 0 on whitened velocities w = w_free + Wᵀ λ, and their factors.

    A row with so small an α = 1/E that it hardly constrains a body has no unknown: its λ = −α W w −
    α r is substituted. So α may be 0, with the right derivative there.

    Rows of the forest are eliminated along it. The rows that close loops are usually few; they use
    the pseudo-inverse of the remaining W Wᵀ + E, because they may be redundant: a planar loop in
    space constrains every body to its plane twice. Redundant rows then share the load with the
    smallest impulses, and contradictory rows move nothing.
    """

    rows: Float[Array, "m 6*k"]
    """W."""
    bodies: Int[Array, "m k"]
    """The k bodies of each row."""
    stiffness: Float[Array, " m"]
    """α of compliant rows."""
    compliance: Float[Array, " m"]
    """E of rows that have unknowns; 1 for the others."""
    unknown: Bool[Array, " m"]
    """Mask of the rows that have unknowns."""
    trees: Articulated
    """Factors of the rows along trees."""
    loops: LoopFactors | None
    """Factors of the rows that close loops; None if there are none."""
    rigid: int = field(metadata={"static": True})
    """Number of rows without compliance, which come first."""

    def solve(self, free_velocity: Float[Array, "nb 6"], r: Float[Array, " m"]) -> Pair:
        """Solve for whitened velocities w and multipliers λ, with derivatives in all of them.

        w − Wᵀ λ = w_free; W w = −``r`` for rigid rows, and λ = −α W w − ``r`` for compliant ones.
        The derivative of the linear system is another solve with the same factors; the factors
        themselves are not differentiated.

        Args:
            free_velocity: w_free, whitened velocity of each body without these rows.
            r: right-hand side of each row.
        """
        factors = lax.stop_gradient(self)

        def matvec(x: Array) -> Array:
            w, negative = split(x)
            velocity = self.velocity(w)
            residual = w + self.spread(jnp.where(self.unknown, negative, self.stiffness * velocity))
            return join(
                residual, jnp.where(self.unknown, velocity, 0.0) - self.compliance * negative
            )

        def solve(matvec, b: Array) -> Array:
            x = join(*factors._direct(split(b)))
            for _ in range(REFINEMENTS):
                x = x + join(*factors._direct(split(b - matvec(x))))
            return x

        # Use one vector: JAX cannot transpose the solve with respect to only one of two right-hand
        # sides.
        def join(w: Array, per_row: Array) -> Array:
            return jnp.concatenate([w.reshape(-1), per_row])

        def split(x: Array) -> Pair:
            return x[: free_velocity.size].reshape(free_velocity.shape), x[free_velocity.size :]

        rate = jnp.concatenate([r[: self.rigid], (self.compliance * r)[self.rigid :]])
        b = join(
            free_velocity - self.spread(jnp.where(self.unknown, 0.0, r)),
            jnp.where(self.unknown, -rate, 0.0),
        )
        w, negative = split(lax.custom_linear_solve(matvec, b, solve, symmetric=True))
        compliant = -self.stiffness * self.velocity(w) - r
        return w, jnp.where(self.unknown, -negative, compliant)

    def velocity(self, w: Float[Array, "nb 6"]) -> Float[Array, " m"]:
        """Return W w, the velocities of the rows."""
        return jnp.einsum("mi,mi->m", self.rows, w[self.bodies].reshape(self.rows.shape))

    def spread(self, lam: Float[Array, " m"]) -> Float[Array, "nb 6"]:
        """Return Wᵀ λ, the whitened velocities that impulses add."""
        return _spread(self.rows * lam[:, None], self.bodies, self.trees.forest.total[0])

    def _direct(self, b: Pair) -> Pair:
        """Return w and −λ, computed with the factors."""
        free_velocity, r = b[0], jnp.where(self.unknown, -b[1], 0.0)
        w, lam = self.trees.solve(free_velocity, r)
        if self.loops is not None:
            loop_rows = self.trees.forest.loop_rows
            loop_impulses = -self.loops.inverse @ (self.velocity(w)[loop_rows] + r[loop_rows])
            w = w + jnp.einsum("l,lbi->bi", loop_impulses, self.loops.velocity_response)
            lam = (
                (lam + loop_impulses @ self.loops.tree_multipliers).at[loop_rows].set(loop_impulses)
            )
        return w, jnp.where(self.unknown, -lam, -b[1])


def equalities(
    rows: Rows, whitened: Float[Array, "m 6*k"], rigid: int, forest: Forest
) -> Equalities:
    """Factorise equality rows on bodies.

    Args:
        rows: the rows; the first of them are rigid, the others compliant.
        whitened: W of these rows.
        rigid: number of rigid rows.
        forest: the forest, with the rows between each body and its parent.
    """
    alpha, bodies = rows.stiffness, rows.bodies
    is_rigid = jnp.arange(len(alpha)) < rigid
    fixed_rows, fixed_alpha = lax.stop_gradient((whitened, alpha))
    unknown = is_rigid | (fixed_alpha * jnp.sum(fixed_rows**2, axis=1) > 1.0)
    inverse = safe.divide(jnp.ones_like(alpha), alpha)
    # The factors treat every row by its compliance; rows without stiffness have no effect.
    empty = ~is_rigid & (fixed_alpha <= 0)
    fixed_rows = jnp.where(empty[:, None], 0.0, fixed_rows)
    factor_compliance = jnp.where(empty, 1.0, jnp.where(is_rigid, 0.0, lax.stop_gradient(inverse)))
    trees = articulate(fixed_rows, factor_compliance, forest)
    return Equalities(
        rows=whitened,
        bodies=bodies,
        stiffness=alpha,
        compliance=jnp.where(unknown, jnp.where(is_rigid, 0.0, inverse), 1.0),
        unknown=unknown,
        trees=trees,
        loops=_loop_factors((fixed_rows, lax.stop_gradient(bodies), factor_compliance), trees),
        rigid=rigid,
    )


def _loop_factors(table: tuple[Array, Array, Array], trees: Articulated) -> LoopFactors | None:
    """Factorise the rows that close loops; None if there are none."""
    loop_rows = trees.forest.loop_rows
    if not loop_rows.size:
        return None
    rows, pairs, compliance = (leaf[loop_rows] for leaf in table)
    single_rows = jnp.eye(loop_rows.size, dtype=rows.dtype)[:, :, None] * rows
    momenta = jax.vmap(partial(_spread, pairs=pairs, bodies=trees.forest.total[0]))(single_rows)
    velocity_response, tree_multipliers = jax.vmap(trees.solve, (0, None))(
        momenta, jnp.zeros_like(table[2])
    )
    coupled = jnp.einsum("li,kli->lk", rows, velocity_response[:, pairs].reshape(-1, *rows.shape))
    matrix = coupled + jnp.diag(compliance)
    # Scale by the size of the rows on unconstrained bodies, so that rows which the trees satisfy
    # already are 0.
    scale = jnp.sum(rows * rows, axis=1) + compliance
    scale = 1.0 / jnp.sqrt(jnp.where(scale > 0, scale, 1.0))
    inverse = scale[:, None] * pseudo_inverse(scale[:, None] * matrix * scale) * scale
    return LoopFactors(velocity_response, tree_multipliers, inverse)


def _spread(parts: Float[Array, "m 6*k"], pairs: Array, bodies: int) -> Float[Array, "nb 6"]:
    """Return the sum over each body of its parts in rows on k bodies each."""
    total = jnp.zeros((bodies, 6), parts.dtype)
    return total.at[pairs.reshape(-1)].add(parts.reshape(-1, 6))
