"""Building models, and the built-in scenes."""

from jaxccp.scene.builder import WORLD, ModelBuilder, contact_capacity
from jaxccp.scene.shafts import add_shaft
from jaxccp.scene.soft_solids import add_soft_solid

__all__ = ["WORLD", "ModelBuilder", "add_shaft", "add_soft_solid", "contact_capacity"]
