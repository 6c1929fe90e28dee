"""Convex shapes in one form: the hull of some points, swept by an ellipsoid and by a ball.

A box or a hull is its vertices, a capsule two points and a ball, an ellipsoid one point and an
ellipsoid, a cylinder two points and a disc (an ellipsoid flat along z). Support points and their
derivatives then have one formula for all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.collision.corners import CORNERS
from jaxccp.collision.manifold import Geometry


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Core:
    """A convex shape: conv(points) + sweep · (unit ball) + radius · (unit ball)."""

    points: Float[Array, "v 3"]
    sweep: Float[Array, "3 3"]
    """Columns: semi-axes of the ellipsoid, zero where it is flat [m]."""
    radius: Float[Array, ""]

    def moved(self, offset: Float[Array, "3"], rotation: Float[Array, "3 3"]) -> "Core":
        """The same shape in the frame in which its own has this origin and these axes."""
        points = offset + jnp.einsum("ij,vj->vi", rotation, self.points)
        return Core(points, rotation @ self.sweep, self.radius)

    def reach(self, normal: Float[Array, "*n 3"]) -> Float[Array, "*n"]:
        """Support function: the largest coordinate of a point of the shape along ``normal``."""
        along = jnp.max(jnp.einsum("...i,vi->...v", normal, self.points), axis=-1)
        across = jnp.einsum("...i,ij->...j", normal, self.sweep)
        square = jnp.sum(across * across, axis=-1)
        wide = square > 0
        return along + jnp.where(wide, jnp.sqrt(jnp.where(wide, square, 1.0)), 0.0) + self.radius


def _sphere(shape: Geometry) -> Core:
    return Core(jnp.zeros((1, 3), shape.size.dtype), _no_sweep(shape), shape.radius)


def _capsule(shape: Geometry) -> Core:
    return Core(_ends(shape), _no_sweep(shape), shape.radius)


def _box(shape: Geometry) -> Core:
    corners = jnp.asarray(CORNERS, shape.size.dtype) * (shape.size - shape.radius)
    return Core(corners, _no_sweep(shape), shape.radius)


def _cylinder(shape: Geometry) -> Core:
    disc = shape.radius * jnp.diag(jnp.array([1.0, 1.0, 0.0], shape.size.dtype))
    return Core(_ends(shape), disc, jnp.zeros_like(shape.radius))


def _ellipsoid(shape: Geometry) -> Core:
    return Core(jnp.zeros((1, 3), shape.size.dtype), jnp.diag(shape.size), shape.radius)


def _convex(shape: Geometry) -> Core:
    assert shape.hull is not None
    return Core(shape.hull.vertices * shape.size, _no_sweep(shape), shape.radius)


def _ends(shape: Geometry) -> Float[Array, "2 3"]:
    return jnp.array([[0, 0, -1], [0, 0, 1]], shape.size.dtype) * shape.size[2]


def _no_sweep(shape: Geometry) -> Float[Array, "3 3"]:
    return jnp.zeros((3, 3), shape.size.dtype)


CORES: dict[str, Callable[[Geometry], Core]] = {
    "sphere": _sphere,
    "capsule": _capsule,
    "box": _box,
    "cylinder": _cylinder,
    "ellipsoid": _ellipsoid,
    "convex": _convex,
}
"""By kind, in the shape's own frame."""
