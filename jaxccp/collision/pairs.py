"""The table of shape pairs: a new pair is one kernel and one line here."""

from collections.abc import Callable
from typing import NamedTuple

from jaxccp.collision.box_box import box_box
from jaxccp.collision.capsule_contact import capsule_box, capsule_capsule
from jaxccp.collision.clip import POINTS
from jaxccp.collision.convex_contact import many_points, one_point
from jaxccp.collision.cores import CORES
from jaxccp.collision.manifold import Geometry, Manifold
from jaxccp.collision.plane_contact import (
    plane_box,
    plane_capsule,
    plane_convex,
    plane_cylinder,
    plane_ellipsoid,
    plane_sphere,
)
from jaxccp.collision.sphere_contact import sphere_box, sphere_capsule, sphere_sphere
from jaxccp.collision.terrain import terrain
from jaxccp.collision.terrain_sphere import terrain_sphere


class Pair(NamedTuple):
    """How two kinds of shapes touch."""

    kernel: Callable[[Geometry, Geometry], Manifold]
    """Contacts of one pair of shapes, in the key's order; ``vmap`` it over pairs."""
    points: int
    """Contact slots of the manifold it returns."""
    shared: bool = False
    """Whether the kernel reads convex shapes' ``core`` only: all kinds go through it at once."""


_ONE = Pair(one_point, 1, shared=True)
_MANY = Pair(many_points, POINTS + 1, shared=True)
_TERRAIN = Pair(terrain, POINTS, shared=True)

PAIRS: dict[tuple[str, str], Pair] = {
    ("plane", "sphere"): Pair(plane_sphere, 1),
    ("plane", "capsule"): Pair(plane_capsule, 2),
    ("plane", "box"): Pair(plane_box, 8),
    ("sphere", "sphere"): Pair(sphere_sphere, 1),
    ("sphere", "capsule"): Pair(sphere_capsule, 1),
    ("sphere", "box"): Pair(sphere_box, 1),
    ("capsule", "capsule"): Pair(capsule_capsule, 2),
    ("capsule", "box"): Pair(capsule_box, 3),
    ("box", "box"): Pair(box_box, 8),
    ("plane", "cylinder"): Pair(plane_cylinder, 8),
    ("plane", "ellipsoid"): Pair(plane_ellipsoid, 1),
    ("plane", "convex"): Pair(plane_convex, POINTS),
    ("sphere", "cylinder"): _ONE,
    ("sphere", "ellipsoid"): _ONE,
    ("sphere", "convex"): _ONE,
    ("capsule", "ellipsoid"): _ONE,
    ("box", "ellipsoid"): _ONE,
    ("cylinder", "ellipsoid"): _ONE,
    ("ellipsoid", "ellipsoid"): _ONE,
    ("ellipsoid", "convex"): _ONE,
    ("capsule", "cylinder"): _MANY,
    ("capsule", "convex"): _MANY,
    ("box", "cylinder"): _MANY,
    ("box", "convex"): _MANY,
    ("cylinder", "cylinder"): _MANY,
    ("cylinder", "convex"): _MANY,
    ("convex", "convex"): _MANY,
    **{("height_field", kind): _TERRAIN for kind in CORES},
    ("height_field", "sphere"): Pair(terrain_sphere, POINTS),
}
"""Kernels by the kinds (a, b) they take, each unordered pair once."""


def lookup(kind_a: str, kind_b: str) -> tuple[Pair, bool]:
    """The pair's entry, and whether its kernel takes (b, a) instead of (a, b).

    Raises ``ValueError`` for kinds that have no kernel.
    """
    if (kind_a, kind_b) in PAIRS:
        return PAIRS[kind_a, kind_b], False
    if (kind_b, kind_a) in PAIRS:
        return PAIRS[kind_b, kind_a], True
    known = ", ".join("–".join(kinds) for kinds in PAIRS)
    raise ValueError(
        f"no collision kernel for {kind_a!r} against {kind_b!r} (there are: {known}); exclude the "
        f"pair with a collision filter, or write its kernel and add it to "
        f"jaxccp.collision.pairs.PAIRS under ({kind_a!r}, {kind_b!r})"
    )
