"""The linear system of a solution's derivative, and three ways to solve it."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve
from jax.scipy.sparse.linalg import bicgstab, cg
from jaxtyping import Array, Float

from jaxccp.ccp.delassus import BodyDelassus, Delassus
from jaxccp.math import linear3

DENSE_ROWS = 192
"""Largest system that is factorised; above, it is solved matrix-free."""
REFINEMENTS = 4


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BlockDiagonal:
    """One number per scalar row and one 3 × 3 block per contact."""

    scalars: Float[Array, " s"]
    blocks: Float[Array, "c 3 3"]

    def apply(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        s = self.scalars.shape[0]
        contacts = jnp.einsum("cij,cj->ci", self.blocks, x[s:].reshape(-1, 3))
        return jnp.concatenate([self.scalars * x[:s], contacts.reshape(-1)])

    def transpose(self) -> "BlockDiagonal":
        return BlockDiagonal(self.scalars, jnp.swapaxes(self.blocks, 1, 2))

    def __matmul__(self, other: "BlockDiagonal") -> "BlockDiagonal":
        return BlockDiagonal(self.scalars * other.scalars, self.blocks @ other.blocks)

    def plus(self, other: "BlockDiagonal", shift: Array | float) -> "BlockDiagonal":
        """self + other + shift · I."""
        identity = shift * jnp.eye(3, dtype=self.blocks.dtype)
        return BlockDiagonal(
            self.scalars + other.scalars + shift, self.blocks + other.blocks + identity
        )

    def inverse(self) -> "BlockDiagonal":
        return BlockDiagonal(1.0 / self.scalars, linear3.inverse(self.blocks))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FixedPointSystem:
    """A = (I − J) + G S N G; G symmetric, S = I for the convex law."""

    delassus: Delassus
    complement: BlockDiagonal
    """I − J."""
    gain: BlockDiagonal
    """G."""
    shear: BlockDiagonal
    """S."""
    error: Float[Array, ""]
    """Relative residual of the solution A was formed at: what is known of its entries."""

    def apply(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        spread = self.delassus.apply(self.gain.apply(x))
        return self.complement.apply(x) + self.gain.apply(self.shear.apply(spread))


def solve_linear(
    system: FixedPointSystem, rhs: Float[Array, " n"], symmetric: bool
) -> Float[Array, " n"]:
    """A x = rhs, differentiable in both; a singular consistent system is solved on its range."""
    n = rhs.shape[0]
    if n == 0:
        return rhs
    delassus = system.delassus
    if isinstance(delassus, BodyDelassus) and 6 * delassus.bodies < min(n, DENSE_ROWS):
        solve, transpose_solve = _by_bodies(lax.stop_gradient(system), delassus, symmetric)
    elif n <= DENSE_ROWS:
        solve = transpose_solve = partial(_dense, symmetric, _ridge(system.error))
    else:
        solve = transpose_solve = partial(_iterative, symmetric)
    return lax.custom_linear_solve(
        system.apply, rhs, solve, None if symmetric else transpose_solve, symmetric=symmetric
    )


def _ridge(error: Float[Array, ""]) -> Float[Array, ""]:
    """What is added to A's diagonal before it is factorised; refinement takes it out again.

    Directions weaker than the error of A itself are left out: at a solve that has not converged
    the rows of redundant contacts may contradict each other.
    """
    return jnp.maximum(lax.stop_gradient(error), float(jnp.finfo(error.dtype).eps ** 0.6))


def _refine(matvec, inverse, b: Array) -> Array:
    """Proximal refinement with the inverse of A + εI: converges on A's range, bounded off it."""

    def improve(_, x: Array) -> Array:
        return x + inverse(b - matvec(x))

    return lax.fori_loop(0, REFINEMENTS, improve, inverse(b))


def _dense(symmetric: bool, ridge: Array, matvec, b: Array) -> Array:
    identity = jnp.eye(b.shape[0], dtype=b.dtype)
    matrix = jax.vmap(matvec)(identity).T
    shifted = matrix + ridge * identity
    if symmetric:
        inverse = partial(cho_solve, cho_factor(shifted, lower=True))
    else:
        inverse = partial(lu_solve, lu_factor(shifted))
    return _refine(lambda x: matrix @ x, inverse, b)


def _by_bodies(system: FixedPointSystem, delassus: BodyDelassus, symmetric: bool):
    """Eliminate the rows: N = W Wᵀ + E has at most six columns per body, T = the rest is blocks.

    (T + U Vᵀ)⁻¹ by the Woodbury identity with U = G S W, V = G W: a factorisation of size
    6 × bodies instead of 3 × contacts.
    """
    compliance = delassus.compliance
    s = delassus.scalar_rows.shape[0]
    e = BlockDiagonal(compliance[:s], jax.vmap(jnp.diag)(compliance[s:].reshape(-1, 3)))
    gain, weighted = system.gain, system.gain @ system.shear
    local = (weighted @ e @ gain).plus(system.complement, _ridge(system.error)).inverse()
    factor = delassus.factor()
    u = jax.vmap(weighted.apply, 1, 1)(factor)
    v = u if symmetric else jax.vmap(gain.apply, 1, 1)(factor)
    local_u = jax.vmap(local.apply, 1, 1)(u)
    capacitance = jnp.eye(u.shape[1], dtype=u.dtype) + v.T @ local_u
    if symmetric:
        small = partial(cho_solve, cho_factor(capacitance, lower=True))
        return (lambda matvec, b: _refine(matvec, _woodbury(local, local_u, small, u), b)), None
    lu = lu_factor(capacitance)
    local_v = jax.vmap(local.transpose().apply, 1, 1)(v)
    forward = _woodbury(local, local_u, partial(lu_solve, lu), v)
    backward = _woodbury(local.transpose(), local_v, partial(lu_solve, lu, trans=1), u)
    return (
        lambda matvec, b: _refine(matvec, forward, b),
        lambda matvec, b: _refine(matvec, backward, b),
    )


def _woodbury(local: BlockDiagonal, local_u: Array, small, v: Array):
    """b ↦ (T + U Vᵀ)⁻¹ b with T⁻¹, T⁻¹U and (I + VᵀT⁻¹U)⁻¹ given."""

    def inverse(b: Array) -> Array:
        first = local.apply(b)
        return first - local_u @ small(v.T @ first)

    return inverse


def _iterative(symmetric: bool, matvec, b: Array) -> Array:
    tolerance = float(50 * jnp.finfo(b.dtype).eps)
    method = cg if symmetric else bicgstab
    return method(matvec, b, tol=tolerance, maxiter=10 * b.shape[0])[0]
