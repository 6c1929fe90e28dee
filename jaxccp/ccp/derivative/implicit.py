"""The implicit derivative of a solution: one linear solve, for any algorithm.

A solution is a fixed point λ = Π_K(λ − D ũ) with D = diag(ρ) and ũ = N λ + r (plus μ‖u_t‖ e_n
under Coulomb's law). With J the symmetric Jacobian of the projection there, g its derivative in
the bounds and μ, b the derivative of ũ at fixed λ, S = ∂ũ/∂u and G = √J √D, the tangent is

    dλ = g + G x,   [(I − J) + G S N G] x = G (g / D − S N g − b)

J, D and √J act per block and commute, so the matrix is symmetric positive semidefinite for the
CCP (S = I). It is singular exactly where redundant contacts share a load; the part of λ left open
there moves no body. Memory does not depend on the number of iterations.

Relaxed (:class:`jaxccp.ccp.derivative.Relaxed`), Π_K and De Saxcé's shift are rounded in all of
this, and z = λ − D ũ stays that of the solution: the derivative is that of the relaxed problem
whose fixed point has this z.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.consistency import made_consistent
from jaxccp.ccp.derivative.gradient import Relaxed
from jaxccp.ccp.derivative.linear import FixedPointSystem, solve_linear
from jaxccp.ccp.derivative.linearization import projection_blocks, shear, sliding
from jaxccp.ccp.operators.blocks import BlockDiagonal
from jaxccp.ccp.problem import Law, Problem
from jaxccp.math import safe

IMPULSES = "jaxccp_impulses"
"""Checkpoint name of every solution, the one part of a step that is costly to compute again."""


@partial(jax.custom_jvp, nondiff_argnums=(0, 3, 4, 5))
def attach(
    law: Law,
    problem: Problem,
    lam: Float[Array, " n"],
    guarded: bool = False,
    relaxed: Relaxed | None = None,
    unique: bool = False,
) -> Float[Array, " n"]:
    """Return ``lam``, a solution of ``problem`` under ``law``, made differentiable in ``problem``.

    Args:
        law: the law of contact.
        problem: n rows.
        lam: the solution [N·s].
        guarded: whether a linear system of the derivative that cannot be solved has the solution 0.
        relaxed: the relaxation of the cones in the derivative, None for the plain one.
        unique: whether redundant contacts share loads as those of vanishing compliance do.
    """
    return lam


@attach.defjvp
def _attach_jvp(
    law: Law,
    guarded: bool,
    relaxed: Relaxed | None,
    unique: bool,
    primals: tuple,
    tangents: tuple,
):
    problem, lam = primals
    d_problem, _ = tangents
    # Through attach again, so that second derivatives include the change of λ.
    lam = attach(law, problem, lam, guarded, relaxed, unique)
    frozen = lax.stop_gradient(problem)
    rho = frozen.step_sizes() if relaxed is None else frozen.normal_masses()

    def rounded(cones: Cones) -> Cones:
        return cones if relaxed is None else relaxed.of(cones, rho)

    cones = rounded(problem.cones)
    # Under the convex law λ has its shared loads already; their change has no effect on velocities.
    unique = unique and law == "ncp" and relaxed is None
    velocity, d_velocity = jax.jvp(lambda p: p.velocity(lam), (problem,), (d_problem,))
    velocity = problem.corrected(velocity, law)
    z = lam - rho * velocity
    slope, sliding_velocity = sliding(cones, z, rho)
    if law == "ccp":
        slope, sliding_velocity = jnp.zeros_like(slope), jnp.zeros_like(sliding_velocity)
    sheared = shear(cones, slope)
    primal_and_tangent = (problem.cones,), (d_problem.cones,)
    _, d_shift = jax.jvp(
        lambda k: rounded(k).section.shift(sliding_velocity, k.mu), *primal_and_tangent
    )
    b = cones.add_normal(sheared.apply(d_velocity), d_shift)
    _, g = jax.jvp(lambda k: rounded(k).project(z), *primal_and_tangent)
    complement, gain = projection_blocks(cones, z, rho)
    if unique:
        # Scaled so that x is as long as the displacement of its rows under compliance: the smallest
        # part of x in the kernel is then that of vanishing compliance.
        slides = jnp.any(slope != 0, axis=1)
        unit = jnp.where(slides, jnp.sqrt(1.0 + cones.mu * cones.mu), 1.0)
        unit = cones.spread(jnp.ones_like(cones.lo), lax.stop_gradient(unit))
        complement, gain = complement.scaled(unit * unit), gain.scaled(unit)
    # A row that cannot be satisfied says nothing of the error of the others.
    r, allowed = frozen.r, made_consistent(frozen).r
    allowed_velocity = velocity + jnp.where(allowed == r, 0.0, allowed - r)
    error = jnp.max(problem.residual(lam, allowed_velocity, rho), initial=0.0)
    error = safe.divide(error, _largest_loaded(frozen, lax.stop_gradient(cones.project(z))))
    system = FixedPointSystem(problem.delassus, complement, gain @ sheared, gain)
    coupled = sheared.apply(problem.delassus.apply(g))
    rhs = gain.apply(g / rho - coupled - b)
    solve = partial(
        solve_linear, error=error, symmetric=law == "ccp", guarded=guarded, redundant=unique
    )
    if unique:
        return lam, g + gain.apply(
            _solve_with_shared_loads(problem, d_problem, lam, g, sheared, system, rhs, solve)
        )
    return lam, g + gain.apply(solve(system, rhs))


def _solve_with_shared_loads(
    problem: Problem,
    d_problem: Problem,
    lam: Array,
    g: Array,
    sheared: BlockDiagonal,
    system: FixedPointSystem,
    rhs: Array,
    solve: Callable[[FixedPointSystem, Array], Array],
) -> Array:
    """Return x of A x = rhs, with its part in the kernel of A from load sharing by vanishing
    compliance.

    There λ/ρ = N y on rows that carry loads, and so dλ/ρ = dN y − λ d(1/ρ) + N dy.
    """
    gain, rho = system.right, lax.stop_gradient(problem).step_sizes()
    y = gain.apply(solve(system, gain.apply(sheared.apply(lam / rho))))

    def deflection_error(p: Problem) -> Array:
        return p.delassus.apply(y) - lam / p.step_sizes()

    _, d_error = jax.jvp(deflection_error, (problem,), (d_problem,))
    # Any x with the right part in the kernel of A will do; the solve corrects the rest.
    local = system.complement.plus(system.left.scaled(1.0 / rho) @ gain, 0.0)
    inverse = jax.tree.map(lambda x: jnp.where(jnp.isfinite(x), x, 0.0), local.inverse())
    open_part = inverse.apply(gain.apply(sheared.apply(d_error - g / rho)))
    return open_part + solve(system, rhs - system.apply(open_part))


def _largest_loaded(problem: Problem, lam: Array) -> Float[Array, ""]:
    """Return the largest velocity r that multipliers cancel or must cancel [m/s], the unit of the
    error of a solution.

    A contact that slides under the convex law is loaded although its r separates it; a distant
    limit, whose r may be far larger, is not.

    Args:
        problem: the problem.
        lam: its solution, projected onto the cones: 0 where a row is open.
    """
    scalars, contacts = problem.cones.split(problem.r)
    loads, impulses = problem.cones.split(lam)
    loaded = jnp.where(loads != 0, jnp.abs(scalars), 0.0)
    touching = jnp.where(jnp.any(impulses != 0, axis=1), safe.norm(contacts), 0.0)
    largest = jnp.max(jnp.concatenate([loaded, touching]), initial=0.0)
    return jnp.maximum(largest, problem.largest_cancelled())
