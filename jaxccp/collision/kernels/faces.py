"""The face, cap or side of a shape in a direction, as a polygon from which manifolds are
clipped."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.core import FACETED, Core
from jaxccp.collision.kernels.corners import RIM
from jaxccp.collision.manifold import direction
from jaxccp.execution import trees
from jaxccp.math.contact_frame import contact_frame
from jaxccp.math.linear3 import cross

_CAP = 0.7
"""Cosine of the angle to the axis above which a cylinder touches with its cap."""
_STRIP = 0.02
"""Half width of the strip on a round side that is treated as a flat face, in radii."""


class Face(NamedTuple):
    """A convex polygon, counter-clockwise seen from outside; padded by repeating its last point."""

    points: Float[Array, "m 3"]
    """Vertices of the polygon."""
    normal: Float[Array, "3"]
    """Outward unit normal."""
    line: Bool[Array, ""]
    """Whether the polygon is a strip, of which only the segment in its middle touches, from halfway
    between the first and the fourth point to halfway between the second and the third."""
    number: Int[Array, ""]
    """Number of the face, for the feature numbers of contacts."""
    disc: Float[Array, ""]
    """Radius of a cap, of whose rim the points are the corners of a hexagon; 0 for a polygon."""


def face_normals(points: Float[Array, "v 3"], faces: Int[Array, "f m"]) -> Float[Array, "f 3"]:
    """Return outward unit normals by Newell's sum over the edges, to which padding adds nothing.

    Args:
        points: vertices of a shape.
        faces: vertices of each face.
    """
    corners = points[faces]
    corners = corners - corners[:, :1]
    area = jnp.sum(cross(corners, jnp.roll(corners, -1, axis=1)), axis=1)
    # Each face by its own size: those of one shape may differ by more than the digits of float32.
    size = jnp.max(jnp.abs(corners), axis=(1, 2), keepdims=True)[:, 0]
    unit = area / jnp.where(size > 0, size**2, 1.0)
    return direction(unit, jnp.array([0.0, 0.0, 1.0], points.dtype))


def face_towards(core: Core, towards: Float[Array, "3"]) -> Face:
    """Return the face, cap or straight side whose normal is nearest to a direction.

    Args:
        core: the shape.
        towards: the direction.
    """
    sharp, curved = _face(core, towards), _cap_or_side(core, towards)
    size = max(len(sharp.points), len(curved.points))

    def padded(face: Face) -> Face:
        missing = ((0, size - len(face.points)), (0, 0))
        return face._replace(points=jnp.pad(face.points, missing, "edge"))

    faceted = core.style == FACETED
    return trees.where(faceted, padded(sharp), padded(curved))


def _face(core: Core, towards: Float[Array, "3"]) -> Face:
    """Return the face of a faceted shape whose normal is nearest to a direction."""
    normals = face_normals(core.points, core.faces)
    # If faces tie to within rounding, take the first, so that noise cannot change the choice.
    alignment = normals @ towards
    number = jnp.argmax(alignment >= jnp.max(alignment) - 64 * jnp.finfo(alignment.dtype).eps)
    number = number.astype(jnp.int32)
    none = jnp.zeros((), towards.dtype)
    return Face(core.points[core.faces[number]], normals[number], jnp.array(False), number, none)


def _cap_or_side(core: Core, towards: Float[Array, "3"]) -> Face:
    """Return the part of a cylinder or capsule that faces a direction: a cap, or a strip along the
    side.

    Args:
        core: the shape, with its axis between its first and last point.
        towards: the unit direction.
    """
    first, last = core.points[0], core.points[-1]
    square = jnp.max(jnp.sum(core.sweep**2, axis=0))
    capped = square > 0
    disc = jnp.where(capped, jnp.sqrt(jnp.where(capped, square, 1.0)), 0.0)
    axis = direction(last - first, jnp.array([0.0, 0.0, 1.0], towards.dtype))
    axial = jnp.dot(axis, towards)
    top = axial > 0

    rim = jnp.asarray(RIM, towards.dtype) @ core.sweep.T
    cap = jnp.where(top, last + rim, first + rim[::-1])
    cap_normal = jnp.where(top, axis, -axis)

    lateral = direction(towards - axial * axis, contact_frame(axis)[1])
    across = jnp.einsum("i,ij->j", lateral, core.sweep)
    skin = core.sweep @ direction(across, jnp.zeros(3, across.dtype))
    width = _STRIP * (disc + core.radius) * cross(axis, lateral)
    strip = jnp.stack([first - width, last - width, last + width, first + width])[::-1] + skin
    side = jnp.concatenate([strip, jnp.broadcast_to(strip[3], (len(RIM) - 4, 3))])

    on_cap = (jnp.abs(axial) > _CAP) & capped
    return Face(
        jnp.where(on_cap, cap, side),
        jnp.where(on_cap, cap_normal, lateral),
        ~on_cap,
        jnp.where(on_cap, top.astype(jnp.int32), 2),
        jnp.where(on_cap, disc, 0.0),
    )


def segment(face: Face) -> Float[Array, "m 3"]:
    """Return the points of a face; a strip is reduced to the segment in its middle."""
    p = face.points
    low, high = (p[0] + p[3]) / 2, (p[1] + p[2]) / 2
    line = jnp.concatenate([low[None], jnp.broadcast_to(high, (len(p) - 1, 3))])
    return jnp.where(face.line, line, p)
