"""The linear system of a fixed point, and its solution by factors or by Krylov methods."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.sparse.linalg import bicgstab, cg
from jaxtyping import Array, Float

from jaxccp.ccp.operators import Delassus
from jaxccp.ccp.operators.blocks import BlockDiagonal
from jaxccp.ccp.operators.factors import Factors
from jaxccp.math import safe

DENSE_ROWS = 192
"""Largest system of a derivative that is factorised; above, it is solved matrix-free."""
REFINEMENTS = 4
"""Steps of iterative refinement after a solve by factors."""
REGULAR, REDUNDANT = 0.6, 0.4
"""Powers of the machine epsilon below which the ridge does not fall, without and with redundant
rows."""
LARGEST_RIDGE = 1e-3
"""Largest ridge that an error calls for. Of a direction of strength a, refinement leaves a relative
error of (ridge / (a + ridge))⁵. Where all multipliers are 0, the relative residual of a solution
within the tolerance may be 1."""
LOST = 1e-3
"""Relative residual above which a guarded system counts as unsolved."""

Inverse = Callable[[Array], Array]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FixedPointSystem:
    """The matrix A = C + L N R with block diagonal C, L, R; symmetric for the convex law, where L =
    Rᵀ."""

    delassus: Delassus
    """N."""
    complement: BlockDiagonal
    """C."""
    left: BlockDiagonal
    """L."""
    right: BlockDiagonal
    """R."""

    def apply(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the product A x."""
        spread = self.delassus.apply(self.right.apply(x))
        return self.complement.apply(x) + self.left.apply(spread)

    def factorised(self, ridge: Array | float, symmetric: bool) -> Factors:
        """Return the factors of A + ridge · I.

        Args:
            ridge: number added to the diagonal.
            symmetric: whether the matrix is symmetric positive definite.
        """
        terms = self.left, self.right, self.complement
        return self.delassus.factorised(*terms, ridge, symmetric)


def solve_linear(
    system: FixedPointSystem,
    rhs: Float[Array, " n"],
    error: Float[Array, ""],
    symmetric: bool,
    guarded: bool = False,
    redundant: bool = False,
) -> Float[Array, " n"]:
    """Solve A x = rhs, differentiable in both; a singular consistent system is solved on its range.

    Args:
        system: A.
        rhs: the right-hand side.
        error: relative error of A's entries: the relative residual of the solution they stem from.
        symmetric: whether A is symmetric positive semidefinite.
        guarded: whether x is 0, with derivative 0 in both modes, where the solve fails.
        redundant: whether the part of rhs outside of A's range, left by rounding, matters.
    """
    n = rhs.shape[0]
    if n == 0:
        return rhs
    frozen = lax.stop_gradient(system)
    if system.delassus.factor_rows <= DENSE_ROWS:
        factors = frozen.factorised(_ridge(lax.stop_gradient(error), redundant), symmetric)
        solve, transposed = (
            partial(_refine, inverse) for inverse in (factors.solve, factors.solve_transposed)
        )
    else:
        solve = transposed = partial(_iterative, symmetric)
    if guarded:
        solve, transposed = partial(_guarded, solve), partial(_guarded, transposed)
    return lax.custom_linear_solve(
        system.apply, rhs, solve, None if symmetric else transposed, symmetric=symmetric
    )


def _ridge(error: Float[Array, ""], redundant: bool) -> Float[Array, ""]:
    """Return the number added to A's diagonal before A is factorised; refinement removes its
    effect.

    It is the error of A, at most :data:`LARGEST_RIDGE`, and suppresses directions weaker than that:
    in a solve that has not converged the rows of redundant contacts may contradict each other. What
    rounding leaves of such contradictions is divided by the ridge. A smaller ridge amplifies them,
    but makes weak directions more accurate.
    """
    power = REDUNDANT if redundant else REGULAR
    smallest = float(jnp.finfo(error.dtype).eps ** power)
    return jnp.maximum(jnp.minimum(error, LARGEST_RIDGE), smallest)


def _refine(inverse: Inverse, matvec: Callable[[Array], Array], b: Array) -> Array:
    """Refine proximally with the inverse of A + εI: this converges on A's range and is bounded off
    it."""

    def improve(_, x: Array) -> Array:
        return x + inverse(b - matvec(x))

    return lax.fori_loop(0, REFINEMENTS, improve, inverse(b))


def _guarded(
    solve: Callable[[Callable[[Array], Array], Array], Array],
    matvec: Callable[[Array], Array],
    b: Array,
) -> Array:
    """Return the solution of A x = b, or 0 if there is none.

    The residual is multiplied by A before it is judged, so the part of b outside of A's range is
    ignored.
    """
    x = solve(matvec, b)
    left = matvec(b - matvec(x))
    return jnp.where(safe.norm(left) <= LOST * safe.norm(b), x, 0.0)


def _iterative(symmetric: bool, matvec: Callable[[Array], Array], b: Array) -> Array:
    """Return the solution by CG, or by BiCGSTAB if the matrix is not symmetric."""
    tolerance = float(50 * jnp.finfo(b.dtype).eps)
    method = cg if symmetric else bicgstab
    return method(matvec, b, tol=tolerance, maxiter=10 * b.shape[0])[0]
