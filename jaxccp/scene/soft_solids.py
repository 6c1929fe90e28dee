"""Soft solids as users describe them, placed in the world."""

from collections.abc import Iterable, Sequence

import numpy as np

from jaxccp.flexible.solids import SoftSolid, soft_solid
from jaxccp.flexible.solids.mesh import boundary, checked_mesh
from jaxccp.model.shapes import Sphere
from jaxccp.scene.check import finite_vector, positive, unit_quaternion
from jaxccp.scene.frames import to_matrix

SMALL = 0.01
"""Radius of the spheres of nodes over the shortest edge of the surface."""


def placed_solid(
    what: str,
    mesh: tuple[np.ndarray, np.ndarray],
    material: tuple[float, float, float, float],
    law: str,
    pose: tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray],
    twist: tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray],
    fixed: Iterable[int],
) -> SoftSolid:
    """One whose nodes move as those of a rigid body; its material is Young's modulus, Poisson's
    ratio, density and damping."""
    origin = finite_vector(f"{what}: position [m]", pose[0], 3)
    facing = unit_quaternion(f"{what}: quaternion", pose[1])
    moving = finite_vector(f"{what}: velocity [m/s]", twist[0], 3)
    spin = finite_vector(f"{what}: angular_velocity [rad/s]", twist[1], 3)
    points, tetrahedra = checked_mesh(what, *mesh)
    arm = points @ to_matrix(facing).T
    velocity = moving + np.cross(spin, arm)
    return soft_solid(origin + arm, tetrahedra, *material, law, velocity, fixed, what)


def node_sphere(what: str, solid: SoftSolid, radius: float | None) -> Sphere:
    """What each node of the surface touches with."""
    if radius is None:
        corner = np.asarray(solid.position)[boundary(what, solid.layout.rows)]
        radius = SMALL * float(np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).min())
    return Sphere(positive(f"{what}: radius [m]", radius))
