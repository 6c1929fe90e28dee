"""Bodies, shapes, materials and the state; knows no solver."""

from jaxccp.model.material import Combination, Material
from jaxccp.model.model import Bodies, ContactSettings, Model, PairGroup, Shapes, Topology
from jaxccp.model.shapes import SHAPES, Box, Capsule, Plane, Sphere
from jaxccp.model.state import ContactMemory, State

__all__ = [
    "SHAPES",
    "Bodies",
    "Box",
    "Capsule",
    "Combination",
    "ContactMemory",
    "ContactSettings",
    "Material",
    "Model",
    "PairGroup",
    "Plane",
    "Shapes",
    "Sphere",
    "State",
    "Topology",
]
