"""Building models of bodies, shapes, joints and flexible bodies."""

from jaxccp.scene.builder import WORLD, ModelBuilder, contact_capacity
from jaxccp.scene.shafts import add_shaft

__all__ = ["WORLD", "ModelBuilder", "add_shaft", "contact_capacity"]
