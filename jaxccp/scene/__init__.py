"""Building models, and the built-in scenes."""

from jaxccp.scene.builder import WORLD, ModelBuilder, contact_capacity

__all__ = ["WORLD", "ModelBuilder", "contact_capacity"]
