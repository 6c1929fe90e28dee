"""The one load sharing of redundant contacts: that of vanishing compliance.

Where contacts are redundant their loads are open, and where they slide as well, the motion with
them under Coulomb's law: friction turns a box on four corners as its weight is divided between
them. Under the convex law it is the derivative of the motion that loads decide on: how much
friction resists a change of the direction of sliding, and where. Bodies that are a little soft
divide a load in one way. Let every row yield at ε/ρ times its impulse,

    P(c):   K ∋ λ ⟂ ũ ∈ K*,   u = N λ + r + ε (λ − c) / ρ,

solve P(0), and then P(λ) of each solution λ until N λ + r itself obeys the law. What P(0) pressed
in comes out again, and the loads keep the form λ = ρ J w that it gave them: the reaction of springs
of stiffness ρ to a motion w of the bodies. So the limit depends neither on ε, as long as the same
contacts carry, nor on a guess. The steps from P to P are those of the proximal point method
(Rockafellar, SIAM J. Control Optim. 14, 1976).
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.operators.yielding import YieldingDelassus
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Task
from jaxccp.ccp.solvers.gradient_newton import GradientNewton, newton_step
from jaxccp.math import safe
from jaxccp.math.batching import when

COMPLIANCE, SINGLE_COMPLIANCE = 1e-3, 3e-2
"""ε. It divides the rounding of velocities into that of loads; each P(λ) multiplies by it, or by
ε / (1 + ε) and more where masses differ, what is left of it in velocities."""
PATIENCE = 8
"""Newton steps without a solution of P(c) after which gradients find what touches and slides."""
GRADIENTS = GradientNewton(steps=500)
LIMIT = 60
"""Newton steps in all."""
ROUNDING, ROUGH = 1.0, 30.0
"""Residual at which P(c) is solved, in machine epsilons of the largest velocity times the root of
the number of rows; and how many times that it may be where Newton's steps gain nothing."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sharing:
    """Multipliers of n rows on the way to sharing their load."""

    lam: Float[Array, " n"]
    n_lam: Float[Array, " n"]
    begun: Float[Array, " n"]
    """λ before the last PATIENCE Newton steps at most."""
    centre: Float[Array, " n"]
    """c."""
    residual: Float[Array, ""]
    """Of P(c) before the last step [m/s]."""
    steps: Int[Array, ""]
    """Newton steps from ``begun``."""
    iterations: Int[Array, ""]
    """Newton steps in all."""
    found: Bool[Array, ""]
    """Whether it has come to its end."""


def shareable(problem: Problem) -> bool:
    """Whether there are contacts to share a load, of the kind that this can do."""
    cones = problem.cones
    return cones.mu.shape[0] > 1 and cones.cone_type == "cone" and cones.rolling is None


def slides_redundantly(
    problem: Problem, lam: Float[Array, " n"], u: Float[Array, " n"], tolerance: Float[Array, ""]
) -> Bool[Array, ""]:
    """Whether the motion or its derivative may depend on how loads are shared: contacts carry some,
    and one of them slides. Where all of them stick they do not."""
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
    wanted: Bool[Array, ""],
    law: Law,
) -> Sharing:
    """Turn a solution into the one whose loads are shared as said above.

    Args:
        problem: n rows, :func:`shareable`.
        lam: the solution.
        n_lam: N times that.
        tolerance: the residual is to be a tenth of it [m/s], or itself where rounding is near.
        wanted: if not, nothing is done.
        law: that of the solution.
    """
    rho, eps = problem.step_sizes(), float(jnp.finfo(lam.dtype).eps)
    yields = (COMPLIANCE if eps < 1e-10 else SINGLE_COMPLIANCE) / rho
    tight = ROUNDING * eps * len(lam) ** 0.5 * problem.scale()
    enough = jnp.clip(10 * tight, 0.1 * tolerance, tolerance)
    soft = YieldingDelassus(problem.delassus, yields)

    def yielding(centre: Array) -> Task:
        here = replace(problem, delassus=soft, r=problem.r - yields * centre)
        return Task(here, rho, tolerance, None, law)

    def residual(lam: Array, n_lam: Array, centre: Array) -> Array:
        u = problem.corrected(n_lam + problem.r + yields * (lam - centre), law)
        return jnp.max(problem.residual(lam, u, rho), initial=0.0)

    def descended(now: Sharing, task: Task) -> Array:
        task = task.with_data(GRADIENTS.prepare(task.problem, rho))
        begin = GRADIENTS.init(task, now.begun, soft.apply(now.begun))
        return GRADIENTS.candidate(task, GRADIENTS.descended(task, begin))[0]

    def running(now: Sharing) -> Array:
        return wanted & ~now.found & (now.iterations < LIMIT)

    def body(now: Sharing) -> Sharing:
        task, astray = yielding(now.centre), now.steps >= PATIENCE
        lam = when(astray, lambda: descended(now, task), now.lam)
        begun, steps = jnp.where(astray, lam, now.begun), jnp.where(astray, 0, now.steps) + 1
        lam = newton_step(task, lam, soft.apply(lam))
        n_lam = problem.delassus.apply(lam)
        left = residual(lam, n_lam, now.centre)
        idle = (left > 0.5 * now.residual) & (left <= ROUGH * tight)
        settled = (left <= tight) | idle
        return Sharing(
            lam,
            n_lam,
            jnp.where(settled, lam, begun),
            jnp.where(settled, lam, now.centre),
            jnp.where(settled | astray, jnp.inf, left),
            jnp.where(settled, 0, steps),
            now.iterations + 1,
            settled & (residual(lam, n_lam, lam) <= enough),
        )

    far, none, no = jnp.full((), jnp.inf, lam.dtype), jnp.int32(0), jnp.asarray(False)
    start = Sharing(lam, n_lam, lam, jnp.zeros_like(lam), far, none, none, no)
    return lax.while_loop(running, body, start)


def may_open(
    problem: Problem, lam: Float[Array, " n"], tolerance: Float[Array, ""]
) -> Bool[Array, ""]:
    """Whether contacts that carry loads could open instead, all others being as they are.

    Where friction turns bodies into each other more than normal impulses part them (Painlevé), a
    load brings its own surfaces together, by more than ``tolerance`` [m/s]. Without such loads the
    contacts open; if that obeys Coulomb's law, to the same tolerance, it is another solution.
    """
    cones, rho = problem.cones, problem.step_sizes()
    scalars, contacts = cones.split(lam)
    _, blocks = problem.delassus.blocks(cones.lo.shape[0], cones.width)
    jams = jnp.einsum("cj,cj->c", blocks[:, 0], contacts) < -tolerance
    other = cones.join(scalars, jnp.where(jams[:, None], 0.0, contacts))
    u = problem.corrected(problem.velocity(other), "ncp")
    return jnp.any(jams) & (jnp.max(problem.residual(other, u, rho), initial=0.0) <= tolerance)
