"""Zones of sensors: the shape of a site, in whose frame points and rays are given."""

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.collision.manifold import Geometry
from jaxccp.model.shapes import Shape
from jaxccp.sensors.rays import MET

Points = Float[Array, "c n 3"]


def meets(zones: Sequence[Shape | None], origin: Points, direction: Points) -> Bool[Array, "c n"]:
    """Whether rays meet the zones, those that begin inside included; None is everywhere."""

    def met(kind: str, own: np.ndarray, shapes: Geometry) -> Array:
        return jnp.isfinite(MET[kind](origin[:, own], direction[:, own], shapes))

    return _by_kind(zones, origin, met)


def contains(zones: Sequence[Shape | None], point: Points) -> Bool[Array, "c n"]:
    """Whether points are in the zones; None is everywhere."""

    def within(kind: str, own: np.ndarray, shapes: Geometry) -> Array:
        return _WITHIN[kind](point[:, own], shapes.size, shapes.radius)

    return _by_kind(zones, point, within)


def _by_kind(
    zones: Sequence[Shape | None],
    points: Points,
    judge: Callable[[str, np.ndarray, Geometry], Array],
) -> Bool[Array, "c n"]:
    found = jnp.ones(points.shape[:2], bool)
    kinds = np.array([zone.kind if zone is not None else "" for zone in zones])
    for kind in np.unique(kinds[kinds != ""]):
        own = np.flatnonzero(kinds == kind)
        shapes = [zone for zone in zones if zone is not None and zone.kind == kind]
        size, radius = (
            jnp.asarray(np.array([getattr(s, name) for s in shapes]), points.dtype)
            for name in ("size", "radius")
        )
        # Only these two are asked of shapes that are given in their own frames.
        placed = Geometry(jnp.zeros_like(size), jnp.zeros((len(own), 3, 3)), size, radius)
        found = found.at[:, own].set(judge(str(kind), own, placed))
    return found


def _ball(point: Array, size: Array, radius: Array) -> Array:
    return jnp.sum(point * point, axis=-1) <= radius * radius


def _box(point: Array, size: Array, radius: Array) -> Array:
    return jnp.all(jnp.abs(point) <= size, axis=-1)


def _ellipsoid(point: Array, size: Array, radius: Array) -> Array:
    return jnp.sum((point / size) ** 2, axis=-1) <= 1


def _cylinder(point: Array, size: Array, radius: Array) -> Array:
    return _ball(point[..., :2], size, radius) & (jnp.abs(point[..., 2]) <= size[..., 2])


def _capsule(point: Array, size: Array, radius: Array) -> Array:
    beyond = jnp.maximum(jnp.abs(point[..., 2]) - size[..., 2], 0.0)
    return jnp.sum(point[..., :2] ** 2, axis=-1) + beyond * beyond <= radius * radius


_WITHIN = {
    "sphere": _ball,
    "box": _box,
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "capsule": _capsule,
}
ZONES = tuple(_WITHIN)
"""Kinds of shapes that a zone may have."""
