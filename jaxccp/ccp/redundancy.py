"""The unique load sharing of redundant contacts: that of vanishing compliance.

Where contacts are redundant their loads are not determined, and where they slide as well, neither
is the motion under Coulomb's law: friction turns a box on four corners as its weight is divided
between them. Under the convex law it is the derivative of the motion that loads decide on: how much
friction resists a change of the direction of sliding, and where. Bodies that are a little soft
divide a load in one way. Let every row yield at ε/ρ times its impulse,

    P(c):   K ∋ λ ⟂ ũ ∈ K*,   u = N λ + r + ε (λ − c) / ρ,

solve P(0), and then P(λ) of each solution λ until N λ + r itself obeys the law. The penetration
that P(0) allowed is taken back, and the loads keep the form λ = ρ J w that it gave them: the
reaction of springs of stiffness ρ to a motion w of the bodies. So the limit depends neither on ε,
as long as the same contacts carry, nor on a guess. The steps from P to P are those of the proximal
point method (Rockafellar, SIAM J. Control Optim. 14, 1976).
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.operators.regularised import RegularisedDelassus
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Task
from jaxccp.ccp.solvers.gradient_newton import GradientNewton, newton_step
from jaxccp.math import safe
from jaxccp.math.batching import when

COMPLIANCE, SINGLE_COMPLIANCE = 1e-3, 3e-2
"""ε in double and in single precision. It divides the rounding of velocities into that of loads;
each P(λ) multiplies what is left of it in velocities by it, or by ε / (1 + ε) and more where masses
differ."""
GRADIENT_PERIOD = 8
"""Newton steps without a solution of P(c) after which gradient steps find what touches and
slides."""
GRADIENTS = GradientNewton(steps=500)
LIMIT = 60
"""Newton steps in all."""
ROUNDING, ROUGH = 1.0, 30.0
"""Residual at which P(c) is solved, in machine epsilons of the largest velocity times the root of
the number of rows; and the factor on it where Newton's steps no longer gain anything."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LoadSharing:
    """Multipliers of n rows on the way to the unique load sharing."""

    lam: Float[Array, " n"]
    """λ [N s]."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""
    checkpoint: Float[Array, " n"]
    """λ before the last GRADIENT_PERIOD Newton steps at most."""
    centre: Float[Array, " n"]
    """c, the centre of the proximal problem P(c)."""
    residual: Float[Array, ""]
    """Residual of P(c) before the last step [m/s]."""
    steps: Int[Array, ""]
    """Newton steps since ``checkpoint``."""
    iterations: Int[Array, ""]
    """Newton steps in all."""
    converged: Bool[Array, ""]
    """Whether N λ + r itself obeys the law."""


def can_share_loads(problem: Problem) -> bool:
    """Return whether a problem has several contacts with round cones of three rows, the kind of
    which loads can be shared."""
    cones = problem.cones
    return cones.mu.shape[0] > 1 and cones.cone_type == "cone" and cones.rolling is None


def loads_matter(
    problem: Problem, lam: Float[Array, " n"], u: Float[Array, " n"], tolerance: Float[Array, ""]
) -> Bool[Array, ""]:
    """Return whether the motion or its derivative may depend on how loads are shared.

    It may where more than two contacts carry loads and one of them slides; where all of them stick
    it does not.

    Args:
        problem: n rows.
        lam: a solution [N s].
        u: its velocities [m/s].
        tolerance: tolerance of the residual [m/s]; ten times that counts as sliding.
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
    """Turn a solution into the one whose loads are shared as those of vanishing compliance.

    Args:
        problem: n rows, for which :func:`can_share_loads` holds.
        lam: the solution.
        n_lam: N λ of it.
        tolerance: the residual is to be a tenth of it [m/s], or itself where rounding is near.
        enabled: where it is false nothing is done.
        law: the law of the solution.
    """
    rho, eps = problem.step_sizes(), float(jnp.finfo(lam.dtype).eps)
    compliance = (COMPLIANCE if eps < 1e-10 else SINGLE_COMPLIANCE) / rho
    tight = ROUNDING * eps * len(lam) ** 0.5 * problem.scale()
    enough = jnp.clip(10 * tight, 0.1 * tolerance, tolerance)
    operator = RegularisedDelassus(problem.delassus, compliance)

    def regularised_task(centre: Array) -> Task:
        regularised = replace(problem, delassus=operator, r=problem.r - compliance * centre)
        return Task(regularised, rho, tolerance, None, law)

    def residual(lam: Array, n_lam: Array, centre: Array) -> Array:
        u = problem.corrected(n_lam + problem.r + compliance * (lam - centre), law)
        return jnp.max(problem.residual(lam, u, rho), initial=0.0)

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
            lam,
            n_lam,
            jnp.where(solved, lam, checkpoint),
            jnp.where(solved, lam, state.centre),
            jnp.where(solved | astray, jnp.inf, remaining),
            jnp.where(solved, 0, steps),
            state.iterations + 1,
            solved & (residual(lam, n_lam, lam) <= enough),
        )

    infinite, zero, false = jnp.full((), jnp.inf, lam.dtype), jnp.int32(0), jnp.asarray(False)
    start = LoadSharing(lam, n_lam, lam, jnp.zeros_like(lam), infinite, zero, zero, false)
    return lax.while_loop(running, body, start)


def can_open(
    problem: Problem, lam: Float[Array, " n"], tolerance: Float[Array, ""]
) -> Bool[Array, ""]:
    """Return whether contacts that carry loads could open instead, all others unchanged.

    Where friction turns bodies into each other more than normal impulses part them (Painlevé), a
    load brings its own surfaces together. Without such loads the contacts open; if that obeys
    Coulomb's law it is another solution.

    Args:
        problem: n rows.
        lam: a solution under Coulomb's law [N s].
        tolerance: approach that counts, and residual at which Coulomb's law is obeyed [m/s].
    """
    cones, rho = problem.cones, problem.step_sizes()
    scalars, contacts = cones.split(lam)
    _, blocks = problem.delassus.blocks(cones.lo.shape[0], cones.width)
    jams = jnp.einsum("cj,cj->c", blocks[:, 0], contacts) < -tolerance
    opened = cones.join(scalars, jnp.where(jams[:, None], 0.0, contacts))
    u = problem.corrected(problem.velocity(opened), "ncp")
    return jnp.any(jams) & (jnp.max(problem.residual(opened, u, rho), initial=0.0) <= tolerance)
