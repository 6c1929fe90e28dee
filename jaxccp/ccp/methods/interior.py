"""The iterate of an interior-point method inside the cones, and its Newton step.

Primal–dual path following for  min ½ λᵀNλ + rᵀλ over K  with the scaling of Nesterov & Todd and the
predictor and corrector of Mehrotra, as in Vandenberghe, "The CVXOPT linear and quadratic cone
program solvers" (2010), sections 5 and 7. Contacts are in the cone Q by x = diag(μ, 1, 1) λ = T λ.
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
    """λ [N s]."""
    x: Float[Array, "c 3"]
    """T λ of the contacts, in Q."""
    slack: Float[Array, "c 3"]
    """T⁻¹ u of the contacts at the solution, in Q [m/s]."""
    below: Float[Array, " s"]
    """Slacks s⁻ of λ ≥ lo [m/s]; u = s⁻ − s⁺ on scalar rows."""
    above: Float[Array, " s"]
    """Slacks s⁺ of λ ≤ hi [m/s]."""

    def plus(self, t: Array, step: "Point") -> "Point":
        """Return the point self + t · step.

        Args:
            t: length of the step.
            step: the step.
        """
        return jax.tree.map(lambda a, b: a + t * b, self, step)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Linearisation:
    """The scaling of Nesterov and Todd at a point, and the other data of its Newton step."""

    point: Point
    """The point."""
    u: Float[Array, " n"]
    """N λ + r [m/s], with De Saxcé's shift if the law has one."""
    from_unit: Float[Array, "c 3"]
    """Diagonal of T⁻¹; 0 on tangents without friction, which the problem does not include."""
    scaling: Float[Array, "c 3 3"]
    """W of Nesterov and Todd."""
    unscaling: Float[Array, "c 3 3"]
    """W⁻¹."""
    centre: Float[Array, "c 3"]
    """W⁻¹ x = W s."""
    from_lo: Float[Array, " s"]
    """λ − lo; 1 where there is no such bound."""
    to_hi: Float[Array, " s"]
    """hi − λ; 1 where there is no such bound."""
    root: Float[Array, " s"]
    """R of the scalar rows: (s⁻/(λ − lo) + s⁺/(hi − λ))^-½, at most √(FREE ρ); 0 where lo = hi."""
    gap: Float[Array, ""]
    """Mean complementarity over cones and bounds [J]."""

    @property
    def right(self) -> BlockDiagonal:
        """Block diagonal R: a step solves (I + Rᵀ S N R) y = b with S = ∂ũ/∂u, and dλ = R y."""
        return BlockDiagonal(self.root, self.from_unit[:, :, None] * self.scaling)


def _cone_scalings(problem: Problem) -> tuple[Array, Array]:
    """Return the diagonals of T and T⁻¹ of each contact, which map K to Q and back; without
    friction 1 on the normal, 0 on tangents."""
    mu = problem.cones.mu
    slick = mu == 0
    normal, rough = jnp.where(slick, 1.0, mu), jnp.where(slick, 0.0, jnp.ones_like(mu))
    return jnp.stack([normal, rough, rough], 1), jnp.stack([1.0 / normal, rough, rough], 1)


def start(problem: Problem, rho: Float[Array, " n"]) -> Point:
    """Return a point on the axes of the cones, in units of the largest velocity at λ = 0.

    Rows with wide bounds start near 0. Slacks of bounds that are further away are smaller, so that
    all products of distance and slack are of one size.

    Args:
        problem: n rows.
        rho: step size of each row [kg].
    """
    cones = problem.cones
    speed = problem.scale()
    speed = jnp.where(speed > 0, speed, 1.0)
    rows, blocks = cones.split(rho)
    has_lo, has_hi, low, high = _bounds(problem)
    offset = speed * rows
    half = jnp.where(has_lo & has_hi, jnp.minimum(offset, 0.5 * high - 0.5 * low), offset)
    least, most = jnp.where(has_lo, low + half, cones.lo), jnp.where(has_hi, high - half, cones.hi)
    scalars = jnp.clip(0.0, least, most)
    axis = jnp.asarray([1.0, 0.0, 0.0], rho.dtype)
    contacts = speed * blocks * axis
    to_unit, from_unit = _cone_scalings(problem)
    return Point(
        cones.join(scalars, contacts),
        to_unit * contacts,
        speed * from_unit * axis,
        jnp.where(has_lo, speed * offset / jnp.maximum(scalars - low, offset), 0.0),
        jnp.where(has_hi, speed * offset / jnp.maximum(high - scalars, offset), 0.0),
    )


def _bounds(problem: Problem) -> tuple[Array, Array, Array, Array]:
    """Return which scalar rows have a lower and an upper bound, and these bounds, 0 where there is
    none. Rows whose bounds are equal but for rounding count as without: their multipliers stay."""
    lo, hi = problem.cones.lo, problem.cones.hi
    wide = hi - lo > 4 * jnp.finfo(lo.dtype).eps * jnp.minimum(jnp.abs(lo), jnp.abs(hi))
    has_lo, has_hi = jnp.isfinite(lo) & wide, jnp.isfinite(hi) & wide
    return has_lo, has_hi, jnp.where(has_lo, lo, 0.0), jnp.where(has_hi, hi, 0.0)


def linearise(problem: Problem, rho: Float[Array, " n"], point: Point, u: Array) -> Linearisation:
    """Return the scaling and the other data of a Newton step at ``point``.

    Args:
        problem: n rows.
        rho: step size of each row [kg].
        point: multipliers and slacks inside their cones.
        u: N λ + r at the point [m/s], De Saxcé's shift included where the law has one.
    """
    has_lo, has_hi, low, high = _bounds(problem)
    cones, tiny = problem.cones, jnp.finfo(rho.dtype).tiny
    rows, scalars = cones.split(rho)[0], cones.split(point.lam)[0]
    from_lo = jnp.where(has_lo, jnp.maximum(scalars - low, tiny), 1.0)
    to_hi = jnp.where(has_hi, jnp.maximum(high - scalars, tiny), 1.0)
    weight = point.below / from_lo + point.above / to_hi
    free = rows * (FREE if jnp.finfo(rho.dtype).eps < 1e-10 else SINGLE_FREE)
    equal = jnp.isfinite(cones.lo) & ~has_lo
    root = jnp.where(equal, 0.0, jax.lax.rsqrt(jnp.maximum(weight, 1.0 / free)))
    scaling, unscaling = jordan.scaling(point.x, point.slack)
    total = jnp.sum(point.x * point.slack) + from_lo @ point.below + to_hi @ point.above
    degree = jnp.sum(has_lo) + jnp.sum(has_hi) + point.x.shape[0]
    gap = total / jnp.maximum(degree, 1).astype(rho.dtype)
    centre = _apply(unscaling, point.x)
    _, from_unit = _cone_scalings(problem)
    return Linearisation(point, u, from_unit, scaling, unscaling, centre, from_lo, to_hi, root, gap)


def _apply(blocks: Float[Array, "c 3 3"], x: Float[Array, "c 3"]) -> Float[Array, "c 3"]:
    """Return the products of each contact's block with its vector."""
    return jnp.einsum("cij,cj->ci", blocks, x)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Aim:
    """Changes of complementarity that a step makes, to first order [J]."""

    below: Float[Array, " s"]
    """Change of (λ − lo) s⁻ in each scalar row."""
    above: Float[Array, " s"]
    """Change of (hi − λ) s⁺ in each scalar row."""
    cone: Float[Array, "c 3"]
    """Change of the Jordan product x ∘ slack of each contact, in scaled coordinates."""


def predict(current: Linearisation) -> Aim:
    """Return the target of the affine predictor: a step to zero complementarity."""
    point = current.point
    return Aim(
        -current.from_lo * point.below,
        -current.to_hi * point.above,
        -jordan.product(current.centre, current.centre),
    )


def correct(current: Linearisation, predicted: Point, length: Array) -> Aim:
    """Return the target of Mehrotra's corrector: a step towards the central path that includes the
    predictor's second-order term.

    The centring parameter is the cube of the ratio of the gaps after and before the predictor.

    Args:
        current: the linearisation at the present point.
        predicted: the affine predictor's step.
        length: fraction of that step that stays inside the cones.
    """
    point, s = current.point, current.root.shape[0]
    affine = predict(current)
    predicted_point = point.plus(length, predicted)
    d = predicted.lam[:s]
    gap_after = jnp.sum(predicted_point.x * predicted_point.slack)
    gap_after += jnp.sum((current.from_lo + length * d) * predicted_point.below)
    gap_after += jnp.sum((current.to_hi - length * d) * predicted_point.above)
    gap_before = (
        jnp.sum(point.x * point.slack) + current.from_lo @ point.below + current.to_hi @ point.above
    )
    centring = jnp.clip(safe.divide(gap_after, gap_before), 0.0, 1.0) ** 3
    aim = centring * current.gap
    second = jordan.product(
        _apply(current.unscaling, predicted.x), _apply(current.scaling, predicted.slack)
    )
    axis = jnp.asarray([1.0, 0.0, 0.0], point.x.dtype)
    return Aim(
        jnp.where(point.below > 0, affine.below + aim - d * predicted.below, 0.0),
        jnp.where(point.above > 0, affine.above + aim + d * predicted.above, 0.0),
        affine.cone + aim * axis - second,
    )


def right_hand_side(problem: Problem, current: Linearisation, aim: Aim) -> Float[Array, " n"]:
    """Return the right-hand side b of the system of a step (see :attr:`Linearisation.right`).

    Args:
        problem: n rows.
        current: the linearisation at the present point.
        aim: the desired changes of complementarity.
    """
    scalars, contacts = problem.cones.split(current.u)
    missing = -scalars + current.point.below - current.point.above
    missing = missing + aim.below / current.from_lo - aim.above / current.to_hi
    dual = current.from_unit * contacts - current.point.slack * (current.from_unit != 0)
    cone = jordan.divide(current.centre, aim.cone) - _apply(current.scaling, dual)
    return problem.cones.join(current.root * missing, cone)


def step(problem: Problem, current: Linearisation, aim: Aim, y: Float[Array, " n"]) -> Point:
    """Return the step of λ, x and the slacks that belongs to a solution y.

    Args:
        problem: n rows.
        current: the linearisation at the present point.
        aim: the changes of complementarity of the right-hand side.
        y: solution of the linear system of the step.
    """
    _, cone = problem.cones.split(y)
    d_lam = current.right.apply(y)
    d, _ = problem.cones.split(d_lam)
    point = current.point
    return Point(
        d_lam,
        _apply(current.scaling, cone),
        _apply(current.unscaling, jordan.divide(current.centre, aim.cone) - cone),
        jnp.where(point.below > 0, (aim.below - point.below * d) / current.from_lo, 0.0),
        jnp.where(point.above > 0, (aim.above + point.above * d) / current.to_hi, 0.0),
    )


def length(current: Linearisation, d: Point) -> Float[Array, ""]:
    """Return the largest t ≤ 1 that keeps the point and its slacks in their cones.

    Args:
        current: the linearisation at the present point.
        d: the step.
    """
    point, s = current.point, current.root.shape[0]
    rows = d.lam[:s]

    def until(value: Array, change: Array) -> Array:
        return jnp.where(change < 0, safe.divide(-value, change), jnp.inf)

    limits = [
        jordan.reach(point.x, d.x),
        jordan.reach(point.slack, d.slack),
        jnp.where(point.below > 0, until(current.from_lo, rows), jnp.inf),
        jnp.where(point.above > 0, until(current.to_hi, -rows), jnp.inf),
        until(point.below, d.below),
        until(point.above, d.above),
    ]
    return jnp.min(jnp.concatenate(limits), initial=1.0)
