"""The direction in which two convex shapes are furthest apart, or overlap least.

The gap of two convex shapes is the largest value over all unit n of

    s(n) = -h_a(n) - h_b(-n),        h: support functions, n from a to b,

both apart (the Euclidean distance) and overlapping (minus the least translation that parts them).
Apart it has one maximum. s has kinks where n changes the vertices it meets; rounding them by a
temperature τ (softmax in place of max, an ellipsoid's |Sᵀn| as its length with τ) makes Newton's
method on the sphere work, and driving τ to zero, as interior point methods do, leads to the exact
answer without ever deciding which vertices, edges or faces touch: the softmax weights become the
barycentric coordinates of the touching points.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.collision.core import SIDES, Core, smaller_extent
from jaxccp.math.contact_frame import contact_frame

_FIRST = 0.1
"""Initial temperature, per extent of the smaller shape."""
_LAST = 1e-8
"""Final temperature, …"""
_RESOLVED = 0.6
"""… but no less than four times machine epsilon to this power."""
_COOLING = 0.4
"""Factor on the temperature of an iteration, once Newton has followed the last change."""
_CLOSE = 0.3
"""Newton decrement, per temperature, at which it has."""
_FINAL_ITERATIONS = 5
"""Iterations from there on at the final temperature."""
_ITERATIONS = 60
"""Limit on their number; some 25 are usual in float64, 12 in float32."""
_STRIDES = tuple(0.4**k for k in range(8))
"""Fractions of a Newton step that are tried."""
_MAX_ROTATION = 0.5
"""Longest Newton step [rad]."""


class Separation(NamedTuple):
    """The direction of largest separation of two shapes, and their points on it."""

    normal: Float[Array, "3"]
    """Unit normal from the first shape to the second."""
    on: Float[Array, "2 3"]
    """Touching points of the shapes' surfaces [m]."""


class _Support(NamedTuple):
    """Value and derivatives of a support function at a temperature."""

    value: Float[Array, ""]
    """Value of the support function [m]."""
    point: Float[Array, "3"]
    """Touching point [m]."""
    drift: Float[Array, "3"]
    """Derivative of the point by the temperature, times the temperature."""
    curvature: Float[Array, "3 3"]
    """Hessian of the support function: the derivative of the point by the direction."""


def separate(pair: Core, start: Float[Array, "3"]) -> Separation:
    """Return the touching points along the direction of largest separation.

    Found at a temperature above zero, the points lie inside the shapes by that much: some 1e-8 of
    the smaller one's extent in float64, 1e-4 in float32.

    Args:
        pair: the two shapes, stacked.
        start: unit direction from which the search starts.
    """
    solution = _search(*jax.lax.stop_gradient((pair, start)))
    return _differentiable(pair, *jax.lax.stop_gradient(solution))


def _support(core: Core, normal: Float[Array, "3"], heat: Float[Array, ""]) -> _Support:
    """Return the support of the shape without its ball, which has the same one in every
    direction."""
    height = jnp.einsum("vi,i->v", core.points, normal)
    top = jnp.max(height)
    e = jnp.where(core.real, jnp.exp((height - top) / heat), 0.0)
    total = jnp.sum(e)
    weights = e / total
    mean = jnp.einsum("v,vi->i", weights, core.points)
    spread = core.points - mean
    covariance = jnp.einsum("v,vi,vj->ij", weights, spread, spread)
    across = jnp.einsum("i,ij->j", normal, core.sweep)
    length = jnp.sqrt(jnp.sum(across * across) + heat * heat)
    y = across / length
    sweep_curvature = (
        core.sweep @ core.sweep.T - jnp.outer(core.sweep @ y, core.sweep @ y)
    ) / length
    value = top + heat * jnp.log(total) + length
    drift = -jnp.einsum("v,vi->i", weights * (height - top) / heat, spread)
    drift -= core.sweep @ y * (heat / length) ** 2
    return _Support(value, mean + core.sweep @ y, drift, covariance / heat + sweep_curvature)


def _supports(pair: Core, normal: Float[Array, "3"], heat: Float[Array, ""]) -> _Support:
    """Return the supports of the first shape along ``normal`` and of the second against it."""
    outward = jnp.asarray(SIDES, normal.dtype) * normal
    return jax.vmap(_support, (0, 0, None))(pair, outward, heat)


class _Newton(NamedTuple):
    """The Hessian of -s at a direction, diagonalised."""

    support: _Support
    """The supports of both shapes."""
    axes: Float[Array, "2 3"]
    """Tangents of the sphere along which the Hessian of -s is diagonal. Where an edge touches
    one entry is 1/τ times the other; solved with in any other axes, the two would mix by rounding
    and multiply it by 1/τ."""
    stiffness: Float[Array, "2"]
    """The diagonal, positive: where s is not concave it goes uphill all the same."""

    def solve(self, slope: Float[Array, "3"]) -> Float[Array, "3"]:
        return ((self.axes @ slope) / self.stiffness) @ self.axes


def _newton(
    pair: Core, normal: Float[Array, "3"], heat: Float[Array, ""], floor: Float[Array, ""]
) -> _Newton:
    support = _supports(pair, normal, heat)
    tangents = contact_frame(normal)[1:]
    lever = jnp.dot(normal, support.point[1] - support.point[0])
    hessian = tangents @ (support.curvature[0] + support.curvature[1]) @ tangents.T
    mean, off = (hessian[0, 0] + hessian[1, 1]) / 2 + lever, hessian[0, 1]
    half = (hessian[0, 0] - hessian[1, 1]) / 2
    radius = jnp.hypot(half, off)
    large = jnp.where(half >= 0, jnp.array([half + radius, off]), jnp.array([off, radius - half]))
    length: Array = jnp.linalg.norm(large)
    x = jnp.eye(2, dtype=normal.dtype)[0]
    large = jnp.where(length > 0, large / jnp.where(length > 0, length, 1.0), x)
    axes = jnp.stack([large, jnp.array([-large[1], large[0]])]) @ tangents
    stiffness = jnp.abs(jnp.array([mean + radius, mean - radius]))
    return _Newton(support, axes, jnp.maximum(stiffness, floor))


def _search(pair: Core, start: Float[Array, "3"]) -> tuple[Float[Array, "3"], Float[Array, ""]]:
    """Return the direction, and the temperature at which it is stationary."""
    info = jnp.finfo(start.dtype)
    scale = smaller_extent(pair) + info.eps
    last = scale * max(_LAST, 4 * float(info.eps) ** _RESOLVED)
    floor = info.eps**0.5 * scale
    strides = jnp.array(_STRIDES, start.dtype)

    def score(normal: Array, heat: Array) -> Array:
        return -jnp.sum(_supports(pair, normal, heat).value)

    def limited(step: Array) -> Array:
        return step * jnp.minimum(1.0, _MAX_ROTATION / jnp.sqrt(jnp.sum(step * step) + info.tiny))

    def body(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        normal, heat, final_count, k = carry
        newton = _newton(pair, normal, heat, floor)
        slope = newton.support.point[1] - newton.support.point[0]
        step = newton.solve(slope)
        followed = jnp.dot(step, slope) < _CLOSE * heat
        candidates = _unit(normal + strides[:, None] * limited(step))
        candidates = jnp.concatenate([candidates, normal[None]])
        best = jnp.argmax(jax.vmap(score, (0, None))(candidates, heat))
        # Near the optimum rounding hides what a step gains, and Newton needs no help.
        best = candidates[jnp.where(followed, 0, best)]
        # Cooler by a factor; the tangent of the path of optima leads ahead.
        cooler = jnp.where(followed, jnp.maximum(heat * _COOLING, last), heat)
        tangent = newton.solve(newton.support.drift[1] - newton.support.drift[0])
        ahead = _unit(best + limited((cooler / heat - 1) * tangent))
        return ahead, cooler, final_count + (followed & (heat <= last)), k + 1

    def going(carry: tuple[Array, Array, Array, Array]) -> Array:
        return (carry[2] < _FINAL_ITERATIONS) & (carry[3] < _ITERATIONS)

    zero = jnp.zeros((), jnp.int32)
    begin = (start, _FIRST * scale, zero, zero)
    normal, heat, *_ = jax.lax.while_loop(going, body, begin)
    return normal, heat


def _unit(v: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    return v / jnp.linalg.norm(v, axis=-1, keepdims=True)


def _differentiable(pair: Core, normal: Float[Array, "3"], heat: Float[Array, ""]) -> Separation:
    """Return a Newton step of direction and weights together, from a solution whose derivative is
    cut.

    By the implicit function theorem the derivative of the step is that of the solution. Weights are
    updated linearly, not computed anew from the direction, where rounding would be multiplied by
    1/τ.
    """
    eps = jnp.finfo(normal.dtype).eps
    floor = eps**0.75 * (smaller_extent(pair) + eps)
    solution = jax.lax.stop_gradient(_newton(jax.lax.stop_gradient(pair), normal, heat, floor))
    support = _supports(pair, normal, heat)
    rotation = solution.solve(support.point[1] - support.point[0])
    out = jnp.asarray(SIDES, normal.dtype)
    on = support.point + out * jnp.einsum("sij,j->si", solution.support.curvature, rotation)
    exact = _unit(normal + rotation)
    return Separation(exact, on + out * pair.radius[:, None] * exact)
