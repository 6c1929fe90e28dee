"""The implicit derivative of a solution: one linear solve, whatever algorithm found it.

A solution is a fixed point λ = Π_K(λ − D ũ) with D = diag(ρ) and ũ = N λ + r (plus μ‖u_t‖ e_n
under Coulomb's law). With J the symmetric Jacobian of the projection there, g its derivative in
the bounds and μ, b the derivative of ũ at fixed λ, S = ∂ũ/∂u and G = √J √D, the tangent is

    dλ = g + G x,   [(I − J) + G S N G] x = G (g / D − S N g − b)

J, D and √J act per block and commute, so the matrix is symmetric positive semidefinite for the
CCP (S = I). It is singular exactly where redundant contacts share a load; the part of λ left open
there moves no body. Memory does not depend on the number of iterations.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones, coulomb_spectrum, regions
from jaxccp.ccp.linear import BlockDiagonal, FixedPointSystem, solve_linear
from jaxccp.ccp.problem import Law, Problem
from jaxccp.math import safe

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
    velocity, d_velocity = jax.jvp(lambda p: p.velocity(lam), (problem,), (d_problem,))
    if law == "ncp":
        velocity = _raised(cones, velocity, problem.de_saxce(velocity))
    z = lam - rho * velocity
    direction, speed = _sliding(law, cones, z, rho)
    shear = _shear(cones, direction)
    b = _raised(cones, shear.apply(d_velocity), d_problem.cones.mu * speed)
    _, g = jax.jvp(lambda k: k.project(z), (cones,), (d_problem.cones,))
    complement, gain = _projection_blocks(cones, z, rho)
    error = jnp.max(problem.residual(lam, velocity, rho), initial=0.0)
    error = safe.divide(error, problem.scale())
    system = FixedPointSystem(problem.delassus, complement, gain, shear, error)
    coupled = shear.apply(problem.delassus.apply(g))
    x = solve_linear(system, gain.apply(g / rho - coupled - b), symmetric=law == "ccp")
    return lam, g + gain.apply(x)


def _raised(cones: Cones, x: Float[Array, " n"], by: Float[Array, " c"]) -> Float[Array, " n"]:
    """``x`` with ``by`` added to the contacts' normal rows."""
    scalars, contacts = cones.split(x)
    return cones.join(scalars, contacts.at[:, 0].add(by))


def _sliding(
    law: Law, cones: Cones, z: Float[Array, " n"], rho: Float[Array, " n"]
) -> tuple[Float[Array, "c 2"], Float[Array, " c"]]:
    """Direction and speed at which contacts slide under Coulomb's law; both 0 where they stick.

    De Saxcé's shift μ‖u_t‖ has the derivative of μ (direction · u_t), since a unit vector's
    derivative is perpendicular to it. Where a contact sticks, u_t is rounding noise whose
    direction must not be differentiated.

    Both are read off z, not u. At a solution that is the same. Near one only this makes the row
    of the normal impulse exactly that of the normal velocity; redundant contacts, whose rows
    depend on each other, would else be told apart by nothing but the solver's error.
    """
    if law == "ccp":
        return jnp.zeros((*cones.mu.shape, 2), z.dtype), jnp.zeros_like(cones.mu)
    _, contacts = cones.split(z)
    _, projected = cones.split(cones.project(z))
    _, steps = cones.split(rho)
    tangent, length = contacts[:, 1:], safe.norm(contacts[:, 1:])
    sticks, _ = regions(contacts[:, 0], length, cones.mu)
    direction = safe.normalize(-tangent, jnp.zeros(2, z.dtype))
    speed = (length - safe.norm(projected[:, 1:])) / steps[:, 0]
    return jnp.where(sticks[:, None], 0.0, direction), jnp.where(sticks, 0.0, speed)


def _shear(cones: Cones, direction: Float[Array, "c 2"]) -> BlockDiagonal:
    """S = I + μ e_n (0, direction)ᵀ, the derivative of De Saxcé's velocity in the plain one."""
    normal_row = jnp.pad(cones.mu[:, None] * direction, ((0, 0), (1, 0)))
    identity = jnp.broadcast_to(jnp.eye(3, dtype=normal_row.dtype), (*cones.mu.shape, 3, 3))
    return BlockDiagonal(jnp.ones_like(cones.lo), identity.at[:, 0].add(normal_row))


def _projection_blocks(cones: Cones, z: Array, rho: Array) -> tuple[BlockDiagonal, BlockDiagonal]:
    """I − J and G = √J √D, J the Jacobian of the projection at ``z``."""
    scalars, contacts = cones.split(z)
    free = ((scalars > cones.lo) & (scalars < cones.hi)).astype(z.dtype)
    values, vectors = coulomb_spectrum(contacts, cones.mu)
    positive = values > 0
    roots = jnp.where(positive, jnp.sqrt(jnp.where(positive, values, 1.0)), 0.0)
    steps, blocks = cones.split(jnp.sqrt(rho))

    def assemble(spectrum: Array) -> Array:
        return jnp.einsum("cij,cj,ckj->cik", vectors, spectrum, vectors)

    return (
        BlockDiagonal(1.0 - free, assemble(1.0 - values)),
        BlockDiagonal(free * steps, blocks[:, :1, None] * assemble(roots)),
    )
