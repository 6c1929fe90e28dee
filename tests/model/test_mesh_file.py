"""Test convex meshes from files: the same solid by every library that reads them."""

from pathlib import Path

import numpy as np
import pytest

from jaxccp.model import ConvexMesh
from jaxccp.model.shapes import mesh_file

CORNERS = np.array([[1, 2, 3], [1.5, 2, 3], [1, 2.25, 3], [1, 2, 4]])
"""A right-angled tetrahedron with legs of 1/2, 1/4 and 1 m: exact in single precision."""
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def write_stl(path: Path) -> None:
    """Write a binary STL file.

    It has 80 bytes, the number of triangles, and of each a normal, three corners and two bytes.
    """
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("nothing", "<u2")])
    triangles = np.zeros(len(FACES), record)
    triangles["corners"] = CORNERS[FACES]
    path.write_bytes(bytes(80) + np.uint32(len(FACES)).tobytes() + triangles.tobytes())


def write_obj(path: Path) -> None:
    lines = [f"v {x} {y} {z}" for x, y, z in CORNERS]
    path.write_text("\n".join(lines + [f"f {a} {b} {c}" for a, b, c in FACES + 1]))


@pytest.fixture(params=["trimesh", "mujoco"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make one library the only one that is installed, and return its name.

    Raises:
        ModuleNotFoundError: by the replaced reader, where another library is tested.
    """
    name = request.param
    pytest.importorskip(name)

    def missing(path: Path) -> np.ndarray:
        raise ModuleNotFoundError(name="trimesh")

    if name != "trimesh":
        monkeypatch.setattr(mesh_file, "by_trimesh", missing)
    return name


@pytest.mark.parametrize("write", [write_stl, write_obj])
def test_read(tmp_path: Path, library: str, write) -> None:
    path = tmp_path / f"a.{write.__name__[-3:]}"
    write(path)
    mesh = ConvexMesh.read(path)
    vertices = mesh.vertices[np.lexsort(np.round(mesh.vertices, 5).T)]
    np.testing.assert_allclose(vertices, CORNERS[np.lexsort(CORNERS.T)], atol=1e-6)
    assert mesh.volume == pytest.approx(0.5 * 0.25 * 1 / 6, rel=1e-5)
    np.testing.assert_allclose(mesh.centre, CORNERS.mean(axis=0), atol=1e-6)


def test_what_is_no_mesh_is_refused(tmp_path: Path, library: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"none.stl: there is no such file"):
        ConvexMesh.read(tmp_path / "none.stl")
    path = tmp_path / "words.obj"
    path.write_text("nothing of the kind")
    with pytest.raises(ValueError, match=r"words.obj|ConvexMesh"):
        ConvexMesh.read(path)


def test_without_a_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("trimesh", "mujoco"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    write_stl(tmp_path / "a.stl")
    with pytest.raises(ImportError, match=r"pip install trimesh, or pip install 'jaxccp\[mjcf\]'"):
        ConvexMesh.read(tmp_path / "a.stl")


@pytest.mark.parametrize("path", ["a.stl", Path("a.stl")])
def test_path_in_place_of_points(path) -> None:
    with pytest.raises(ValueError, match=r"not a path; .* ConvexMesh.read\('a.stl'\)"):
        ConvexMesh(path)
