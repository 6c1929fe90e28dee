"""Test meshes of tetrahedra: a block, its surface, files, and what is refused."""

import sys

import numpy as np
import pytest

from jaxccp.flexible.solids import box_of_tetrahedra, read_tetrahedra, soft_solid
from jaxccp.flexible.solids.mesh import boundary, checked_mesh, volumes

POINTS, CELLS = box_of_tetrahedra((0.2, 0.1, 0.3), (2, 1, 3))
TETRAHEDRON = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_a_block_is_filled_and_closed():
    points, cells = box_of_tetrahedra((0.5, 1.0, 1.5), (2, 3, 4))
    assert points.shape == (60, 3) and cells.shape == (120, 4)
    volume = volumes(points, cells)
    assert volume.min() > 0
    np.testing.assert_allclose(volume.sum(), 6.0, rtol=1e-13)
    np.testing.assert_allclose([points.min(0), points.max(0)], [[-0.5, -1, -1.5], [0.5, 1, 1.5]])
    faces = points[boundary("block", cells)]
    area = 0.5 * np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    np.testing.assert_allclose(area.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.norm(area, axis=1).sum(), 22.0, rtol=1e-13)
    # Outward: the divergence theorem gives the volume.
    np.testing.assert_allclose(np.sum(faces.mean(axis=1) * area) / 3, 6.0, rtol=1e-13)


@pytest.mark.parametrize(
    ("half", "cells", "message"),
    [((1, 0, 1), (1, 1, 1), "half_extents"), ((1, 1, 1), (1, 0, 1), "cells"), ((1,), (1,), "half")],
)
def test_a_block_without_an_inside_is_refused(half, cells, message):
    with pytest.raises(ValueError, match=message):
        box_of_tetrahedra(half, cells)


def changed(index: int, nodes: list[int]) -> np.ndarray:
    cells = CELLS.copy()
    cells[index] = nodes
    return cells


REFUSED = {
    "element 4 .* is inverted": (POINTS, changed(4, CELLS[4][[1, 0, 2, 3]].tolist())),
    r"element 0 \(nodes \[0, 1, 2, 2\]\) is flat": (TETRAHEDRON, [[0, 1, 2, 2]]),
    "element 1 has nodes .* but there are 4 points": (TETRAHEDRON, [[0, 1, 2, 3], [0, 1, 2, 4]]),
    "element 0 has nodes": (TETRAHEDRON, [[0, 1, 2, -1]]),
    "node 4 is in no element": (np.vstack([TETRAHEDRON, [9, 9, 9]]), [[0, 1, 2, 3]]),
    "2 parts .*elements 0 and 1 are not connected": (
        np.vstack([TETRAHEDRON, TETRAHEDRON + 5]),
        [[0, 1, 2, 3], [4, 5, 6, 7]],
    ),
    "elements 0, 1, 2 have one face": (
        np.vstack([TETRAHEDRON, [0.2, 0.2, 2], [0.2, 0.2, -1]]),
        [[0, 1, 2, 3], [0, 1, 2, 4], [0, 2, 1, 5]],
    ),
    r"nodes \[0, 1, 2, 3\] is listed 2 times": (TETRAHEDRON, [[0, 1, 2, 3]] * 2),
    "finite": (np.full((4, 3), np.nan), [[0, 1, 2, 3]]),
    "whole numbers": (TETRAHEDRON, [[0.0, 1, 2, 3]]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_an_unsound_mesh_is_refused(message):
    with pytest.raises(ValueError, match=f"^jelly: .*{message}"):
        checked_mesh("jelly", *REFUSED[message])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"young": -1.0}, "young"),
        ({"young": np.nan}, "young"),
        ({"density": 0.0}, "density"),
        ({"poisson": 0.5}, "poisson must be above -1 and below 0.5"),
        ({"poisson": -1.0}, "poisson"),
        ({"damping": -0.1}, "damping"),
        ({"law": "neo-hookian"}, "did you mean 'neo-hookean'"),
        ({"fixed": [24]}, "fixed: there is no node 24"),
        ({"fixed": [0.0, 1.5]}, "fixed: nodes must be whole numbers, or a mask"),
        ({"fixed": POINTS[:5, 2] < 0}, "fixed: a mask must have 24 entries"),
        ({"velocity": np.zeros((3, 3))}, "velocity"),
    ],
)
def test_what_is_not_physical_is_refused(change, message):
    numbers = {"young": 1e5, "poisson": 0.3, "density": 1e3, "what": "jelly"} | change
    with pytest.raises(ValueError, match=f"^jelly: .*{message}"):
        soft_solid(POINTS, CELLS, **numbers)


def medit(path, points, cells, sections=""):
    """Write a Medit file, whose nodes count from 1, and return its path.

    Args:
        path: the file.
        points: positions of the nodes [m].
        cells: nodes of each tetrahedron, counted from 0.
        sections: further sections of the file.
    """
    lines = ["MeshVersionFormatted 2", "Dimension 3", "Vertices", str(len(points))]
    lines += [" ".join(map(repr, point)) + " 0" for point in points.tolist()]
    lines += ["Tetrahedra", str(len(cells))]
    lines += [" ".join(map(str, [*(cell + 1), 0])) for cell in cells]
    path.write_text("\n".join([*lines, sections, "End"]))
    return path


def test_a_file_is_read(tmp_path):
    pytest.importorskip("meshio", reason="meshio is not installed")
    faces = boundary("block", CELLS)
    sections = "\n".join(
        ["Triangles", str(len(faces)), *(f"{a} {b} {c} 0" for a, b, c in faces + 1)]
    )
    points, cells = read_tetrahedra(medit(tmp_path / "block.mesh", POINTS, CELLS, sections))
    np.testing.assert_array_equal(points, POINTS)
    np.testing.assert_array_equal(cells, CELLS)


def test_a_file_that_does_not_hold_tetrahedra_is_refused(tmp_path):
    pytest.importorskip("meshio", reason="meshio is not installed")
    inverted = medit(tmp_path / "inverted.mesh", POINTS, CELLS[:, [1, 0, 2, 3]])
    with pytest.raises(ValueError, match=r"inverted\.mesh: element 0 .* is inverted"):
        read_tetrahedra(inverted)
    bricks = "Hexahedra\n1\n1 2 4 3 5 6 8 7 0"
    with pytest.raises(ValueError, match=r"mixed\.mesh: has cells of type hexahedron"):
        read_tetrahedra(medit(tmp_path / "mixed.mesh", POINTS, CELLS, bricks))
    (tmp_path / "noise.mesh").write_text("noise")
    with pytest.raises(ValueError, match=r"noise\.mesh"):
        read_tetrahedra(tmp_path / "noise.mesh")


def test_a_missing_file_or_reader_is_named(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"none\.msh"):
        read_tetrahedra(tmp_path / "none.msh")
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(ImportError, match=r"jaxccp\[mesh\]"):
        read_tetrahedra(medit(tmp_path / "block.mesh", POINTS, CELLS))
