"""Soft solids in a model: a family, and a small sphere on each node of the surface."""

from collections.abc import Iterable, Sequence

import numpy as np

from jaxccp.flexible.solids.mesh import boundary
from jaxccp.flexible.solids.solid import soft_solid
from jaxccp.model.material import Material
from jaxccp.model.shapes import Sphere
from jaxccp.scene.builder import ModelBuilder
from jaxccp.scene.check import finite_vector, positive, unit_quaternion
from jaxccp.scene.frames import IDENTITY, ORIGIN, to_matrix

SMALL = 0.01
"""Radius of the spheres over the shortest edge of the surface."""


def add_soft_solid(
    builder: ModelBuilder,
    points: np.ndarray,
    tetrahedra: np.ndarray,
    young: float,
    poisson: float,
    density: float,
    damping: float = 0.0,
    law: str = "neo-hookean",
    position: Sequence[float] | np.ndarray = ORIGIN,
    quaternion: Sequence[float] | np.ndarray = IDENTITY,
    velocity: Sequence[float] | np.ndarray = ORIGIN,
    angular_velocity: Sequence[float] | np.ndarray = ORIGIN,
    held: Iterable[int] = (),
    radius: float | None = None,
    material: Material | None = None,
    name: str | None = None,
) -> list[int]:
    """Add a solid of linear tetrahedra, and return its frames: the nodes of its surface, in their
    order. Points and tetrahedra are those of :func:`jaxccp.box_of_tetrahedra` or
    :func:`jaxccp.read_tetrahedra`, or any.

    A node touches other bodies by a sphere, which does not turn. The surface between nodes touches
    nothing: what is smaller than its triangles may pass.

    Args:
        builder: to add it to.
        points: of the nodes [n 3], in a frame of the solid [m]; nothing is strained there.
        tetrahedra: nodes of each element [e 4]; seen from the last, the others counter-clockwise.
        young: Young's modulus [Pa], positive.
        poisson: ratio of Poisson, above −1 and below ½.
        density: [kg/m³], positive.
        damping: α of Kelvin and Voigt's law [s]: the viscous stress is α times the rate of the
            elastic one.
        law: "neo-hookean" or "corotational".
        position: origin of the solid's frame [m].
        quaternion: orientation (w, x, y, z) of the solid's frame.
        velocity: of the origin of its frame, world [m/s].
        angular_velocity: about that, world axes [rad/s].
        held: nodes that never move.
        radius: of the spheres [m]; a hundredth of the surface's shortest edge when None.
        material: of the surface; the default material when None.
        name: unique; ``family<i>`` when None. Frames and their spheres are ``name.0``, ….

    Raises:
        ValueError: for what :func:`jaxccp.flexible.solids.soft_solid` refuses, naming the element.
    """
    what = f"soft solid {name!r}" if name else "soft solid"
    origin = finite_vector(f"{what}: position [m]", position, 3)
    facing = unit_quaternion(f"{what}: quaternion", quaternion)
    spin = finite_vector(f"{what}: angular_velocity [rad/s]", angular_velocity, 3)
    moving = finite_vector(f"{what}: velocity [m/s]", velocity, 3)
    arm = np.asarray(points, float) @ to_matrix(facing).T
    solid = soft_solid(
        origin + arm,
        tetrahedra,
        young,
        poisson,
        density,
        damping,
        law,
        moving + np.cross(spin, arm),
        held,
        what,
    )
    if radius is None:
        corner = arm[boundary(what, solid.layout.rows)]
        radius = SMALL * float(np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).min())
    sphere = Sphere(positive(f"{what}: radius [m]", radius))
    frames = builder.add_family(solid, name)
    for frame in frames:
        builder.add_shape(frame, sphere, material=material)
    return frames
