"""Contacts of any two convex shapes: one point of least gap, and the polygon where faces meet."""

from collections.abc import Callable
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.clip import clip, spanning
from jaxccp.collision.core import CORES, Core
from jaxccp.collision.corners import BOX_FACES
from jaxccp.collision.faces import (
    Face,
    face_normals,
    polyhedron_face,
    round_face,
    segment,
)
from jaxccp.collision.manifold import Geometry, Manifold, between, keep, place
from jaxccp.collision.separation import Separation, extent, separate

Kernel = Callable[[Geometry, Geometry], Manifold]

_GRID = np.array([g for g in product((-1, 0, 1), repeat=3) if any(g)], float)
_STARTS = _GRID / np.linalg.norm(_GRID, axis=1, keepdims=True)
_SINGLE = 1 << 20
"""Feature of the point of least gap."""

# As for two boxes, per extent of the smaller shape:
_ALLOWANCE = 1.0137e-3
_PREFER_A = 1e-3
_PREFER_FACE = 5e-3
_PREFER_FACE_RELATIVE = 1e-2
_LOWER = 1e-5
"""How much closer the point of least gap must be to count beside a polygon."""


def one_point(kind_a: str, kind_b: str) -> Kernel:
    """The kernel of two kinds that touch in one point, one of them being round all over."""

    def kernel(a: Geometry, b: Geometry) -> Manifold:
        found = nearest(a, b, *_cores(kind_a, kind_b, a, b))
        return place(single(found), a.position, a.rotation)

    return kernel


def many_points(kind_a: str, kind_b: str) -> Kernel:
    """The kernel of two kinds with faces or straight sides: up to ``POINTS`` + 1 points.

    The faces that look at each other most directly are clipped, the one clearly better as the
    direction of separation being the reference. Their polygon is kept until the point of least
    gap is better by 0.5 % of the smaller shape's extent plus 1 % of the gap; that point joins it
    as soon as it is closer at all.
    """

    def kernel(a: Geometry, b: Geometry) -> Manifold:
        core_a, core_b = _cores(kind_a, kind_b, a, b)
        found = nearest(a, b, core_a, core_b)
        face_a = face_towards(kind_a, a, core_a, found.normal)
        face_b = face_towards(kind_b, b, core_b, -found.normal)
        return place(meet(core_a, core_b, face_a, face_b, found), a.position, a.rotation)

    return kernel


def meet(core_a: Core, core_b: Core, face_a: Face, face_b: Face, found: Separation) -> Manifold:
    """The polygon of two faces and, last, the point of least gap, whichever count."""
    scale = jax.lax.stop_gradient(jnp.minimum(extent(core_a), extent(core_b)))
    point = single(found)
    gap = jax.lax.stop_gradient(point.distance[0])

    def along(normal: Float[Array, "3"]) -> Float[Array, ""]:
        return jax.lax.stop_gradient(-core_a.reach(normal) - core_b.reach(-normal))

    gap_a, gap_b = along(face_a.normal), along(-face_b.normal)
    # A strip is the face of a round side, whose normal is that of the gap: no face of its own.
    by_b = gap_b > gap_a + _PREFER_A * scale
    by_b |= face_a.line & ~face_b.line & (gap_b > gap_a - _PREFER_FACE * scale)
    own, other = _swapped(by_b, face_a, face_b)
    incident = _swapped(by_b, segment(face_b), segment(face_a))[0]
    overlap = clip(own.points, own.normal, incident, other.normal, _ALLOWANCE * scale)
    fixed = jax.lax.stop_gradient((overlap, own))
    along_edge = fixed[1].points[1] - fixed[1].points[0]
    level = fixed[0].points @ fixed[1].normal
    chosen, live = spanning(
        fixed[0].points, fixed[0].live, level, fixed[1].normal, along_edge, steepness=0.0
    )
    points = overlap.points[chosen]
    height = (points - own.points[0]) @ own.normal
    under = points - height[:, None] * own.normal
    normal = jnp.broadcast_to(jnp.where(by_b, -own.normal, own.normal), points.shape)
    pair = 1 + face_a.number + 64 * face_b.number
    polygon = between(
        jnp.where(by_b, points, under),
        jnp.where(by_b, under, points),
        normal,
        core_a.radius,
        core_b.radius,
        ((overlap.number[chosen] + (len(overlap.number) * pair)) % _SINGLE).astype(jnp.int32),
    )

    tolerance = _PREFER_FACE * scale + _PREFER_FACE_RELATIVE * jnp.abs(gap)
    lowest = jnp.min(jnp.where(live, jax.lax.stop_gradient(polygon.distance), jnp.inf))
    is_face = jnp.maximum(gap_a, jnp.where(by_b, gap_b, gap_a)) >= gap - tolerance
    many = is_face & (lowest <= gap + tolerance)
    lower = ~many | (gap < lowest - _LOWER * scale)
    manifold = jax.tree.map(lambda x, y: jnp.concatenate([x, y]), polygon, point)
    return keep(manifold, jnp.concatenate([live & many, lower[None]]))


def nearest(a: Geometry, b: Geometry, core_a: Core, core_b: Core) -> Separation:
    """Points of least gap, in a's frame, from the best of many directions to begin with.

    Overlapping shapes may have several directions in which they part; the search finds the best
    one nearby, and starts from the normals of all faces and 26 directions around each shape.
    """
    fixed_a, fixed_b = jax.lax.stop_gradient((core_a, core_b))
    turn = jax.lax.stop_gradient(jnp.einsum("ji,jk->ik", a.rotation, b.rotation))
    grid = jnp.asarray(_STARTS, turn.dtype)
    starts = [grid, grid @ turn.T]
    if a.hull is not None:
        starts.append(face_normals(fixed_a.points, a.hull.faces))
    if b.hull is not None:
        starts.append(-face_normals(fixed_b.points, b.hull.faces))
    tried = jnp.concatenate(starts)
    best = jnp.argmax(-fixed_a.reach(tried) - fixed_b.reach(-tried))
    return separate(core_a, core_b, tried[best])


def _cores(kind_a: str, kind_b: str, a: Geometry, b: Geometry) -> tuple[Core, Core]:
    """Both in a's frame."""
    offset = jnp.einsum("ji,j->i", a.rotation, b.position - a.position)
    turn = jnp.einsum("ji,jk->ik", a.rotation, b.rotation)
    return CORES[kind_a](a), CORES[kind_b](b).moved(offset, turn)


def face_towards(kind: str, shape: Geometry, core: Core, towards: Float[Array, "3"]) -> Face:
    if kind == "box":
        return polyhedron_face(core, jnp.asarray(BOX_FACES), towards)
    if shape.hull is not None:
        return polyhedron_face(core, shape.hull.faces, towards)
    return round_face(core, towards)


def single(found: Separation) -> Manifold:
    """The balls are part of the touching points already."""
    none = jnp.zeros((), found.normal.dtype)
    return between(
        found.on_a[None],
        found.on_b[None],
        found.normal[None],
        none,
        none,
        jnp.full(1, _SINGLE, jnp.int32),
    )


def _swapped(swap: Array, first, second):
    """Two trees of arrays, exchanged where told; polygons padded to the same size."""

    def longer(x: Array, size: int) -> Array:
        if x.ndim < 2 or len(x) == size:
            return x
        return jnp.concatenate([x, jnp.broadcast_to(x[-1], (size - len(x), 3))])

    leaves = jax.tree.leaves((first, second))
    size = max(len(x) for x in leaves if x.ndim == 2)
    one, two = jax.tree.map(lambda x: longer(x, size), (first, second))
    mine = jax.tree.map(lambda x, y: jnp.where(swap, y, x), one, two)
    return mine, jax.tree.map(lambda x, y: jnp.where(swap, x, y), one, two)
