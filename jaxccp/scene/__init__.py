"""Building models of bodies, shapes, joints and flexible bodies."""

from jaxccp.model.topology import WORLD
from jaxccp.scene.builder import ModelBuilder
from jaxccp.scene.shafts import add_shaft

__all__ = ["WORLD", "ModelBuilder", "add_shaft"]
