"""Soft solids placed in the world, with checks of the user's numbers."""

from collections.abc import Iterable, Sequence

import numpy as np

from jaxccp.flexible.solids import SoftSolid, soft_solid
from jaxccp.flexible.solids.mesh import boundary, checked_mesh
from jaxccp.model.inputs.check import finite_vector, positive, unit_quaternion
from jaxccp.model.shapes import Sphere
from jaxccp.scene.frames import to_matrix

SMALL = 0.01
"""Ratio of the radius of the nodes' spheres to the shortest edge of the surface."""


def place_soft_solid(
    what: str,
    mesh: tuple[np.ndarray, np.ndarray],
    material: tuple[float, float, float, float],
    law: str,
    pose: tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray],
    twist: tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray],
    fixed_nodes: int | Iterable[int] | np.ndarray,
) -> SoftSolid:
    """Make a soft solid at a pose, with the velocities of a rigid body.

    Args:
        what: name of the solid, for messages.
        mesh: points of the nodes [n 3], in the solid's frame [m], and tetrahedra [e 4].
        material: Young's modulus [Pa], Poisson's ratio, density [kg/m³] and damping [s].
        law: one of :data:`jaxccp.flexible.solids.laws.LAWS`.
        pose: position [m] and quaternion of the solid's frame, world.
        twist: velocity of the frame's origin [m/s] and angular velocity [rad/s], world.
        fixed_nodes: index, indices or mask of the fixed nodes.
    """
    origin = finite_vector(f"{what}: position [m]", pose[0], 3)
    orientation = unit_quaternion(f"{what}: quaternion", pose[1])
    linear = finite_vector(f"{what}: velocity [m/s]", twist[0], 3)
    spin = finite_vector(f"{what}: angular_velocity [rad/s]", twist[1], 3)
    points, tetrahedra = checked_mesh(what, *mesh)
    arm = points @ to_matrix(orientation).T
    velocity = linear + np.cross(spin, arm)
    return soft_solid(origin + arm, tetrahedra, *material, law, velocity, fixed_nodes, what)


def node_sphere(what: str, solid: SoftSolid, radius: float | None) -> Sphere:
    """Return the sphere as which each surface node collides.

    Args:
        what: name of the solid, for messages.
        solid: the solid.
        radius: radius [m]; None: a hundredth of the surface's shortest edge.
    """
    if radius is None:
        corner = np.asarray(solid.position)[boundary(what, solid.layout.rows)]
        radius = SMALL * float(np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).min())
    return Sphere(positive(f"{what}: radius [m]", radius))
