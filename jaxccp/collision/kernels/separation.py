"""The direction in which two convex shapes are furthest apart, or overlap least.

The gap of two convex shapes is the largest value over all unit n of

    s(n) = -h_a(n) - h_b(-n),        h: support functions, n from a to b.

It is the Euclidean distance of separated shapes, and minus the smallest translation that separates
overlapping shapes. For separated shapes s has one maximum. s has kinks where n changes the touching
vertices. A temperature τ rounds them (a softmax in place of max, and τ added in quadrature to an
ellipsoid's length |Sᵀn|), so that Newton's method on the sphere works. As τ goes to zero, as in
interior-point methods, the result becomes exact. The method never decides which vertices, edges or
faces touch: the softmax weights become the barycentric coordinates of the touching points.
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
"""Final temperature, per extent of the smaller shape, …"""
_RESOLVED = 0.6
"""… but no less than four times machine epsilon to this power."""
_ABOVE_ROUNDING = 16.0
"""… and no less than this many times the rounding of the points, which a large shape beside a small
one, or a large distance, makes coarse."""
_COOLING = 0.4
"""Factor on the temperature of an iteration, once Newton has followed the last change."""
_CLOSE = 0.3
"""Newton decrement, in units of the temperature, below which Newton has followed."""
_FINAL_ITERATIONS = 5
"""Number of iterations at the final temperature after that."""
_ITERATIONS = 60
"""Limit on the total number of iterations; some 25 are usual in float64, 12 in float32."""
_STRIDES = tuple(0.4**k for k in range(8))
"""Fractions of a Newton step that are tried."""
_MAX_ROTATION = 0.5
"""Longest Newton step [rad]."""


class Separation(NamedTuple):
    """The direction in which two shapes are furthest apart, and their touching points along it."""

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
    """Derivative of the point with respect to the temperature, times the temperature."""
    curvature: Float[Array, "3 3"]
    """Hessian of the support function: the derivative of the point with respect to the
    direction."""


def separate(pair: Core, start: Float[Array, "3"]) -> Separation:
    """Return the direction of largest separation of two shapes, and their touching points along it.

    The final temperature is above zero, so the points lie slightly inside the shapes: by some 1e-8
    of the smaller shape's extent in float64, 3e-4 in float32, and more beside a shape that is
    larger a hundredfold.

    Args:
        pair: the two shapes, stacked.
        start: unit direction from which the search starts.
    """
    solution = _search(*jax.lax.stop_gradient((pair, start)))
    return _touching(pair, *jax.lax.stop_gradient(solution))


def _support(core: Core, normal: Float[Array, "3"], temperature: Float[Array, ""]) -> _Support:
    """Return the support function of the shape without its ball, which adds the same in every
    direction.

    Args:
        core: the shape.
        normal: unit direction.
        temperature: temperature of the rounding [m].
    """
    height = jnp.einsum("vi,i->v", core.points, normal)
    top = jnp.max(height)
    e = jnp.where(core.real, jnp.exp((height - top) / temperature), 0.0)
    total = jnp.sum(e)
    weights = e / total
    mean = jnp.einsum("v,vi->i", weights, core.points)
    spread = core.points - mean
    covariance = jnp.einsum("v,vi,vj->ij", weights, spread, spread)
    across = jnp.einsum("i,ij->j", normal, core.sweep)
    length = jnp.sqrt(jnp.sum(across * across) + temperature * temperature)
    y = across / length
    sweep_curvature = (
        core.sweep @ core.sweep.T - jnp.outer(core.sweep @ y, core.sweep @ y)
    ) / length
    value = top + temperature * jnp.log(total) + length
    drift = -jnp.einsum("v,vi->i", weights * (height - top) / temperature, spread)
    drift -= core.sweep @ y * (temperature / length) ** 2
    return _Support(value, mean + core.sweep @ y, drift, covariance / temperature + sweep_curvature)


def _supports(pair: Core, normal: Float[Array, "3"], temperature: Float[Array, ""]) -> _Support:
    """Return the support functions of the first shape along ``normal`` and of the second along
    ``-normal``."""
    outward = jnp.asarray(SIDES, normal.dtype) * normal
    return jax.vmap(_support, (0, 0, None))(pair, outward, temperature)


class _Newton(NamedTuple):
    """The Hessian of -s on the sphere at a direction, diagonalised."""

    support: _Support
    """The supports of both shapes."""
    axes: Float[Array, "2 3"]
    """Tangents of the sphere along which the Hessian of -s is diagonal. If an edge touches, one
    entry is 1/τ times the other; in other axes rounding would mix the two, multiplied by 1/τ."""
    stiffness: Float[Array, "2"]
    """The diagonal, made positive, so that a step increases s even where s is not concave [m]."""

    def solve(self, slope: Float[Array, "3"]) -> Float[Array, "3"]:
        """Return the Newton step on the sphere for the gradient ``slope`` of s."""
        return ((self.axes @ slope) / self.stiffness) @ self.axes


def _newton(
    pair: Core, normal: Float[Array, "3"], temperature: Float[Array, ""], floor: Float[Array, ""]
) -> _Newton:
    """Return the Hessian of -s on the sphere at ``normal``, diagonalised, with the absolute values
    of its eigenvalues, at least ``floor`` [m]."""
    support = _supports(pair, normal, temperature)
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
    """Return the direction of largest s, and the final temperature of the search."""
    info = jnp.finfo(start.dtype)
    scale = smaller_extent(pair) + info.eps
    rounding = info.eps * (jnp.max(jnp.abs(pair.points)) + jnp.max(jnp.abs(pair.sweep)))
    last = scale * max(_LAST, 4 * float(info.eps) ** _RESOLVED)
    last = jnp.maximum(last, _ABOVE_ROUNDING * rounding)
    floor = info.eps**0.5 * scale
    strides = jnp.array(_STRIDES, start.dtype)

    def score(normal: Array, temperature: Array) -> Array:
        return -jnp.sum(_supports(pair, normal, temperature).value)

    def limited(step: Array) -> Array:
        return step * jnp.minimum(1.0, _MAX_ROTATION / jnp.sqrt(jnp.sum(step * step) + info.tiny))

    def body(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        normal, temperature, final_count, k = carry
        newton = _newton(pair, normal, temperature, floor)
        slope = newton.support.point[1] - newton.support.point[0]
        step = newton.solve(slope)
        followed = jnp.dot(step, slope) < _CLOSE * temperature
        candidates = _unit(normal + strides[:, None] * limited(step))
        candidates = jnp.concatenate([candidates, normal[None]])
        best = jnp.argmax(jax.vmap(score, (0, None))(candidates, temperature))
        # Near the optimum rounding hides the gain of a step, and a full Newton step is right.
        best = candidates[jnp.where(followed, 0, best)]
        # Lower the temperature; move along the tangent of the path of optima.
        cooler = jnp.where(followed, jnp.maximum(temperature * _COOLING, last), temperature)
        tangent = newton.solve(newton.support.drift[1] - newton.support.drift[0])
        ahead = _unit(best + limited((cooler / temperature - 1) * tangent))
        return ahead, cooler, final_count + (followed & (temperature <= last)), k + 1

    def going(carry: tuple[Array, Array, Array, Array]) -> Array:
        return (carry[2] < _FINAL_ITERATIONS) & (carry[3] < _ITERATIONS)

    zero = jnp.zeros((), jnp.int32)
    begin = (start, _FIRST * scale, zero, zero)
    normal, temperature, *_ = jax.lax.while_loop(going, body, begin)
    return normal, temperature


def _unit(v: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    """Return unit vectors along ``v``."""
    return v / jnp.linalg.norm(v, axis=-1, keepdims=True)


@jax.custom_jvp
def _touching(pair: Core, normal: Float[Array, "3"], temperature: Float[Array, ""]) -> Separation:
    """Return :func:`_newton_step`; its first derivative is treated as constant, so that second
    derivatives are 0.

    A second derivative of the weights is a difference of numbers of the size of 1/τ², of which
    rounding leaves nothing.
    """
    return _newton_step(pair, normal, temperature)


@_touching.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[Separation, Separation]:
    pair, *solution = jax.lax.stop_gradient(primals)
    _, change = jax.jvp(lambda pair: _newton_step(pair, *solution), (pair,), tangents[:1])
    return _touching(*primals), change


def _newton_step(
    pair: Core, normal: Float[Array, "3"], temperature: Float[Array, ""]
) -> Separation:
    """Return one Newton step of direction and weights together, from a solution without
    derivatives.

    By the implicit function theorem the derivative of this step is that of the solution. Weights
    are updated linearly. To compute them anew from the direction would multiply rounding by 1/τ.
    """
    eps = jnp.finfo(normal.dtype).eps
    floor = eps**0.75 * (smaller_extent(pair) + eps)
    solution = jax.lax.stop_gradient(
        _newton(jax.lax.stop_gradient(pair), normal, temperature, floor)
    )
    support = _supports(pair, normal, temperature)
    rotation = solution.solve(support.point[1] - support.point[0])
    out = jnp.asarray(SIDES, normal.dtype)
    on = support.point + out * jnp.einsum("sij,j->si", solution.support.curvature, rotation)
    exact = _unit(normal + rotation)
    return Separation(exact, on + out * pair.radius[:, None] * exact)
