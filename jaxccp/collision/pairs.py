"""The table of shape pairs. To add a pair, write a kernel and add a line here."""

from collections.abc import Callable
from typing import NamedTuple

from jaxccp.collision.cores import CORES
from jaxccp.collision.kernels.box_box import box_box
from jaxccp.collision.kernels.capsule_contact import capsule_box, capsule_capsule
from jaxccp.collision.kernels.clip import POINTS
from jaxccp.collision.kernels.convex_contact import face_contact, point_contact
from jaxccp.collision.kernels.plane_contact import (
    plane_box,
    plane_capsule,
    plane_convex,
    plane_cylinder,
    plane_ellipsoid,
    plane_sphere,
)
from jaxccp.collision.kernels.sphere_contact import sphere_box, sphere_capsule, sphere_sphere
from jaxccp.collision.kernels.terrain import terrain
from jaxccp.collision.kernels.terrain_sphere import terrain_sphere
from jaxccp.collision.manifold import Geometry, Manifold


class Pair(NamedTuple):
    """The collision kernel for two kinds of shapes, and the size of its result."""

    kernel: Callable[[Geometry, Geometry], Manifold]
    """Function that returns the contacts of one pair of shapes, in the order of the key; use
    ``vmap`` for several pairs."""
    points: int
    """Number of contact slots of its manifold."""
    shared: bool = False
    """Whether the kernel reads only the ``core`` of convex shapes. All kinds then share one batch.
    """


_POINT = Pair(point_contact, 1, shared=True)
_FACES = Pair(face_contact, POINTS + 1, shared=True)
_TERRAIN = Pair(terrain, POINTS, shared=True)

PAIRS: dict[tuple[str, str], Pair] = {
    ("plane", "sphere"): Pair(plane_sphere, 1),
    ("plane", "capsule"): Pair(plane_capsule, 2),
    ("plane", "box"): Pair(plane_box, 4),
    ("sphere", "sphere"): Pair(sphere_sphere, 1),
    ("sphere", "capsule"): Pair(sphere_capsule, 1),
    ("sphere", "box"): Pair(sphere_box, 1),
    ("capsule", "capsule"): Pair(capsule_capsule, 2),
    ("capsule", "box"): Pair(capsule_box, 3),
    ("box", "box"): Pair(box_box, 8),
    ("plane", "cylinder"): Pair(plane_cylinder, 8),
    ("plane", "ellipsoid"): Pair(plane_ellipsoid, 1),
    ("plane", "convex"): Pair(plane_convex, POINTS),
    ("sphere", "cylinder"): _POINT,
    ("sphere", "ellipsoid"): _POINT,
    ("sphere", "convex"): _POINT,
    ("capsule", "ellipsoid"): _POINT,
    ("box", "ellipsoid"): _POINT,
    ("cylinder", "ellipsoid"): _POINT,
    ("ellipsoid", "ellipsoid"): _POINT,
    ("ellipsoid", "convex"): _POINT,
    ("capsule", "cylinder"): _FACES,
    ("capsule", "convex"): _FACES,
    ("box", "cylinder"): _FACES,
    ("box", "convex"): _FACES,
    ("cylinder", "cylinder"): _FACES,
    ("cylinder", "convex"): _FACES,
    ("convex", "convex"): _FACES,
    **{("height_field", kind): _TERRAIN for kind in CORES},
    ("height_field", "sphere"): Pair(terrain_sphere, POINTS),
}
"""Kernels by the kinds (a, b) of the shapes; each unordered pair of kinds is listed once."""


def lookup(kind_a: str, kind_b: str) -> tuple[Pair, bool]:
    """Return the pair's entry, and whether its kernel takes (b, a) instead of (a, b).

    Args:
        kind_a: kind of the first shape.
        kind_b: kind of the second shape.

    Raises:
        ValueError: there is no kernel for these kinds.
    """
    if (kind_a, kind_b) in PAIRS:
        return PAIRS[kind_a, kind_b], False
    if (kind_b, kind_a) in PAIRS:
        return PAIRS[kind_b, kind_a], True
    available = ", ".join("–".join(kinds) for kinds in PAIRS)
    raise ValueError(
        f"no collision kernel for {kind_a!r} against {kind_b!r} (there are: {available}); exclude "
        f"the pair with a collision filter, or write its kernel and add it to "
        f"jaxccp.collision.pairs.PAIRS under ({kind_a!r}, {kind_b!r})"
    )
