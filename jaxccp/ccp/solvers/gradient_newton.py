"""Accelerated projected gradient steps with an occasional Newton step: the default of the steppers
for models with joints and for stacks."""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.methods.newton_step import newton_step
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.scaling import Scaling, row_scaling
from jaxccp.ccp.solver import Solver, Task
from jaxccp.execution.batching import inner, when

NEWTON_PERIOD = 8
"""Number of iterations from one Newton step to the next; a Newton step costs as much as 5 to 12
iterations."""
NEWTON_DECREASE = 0.5
"""Factor by which a Newton step must lower the residual to be accepted."""
POWER_ITERATIONS: dict[Law, int] = {"ccp": 1, "ncp": 4}
"""Products spent on the first estimate of the largest eigenvalue. Under the convex law more of them
spare fewer iterations than they cost, since later steps see their curvature; under Coulomb's law a
step that is too long may start a circle."""
FORGETTING = 0.9
"""Factor of the estimated eigenvalue from one iteration to the next, so that it falls when rows no
longer act."""
SHORTEST_STEP = 128
"""Length of the shortest step whose curvature counts, in machine epsilons times the length of the
multipliers."""

MAX_UNROLLED = 8
"""Number of gradient steps up to which they are compiled one by one; of more, so many make the body
of a loop."""

INERTIA = 3.0
"""Step k since the extrapolation restarted is extrapolated by k / (k + 3), which is Nesterov's
sequence to first order (Chambolle & Dossal, J. Optim. Theory Appl. 166, 2015) without its roots.
After the factor m comes (1 + 2 m) / (4 − m)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    x: Float[Array, " n"]
    """Scaled multipliers S⁻¹ λ, in the scaled cones."""
    n_x: Float[Array, " n"]
    """S N λ at ``x``."""
    y: Float[Array, " n"]
    """The extrapolated point that the next gradient is taken at."""
    momentum: Float[Array, ""]
    """The factor of the last extrapolation; 0 at a restart."""
    lipschitz: Float[Array, ""]
    """An estimate of the largest eigenvalue of S N S, among the rows that act or under Coulomb's
    law all rows; 0 before the first gradient."""
    best: Float[Array, ""]
    """Residual of the last Newton step that was taken [m/s]."""
    promising: Bool[Array, ""]
    """Whether the last iteration was a Newton step that was accepted and left the problem
    unsolved."""


class _Iterate(NamedTuple):
    """What a gradient step starts from."""

    x: Float[Array, " n"]
    """Scaled multipliers."""
    y: Float[Array, " n"]
    """The extrapolated point that the gradient is taken at."""
    momentum: Float[Array, ""]
    """The factor of the extrapolation."""


@dataclass(frozen=True)
class GradientNewton(Solver):
    """Nesterov's projected gradient method, several steps an iteration, and semismooth Newton
    steps.

    The gradient steps are those of :class:`~jaxccp.ccp.APGD` without its line search. Their length
    is the inverse of the largest eigenvalue among the rows that act, which may be a few of many:
    limits out of reach and open contacts do not shorten the steps. The eigenvalue is estimated by a
    few products. The estimate grows if a step has a larger curvature, as when further rows begin to
    act, and falls a little in each iteration.

    In float64 every eighth iteration is a Newton step on the fixed point λ = Π_K(λ − ρ ũ), with the
    matrix of the implicit derivative. The step is accepted if it halves the residual, and repeated
    until it no longer does. So easy problems are solved before the first Newton step, stiff ones
    once the gradient steps have found the active set, and no problem takes much longer than with
    gradients alone. Copies under ``vmap`` count iterations together, so that their Newton steps
    coincide.

    In float32 there is no Newton step by default, because redundant contacts turn rounding into
    opposing impulses, which gradient steps take thousands of iterations to remove. With ``eager``
    there is, and it comes first. This suits stacks of boxes: gradient steps leave a small sway in
    each time step, up to the tolerance, until it takes hundreds of iterations to remove.

    Under Coulomb's law De Saxcé's shift is renewed at every gradient, and its derivative is part of
    Newton's system. These gradients are not those of a function, and long steps may go in circles:
    all rows count for the eigenvalue, whose estimate never falls.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")
    rolling: ClassVar[bool] = True

    steps: int | None = None
    """Gradient steps an iteration, between two tests of the residual; None: 4 where there are
    Newton steps, which should not wait for long, else 8."""
    eager: bool = False
    """Whether the Newton step comes first, and is used in single precision too."""
    largest: int = 1500
    """Largest number of rows of a matrix that is factorised, unless its band is narrow."""

    def __post_init__(self) -> None:
        if self.steps is not None and self.steps < 1:
            raise ValueError(f"GradientNewton: steps must be at least 1, not {self.steps!r}")

    def prepare(self, problem: Problem, rho: Array) -> Scaling:
        return row_scaling(problem, rho)

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        x, n_x = task.data.point(lam, n_lam)
        infinite, none = jnp.full((), jnp.inf, lam.dtype), jnp.zeros((), lam.dtype)
        return _State(
            x=x,
            n_x=n_x,
            y=x,
            momentum=none,
            lipschitz=none,
            best=infinite,
            promising=jnp.asarray(False),
        )

    def _estimate(self, task: Task, state: _State) -> Array:
        """Return a lower bound of the largest eigenvalue of S N S, by power iteration on the first
        gradient: among the rows that act, or under Coulomb's law all rows."""
        scaling = task.data
        gradient = _gradient(task, state.n_x)
        acts = scaling.cones.acts(state.x - gradient) if task.law == "ccp" else 1.0

        def product(_: int, x: Array) -> Array:
            return acts * scaling.delassus.apply(x / _length(x))

        count = POWER_ITERATIONS[task.law]
        power = lax.fori_loop(0, count, product, acts * gradient, unroll=True)
        # The diagonal of a scaled row is 1, and the largest eigenvalue is no less.
        return jnp.maximum(_length(power), 1.0)

    def step(self, task: Task, state: _State) -> _State:
        if not self._factorises(task.problem):
            return self.gradient_steps(task, state)
        newton_turn = (task.turn + (not self.eager)) % NEWTON_PERIOD == 0
        after = lax.cond(newton_turn, lambda: state, lambda: self.gradient_steps(task, state))
        return when(newton_turn | state.promising, lambda: self._newton_step(task, state), after)

    def _factorises(self, problem: Problem) -> bool:
        """Return whether there are Newton steps."""
        precise = self.eager or bool(jnp.finfo(problem.r.dtype).eps < 1e-10)
        return precise and problem.delassus.factor_rows <= self.largest

    def gradient_steps(self, task: Task, state: _State) -> _State:
        """Return the state after the gradient steps of an iteration.

        Args:
            task: the problem and its scaling.
            state: the state before them.
        """
        scaling = task.data
        apply, project = scaling.delassus.apply, scaling.cones.project
        bound = when(state.lipschitz == 0, lambda: self._estimate(task, state), state.lipschitz)

        def gradient_step(bound: Array, iterate: _Iterate, n_y: Array) -> _Iterate:
            x, y = iterate.x, iterate.y
            # A division in each row would be an additional loop in the compiled program.
            after = project(y - (1 / bound) * _gradient(task, n_y))
            back = inner(after - y, after - x) < 0
            momentum = iterate.momentum
            momentum = jnp.where(
                back, 0.0, (1 + (INERTIA - 1) * momentum) / (1 + INERTIA - momentum)
            )
            return _Iterate(after, (1 + momentum) * after - momentum * x, momentum)

        start, n_start = state.y, apply(state.y)
        first = gradient_step(bound, _Iterate(state.x, state.y, state.momentum), n_start)
        # Below it, differences of products are only rounding error.
        shortest = (SHORTEST_STEP * jnp.finfo(n_start.dtype).eps) ** 2 * inner(first.x, first.x)

        def curvature(step: Array, change: Array) -> Array:
            """Return the curvature along a step, 0 if the step is too short to tell."""
            square = inner(step, step)
            reliable = square > shortest
            return jnp.where(reliable, inner(step, change), 0.0) / jnp.where(reliable, square, 1.0)

        def guarded_step(_: int, carry: tuple) -> tuple:
            highest, iterate, y, n_y = carry
            n_after = apply(iterate.y)
            highest = jnp.maximum(highest, curvature(iterate.y - y, n_after - n_y))
            after = gradient_step(jnp.maximum(bound, highest), iterate, n_after)
            return highest, after, iterate.y, n_after

        steps = self.steps
        if steps is None:
            steps = 4 if self._factorises(task.problem) else 8
        # Unrolled: a loop copies its state and counts, which takes 50 % longer.
        unroll = True if steps <= MAX_UNROLLED else MAX_UNROLLED
        carry = jnp.zeros_like(bound), first, start, n_start
        highest, end, y, n_y = lax.fori_loop(1, steps, guarded_step, carry, unroll=unroll)
        n_x = apply(end.x)
        last = curvature(end.x - y, n_x - n_y)
        if task.law == "ccp":
            bound = jnp.where(last > 0, FORGETTING, 1.0) * bound
        lipschitz = jnp.maximum(bound, jnp.maximum(highest, last))
        return _State(
            x=end.x,
            n_x=n_x,
            y=end.y,
            momentum=end.momentum,
            lipschitz=lipschitz,
            best=state.best,
            promising=jnp.asarray(False),
        )

    def _newton_step(self, task: Task, state: _State) -> _State:
        """Return the state after a Newton step, if that lowers the residual."""
        problem, scaling = task.problem, task.data
        lam, n_lam = self.candidate(task, state)
        after = newton_step(task, lam, n_lam)
        n_after = problem.delassus.apply(after)
        residual = task.residual(after, n_after)
        better = residual < NEWTON_DECREASE * jnp.minimum(state.best, task.residual(lam, n_lam))
        x, n_x = scaling.point(after, n_after)
        return replace(
            state,
            x=jnp.where(better, x, state.x),
            n_x=jnp.where(better, n_x, state.n_x),
            y=jnp.where(better, x, state.y),
            momentum=jnp.where(better, 0.0, state.momentum),
            best=jnp.where(better, residual, state.best),
            promising=better & (residual > task.tolerance),
        )

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return task.data.s * state.x, state.n_x / task.data.s


def _gradient(task: Task, n_x: Array) -> Array:
    """Return S times the velocities at scaled multipliers, with De Saxcé's shift under Coulomb's
    law.

    Args:
        task: the problem, its scaling and its law.
        n_x: S N λ of the multipliers.
    """
    scaling = task.data
    velocity = n_x + scaling.s * task.problem.r
    if task.law == "ncp":
        velocity = scaling.cones.add_normal(velocity, scaling.cones.de_saxce(velocity))
    return velocity


def _length(x: Array) -> Array:
    """Return ‖x‖, and 1 where it is 0."""
    square = inner(x, x)
    return jnp.sqrt(jnp.where(square > 0, square, 1.0))
