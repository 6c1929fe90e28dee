"""The linear system of a fixed point, and the ways to solve it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeGuard

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve
from jax.scipy.sparse.linalg import bicgstab, cg
from jaxtyping import Array, Float

from jaxccp.ccp import band_cholesky, band_lu
from jaxccp.ccp.blocks import BlockDiagonal, diagonal
from jaxccp.ccp.delassus import BlockSparseDelassus, BodyDelassus, Delassus
from jaxccp.math import safe

DENSE_ROWS = 192
"""Largest system of a derivative that is factorised; above, it is solved matrix-free."""
REFINEMENTS = 4
LOST = 1e-3
"""The relative residual of a guarded system from which on it counts as not solved."""

Inverse = Callable[[Array], Array]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FixedPointSystem:
    """A = C + L N R with block diagonal C, L, R; symmetric for the convex law, where L = Rᵀ."""

    delassus: Delassus
    complement: BlockDiagonal
    """C."""
    left: BlockDiagonal
    right: BlockDiagonal

    def apply(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        spread = self.delassus.apply(self.right.apply(x))
        return self.complement.apply(x) + self.left.apply(spread)


def solve_linear(
    system: FixedPointSystem,
    rhs: Float[Array, " n"],
    error: Float[Array, ""],
    symmetric: bool,
    guarded: bool = False,
) -> Float[Array, " n"]:
    """A x = rhs, differentiable in both; a singular consistent system is solved on its range.

    ``error`` is what is known of A's entries: the relative residual of the solution it stems from.
    ``guarded`` gives 0, with derivative 0 in both modes, where that fails.
    """
    n = rhs.shape[0]
    if n == 0:
        return rhs
    frozen = lax.stop_gradient(system)
    if by_bodies(system.delassus, DENSE_ROWS) or narrow(system.delassus) or n <= DENSE_ROWS:
        forward, backward = factorised(frozen, _ridge(lax.stop_gradient(error)), symmetric)
        solve, transposed = partial(_refine, forward), partial(_refine, backward)
    else:
        solve = transposed = partial(_iterative, symmetric)
    if guarded:
        solve, transposed = partial(_guarded, solve), partial(_guarded, transposed)
    return lax.custom_linear_solve(
        system.apply, rhs, solve, None if symmetric else transposed, symmetric=symmetric
    )


def _ridge(error: Float[Array, ""]) -> Float[Array, ""]:
    """What is added to A's diagonal before it is factorised; refinement takes it out again.

    Directions weaker than the error of A itself are left out: at a solve that has not converged
    the rows of redundant contacts may contradict each other.
    """
    return jnp.maximum(error, float(jnp.finfo(error.dtype).eps ** 0.6))


def _refine(inverse: Inverse, matvec: Callable[[Array], Array], b: Array) -> Array:
    """Proximal refinement with the inverse of A + εI: converges on A's range, bounded off it."""

    def improve(_, x: Array) -> Array:
        return x + inverse(b - matvec(x))

    return lax.fori_loop(0, REFINEMENTS, improve, inverse(b))


def _guarded(
    solve: Callable[[Callable[[Array], Array], Array], Array],
    matvec: Callable[[Array], Array],
    b: Array,
) -> Array:
    """The solution, 0 where it is none. What b has outside of A's range is left as it is by any:
    A takes it away."""
    x = solve(matvec, b)
    left = matvec(b - matvec(x))
    return jnp.where(safe.norm(left) <= LOST * safe.norm(b), x, 0.0)


def by_bodies(delassus: Delassus, limit: int) -> bool:
    """Whether to factorise matrices over the bodies (6 rows each), not over the rows of N."""
    return isinstance(delassus, BodyDelassus) and 6 * delassus.bodies <= min(delassus.rows, limit)


def narrow(delassus: Delassus) -> TypeGuard[BlockSparseDelassus]:
    """Whether to factorise by the tiles of a band."""
    return isinstance(delassus, BlockSparseDelassus) and delassus.band is not None


def matrix_rows(delassus: Delassus) -> int:
    """Rows of the matrix that is factorised otherwise: six per body, or those of N if fewer."""
    bodies = isinstance(delassus, BodyDelassus)
    return min(delassus.rows, 6 * delassus.bodies) if bodies else delassus.rows


def factorised(
    system: FixedPointSystem, ridge: Array | float, symmetric: bool
) -> tuple[Inverse, Inverse]:
    """x ↦ (A + ridge · I)⁻¹ x and its transpose, by one factorisation."""
    if narrow(system.delassus):
        return _over_band(system, system.delassus, ridge, symmetric)
    if isinstance(system.delassus, BodyDelassus) and by_bodies(
        system.delassus, system.delassus.rows
    ):
        return _over_bodies(system, system.delassus, ridge, symmetric)
    return _over_rows(system, ridge, symmetric)


def _over_rows(system: FixedPointSystem, ridge: Array | float, symmetric: bool):
    coupled = system.right.transpose().columns(system.delassus.dense()).T
    coupled = system.left.columns(coupled)
    identity = jnp.eye(system.delassus.rows, dtype=coupled.dtype)
    matrix = coupled + system.complement.columns(identity) + ridge * identity
    if symmetric:
        solve = partial(cho_solve, cho_factor(matrix, lower=True))
        return solve, solve
    factors = lu_factor(matrix)
    return partial(lu_solve, factors), partial(lu_solve, factors, trans=1)


def _over_band(
    system: FixedPointSystem, delassus: BlockSparseDelassus, ridge: Array | float, symmetric: bool
) -> tuple[Inverse, Inverse]:
    left, right = system.left.blocks[delassus.row], system.right.blocks[delassus.column]
    own = system.complement.blocks + ridge * jnp.eye(3, dtype=left.dtype)
    tiles = replace(delassus, entries=left @ delassus.entries @ right).tiles(own)
    factors = band_cholesky.factorised(*tiles) if symmetric else band_lu.factorised(*tiles)
    return factors.solve, factors.solve_transposed


def _over_bodies(
    system: FixedPointSystem, delassus: BodyDelassus, ridge: Array | float, symmetric: bool
):
    """Eliminate the rows: N = W Wᵀ + E has at most six columns per body, the rest is blocks.

    (T + U Vᵀ)⁻¹ = T⁻¹ − T⁻¹ U (I + Vᵀ T⁻¹ U)⁻¹ Vᵀ T⁻¹ with T = C + L E R, U = L W, Vᵀ = Wᵀ R:
    a factorisation of size 6 × bodies instead of 3 × contacts.
    """
    left, right = system.left, system.right
    compliance = diagonal(delassus.compliance, delassus.scalar_rows.shape[0], left.width)
    local = (left @ compliance @ right).plus(system.complement, ridge).inverse()
    size = 6 * delassus.bodies
    capacitance = delassus.gram(right @ local @ left) + jnp.eye(size, dtype=left.scalars.dtype)

    def inverse(small: Inverse, local: BlockDiagonal, u: BlockDiagonal, v: BlockDiagonal):
        def apply(b: Array) -> Array:
            first = local.apply(b)
            inner = small(delassus.impulse(v.apply(first)).reshape(-1)).reshape(-1, 6)
            return first - local.apply(u.apply(delassus.velocity(inner)))

        return apply

    if symmetric:
        apply = inverse(partial(cho_solve, cho_factor(capacitance, lower=True)), local, left, right)
        return apply, apply
    factors = lu_factor(capacitance)
    forward = inverse(partial(lu_solve, factors), local, left, right)
    backward = inverse(
        partial(lu_solve, factors, trans=1),
        local.transpose(),
        right.transpose(),
        left.transpose(),
    )
    return forward, backward


def _iterative(symmetric: bool, matvec: Callable[[Array], Array], b: Array) -> Array:
    tolerance = float(50 * jnp.finfo(b.dtype).eps)
    method = cg if symmetric else bicgstab
    return method(matvec, b, tol=tolerance, maxiter=10 * b.shape[0])[0]
