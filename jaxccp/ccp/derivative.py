"""The implicit derivative of a solution: one linear solve, whatever algorithm found it.

A solution is a fixed point λ = Π_K(λ − D ũ) with D = diag(ρ) and ũ = N λ + r (plus μ‖u_t‖ e_n
under Coulomb's law). With J the symmetric Jacobian of the projection there, g its derivative in
the bounds and μ, b the derivative of ũ at fixed λ, and S = ∂ũ/∂u, the tangent is

    dλ = g + √J √D x,   [(I − J) + √D √J S N √J √D] x = √J (g − D (S N g + b)) / √D

J, D and √J act per block and commute, so the matrix is symmetric positive semidefinite for the
CCP (S = I). It is singular exactly where redundant contacts share a load; the part of λ left open
there moves no body. Memory does not depend on the number of iterations.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_factor, cho_solve, lu_factor, lu_solve
from jax.scipy.sparse.linalg import bicgstab, cg
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones, coulomb_spectrum, regions
from jaxccp.ccp.problem import Law, Problem
from jaxccp.math import safe

DENSE_ROWS = 192
"""Up to this many rows the system is factorised; above, it is solved matrix-free."""
REFINEMENTS = 4
IMPULSES = "jaxccp_impulses"
"""Checkpoint name of every solution: the one thing of a step that is costly to compute again."""


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def attach(law: Law, problem: Problem, lam: Float[Array, " n"]) -> Float[Array, " n"]:
    """``lam``, a solution of ``problem`` under ``law``, made differentiable in ``problem``."""
    return lam


@attach.defjvp
def _attach_jvp(law: Law, primals: tuple, tangents: tuple):
    problem, lam = primals
    d_problem, _ = tangents
    # Through attach again, so that second derivatives see how λ moves with the problem.
    lam = attach(law, problem, lam)
    cones = problem.cones
    rho = lax.stop_gradient(problem.step_sizes())
    u = problem.velocity(lam)
    slide = _slide_direction(problem, lam, u, rho) if law == "ncp" else None

    def corrected(p: Problem) -> Array:
        return _correct(p.cones, slide, p.velocity(lam))

    velocity, b = jax.jvp(corrected, (problem,), (d_problem,))
    z = lam - rho * velocity
    _, g = jax.jvp(lambda k: k.project(z), (cones,), (d_problem.cones,))
    times_j, times_root = _projection_jacobian(cones, z)
    root = jnp.sqrt(rho)

    def matvec(x: Array) -> Array:
        spread = problem.delassus.apply(times_root(root * x))
        return x - times_j(x) + root * times_root(_correct(cones, slide, spread))

    coupled = _correct(cones, slide, problem.delassus.apply(g))
    rhs = times_root(g / root - root * (coupled + b))
    return lam, g + root * times_root(_solve(matvec, rhs, symmetric=law == "ccp"))


def _slide_direction(problem: Problem, lam: Array, u: Array, rho: Array) -> Array:
    """μ-free direction of sliding of each contact, zero where it sticks.

    Where a contact sticks, u_t is rounding noise whose direction must not be differentiated.
    """
    _, contacts = problem.cones.split(u)
    tangent = contacts[:, 1:]
    speed = safe.norm(tangent)
    impulse = problem.cones.split(lam)[1]
    step = problem.cones.split(rho)[1][:, :1]
    normal = impulse[:, 0] - step[:, 0] * (contacts[:, 0] + problem.cones.mu * speed)
    length = safe.norm(impulse[:, 1:] - step * tangent)
    sticks, _ = regions(normal, length, problem.cones.mu)
    direction = safe.normalize(tangent, jnp.zeros(2, u.dtype))
    return jnp.where(sticks[:, None], 0.0, direction)


def _correct(cones: Cones, slide: Array | None, u: Array) -> Array:
    """u + μ (slide · u_t) e_n: De Saxcé's correction at a fixed direction of sliding.

    ‖u_t‖ and its derivative are those of slide · u_t, since a unit vector's derivative is
    perpendicular to it.
    """
    if slide is None:
        return u
    scalars, contacts = cones.split(u)
    shift = cones.mu * jnp.sum(slide * contacts[:, 1:], axis=1)
    return cones.join(scalars, contacts.at[:, 0].add(shift))


def _projection_jacobian(cones: Cones, z: Array):
    """Products with the Jacobian of the projection at ``z`` and with its square root."""
    scalars, contacts = cones.split(z)
    free = ((scalars > cones.lo) & (scalars < cones.hi)).astype(z.dtype)
    values, vectors = coulomb_spectrum(contacts, cones.mu)
    positive = values > 0
    roots = jnp.where(positive, jnp.sqrt(jnp.where(positive, values, 1.0)), 0.0)

    def product(spectrum: Array, x: Array) -> Array:
        s, c = cones.split(x)
        mixed = jnp.einsum("cij,cj,ckj,ck->ci", vectors, spectrum, vectors, c)
        return cones.join(free * s, mixed)

    return partial(product, values), partial(product, roots)


def _solve(matvec, rhs: Array, symmetric: bool) -> Array:
    n = rhs.shape[0]
    if n == 0:
        return rhs
    solve, transpose_solve = _dense(n, symmetric) if n <= DENSE_ROWS else _iterative(n, symmetric)
    return lax.custom_linear_solve(
        matvec, rhs, solve, None if symmetric else transpose_solve, symmetric=symmetric
    )


def _dense(n: int, symmetric: bool):
    """Factorise A + εI and refine: exact on the range of a singular A, bounded off it."""

    def solve(matvec, b: Array) -> Array:
        epsilon = jnp.finfo(b.dtype).eps ** 0.6
        identity = jnp.eye(n, dtype=b.dtype)
        matrix = jax.vmap(matvec)(identity).T
        if symmetric:
            factor = cho_factor(matrix + epsilon * identity, lower=True)
            inverse = partial(cho_solve, factor)
        else:
            inverse = partial(lu_solve, lu_factor(matrix + epsilon * identity))
        x = inverse(b)
        for _ in range(REFINEMENTS):
            x = x + inverse(b - matrix @ x)
        return x

    return solve, solve


def _iterative(n: int, symmetric: bool):
    def solve(matvec, b: Array) -> Array:
        tolerance = float(50 * jnp.finfo(b.dtype).eps)
        method = cg if symmetric else bicgstab
        return method(matvec, b, tol=tolerance, maxiter=10 * n)[0]

    return solve, solve
