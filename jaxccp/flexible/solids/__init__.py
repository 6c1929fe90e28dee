"""Soft solids of linear tetrahedra with hyperelastic laws."""

from jaxccp.flexible.solids.grid import box_of_tetrahedra
from jaxccp.flexible.solids.mesh_file import read_tetrahedra
from jaxccp.flexible.solids.solid import SoftSolid, soft_solid
from jaxccp.flexible.solids.tetrahedra import Tetrahedra

__all__ = ["SoftSolid", "Tetrahedra", "box_of_tetrahedra", "read_tetrahedra", "soft_solid"]
