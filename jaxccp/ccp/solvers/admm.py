"""Alternating direction method of multipliers."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators import Delassus
from jaxccp.ccp.operators.blocks import identity
from jaxccp.ccp.operators.factors import Factors
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.execution.batching import when

RELAXATION = 1.6
"""Relaxation α, between 1 and 2."""
SHIFT_STEP = 0.3
"""Fraction of the difference by which De Saxcé's shift moves towards that of the present
velocities v; with 1 it cycles at μ = 3."""
INITIAL_PENALTY = 0.1
"""Initial penalty σ; the eigenvalues of D N lie between 0 and about 7."""
MAX_PENALTY = 10.0
"""Largest penalty σ."""
CG_TOLERANCE = 0.1
"""Relative residual of CG."""

WINDOW = 10
"""Number of iterations after which σ may change; it grows with every change."""
GROWTH = 1.1
"""Factor on the window at every change of σ."""
PROGRESS = 0.8
"""There is progress if the steps of a window are shorter than those of the window before by this
factor. Then σ only grows if the ratio ‖x − z⁺‖ / ‖z⁺ − z‖ of the window is above 1, and only
shrinks if it is below 1.2 (α − 1) / α."""
MIDDLE = 0.55
"""Without such progress, σ grows if the ratio is above this, and shrinks if it is below."""
LOWEST = 40
"""Number of windows with the smallest σ after which the smallest σ grows tenfold: the rounding
error of N z, divided by a small σ, can prevent convergence of z."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Penalty:
    """The penalty σ and the sums that determine its changes. Lengths are those of D^-½ times an
    impulse [√J]."""

    sigma: Float[Array, ""]
    """The penalty σ."""
    gap: Float[Array, ""]
    """Sum of ‖x − z⁺‖² over the window."""
    step_square: Float[Array, ""]
    """Sum of the squared steps of z over the window."""
    before: Float[Array, ""]
    """Sum of both in the window before; inf if σ has changed since."""
    count: Int[Array, ""]
    """Iterations in this window."""
    window: Float[Array, ""]
    """Iterations of a window."""
    log_step: Float[Array, ""]
    """Logarithm of the factor of the next change of σ."""
    last: Float[Array, ""]
    """Sign of the last change."""
    floor: Float[Array, ""]
    """Smallest σ."""
    low: Int[Array, ""]
    """Number of windows with the smallest σ."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    z: Float[Array, " n"]
    """Impulses in K."""
    n_z: Float[Array, " n"]
    """N z [m/s]."""
    v: Float[Array, " n"]
    """Velocities in K*, the multipliers of x = z: u at the solution."""
    shift: Float[Array, " c"]
    """De Saxcé's, followed with a lag; 0 under the convex law [m/s]."""
    penalty: _Penalty
    """The penalty σ and what it is judged by."""
    factor: Factors | None
    """Factors of the matrix of the step, for the present σ; None where CG solves it."""


@dataclass(frozen=True)
class ADMM(Solver):
    """Operator splitting: x minimises the quadratic, z is its projection on K, and v makes them
    agree.

    Boyd et al., Found. Trends Mach. Learn. 3 (2011); for contact Tasora, Mangoni, Benatti &
    Garziera, IJNME 122 (2021), and Carpentier, Le Lidec & Montaut, RSS 2024. With D = diag ρ and u
    = N z + r,

        δ = −(N + σ D⁻¹)⁻¹ (u − v),    z⁺ = Π_K(z + α δ − D v / σ),
        v⁺ = v − σ D⁻¹ (z + α δ − z⁺).

    Under Coulomb's law u includes De Saxcé's correction, computed from the velocities v. δ vanishes
    at the solution, and with it the error of the factors. An iteration takes one product with N and
    one solve. The factors, over the bodies or over the rows, whichever are fewer, are renewed when
    σ changes.

    The penalty depends on the ratio ‖x − z⁺‖ / ‖z⁺ − z‖. If convergence is slow in directions in
    which N is small, the ratio is (α − 1)/α for any problem, and σ is too large. If the ratio is
    well above 1, the active set is changing, and σ is too small. On the reference problems this
    rule takes a third of the iterations of balanced relative residuals. It also solves problems
    that the spectral rule of Carpentier et al. does not.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")
    rolling: ClassVar[bool] = True

    largest: int = 1500
    """Largest number of rows of a matrix that is factorised; CG solves larger ones, unless their
    band is narrow."""

    def prepare(self, problem: Problem, rho: Array) -> Delassus:
        """Return D^½ N D^½, whose factors the steps need.

        Args:
            problem: n rows.
            rho: diagonal of D [kg].
        """
        return problem.delassus.scaled(jnp.sqrt(rho))

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        zero = jnp.zeros((), lam.dtype)
        penalty = _Penalty(
            sigma=zero + INITIAL_PENALTY,
            gap=zero,
            step_square=zero,
            before=zero + jnp.inf,
            count=jnp.int32(0),
            window=zero + WINDOW,
            log_step=zero + jnp.log(3.0).astype(lam.dtype),
            last=zero,
            floor=zero + float(jnp.finfo(lam.dtype).eps) ** 0.5,
            low=jnp.int32(0),
        )
        u = n_lam + task.problem.r
        v = task.problem.corrected(u, task.law)
        shift = task.problem.de_saxce(u) if task.law == "ncp" else 0.0 * task.problem.cones.mu
        return _State(
            z=lam,
            n_z=n_lam,
            v=v,
            shift=shift,
            penalty=penalty,
            factor=self._factor(task, penalty.sigma),
        )

    def _factor(self, task: Task, sigma: Array) -> Factors | None:
        """Factorise D^½ N D^½ + σ I."""
        if task.data.factor_rows > self.largest:
            return None
        cones = task.problem.cones
        block_identity = identity(cones.lo.shape[0], cones.mu.shape[0], sigma.dtype, cones.width)
        return task.data.factorised(
            block_identity,
            block_identity,
            block_identity.scaled(jnp.full_like(task.rho, sigma)),
            0.0,
            True,
        )

    def _solve(self, task: Task, state: _State, b: Array) -> Array:
        """Return δ = (N + σ D⁻¹)⁻¹ b."""
        root = jnp.sqrt(task.rho)
        if state.factor is None:
            return root * self._iterate(task, state.penalty.sigma, root * b)
        return root * state.factor.solve(root * b)

    def _iterate(self, task: Task, sigma: Array, b: Array) -> Array:
        """Return D^-½ δ for ``b`` times D^½, by CG."""

        def apply(y: Array) -> Array:
            return task.data.apply(y) + sigma * y

        return cg(apply, b, tol=CG_TOLERANCE, maxiter=200)[0]

    def step(self, task: Task, state: _State) -> _State:
        problem, rho, sigma = task.problem, task.rho, state.penalty.sigma
        shift = state.shift
        if task.law == "ncp":
            shift = shift + SHIFT_STEP * (problem.de_saxce(state.v) - shift)
        u = problem.cones.add_normal(state.n_z + problem.r, shift)
        delta = self._solve(task, state, state.v - u)
        relaxed = state.z + RELAXATION * delta
        z = problem.cones.project(relaxed - rho * state.v / sigma)
        v = state.v - sigma * (relaxed - z) / rho
        gap = state.z + delta - z
        penalty = self._judge(
            state.penalty, jnp.sum(gap * gap / rho), jnp.sum((z - state.z) ** 2 / rho)
        )
        changed = penalty.sigma != sigma
        factor = when(changed, lambda: self._factor(task, penalty.sigma), state.factor)
        return _State(
            z=z, n_z=problem.delassus.apply(z), v=v, shift=shift, penalty=penalty, factor=factor
        )

    def _judge(self, penalty: _Penalty, gap: Array, step_square: Array) -> _Penalty:
        """Return the penalty after an iteration, with σ changed if its window is full and the ratio
        requires it."""
        gap, step_square, count = (
            penalty.gap + gap,
            penalty.step_square + step_square,
            penalty.count + 1,
        )
        ratio = jnp.sqrt(gap / jnp.where(step_square > 0, step_square, 1.0))
        slow = gap + step_square > PROGRESS**2 * penalty.before
        low = jnp.where(slow, MIDDLE, 1.2 * (RELAXATION - 1) / RELAXATION)
        high = jnp.where(slow, MIDDLE, 1.0)
        full = count >= penalty.window
        sign = jnp.where(full & (step_square > 0), jnp.where(ratio > high, 1.0, 0.0), 0.0)
        sign = jnp.where(full & (ratio < low), -1.0, sign).astype(ratio.dtype)
        agreement = sign * penalty.last
        log_step = jnp.where(agreement < 0, 0.8 * penalty.log_step, penalty.log_step)
        log_step = jnp.where(agreement > 0, jnp.minimum(1.2 * log_step, 2.3), log_step)
        low = penalty.low + (full & (penalty.sigma <= penalty.floor))
        raise_floor = low >= LOWEST
        floor = jnp.where(raise_floor, jnp.minimum(10 * penalty.floor, MAX_PENALTY), penalty.floor)
        sigma = jnp.clip(penalty.sigma * jnp.exp(sign * log_step), floor, MAX_PENALTY)
        changed = sigma != penalty.sigma
        return _Penalty(
            sigma=sigma,
            gap=jnp.where(full, 0.0, gap),
            step_square=jnp.where(full, 0.0, step_square),
            before=jnp.where(changed, jnp.inf, jnp.where(full, gap + step_square, penalty.before)),
            count=jnp.where(full, 0, count),
            window=jnp.where(changed, GROWTH * penalty.window, penalty.window),
            log_step=log_step,
            last=jnp.where(sign != 0, sign, penalty.last),
            floor=floor,
            low=jnp.where(raise_floor, 0, low),
        )

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return state.z, state.n_z
