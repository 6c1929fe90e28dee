"""Principal pivoting: exact after finitely many pivots."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.cones import ConeType
from jaxccp.ccp.methods.boxed_lcp import BoxedRows, boxed_rows
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.execution import trees


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Prepared:
    """The rows of a problem, the direction of the path, and the inverse that it starts with."""

    rows: BoxedRows
    """The scaled rows."""
    cover: Float[Array, " n"]
    """The covering vector d of contacts; of other rows |d|."""
    inverse: Float[Array, "n n"]
    """A⁻¹ with the equality rows free and all others on a bound, but for the lift."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    zeta: Float[Array, " n"]
    """ζ = λ − u of each row, in scaled units."""
    t: Float[Array, ""]
    """Parameter of the path, 0 at the solution."""
    side: Int[Array, " n"]
    """−1, 0 or 1 for each row: on its lower bound, free, on its upper bound."""
    inverse: Float[Array, "n+1 n"]
    """A right inverse of [A, d]."""
    path: Float[Array, " n+1"]
    """The direction of (ζ, t), in the null space of [A, d]."""
    cover: Float[Array, " n"]
    """The covering vector d."""
    h: Float[Array, " n"]
    """Constant half-widths of the tangents' boxes; 0 unless "one-shot"."""
    lam: Float[Array, " n"]
    """λ in K, in the problem's units [N s]."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""
    done: Bool[Array, ""]
    """Whether the path has ended."""


@dataclass(frozen=True)
class Dantzig(Solver):
    """Principal pivoting for the boxed LCP with friction index.

    :mod:`jaxccp.ccp.methods.boxed_lcp` has the method.

    It follows the solutions of N λ + r + t d = u from a t at which all contacts are open down to t
    = 0. The path is piecewise linear. A step follows one piece to the next row that reaches or
    leaves a bound, and updates the inverse by rank one. Bounds change with the normal impulses
    along the path, so that the path ends in an exact solution with a friction pyramid, of Coulomb's
    law or the convex law. With d inside the dual cone the path stays finite if the problem has
    admissible velocities, and a generic d gives finitely many pivots.

    The method of Dantzig and Cottle in ODE's ``dxSolveLCP`` solves one row after the other, and
    requires constant bounds. ``bounds="one-shot"`` is ODE's remedy: solve without friction, then
    once more with bounds fixed at μ times these normal impulses. If friction changes the normal
    impulses, the result is not a solution, and its residual shows it.

    Lemke, Manage. Sci. 11 (1965); Cottle & Dantzig, Linear Algebra Appl. 1 (1968); Cao & Ferris,
    Math. Program. 73 (1996), for paths with bounds; Stewart & Trinkle, IJNME 39 (1996) and Anitescu
    & Potra, Nonlinear Dyn. 14 (1997), for friction and the choice of d.

    The matrix is dense and an iteration costs O(n²), which suits up to some hundred rows. A guess
    has no effect unless it is already a solution.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")
    cone_types: ClassVar[tuple[ConeType, ...]] = ("pyramid",)

    bounds: Literal["exact", "one-shot"] = "exact"
    """"exact", or "one-shot" for ODE's two passes."""

    def __post_init__(self) -> None:
        if self.bounds not in ("exact", "one-shot"):
            raise ValueError(f'Dantzig: bounds must be "exact" or "one-shot", not {self.bounds!r}')

    def prepare(self, problem: Problem, rho: Array) -> _Prepared:
        rows = boxed_rows(problem, rho)
        n, s, free = problem.cones.rows, rows.scalars, rows.equality
        random = jnp.asarray(np.random.default_rng(0).uniform(size=n), rho.dtype)
        cover = jnp.where(rows.tangential, 0.5 * (random - 0.5) / (1 + rows.mu), 1 + random)

        # Redundant equalities: ε keeps the inverse bounded, corrections with N itself undo it.
        ridge = float(jnp.finfo(rho.dtype).eps ** 0.6)
        joints = free[:s, None] & free[:s]
        block = jnp.where(joints, rows.matrix[:s, :s], 0.0)
        block = block + jnp.diag(jnp.where(free[:s], ridge, 1.0))
        undone: Array = jnp.linalg.inv(block)
        solved = jnp.pad(jnp.where(joints, undone, 0.0), ((0, n - s), (0, 0)))
        identity = jnp.eye(n, dtype=rho.dtype)
        bound = identity[:, :s] - rows.matrix @ solved
        columns = jnp.where(free[:, None], solved, bound)
        inverse = jnp.concatenate([columns, identity[:, s:]], axis=1)
        return _Prepared(rows, jnp.where(free, 0.0, cover), inverse)

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        return self._start(task, jnp.zeros_like(lam))

    def _rows(self, task: Task) -> BoxedRows:
        """Return the rows of the task's law."""
        rows, zero = task.data.rows, jnp.zeros_like(task.rho)
        if self.bounds == "one-shot":
            return replace(rows, mu=zero, lift=zero)
        return rows if task.law == "ccp" else replace(rows, lift=zero)

    def _start(self, task: Task, h: Array) -> _State:
        """Return the start of the path: all contacts open, other rows on a bound, and a t so large
        that this is a solution."""
        data: _Prepared = task.data
        rows = self._rows(task)
        r, free, boxed = rows.scale * task.problem.r, rows.equality, ~rows.tangential | (h > 0)
        upper = jnp.isinf(rows.lo) | (jnp.isfinite(rows.hi) & (r < 0))
        side = jnp.where(free, 0, jnp.where(upper, 1, -1))
        cover = jnp.where(boxed, -side * jnp.abs(data.cover), data.cover)

        lam = rows.constant_part(h, side)
        lam = lam - jnp.where(free, data.inverse @ jnp.where(free, rows.matrix @ lam + r, 0.0), 0.0)
        u = rows.matrix @ lam + r
        lacks = side * u + rows.onto_normals(rows.lift * jnp.abs(u))
        gains = jnp.abs(cover) - rows.onto_normals(rows.lift * jnp.abs(cover))
        lacks = jnp.where(boxed & ~free, lacks / jnp.where(gains > 0, gains, 1.0), 0.0)
        t = jnp.max(lacks, initial=0.0)
        u = u + t * cover
        side = jnp.where(boxed, side, jnp.where(u > 0, -1, 1))
        lowered = u + rows.onto_normals(rows.lift * side * u)
        zeta = jnp.where(free, lam, rows.constant_part(h, side) - lowered)

        lifted = jax.vmap(rows.onto_normals, 1, 1)((rows.lift * side)[:, None] * data.inverse)
        inverse = jnp.pad(data.inverse + lifted, ((0, 1), (0, 0)))
        path = (inverse @ cover).at[-1].set(-1.0)
        zero, done = jnp.zeros_like(r), jnp.asarray(False)
        return _State(
            zeta=zeta,
            t=t,
            side=side,
            inverse=inverse,
            path=path,
            cover=cover,
            h=h,
            lam=zero,
            n_lam=zero,
            done=done,
        )

    def step(self, task: Task, state: _State) -> _State:
        rows, n = self._rows(task), task.rho.shape[0]
        # Rounding of the path would grow from step to step; rounding of the inverse does not.
        path = state.path / jnp.max(jnp.abs(state.path))
        deviation = rows.apply(state.side, path[:n]) + path[n] * state.cover
        path = path - state.inverse @ deviation
        event, length, arrived, stuck = _next(rows, state, path)
        zeta, t = state.zeta + length * path[:n], state.t + length * path[n]

        row, bound = event % n, jnp.where(event < n, -1, 1)
        side, was = state.side, state.side[row]
        if (
            task.law == "ncp"
        ):  # a closing contact slides away from the vertex that its velocity selects
            picks = rows.tangential & (rows.normal == row) & (rows.mu > 0) & (was != 0)
            side = jnp.where(picks, jnp.where(zeta < 0, -1, 1), side)
        f, b = rows.change(row, bound, side)
        b = jnp.where(was == 0, -b, b)
        flips = ((rows.mu > 0) & (side[rows.normal] != 0))[row]
        becomes = jnp.where(was == 0, bound, jnp.where(flips, -was, 0))
        side = jnp.where(jnp.arange(n) == row, becomes, side)

        ends = arrived | stuck
        side, b = jnp.where(ends, state.side, side), jnp.where(ends, 0.0, b)
        f = jnp.where(ends, jnp.zeros(n + 1, f.dtype).at[n].set(1.0), jnp.append(f, 0.0))
        pivot = jnp.where(stuck, 1.0, f @ path)
        inverse = state.inverse - jnp.outer(path / pivot, f @ state.inverse)
        inverse = jnp.where(stuck, state.inverse, inverse)
        path = jnp.sign(pivot) * (path / pivot - inverse @ b)

        t = jnp.where(arrived, 0.0, t)
        offset = task.problem.r * rows.scale
        for _ in range(2):
            lam = rows.linear_part(side, zeta) + rows.constant_part(state.h, side)
            error = rows.matrix @ lam + offset + t * state.cover - rows.velocity(side, zeta, lam)
            correction = inverse @ error
            zeta, t = zeta - correction[:n], t - correction[n]
        lam = rows.scale * (rows.linear_part(side, zeta) + rows.constant_part(state.h, side))
        lam = task.problem.cones.project(lam)
        n_lam = task.problem.delassus.apply(lam)
        sound = jnp.all(jnp.isfinite(n_lam))
        lam, n_lam = jnp.where(sound, lam, state.lam), jnp.where(sound, n_lam, state.n_lam)
        done = ends | ~sound
        after = _State(
            zeta=zeta,
            t=t,
            side=side,
            inverse=inverse,
            path=path,
            cover=state.cover,
            h=state.h,
            lam=lam,
            n_lam=n_lam,
            done=done,
        )
        return self._second_pass(task, after) if self.bounds == "one-shot" else after

    def _second_pass(self, task: Task, state: _State) -> _State:
        """Return the start of ODE's second pass, with bounds from the impulses without friction,
        once the first has ended."""
        first = jnp.all(state.h == 0)
        h = task.data.rows.mu * jnp.maximum(state.zeta, 0.0)[task.data.rows.normal]
        second = replace(self._start(task, h), lam=state.lam, n_lam=state.n_lam)
        restart = state.done & first & jnp.any(h > 0)
        return trees.where(restart, second, state)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return state.lam, state.n_lam

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        return state.done


def _next(rows: BoxedRows, state: _State, path: Array) -> tuple[Array, Array, Array, Array]:
    """Return the end of this piece of the path.

    Returns:
        The event, its distance, whether t = 0 is reached first, and whether the piece has no end.
    """
    zeta, n = state.zeta, state.side.shape[0]
    eps = float(jnp.finfo(zeta.dtype).eps)
    gap, speed, watched = rows.margins(state.h, state.side, zeta, path[:n])
    gap, watched = jnp.maximum(gap, 0.0), watched & (speed > eps**0.7)
    speed = jnp.where(watched, speed, 1.0)
    length = jnp.where(watched, gap / speed, jnp.inf)
    # Among events that are equal to within rounding, take the one with the largest pivot (Harris).
    rounding = 10 * eps * (jnp.max(jnp.abs(zeta), initial=0.0) + state.t)
    first = jnp.min(jnp.where(watched, (gap + rounding) / speed, jnp.inf), initial=jnp.inf)
    event = jnp.argmax(jnp.where(watched & (length <= first), speed, 0.0))
    falls = path[n] < -(eps**0.9)
    finish = jnp.where(falls, state.t / jnp.where(falls, -path[n], 1.0), jnp.inf)
    arrived = finish <= first
    stuck = ~arrived & jnp.isinf(first)
    length = jnp.where(arrived, finish, length.reshape(-1)[event])
    return event, jnp.where(stuck, 0.0, length), arrived, stuck
