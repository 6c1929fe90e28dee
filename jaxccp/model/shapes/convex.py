"""The convex polyhedron, as the hull of points."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from jaxccp.content import ByContent
from jaxccp.model.shapes.mesh_file import read_points

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

_COPLANAR = 1e-5
"""A triangle belongs to a neighbour's face if its corners are within this of the face's plane,
relative to the extent of the points: more than the rounding of coordinates in float32."""
_FLAT = 1e-4
"""Smallest thickness of a hull, relative to its extent."""


@dataclass(frozen=True, eq=False)
class ConvexMesh(ByContent):
    """The convex hull of points in its frame [m], which need not be centred.

    ``centre`` is the centre of mass of the uniform solid. :meth:`jaxccp.ModelBuilder.add_solid`
    places it at the origin of the body's frame. If you add the shape to a body yourself and the
    body is that solid, place the shape's frame at ``-centre``. The cost of a step grows in
    proportion to the number of points: simplify meshes of more than a hundred or so first.
    """

    points: ArrayLike
    """Points whose hull it is, (n, 3) [m]."""
    kind: ClassVar[str] = "convex"
    vertices: Float[np.ndarray, "v 3"] = field(init=False)
    """The points that are corners of the hull [m]."""
    faces: tuple[Int[np.ndarray, " m"], ...] = field(init=False)
    """Vertices of each face, counter-clockwise seen from outside."""
    volume: float = field(init=False)
    """Volume [m³]."""
    centre: Float[np.ndarray, "3"] = field(init=False)
    """Centre of mass of the uniform solid [m]."""
    _unit_inertia: Float[np.ndarray, "3 3"] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.points, str | PathLike):
            raise ValueError(
                f"ConvexMesh: takes points of shape (n, 3), not a path; to read a file: "
                f"ConvexMesh.read({fspath(self.points)!r})"
            )
        # Imported here, because scipy takes long to import.
        from scipy.spatial import ConvexHull, QhullError

        points = np.array(self.points, float)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise ValueError(
                f"ConvexMesh: points must be finite numbers of shape (n, 3), not {points.shape}"
                + ("" if np.isfinite(points).all() else " with NaN or infinity among them")
            )
        if len(points) < 4:
            raise ValueError(f"ConvexMesh: a solid needs at least 4 points, not {len(points)}")
        extent = float(np.linalg.norm(np.ptp(points, axis=0)))
        spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
        thickness = spread[2] / np.sqrt(len(points))
        try:
            if not thickness > _FLAT * extent:
                raise QhullError("flat")
            hull = ConvexHull(points)
        except QhullError:
            raise ValueError(
                f"ConvexMesh: the points lie in a plane to within {thickness:.3g} m over an "
                f"extent of {extent:.3g} m; give it thickness, or use a thin Box"
            ) from None
        faces = _polygons(points, hull, extent)
        used = np.unique(np.concatenate(faces))
        vertices = points[used]
        renumbered = tuple(np.searchsorted(used, face).astype(np.int32) for face in faces)
        volume, centre, inertia = _mass_properties(points[hull.simplices])
        for name, value in (
            ("points", points),
            ("vertices", vertices),
            ("faces", renumbered),
            ("volume", volume),
            ("centre", centre),
            ("_unit_inertia", inertia),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def read(cls, path: str | PathLike) -> "ConvexMesh":
        """Return the hull of the mesh in a file, ``a.stl`` or ``a.obj``; trimesh or mujoco reads
        it.

        Args:
            path: path of a file with lengths in m. For lengths in mm use ``ConvexMesh(1e-3 *
                ConvexMesh.read(path).vertices)``.

        Raises:
            FileNotFoundError: there is no such file.
            ImportError: neither trimesh nor mujoco is installed.
            ValueError: the file is not a mesh, or the mesh has no thickness.
        """
        return cls(read_points(Path(path)))

    @property
    def size(self) -> tuple[float, float, float]:
        """Scale of the vertices along x, y, z."""
        return (1.0, 1.0, 1.0)

    @property
    def radius(self) -> float:
        return 0.0

    def inertia(self, mass: float) -> np.ndarray:
        """Return the inertia about ``centre``, in the axes of the shape's frame [kg m²]."""
        return mass * self._unit_inertia


def _polygons(points: np.ndarray, hull: "ConvexHull", extent: float) -> list[np.ndarray]:
    """Return the faces of a hull; neighbouring triangles in one plane are joined to one face.

    Args:
        points: [n 3] [m].
        hull: the hull of these points.
        extent: diagonal of the points' bounding box [m].
    """
    from scipy.spatial import ConvexHull

    normals, corners = hull.equations[:, :3], points[hull.simplices]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    outward = np.einsum("ti,ti->t", area, normals) > 0
    oriented = np.where(outward[:, None], hull.simplices, hull.simplices[:, ::-1])
    faces: list[np.ndarray] = []
    for k, triangles in _coplanar(corners, hull, _COPLANAR * extent):
        if len(triangles) == 1:
            faces.append(oriented[k])
            continue
        used = np.unique(hull.simplices[triangles])
        # Seen from outside: x and y of a right-handed frame whose z is the outward normal.
        x = corners[k, 1] - corners[k, 0]
        x = x - (x @ normals[k]) * normals[k]
        plane = np.stack([x, np.cross(normals[k], x)], axis=1) / np.linalg.norm(x)
        faces.append(used[ConvexHull(points[used] @ plane).vertices])
    return faces


def _coplanar(
    corners: np.ndarray, hull: "ConvexHull", tolerance: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the triangles of each face of a hull, as the largest one and all of them.

    The largest triangle has the plane that rounding of the corners turns least, and one plane for
    all triangles keeps a finely divided round side from becoming one face.

    Args:
        corners: corners of the triangles [t 3 3] [m].
        hull: the hull.
        tolerance: largest distance of a corner from the plane of its face [m].
    """
    normals, offsets, neighbours = hull.equations[:, :3], hull.equations[:, 3], hull.neighbors

    def near(triangles: np.ndarray, k: np.ndarray) -> np.ndarray:
        height = np.einsum("...ci,...i->...c", corners[triangles], normals[k])
        return (np.abs(height + offsets[k, None]) < tolerance).all(axis=-1)

    joined: np.ndarray = near(neighbours, np.arange(len(normals))[:, None])
    alone = ~np.any(joined, axis=1)
    sides = corners[:, 1:] - corners[:, :1]
    area = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    free = np.ones(len(normals), bool)
    for k in np.argsort(-area, kind="stable"):
        if not free[k]:
            continue
        found, border = [np.array([k])], np.array([k])
        free[k] = False
        while len(border) and not alone[k]:
            around = np.unique(neighbours[border])
            around = around[free[around]]
            border = around[near(around, np.array([k]))]
            free[border] = False
            found.append(border)
        yield k, np.concatenate(found)


def _mass_properties(corners: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return volume [m³], centre [m] and inertia per mass about it [m²] of the solid within
    triangles with these corners [t 3 3], by tetrahedra on a point inside.

    ∫ x xᵀ over a tetrahedron with corners 0, a, b, c is V/20 (Σ p pᵀ + s sᵀ), s = a + b + c.
    """
    inside = corners.mean(axis=(0, 1))
    corners = corners - inside
    volumes = np.abs(np.linalg.det(corners)) / 6
    volume = volumes.sum()
    total = corners.sum(axis=1)
    centre = volumes @ total / (4 * volume)
    second = np.einsum("t,tki,tkj->ij", volumes, corners, corners)
    second = (second + np.einsum("t,ti,tj->ij", volumes, total, total)) / (20 * volume)
    second -= np.outer(centre, centre)
    return float(volume), inside + centre, np.trace(second) * np.eye(3) - second
