"""Zones of sensors: the shape of a site, in whose frame points and rays are given."""

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.collision.manifold import Geometry
from jaxccp.model.shapes import Shape
from jaxccp.sensors.rays import RAY_LENGTHS

Points = Float[Array, "c n 3"]


def ray_hits(
    zones: Sequence[Shape | None], origin: Points, direction: Points
) -> Bool[Array, "c n"]:
    """Return whether each ray hits its zone; a ray that starts inside does.

    Args:
        zones: zones of n sensors; None: everywhere.
        origin: origins of the rays, in the zones' frames.
        direction: directions of the rays.
    """

    def hits(kind: str, indices: np.ndarray, shapes: Geometry) -> Array:
        return jnp.isfinite(RAY_LENGTHS[kind](origin[:, indices], direction[:, indices], shapes))

    return _by_kind(zones, origin, hits)


def contains(zones: Sequence[Shape | None], point: Points) -> Bool[Array, "c n"]:
    """Return whether each point is in its zone.

    Args:
        zones: zones of n sensors; None: everywhere.
        point: points in the zones' frames.
    """

    def within(kind: str, indices: np.ndarray, shapes: Geometry) -> Array:
        return _WITHIN[kind](point[:, indices], shapes.size, shapes.radius)

    return _by_kind(zones, point, within)


def _by_kind(
    zones: Sequence[Shape | None],
    points: Points,
    test: Callable[[str, np.ndarray, Geometry], Array],
) -> Bool[Array, "c n"]:
    result = jnp.ones(points.shape[:2], bool)
    kinds = np.array([zone.kind if zone is not None else "" for zone in zones])
    for kind in np.unique(kinds[kinds != ""]):
        indices = np.flatnonzero(kinds == kind)
        shapes = [zone for zone in zones if zone is not None and zone.kind == kind]
        size, radius = (
            jnp.asarray(np.array([getattr(s, name) for s in shapes]), points.dtype)
            for name in ("size", "radius")
        )
        # In the shapes' own frames only size and radius are used.
        geometry = Geometry(jnp.zeros_like(size), jnp.zeros((len(indices), 3, 3)), size, radius)
        result = result.at[:, indices].set(test(str(kind), indices, geometry))
    return result


def _ball(point: Array, size: Array, radius: Array) -> Array:
    return jnp.sum(point * point, axis=-1) <= radius * radius


def _box(point: Array, size: Array, radius: Array) -> Array:
    return jnp.all(jnp.abs(point) <= size, axis=-1)


def _ellipsoid(point: Array, size: Array, radius: Array) -> Array:
    return jnp.sum((point / size) ** 2, axis=-1) <= 1


def _cylinder(point: Array, size: Array, radius: Array) -> Array:
    return _ball(point[..., :2], size, radius) & (jnp.abs(point[..., 2]) <= size[..., 2])


def _capsule(point: Array, size: Array, radius: Array) -> Array:
    past_end = jnp.maximum(jnp.abs(point[..., 2]) - size[..., 2], 0.0)
    return jnp.sum(point[..., :2] ** 2, axis=-1) + past_end * past_end <= radius * radius


_WITHIN = {
    "sphere": _ball,
    "box": _box,
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "capsule": _capsule,
}
ZONES = tuple(_WITHIN)
"""Kinds of shapes that a zone may have."""
