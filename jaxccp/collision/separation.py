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

from jaxccp.collision.core import Core
from jaxccp.math.frames import contact_frame

_COOLING = 0.45
"""What an iteration multiplies the temperature by."""
_CLOSE = 0.3
_ITERATIONS = 100
"""Iterations at the last temperature."""
_FIRST = 0.1
"""Temperature to begin with, per extent of the smaller shape."""
_LAST = 1e-8
"""The last one, …"""
_RESOLVED = 0.6
"""… but no less than four times machine epsilon to this power."""
_COOLING = 0.4
"""What an iteration multiplies the temperature by, once Newton has followed the last change."""
_CLOSE = 0.3
"""Newton decrement, per temperature, at which it has."""
_ITERATIONS = 60
"""Most of them; some 25 are usual in float64, 12 in float32."""
_STRIDES = tuple(0.4**k for k in range(8))
"""Shares of a Newton step that are tried."""
_TURN = 0.5
"""Longest Newton step [rad]."""


class Separation(NamedTuple):
    normal: Float[Array, "3"]
    """From a to b."""
    on_a: Float[Array, "3"]
    """Touching points of the shapes' surfaces."""
    on_b: Float[Array, "3"]


class _Support(NamedTuple):
    value: Float[Array, ""]
    point: Float[Array, "3"]
    drift: Float[Array, "3"]
    """How the point moves as the temperature rises, times the temperature."""
    curvature: Float[Array, "3 3"]
    """Of the support function: how the point moves as the direction turns."""


def extent(core: Core) -> Float[Array, ""]:
    """About the radius of a shape [m]."""
    middle = jnp.mean(core.points, axis=0)
    span = jnp.sqrt(jnp.max(jnp.sum((core.points - middle) ** 2, axis=1)))
    return span + jnp.max(jnp.abs(core.sweep)) + core.radius


def separate(a: Core, b: Core, start: Float[Array, "3"]) -> Separation:
    """Touching points along the direction of largest separation found from ``start`` (unit).

    Found at a temperature above zero, they lie inside the shapes by that much: some 1e-8 of the
    smaller one's extent in float64, 1e-5 in float32.
    """
    found = _search(*jax.lax.stop_gradient((a, b, start)))
    return _differentiable(a, b, *jax.lax.stop_gradient(found))


def _support(core: Core, normal: Float[Array, "3"], heat: Float[Array, ""]) -> _Support:
    """Of the shape without its ball, which no direction depends on."""
    height = jnp.einsum("vi,i->v", core.points, normal)
    top = jnp.max(height)
    e = jnp.exp((height - top) / heat)
    total = jnp.sum(e)
    weights = e / total
    mean = jnp.einsum("v,vi->i", weights, core.points)
    spread = core.points - mean
    covariance = jnp.einsum("v,vi,vj->ij", weights, spread, spread)
    across = jnp.einsum("i,ij->j", normal, core.sweep)
    length = jnp.sqrt(jnp.sum(across * across) + heat * heat)
    y = across / length
    stiff = (core.sweep @ core.sweep.T - jnp.outer(core.sweep @ y, core.sweep @ y)) / length
    value = top + heat * jnp.log(total) + length
    drift = -jnp.einsum("v,vi->i", weights * (height - top) / heat, spread)
    drift -= core.sweep @ y * (heat / length) ** 2
    return _Support(value, mean + core.sweep @ y, drift, covariance / heat + stiff)


def _newton(
    a: Core, b: Core, normal: Float[Array, "3"], heat: Float[Array, ""], floor: Float[Array, ""]
) -> tuple[_Support, _Support, Float[Array, "2 3"], Float[Array, "2 2"]]:
    """Supports, tangents, and the inverse Hessian of -s on the sphere, made positive definite."""
    of_a, of_b = _support(a, normal, heat), _support(b, -normal, heat)
    tangents = contact_frame(normal)[1:]
    lever = jnp.dot(normal, of_b.point - of_a.point)
    hessian = tangents @ (of_a.curvature + of_b.curvature) @ tangents.T + lever * jnp.eye(
        2, dtype=normal.dtype
    )
    half = (hessian[0, 0] + hessian[1, 1]) / 2
    off = (hessian[0, 0] - hessian[1, 1]) / 2
    least = half - jnp.sqrt(off * off + hessian[0, 1] ** 2)
    shift = jnp.maximum(floor - least, 0.0)
    p, q, r = hessian[0, 0] + shift, hessian[0, 1], hessian[1, 1] + shift
    # By elimination from the larger diagonal entry: the determinant would cancel.
    swap = r > p
    big, small = jnp.where(swap, r, p), jnp.where(swap, p, r)
    factor = q / big
    rest = jnp.maximum(small - factor * q, floor)
    corner = 1 / big + factor * factor / rest
    inverse = jnp.where(
        swap,
        jnp.array([[1 / rest, -factor / rest], [-factor / rest, corner]]),
        jnp.array([[corner, -factor / rest], [-factor / rest, 1 / rest]]),
    )
    return of_a, of_b, tangents, inverse


def _search(
    a: Core, b: Core, start: Float[Array, "3"]
) -> tuple[Float[Array, "3"], Float[Array, ""]]:
    """The direction, and the temperature at which it is stationary."""
    info = jnp.finfo(start.dtype)
    scale = jnp.minimum(extent(a), extent(b)) + info.eps
    last = scale * max(_LAST, 4 * float(info.eps) ** _RESOLVED)
    floor = info.eps**0.5 * scale
    strides = jnp.array(_STRIDES, start.dtype)

    def score(normal: Array, heat: Array) -> Array:
        return -_support(a, normal, heat).value - _support(b, -normal, heat).value

    def limited(step: Array) -> Array:
        return step * jnp.minimum(1.0, _TURN / jnp.sqrt(jnp.sum(step * step) + info.tiny))

    def body(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        normal, heat, _, k = carry
        of_a, of_b, tangents, inverse = _newton(a, b, normal, heat, floor)
        slope = tangents @ (of_b.point - of_a.point)
        step = inverse @ slope
        followed = jnp.dot(step, slope) < _CLOSE * heat
        tried = _unit(normal + strides[:, None] * limited(step @ tangents))
        tried = jnp.concatenate([tried, normal[None]])
        best = tried[jnp.argmax(jax.vmap(score, (0, None))(tried, heat))]
        # Cooler by a factor; the tangent of the path of optima leads ahead.
        cooler = jnp.where(followed, jnp.maximum(heat * _COOLING, last), heat)
        tangent = inverse @ (tangents @ (of_b.drift - of_a.drift))
        ahead = _unit(best + limited((cooler / heat - 1) * tangent @ tangents))
        return ahead, cooler, followed & (heat <= last), k + 1

    def going(carry: tuple[Array, Array, Array, Array]) -> Array:
        return ~carry[2] & (carry[3] < _ITERATIONS)

    begin = (start, _FIRST * scale, jnp.array(False), jnp.zeros((), jnp.int32))
    normal, heat, *_ = jax.lax.while_loop(going, body, begin)
    return normal, heat


def _unit(v: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    return v / jnp.linalg.norm(v, axis=-1, keepdims=True)


def _differentiable(
    a: Core, b: Core, normal: Float[Array, "3"], heat: Float[Array, ""]
) -> Separation:
    """One Newton step of direction and weights together, from a solution held fixed.

    By the implicit function theorem its derivative is that of the solution. Weights are updated
    linearly, not computed anew from the direction, where rounding would be multiplied by 1/τ.
    """
    fixed = jax.lax.stop_gradient((a, b))
    scale = jnp.minimum(extent(fixed[0]), extent(fixed[1])) + jnp.finfo(normal.dtype).eps
    floor = jnp.finfo(normal.dtype).eps ** 0.75 * scale
    *_, tangents, inverse = jax.lax.stop_gradient(_newton(*fixed, normal, heat, floor))
    of_a, of_b = _support(a, normal, heat), _support(b, -normal, heat)
    turn = (inverse @ (tangents @ (of_b.point - of_a.point))) @ tangents
    fixed_a, fixed_b = jax.lax.stop_gradient((of_a, of_b))
    on_a = of_a.point + fixed_a.curvature @ turn
    on_b = of_b.point - fixed_b.curvature @ turn
    exact = _unit(normal + turn)
    return Separation(exact, on_a + a.radius * exact, on_b - b.radius * exact)
