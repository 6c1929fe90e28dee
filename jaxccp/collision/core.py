"""Convex shapes in one form: the hull of some points, swept by an ellipsoid and by a ball.

A box or a hull is its vertices, a capsule two points and a ball, an ellipsoid one point and an
ellipsoid, a cylinder two points and a disc (an ellipsoid flat along z). So support points and their
derivatives have one formula for all of them. Padded to one size, all shapes share one program.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

SMOOTH, ROUND, FACETED = range(3)
"""Styles of shapes: touching at one point only; with caps and straight sides around an axis; with
faces."""
SIDES = np.array([[1.0], [-1.0]])
"""Signs of the normal that points out of the first shape and out of the second."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Core:
    """A convex shape: the Minkowski sum conv(points) + sweep · (unit ball) + radius · (unit ball).

    It includes the ball. Elsewhere "a box's core" and "core points" are what the ball is swept
    over.
    """

    points: Float[Array, "v 3"]
    """Points whose convex hull is the first part [m]."""
    real: Bool[Array, " v"]
    """Mask of the points that are not padding; padding repeats another point."""
    sweep: Float[Array, "3 3"]
    """Semi-axes of the ellipsoid, as columns; zero along directions in which it is flat [m]."""
    radius: Float[Array, ""]
    """Radius of the ball [m]."""
    style: Int[Array, ""]
    """One of SMOOTH, ROUND and FACETED."""
    faces: Int[Array, "f m"]
    """Points of each face of a faceted shape, as in :class:`jaxccp.model.Hull`."""

    def transformed(self, offset: Float[Array, "3"], rotation: Float[Array, "3 3"]) -> "Core":
        """Return the shape in another frame.

        Args:
            offset: origin of its present frame in the other frame [m].
            rotation: axes of its present frame in the other frame, as columns.
        """
        points = offset + jnp.einsum("ij,vj->vi", rotation, self.points)
        return replace(self, points=points, sweep=rotation @ self.sweep)

    def reach(self, normal: Float[Array, "*n 3"]) -> Float[Array, "*n"]:
        """Return the support function [m]: the largest coordinate along ``normal`` of any point of
        the shape."""
        vertex_reach = jnp.max(jnp.einsum("...i,vi->...v", normal, self.points), axis=-1)
        across = jnp.einsum("...i,ij->...j", normal, self.sweep)
        square = jnp.sum(across * across, axis=-1)
        wide = square > 0
        return (
            vertex_reach
            + jnp.where(wide, jnp.sqrt(jnp.where(wide, square, 1.0)), 0.0)
            + self.radius
        )

    def padded(self, points: int, faces: int, around: int) -> "Core":
        """Return the core padded to these sizes, which are not below its own.

        Args:
            points: number of points.
            faces: number of faces.
            around: number of points of a face.
        """
        missing = points - len(self.points)
        f, m = self.faces.shape
        return replace(
            self,
            points=jnp.pad(self.points, ((0, missing), (0, 0)), "edge"),
            real=jnp.pad(self.real, (0, missing)),
            faces=jnp.pad(self.faces, ((0, faces - f), (0, around - m)), "edge"),
        )


def extent(core: Core) -> Float[Array, ""]:
    """Return the size of a shape, for tolerances [m]: the largest distance of its points from their
    mean, plus the largest entry of its sweep, plus the radius of its ball."""
    count = jnp.sum(core.real, dtype=core.points.dtype)
    middle = jnp.sum(jnp.where(core.real[:, None], core.points, 0.0), axis=0) / count
    span = jnp.sqrt(jnp.max(jnp.sum((core.points - middle) ** 2, axis=1)))
    return span + jnp.max(jnp.abs(core.sweep)) + core.radius


def smaller_extent(pair: Core) -> Float[Array, ""]:
    """Return the extent of the smaller of two stacked shapes [m]."""
    return jax.lax.stop_gradient(jnp.min(jax.vmap(extent)(pair)))


def stacked(a: Core, b: Core) -> Core:
    """Return two shapes with a leading axis of 2, padded to the same size."""
    pairs = zip((len(a.points), *a.faces.shape), (len(b.points), *b.faces.shape), strict=True)
    size = [max(pair) for pair in pairs]
    return jax.tree.map(lambda x, y: jnp.stack([x, y]), a.padded(*size), b.padded(*size))
