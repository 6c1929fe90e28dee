"""Shapes a body can carry, one file each; a new one is a file and a line here.

Most shapes are a core swept by a ball: ``size`` describes the core, ``radius`` is the radius of the
ball. The ``size`` of a box includes the ball, and a cylinder is a segment swept by a disc.
"""

from jaxccp.model.shapes.box import Box
from jaxccp.model.shapes.capsule import Capsule
from jaxccp.model.shapes.convex import ConvexMesh
from jaxccp.model.shapes.cylinder import Cylinder
from jaxccp.model.shapes.ellipsoid import Ellipsoid
from jaxccp.model.shapes.height_field import HeightField
from jaxccp.model.shapes.plane import Plane
from jaxccp.model.shapes.shape import Shape
from jaxccp.model.shapes.sphere import Sphere

SHAPES: dict[str, type[Shape]] = {
    "sphere": Sphere,
    "plane": Plane,
    "box": Box,
    "capsule": Capsule,
    "cylinder": Cylinder,
    "ellipsoid": Ellipsoid,
    "convex": ConvexMesh,
    "height_field": HeightField,
}
"""The shapes by the name of their kind."""

__all__ = [
    "SHAPES",
    "Box",
    "Capsule",
    "ConvexMesh",
    "Cylinder",
    "Ellipsoid",
    "HeightField",
    "Plane",
    "Shape",
    "Sphere",
]
