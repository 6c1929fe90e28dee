"""Points of a mesh in a file, read by trimesh or mujoco, whichever is installed."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float


def read_points(path: Path) -> Float[np.ndarray, "n 3"]:
    """Return the vertices of a mesh as they are in the file.

    Raises:
        FileNotFoundError: there is no such file.
        ImportError: neither trimesh nor mujoco is installed.
        ValueError: the library cannot read the file.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    for library, read in (("trimesh", by_trimesh), ("mujoco", by_mujoco)):
        try:
            return read(path)
        except ModuleNotFoundError as error:
            if error.name != library:
                raise
        except Exception as error:  # each format's reader has its own
            raise ValueError(f"{path}: {library} cannot read it as a mesh: {error}") from error
    raise ImportError(
        "reading a mesh needs trimesh or mujoco: pip install trimesh, or pip install 'jaxccp[mjcf]'"
    )


def by_trimesh(path: Path) -> Float[np.ndarray, "n 3"]:
    """Return the vertices of a file of any format that trimesh reads: STL, OBJ, PLY, …"""
    trimesh: Any = import_module("trimesh")  # an optional package
    return np.asarray(trimesh.load_mesh(path).vertices, float)


def by_mujoco(path: Path) -> Float[np.ndarray, "n 3"]:
    """Return the vertices of a file of binary STL or OBJ.

    MuJoCo moves vertices to the solid's principal axes; this function moves them back.
    """
    mujoco: Any = import_module("mujoco")  # optional, and not typed
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name="mesh", file=str(path.resolve()))
    # Inertia of the hull, as here. Otherwise MuJoCo rejects surfaces that are not closed.
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    model = spec.compile()
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[0])
    return model.mesh_vert @ rotation.reshape(3, 3).T + model.mesh_pos[0]
