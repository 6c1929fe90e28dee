"""The table of shape pairs: a new pair is one kernel and one line here."""

from collections.abc import Callable
from typing import NamedTuple

from jaxccp.collision.box_box import box_box
from jaxccp.collision.capsule import capsule_box, capsule_capsule
from jaxccp.collision.clip import POINTS
from jaxccp.collision.convex import many_points, one_point
from jaxccp.collision.core import CORES
from jaxccp.collision.manifold import Geometry, Manifold
from jaxccp.collision.plane import (
    plane_box,
    plane_capsule,
    plane_convex,
    plane_cylinder,
    plane_ellipsoid,
    plane_sphere,
)
from jaxccp.collision.sphere import sphere_box, sphere_capsule, sphere_sphere
from jaxccp.collision.terrain import terrain


class Pair(NamedTuple):
    """How two kinds of shapes touch."""

    kernel: Callable[[Geometry, Geometry], Manifold]
    """Contacts of one pair of shapes, in the key's order; ``vmap`` it over pairs."""
    points: int
    """Contact slots of the manifold it returns."""


def _one(kind_a: str, kind_b: str) -> Pair:
    return Pair(one_point(kind_a, kind_b), 1)


def _many(kind_a: str, kind_b: str) -> Pair:
    return Pair(many_points(kind_a, kind_b), POINTS + 1)


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
    ("sphere", "cylinder"): _one("sphere", "cylinder"),
    ("sphere", "ellipsoid"): _one("sphere", "ellipsoid"),
    ("sphere", "convex"): _one("sphere", "convex"),
    ("capsule", "ellipsoid"): _one("capsule", "ellipsoid"),
    ("box", "ellipsoid"): _one("box", "ellipsoid"),
    ("cylinder", "ellipsoid"): _one("cylinder", "ellipsoid"),
    ("ellipsoid", "ellipsoid"): _one("ellipsoid", "ellipsoid"),
    ("ellipsoid", "convex"): _one("ellipsoid", "convex"),
    ("capsule", "cylinder"): _many("capsule", "cylinder"),
    ("capsule", "convex"): _many("capsule", "convex"),
    ("box", "cylinder"): _many("box", "cylinder"),
    ("box", "convex"): _many("box", "convex"),
    ("cylinder", "cylinder"): _many("cylinder", "cylinder"),
    ("cylinder", "convex"): _many("cylinder", "convex"),
    ("convex", "convex"): _many("convex", "convex"),
    **{("height_field", kind): Pair(terrain(kind), POINTS) for kind in CORES},
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
