"""Newton's method: interior-point steps, then proximal semismooth steps to the solution."""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.cones import ConeType
from jaxccp.ccp.derivative.linear import FixedPointSystem, Inverse
from jaxccp.ccp.derivative.linearization import shear
from jaxccp.ccp.methods import interior, proximal
from jaxccp.ccp.operators import Delassus, DenseDelassus
from jaxccp.ccp.operators.blocks import BlockDiagonal, identity
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.execution import trees
from jaxccp.math import safe

PROXIMAL_RESIDUAL = 1e-4
"""Residual, as a fraction of max‖r_c‖, at which the proximal phase is first tried."""
PROXIMAL_SHRINK = 0.03
"""Factor on that residual after every failure, a proximal step that does not halve the residual."""
PATIENCE = 5
"""Number of failures with each weight of the proximal phase, while interior steps are blocked."""

COUNT = len(proximal.WEIGHTS)
"""Number of weights σ of the proximal phase."""
SHORT_STEP = 1e-5
"""Step length below which an interior step counts as blocked. Where masses differ by 1e6 and more,
the first steps are a few thousandths long, and the later ones not."""
MAX_ROUNDING = 1e-2
"""Largest rounding error of a velocity N λ with which an interior point is accepted, as a fraction
of max‖r_c‖."""
MAX_RESIDUAL_RATIO = 100.0
"""Largest ratio of an interior point's residual to the best one with which the proximal phase
starts from that point."""
BACKOFF = 0.99
"""Fraction of the way to the boundary that an interior step takes."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    lam: Float[Array, " n"]
    """The present candidate, in K."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""
    eta: Float[Array, " n"]
    """Iterate η of the proximal phase [N s], which need not be in K; velocities are computed from
    it."""
    n_eta: Float[Array, " n"]
    """N η [m/s]."""
    anchor: Float[Array, " n"]
    """The multipliers of the proximal phase, its best iterate."""
    n_anchor: Float[Array, " n"]
    """N times ``anchor`` [m/s]."""
    best: Float[Array, ""]
    """Residual of ``anchor`` [m/s]."""
    stall_count: Int[Array, ""]
    """Proximal steps since the residual was last halved or the phase failed."""
    weight: Int[Array, ""]
    """Index of the weight σ that was due when ``stall_count`` was last reset."""
    point: interior.Point
    """The interior point."""
    n_point: Float[Array, " n"]
    """N λ at the interior point."""
    finishing: Bool[Array, ""]
    """Whether the next step is a proximal one, from ``eta``, or an interior one, from ``point``."""
    attempt: Float[Array, ""]
    """Residual at which the proximal phase is tried [m/s]."""
    stuck: Int[Array, ""]
    """Number of blocked interior steps in a row."""
    lagged: Bool[Array, ""]
    """Whether interior steps keep De Saxcé's shift fixed."""
    done: Bool[Array, ""]
    """Whether neither phase makes progress."""


@dataclass(frozen=True)
class Newton(Solver):
    """Interior-point steps until the active set is nearly right, then proximal semismooth Newton
    steps.

    A cold start needs some 10 to 20 interior steps, even for stiff problems
    (:mod:`jaxccp.ccp.methods.interior`). But if contacts are about to slide or open, the residual
    only falls with the square root of the gap. The second phase is Newton's method on the fixed
    point of the augmented Lagrangian, λ = Π_K(λ − σ ρ ũ), with a large σ (Alart & Curnier, CMAME
    92, 1991; regularised as the proximal point method, Rockafellar 1976). It converges
    quadratically near the solution, where a warm start often begins. Each step of either kind costs
    one factorisation, over the bodies or over the rows, whichever are fewer. The system includes
    Coulomb's law: ũ = u + μ‖u_t‖ e_n with its derivative, as in Acary, Armand, Nguyen & Shpakovych
    (2023) for the interior steps.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")
    cone_types: ClassVar[tuple[ConeType, ...]] = ("cone",)

    def prepare(self, problem: Problem, rho: Array) -> Delassus:
        delassus = problem.delassus
        if delassus.factor_rows < delassus.rows:
            return delassus
        return DenseDelassus(delassus.dense())

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        problem = task.problem
        point = interior.start(problem, task.rho)
        residual = task.residual(lam, n_lam)
        return _State(
            lam=lam,
            n_lam=n_lam,
            eta=lam,
            n_eta=n_lam,
            anchor=lam,
            n_anchor=n_lam,
            best=residual,
            stall_count=jnp.int32(0),
            weight=jnp.int32(0),
            point=point,
            n_point=problem.delassus.apply(point.lam),
            finishing=jnp.any(lam != 0),
            attempt=PROXIMAL_RESIDUAL * problem.scale(),
            stuck=jnp.int32(0),
            lagged=jnp.asarray(False),
            done=jnp.asarray(False),
        )

    def step(self, task: Task, state: _State) -> _State:
        problem = task.problem
        inside, shear_inside = _inside(task, state)
        near = proximal.linearise(task, self._weight(state), state.anchor, state.eta, state.n_eta)

        # One factorisation serves either kind of step.
        right = trees.where(state.finishing, near.right, inside.right)
        left = right.transpose() @ trees.where(state.finishing, near.shear, shear_inside)
        cones = problem.cones
        block_identity = identity(cones.lo.shape[0], cones.mu.shape[0], task.rho.dtype)
        system = FixedPointSystem(task.data, block_identity, left, right)
        inverse = system.factorised(0.0, symmetric=task.law == "ccp").solve

        def solve(b: Array) -> Array:
            y = inverse(b)
            return y + inverse(b - system.apply(y))

        return lax.cond(
            state.finishing,
            lambda: self._proximal_step(task, state, near, solve),
            lambda: self._interior_step(task, state, inside, solve),
        )

    def _interior_step(
        self, task: Task, state: _State, current: interior.Linearisation, solve: Inverse
    ) -> _State:
        """Return the state after an interior step."""
        problem = task.problem
        aim = interior.predict(current)
        d = interior.step(
            problem, current, aim, solve(interior.right_hand_side(problem, current, aim))
        )
        aim = interior.correct(current, d, interior.length(current, d))
        d = interior.step(
            problem, current, aim, solve(interior.right_hand_side(problem, current, aim))
        )
        t = jnp.minimum(1.0, BACKOFF * interior.length(current, d))
        point = current.point.plus(t, d)
        # If there is no solution, impulses grow until velocities are only rounding error.
        limit = MAX_ROUNDING / jnp.finfo(point.lam.dtype).eps * problem.scale() * task.rho
        finite = jnp.all(jnp.abs(point.lam) <= limit) & jnp.all(jnp.isfinite(point.slack))
        point = trees.where(finite, point, current.point)
        n_point = problem.delassus.apply(point.lam)
        residual = task.residual(point.lam, n_point)
        stuck = jnp.where(finite & (t > SHORT_STEP), 0, state.stuck + 1)
        # If rounding has spoilt the last points, the proximal phase starts from an earlier one.
        better = (residual <= MAX_RESIDUAL_RATIO * state.best) | (residual <= state.attempt)
        anchor = jnp.where(better, point.lam, state.anchor)
        n_anchor = jnp.where(better, n_point, state.n_anchor)
        return replace(
            state,
            lam=point.lam,
            n_lam=n_point,
            eta=anchor,
            n_eta=n_anchor,
            anchor=anchor,
            n_anchor=n_anchor,
            best=jnp.where(better, residual, state.best),
            point=point,
            n_point=n_point,
            finishing=(residual <= state.attempt) | (stuck > 2) | ~finite,
            stuck=stuck,
        )

    def _proximal_step(
        self, task: Task, state: _State, current: proximal.Linearisation, solve: Inverse
    ) -> _State:
        """Return the state after a proximal step."""
        problem = task.problem
        d = proximal.step(problem, current, solve)
        n_d = problem.delassus.apply(d)
        t = proximal.length(problem, current, d, n_d) if task.law == "ccp" else 1.0
        eta, n_eta = state.eta + t * d, state.n_eta + t * n_d
        lam = problem.cones.project(eta)
        n_lam = problem.delassus.apply(lam)
        residual = task.residual(lam, n_lam)
        better = residual <= 0.5 * state.best
        stall_count = jnp.where(better, 0, state.stall_count + 1)
        # While interior steps progress, they cost less than proximal steps that may fail.
        failed = stall_count >= jnp.where(state.stuck > 0, COUNT * PATIENCE, 1)
        weight = jnp.where(better, jnp.minimum(self._weight(state) + 1, COUNT - 1), state.weight)
        # Keep new multipliers if they are better; another weight starts again from the old ones.
        restart = better | (stall_count % PATIENCE == 0) | ~jnp.isfinite(residual)
        anchor = jnp.where(better, lam, state.anchor)
        n_anchor = jnp.where(better, n_lam, state.n_anchor)
        state = self._restarted(task, state, failed & (state.stuck > 0))
        return replace(
            state,
            lam=jnp.where(jnp.isfinite(residual), lam, anchor),
            n_lam=jnp.where(jnp.isfinite(residual), n_lam, n_anchor),
            eta=jnp.where(restart, anchor, eta),
            n_eta=jnp.where(restart, n_anchor, n_eta),
            anchor=anchor,
            n_anchor=n_anchor,
            best=jnp.where(better, residual, state.best),
            stall_count=jnp.where(failed, 0, stall_count),
            weight=jnp.where(failed, 0, weight),
            finishing=~failed,
            attempt=jnp.where(failed, PROXIMAL_SHRINK * state.attempt, state.attempt),
        )

    def _weight(self, state: _State) -> Int[Array, ""]:
        """Return the index of the weight σ of the next proximal step.

        Each step that halves the residual is followed by the next larger weight. Without such steps
        the weights take turns, ``PATIENCE`` steps each.
        """
        return (state.weight + state.stall_count // PATIENCE) % COUNT

    def _restarted(self, task: Task, state: _State, failed: Array) -> _State:
        """Return the state, restarted where ``failed`` with De Saxcé's shift kept fixed in each
        step.

        This is slower, but its steps are those of a convex problem.
        """
        if task.law == "ccp":
            return replace(state, done=state.done | failed)
        point = interior.start(task.problem, task.rho)
        restarted = replace(
            state,
            point=point,
            n_point=task.problem.delassus.apply(point.lam),
            attempt=PROXIMAL_RESIDUAL * task.problem.scale() / PROXIMAL_SHRINK,
            stuck=jnp.int32(0),
            lagged=jnp.asarray(True),
            done=state.lagged,
        )
        return trees.where(failed, restarted, state)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return state.lam, state.n_lam

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        return state.done


def _inside(task: Task, state: _State) -> tuple[interior.Linearisation, BlockDiagonal]:
    """Return the linearisation at the interior point, and S = ∂ũ/∂u there."""
    problem, cones = task.problem, task.problem.cones
    u = problem.corrected(state.n_point + problem.r, task.law)
    tangents = cones.split(u)[1][:, 1:]
    slope = jnp.zeros_like(tangents)
    if task.law == "ncp":
        direction = safe.normalize(tangents, jnp.zeros(2, u.dtype))
        slope = jnp.where(state.lagged, slope, cones.mu[:, None] * direction)
    return interior.linearise(problem, task.rho, state.point, u), shear(cones, slope)
