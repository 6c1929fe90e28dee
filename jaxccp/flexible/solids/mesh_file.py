"""Meshes of tetrahedra read from files."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jaxccp.flexible.solids.mesh import checked_mesh

BELOW = ("vertex", "line", "triangle")
"""Types of cells that mark points, edges and faces of the mesh; they are not part of the solid."""


def read_tetrahedra(path: Path | str) -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "e 4"]]:
    """Return points and elements of a file, unchanged, in any format of meshio (Gmsh, VTK, Abaqus,
    Medit, …).

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: meshio is not installed.
        ValueError: meshio cannot read the file; it has no tetrahedra, or other solid cells too; or
            the mesh is invalid (:func:`jaxccp.flexible.solids.mesh.checked_mesh`).
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        meshio: Any = import_module("meshio")  # an optional package
    except ModuleNotFoundError as error:
        raise ImportError("reading tetrahedra needs meshio: pip install 'jaxccp[mesh]'") from error
    try:
        mesh = meshio.read(path)
    # Some of meshio's readers end the program if they do not know the contents.
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path}: meshio cannot read it as a mesh: {error}") from error
    unsupported = sorted({block.type for block in mesh.cells} - {"tetra", *BELOW})
    if unsupported:
        raise ValueError(
            f"{path}: has cells of type {', '.join(unsupported)}; solids are of tetrahedra with "
            "four nodes alone: mesh it again with linear tetrahedra"
        )
    blocks = [block.data for block in mesh.cells if block.type == "tetra"]
    if not blocks:
        raise ValueError(f"{path}: has no tetrahedra")
    return checked_mesh(str(path), mesh.points, np.concatenate(blocks))
