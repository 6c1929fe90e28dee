"""The unique load sharing of redundant contacts: the one of vanishing compliance.

The loads of redundant contacts are not determined. If these contacts slide, the motion under
Coulomb's law is not determined either: friction turns a box on four corners, depending on how its
weight is divided between them. Under the convex law the motion is determined, but its derivative
depends on the loads: they determine how much friction resists a change of the direction of sliding,
and where. Slightly compliant bodies divide a load in one way only. Give every row a compliance of
ε/ρ,

    P(c):   K ∋ λ ⟂ ũ ∈ K*,   u = N λ + r + ε (λ − c) / ρ,

solve P(0), and then P(λ) of each solution λ until N λ + r itself satisfies the law. This removes
the penetration that P(0) allowed. The loads keep the form λ = ρ J w that P(0) gave them: the
reaction of springs of stiffness ρ to a motion w of the bodies. So the limit depends neither on a
guess nor, as long as the same contacts carry loads, on ε. The steps from P to P are those of the
proximal point method (Rockafellar, SIAM J. Control Optim. 14, 1976).
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.methods.newton_step import newton_step
from jaxccp.ccp.operators.regularised import RegularisedDelassus
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Task
from jaxccp.ccp.solvers.gradient_newton import GradientNewton
from jaxccp.execution.batching import when
from jaxccp.math import safe

COMPLIANCE, SINGLE_COMPLIANCE = 1e-3, 3e-2
"""ε in double and in single precision. The rounding error of velocities is divided by ε in the
loads. Each P(λ) multiplies the part of the velocity error along an eigenvector of √ρ N √ρ with
eigenvalue x by ε / (x + ε): by about ε, and by more where masses differ."""
GRADIENT_PERIOD = 8
"""Number of Newton steps without a solution of P(c) after which gradient steps find the active set:
which contacts touch and which slide."""
GRADIENTS = GradientNewton(steps=500)
LIMIT = 60
"""Largest total number of Newton steps."""
ROUNDING, ROUGH = 1.0, 30.0
"""Residual at which P(c) is solved, in machine epsilons of the largest velocity times the square
root of the number of rows; and the factor on it where Newton's steps gain nothing more."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LoadSharing:
    """Loop state of the search for the unique load sharing of n rows."""

    lam: Float[Array, " n"]
    """λ [N s]."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""
    checkpoint: Float[Array, " n"]
    """λ from which gradient steps start again, at most ``GRADIENT_PERIOD`` Newton steps old."""
    centre: Float[Array, " n"]
    """c, the centre of the proximal problem P(c)."""
    residual: Float[Array, ""]
    """Residual of P(c) after the last step [m/s]; inf at the start of each P(c) and after gradient
    steps."""
    steps: Int[Array, ""]
    """Newton steps since ``checkpoint``."""
    iterations: Int[Array, ""]
    """Total number of Newton steps."""
    converged: Bool[Array, ""]
    """Whether N λ + r itself satisfies the law."""


def can_share_loads(problem: Problem) -> bool:
    """Return whether load sharing is defined for the problem.

    It is for two or more contacts with round cones and without rolling friction.
    """
    cones = problem.cones
    return cones.mu.shape[0] > 1 and cones.cone_type == "cone" and cones.rolling is None


def loads_matter(
    problem: Problem, lam: Float[Array, " n"], u: Float[Array, " n"], tolerance: Float[Array, ""]
) -> Bool[Array, ""]:
    """Return whether the motion or its derivative may depend on the load sharing.

    It may if more than two contacts carry loads and any of them slides. It does not if all of them
    stick.

    Args:
        problem: n rows.
        lam: a solution [N s].
        u: velocities of that solution [m/s].
        tolerance: tolerance of the residual [m/s]; contacts faster than ten times that slide.
    """
    _, impulses = problem.cones.split(lam)
    _, velocities = problem.cones.split(u)
    loaded = impulses[:, 0] > 0
    slips = loaded & (problem.cones.mu > 0) & (safe.norm(velocities[:, 1:]) > 10 * tolerance)
    return jnp.any(slips) & (jnp.sum(loaded) > 2)


def share(
    problem: Problem,
    lam: Float[Array, " n"],
    n_lam: Float[Array, " n"],
    tolerance: Float[Array, ""],
    enabled: Bool[Array, ""],
    law: Law,
) -> LoadSharing:
    """Return the solution with the load sharing of vanishing compliance, starting from any
    solution.

    Args:
        problem: n rows, for which :func:`can_share_loads` holds.
        lam: any solution [N s].
        n_lam: its N λ [m/s].
        tolerance: tolerance of the residual [m/s]. The search goes on to a tenth of it, or less far
            if rounding is near.
        enabled: whether to search at all.
        law: the law of the solution.
    """
    rho, eps = problem.step_sizes(), float(jnp.finfo(lam.dtype).eps)
    compliance = (COMPLIANCE if eps < 1e-10 else SINGLE_COMPLIANCE) / rho
    tight = ROUNDING * eps * len(lam) ** 0.5 * problem.scale()
    enough = jnp.clip(10 * tight, 0.1 * tolerance, tolerance)
    operator = RegularisedDelassus(problem.delassus, compliance)

    def regularised_task(centre: Array) -> Task:
        regularised = replace(problem, delassus=operator, r=problem.r - compliance * centre)
        return Task(
            problem=regularised, rho=rho, tolerance=tolerance, data=None, turn=jnp.int32(0), law=law
        )

    def residual(lam: Array, n_lam: Array, centre: Array) -> Array:
        return problem.max_residual(lam, n_lam + compliance * (lam - centre), rho, law)

    def gradient_steps(state: LoadSharing, task: Task) -> Array:
        task = task.with_data(GRADIENTS.prepare(task.problem, rho))
        begin = GRADIENTS.init(task, state.checkpoint, operator.apply(state.checkpoint))
        return GRADIENTS.candidate(task, GRADIENTS.gradient_steps(task, begin))[0]

    def running(state: LoadSharing) -> Array:
        return enabled & ~state.converged & (state.iterations < LIMIT)

    def body(state: LoadSharing) -> LoadSharing:
        task, astray = regularised_task(state.centre), state.steps >= GRADIENT_PERIOD
        lam = when(astray, lambda: gradient_steps(state, task), state.lam)
        checkpoint, steps = (
            jnp.where(astray, lam, state.checkpoint),
            jnp.where(astray, 0, state.steps) + 1,
        )
        lam = newton_step(task, lam, operator.apply(lam))
        n_lam = problem.delassus.apply(lam)
        remaining = residual(lam, n_lam, state.centre)
        stalled = (remaining > 0.5 * state.residual) & (remaining <= ROUGH * tight)
        solved = (remaining <= tight) | stalled
        return LoadSharing(
            lam=lam,
            n_lam=n_lam,
            checkpoint=jnp.where(solved, lam, checkpoint),
            centre=jnp.where(solved, lam, state.centre),
            residual=jnp.where(solved | astray, jnp.inf, remaining),
            steps=jnp.where(solved, 0, steps),
            iterations=state.iterations + 1,
            converged=solved & (residual(lam, n_lam, lam) <= enough),
        )

    infinite, zero, false = jnp.full((), jnp.inf, lam.dtype), jnp.int32(0), jnp.asarray(False)
    start = LoadSharing(
        lam=lam,
        n_lam=n_lam,
        checkpoint=lam,
        centre=jnp.zeros_like(lam),
        residual=infinite,
        steps=zero,
        iterations=zero,
        converged=false,
    )
    return lax.while_loop(running, body, start)


def can_open(
    problem: Problem, lam: Float[Array, " n"], tolerance: Float[Array, ""]
) -> Bool[Array, ""]:
    """Return whether contacts that carry loads could open instead, with all other impulses
    unchanged.

    If friction turns bodies into each other faster than normal impulses separate them (Painlevé), a
    load closes its own contact. Without these loads the contacts open. This is another solution if
    it satisfies Coulomb's law.

    Args:
        problem: n rows.
        lam: a solution under Coulomb's law [N s].
        tolerance: smallest closing velocity of such a contact, and largest residual of the other
            solution [m/s].
    """
    cones, rho = problem.cones, problem.step_sizes()
    scalars, contacts = cones.split(lam)
    _, blocks = problem.delassus.blocks(cones.lo.shape[0], cones.width)
    jams = jnp.einsum("cj,cj->c", blocks[:, 0], contacts) < -tolerance
    opened = cones.join(scalars, jnp.where(jams[:, None], 0.0, contacts))
    u = problem.corrected(problem.velocity(opened), "ncp")
    return jnp.any(jams) & (jnp.max(problem.residual(opened, u, rho), initial=0.0) <= tolerance)
