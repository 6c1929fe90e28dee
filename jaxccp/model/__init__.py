"""Bodies, shapes, materials and the state; knows no solver."""

from jaxccp.model.material import Combination, Material
from jaxccp.model.model import (
    Bodies,
    ContactSettings,
    HeightGrid,
    Hull,
    Model,
    PairGroup,
    Shapes,
    Topology,
)
from jaxccp.model.shapes import (
    SHAPES,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HeightField,
    Plane,
    Sphere,
)
from jaxccp.model.state import ContactMemory, State

__all__ = [
    "SHAPES",
    "Bodies",
    "Box",
    "Capsule",
    "Combination",
    "ContactMemory",
    "ContactSettings",
    "ConvexMesh",
    "Cylinder",
    "Ellipsoid",
    "HeightField",
    "HeightGrid",
    "Hull",
    "Material",
    "Model",
    "PairGroup",
    "Plane",
    "Shapes",
    "Sphere",
    "State",
    "Topology",
]
