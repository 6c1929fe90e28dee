"""A point on its way through the inside of the cones, and its Newton step.

Primal–dual path following for  min ½ λᵀNλ + rᵀλ over K  with the scaling of Nesterov & Todd and
the predictor and corrector of Mehrotra, as in Vandenberghe, "The CVXOPT linear and quadratic cone
program solvers" (2010), sections 5 and 7. Contacts live in Q by x = T λ, T = diag(μ, 1, 1).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.cones import jordan
from jaxccp.ccp.operators.blocks import BlockDiagonal
from jaxccp.ccp.problem import Problem
from jaxccp.math import safe

FREE = 1e7
SINGLE_FREE = 1e4
"""Proximal weight of rows without bounds, in units of ρ. Rounding times this moves the multipliers
along directions that N does not see."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Point:
    """λ strictly inside K with slacks strictly inside K*, or a step between two such points."""

    lam: Float[Array, " n"]
    x: Float[Array, "c 3"]
    """T λ of the contacts, in Q."""
    slack: Float[Array, "c 3"]
    """T⁻¹ u of the contacts at the solution, in Q [m/s]."""
    below: Float[Array, " s"]
    """Slacks s⁻ of λ ≥ lo [m/s]; u = s⁻ − s⁺ on scalar rows."""
    above: Float[Array, " s"]
    """Slacks s⁺ of λ ≤ hi [m/s]."""

    def plus(self, t: Array, step: "Point") -> "Point":
        """self + t · step."""
        return jax.tree.map(lambda a, b: a + t * b, self, step)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Frame:
    """A point as its Newton step sees it."""

    point: Point
    u: Float[Array, " n"]
    """N λ + r, De Saxcé's shift included where the law has one."""
    from_unit: Float[Array, "c 3"]
    """Diagonal of T⁻¹; 0 on tangents without friction, which are no part of the problem."""
    scaling: Float[Array, "c 3 3"]
    """W of Nesterov and Todd."""
    unscaling: Float[Array, "c 3 3"]
    centre: Float[Array, "c 3"]
    """W⁻¹ x = W s."""
    from_lo: Float[Array, " s"]
    """λ − lo; 1 where there is no such bound."""
    to_hi: Float[Array, " s"]
    root: Float[Array, " s"]
    """R of the scalar rows: (s⁻/(λ − lo) + s⁺/(hi − λ))^-½, bounded by √(FREE ρ)."""
    gap: Float[Array, ""]
    """Mean complementarity over cones and bounds [J]."""

    @property
    def right(self) -> BlockDiagonal:
        """R: the system of the step is I + Rᵀ S N R, and dλ = R y."""
        return BlockDiagonal(self.root, self.from_unit[:, :, None] * self.scaling)


def _units(problem: Problem) -> tuple[Array, Array]:
    mu = problem.cones.mu
    slick = mu == 0
    normal, rough = jnp.where(slick, 1.0, mu), jnp.where(slick, 0.0, jnp.ones_like(mu))
    return jnp.stack([normal, rough, rough], 1), jnp.stack([1.0 / normal, rough, rough], 1)


def start(problem: Problem, rho: Float[Array, " n"]) -> Point:
    """Start on the axes of the cones, with the size that the velocities at λ = 0 suggest."""
    cones = problem.cones
    speed = problem.scale()
    speed = jnp.where(speed > 0, speed, 1.0)
    rows, blocks = cones.split(rho)
    has_lo, has_hi, low, high = _bounds(problem)
    push = speed * rows
    scalars = jnp.where(has_lo, low + push, jnp.where(has_hi, high - push, 0.0))
    scalars = jnp.where(has_lo & has_hi, 0.5 * (low + high), scalars)
    axis = jnp.asarray([1.0, 0.0, 0.0], rho.dtype)
    contacts = speed * blocks * axis
    to_unit, from_unit = _units(problem)
    return Point(
        cones.join(scalars, contacts),
        to_unit * contacts,
        speed * from_unit * axis,
        jnp.where(has_lo, speed, 0.0),
        jnp.where(has_hi, speed, 0.0),
    )


def _bounds(problem: Problem) -> tuple[Array, Array, Array, Array]:
    lo, hi = problem.cones.lo, problem.cones.hi
    has_lo, has_hi = jnp.isfinite(lo), jnp.isfinite(hi)
    return has_lo, has_hi, jnp.where(has_lo, lo, 0.0), jnp.where(has_hi, hi, 0.0)


def frame(problem: Problem, rho: Float[Array, " n"], point: Point, u: Array) -> Frame:
    """The scalings at ``point``."""
    has_lo, has_hi, low, high = _bounds(problem)
    rows, _ = problem.cones.split(rho)
    scalars, _ = problem.cones.split(point.lam)
    tiny = jnp.finfo(rho.dtype).tiny
    from_lo = jnp.where(has_lo, jnp.maximum(scalars - low, tiny), 1.0)
    to_hi = jnp.where(has_hi, jnp.maximum(high - scalars, tiny), 1.0)
    weight = point.below / from_lo + point.above / to_hi
    free = FREE if jnp.finfo(rho.dtype).eps < 1e-10 else SINGLE_FREE
    root = jax.lax.rsqrt(jnp.maximum(weight, 1.0 / (free * rows)))
    scaling, unscaling = jordan.scaling(point.x, point.slack)
    total = jnp.sum(point.x * point.slack) + from_lo @ point.below + to_hi @ point.above
    degree = jnp.sum(has_lo) + jnp.sum(has_hi) + point.x.shape[0]
    gap = total / jnp.maximum(degree, 1).astype(rho.dtype)
    centre = _apply(unscaling, point.x)
    _, from_unit = _units(problem)
    return Frame(point, u, from_unit, scaling, unscaling, centre, from_lo, to_hi, root, gap)


def _apply(blocks: Float[Array, "c 3 3"], x: Float[Array, "c 3"]) -> Float[Array, "c 3"]:
    return jnp.einsum("cij,cj->ci", blocks, x)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Aim:
    """Changes of complementarity a step makes, to first order [J]."""

    below: Float[Array, " s"]
    above: Float[Array, " s"]
    cone: Float[Array, "c 3"]
    """In scaled coordinates."""


def predict(at: Frame) -> Aim:
    """All the way to zero."""
    point = at.point
    return Aim(
        -at.from_lo * point.below, -at.to_hi * point.above, -jordan.product(at.centre, at.centre)
    )


def correct(at: Frame, predicted: Point, length: Array) -> Aim:
    """Step to the central path: Mehrotra's centring, cubic in what the prediction would leave of
    the gap over ``length``, and its second-order term."""
    point, s = at.point, at.root.shape[0]
    straight = predict(at)
    there = point.plus(length, predicted)
    d = predicted.lam[:s]
    left = jnp.sum(there.x * there.slack)
    left += jnp.sum((at.from_lo + length * d) * there.below)
    left += jnp.sum((at.to_hi - length * d) * there.above)
    here = jnp.sum(point.x * point.slack) + at.from_lo @ point.below + at.to_hi @ point.above
    centring = jnp.clip(safe.divide(left, here), 0.0, 1.0) ** 3
    aim = centring * at.gap
    second = jordan.product(_apply(at.unscaling, predicted.x), _apply(at.scaling, predicted.slack))
    axis = jnp.asarray([1.0, 0.0, 0.0], point.x.dtype)
    return Aim(
        jnp.where(point.below > 0, straight.below + aim - d * predicted.below, 0.0),
        jnp.where(point.above > 0, straight.above + aim + d * predicted.above, 0.0),
        straight.cone + aim * axis - second,
    )


def right_hand_side(problem: Problem, at: Frame, aim: Aim) -> Float[Array, " n"]:
    """Return the right-hand side of the system of a step, whose solution is y."""
    scalars, contacts = problem.cones.split(at.u)
    missing = -scalars + at.point.below - at.point.above
    missing = missing + aim.below / at.from_lo - aim.above / at.to_hi
    dual = at.from_unit * contacts - at.point.slack * (at.from_unit != 0)
    cone = jordan.divide(at.centre, aim.cone) - _apply(at.scaling, dual)
    return problem.cones.join(at.root * missing, cone)


def step(problem: Problem, at: Frame, aim: Aim, y: Float[Array, " n"]) -> Point:
    """The step of a solution y."""
    _, cone = problem.cones.split(y)
    d_lam = at.right.apply(y)
    d, _ = problem.cones.split(d_lam)
    point = at.point
    return Point(
        d_lam,
        _apply(at.scaling, cone),
        _apply(at.unscaling, jordan.divide(at.centre, aim.cone) - cone),
        jnp.where(point.below > 0, (aim.below - point.below * d) / at.from_lo, 0.0),
        jnp.where(point.above > 0, (aim.above + point.above * d) / at.to_hi, 0.0),
    )


def length(at: Frame, d: Point) -> Float[Array, ""]:
    """The largest t ≤ 1 that keeps the point and its slacks in their cones."""
    point, s = at.point, at.root.shape[0]
    rows = d.lam[:s]

    def until(value: Array, change: Array) -> Array:
        return jnp.where(change < 0, safe.divide(-value, change), jnp.inf)

    limits = [
        jordan.reach(point.x, d.x),
        jordan.reach(point.slack, d.slack),
        jnp.where(point.below > 0, until(at.from_lo, rows), jnp.inf),
        jnp.where(point.above > 0, until(at.to_hi, -rows), jnp.inf),
        until(point.below, d.below),
        until(point.above, d.above),
    ]
    return jnp.min(jnp.concatenate(limits), initial=1.0)
