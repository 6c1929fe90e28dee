"""Meshes of tetrahedra: checks that they are valid, and their surface."""

import numpy as np
from jaxtyping import Float, Int

FLAT = 1e-6
"""Smallest allowed volume of an element, as a fraction of that of a regular one with its longest
edge."""
FACES = np.array([[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])
"""Nodes of the face opposite to each node, counter-clockwise seen from outside."""


def checked_mesh(
    what: str, points: object, tetrahedra: object
) -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "e 4"]]:
    """Return points [m] and elements as arrays, after checking the mesh.

    Args:
        what: beginning of error messages, such as the name of the file.
        points: positions of the nodes [n 3] [m].
        tetrahedra: nodes of each element [e 4]; seen from the last, the others are
            counter-clockwise.

    Raises:
        ValueError: an array has another shape; a number is not finite; an index is out of range; an
            element is inverted, flat or listed twice; more than two elements share a face; a node
            is in no element; or the elements are not connected.
    """
    points, tetrahedra = _arrays(what, points, tetrahedra)
    _reject_volumes(what, points, tetrahedra)
    unused = np.setdiff1d(np.arange(len(points)), tetrahedra)
    if len(unused):
        raise ValueError(
            f"{what}: {_listed('node', unused)} in no element: remove them, "
            "or the elements that should have them are missing"
        )
    nodes, count = np.unique(np.sort(tetrahedra, axis=1), axis=0, return_counts=True)
    if (count > 1).any():
        raise ValueError(
            f"{what}: an element of nodes {nodes[count > 1][0].tolist()} is listed "
            f"{count.max()} times: remove the others"
        )
    boundary(what, tetrahedra)
    _reject_parts(what, len(points), tetrahedra)
    return points, tetrahedra


def volumes(points: Float[np.ndarray, "n 3"], tetrahedra: Int[np.ndarray, "e 4"]) -> np.ndarray:
    """Return the volume of each element [m³], negative where it is inverted.

    Args:
        points: positions of the nodes [m].
        tetrahedra: nodes of each element.
    """
    edges = points[tetrahedra[:, 1:]] - points[tetrahedra[:, :1]]
    return np.linalg.det(edges) / 6.0


def boundary(what: str, tetrahedra: Int[np.ndarray, "e 4"]) -> Int[np.ndarray, "f 3"]:
    """Return the triangles of the surface, counter-clockwise seen from outside.

    Args:
        what: beginning of error messages.
        tetrahedra: nodes of each element.

    Raises:
        ValueError: more than two elements share a face, so some of them overlap.
    """
    faces = tetrahedra[:, FACES].reshape(-1, 3)
    _, first, which, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    crowded = np.flatnonzero(count > 2)
    if len(crowded):
        owners = np.flatnonzero(which.reshape(-1) == crowded[0]) // 4
        raise ValueError(
            f"{what}: elements {', '.join(map(str, owners))} have one face in common, which only "
            "two can without overlap: remove the others"
        )
    return faces[np.sort(first[count == 1])]


def _arrays(what: str, points: object, tetrahedra: object) -> tuple[np.ndarray, np.ndarray]:
    """Return points and elements as arrays, or raise ``ValueError`` if their shapes or indices are
    wrong."""
    points, tetrahedra = np.array(points, float), np.array(tetrahedra)
    if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
        raise ValueError(f"{what}: points must be n × 3 finite numbers, not {points.shape}")
    integral = np.issubdtype(tetrahedra.dtype, np.integer)
    if tetrahedra.ndim != 2 or tetrahedra.shape[1] != 4 or not len(tetrahedra) or not integral:
        raise ValueError(
            f"{what}: tetrahedra must be e × 4 whole numbers, the nodes of each element, not "
            f"{tetrahedra.shape} of {tetrahedra.dtype}"
        )
    outside = np.flatnonzero(((tetrahedra < 0) | (tetrahedra >= len(points))).any(axis=1))
    if len(outside):
        raise ValueError(
            f"{what}: element {outside[0]} has nodes {tetrahedra[outside[0]].tolist()}, but there "
            f"are {len(points)} points, counted from 0"
        )
    return points, tetrahedra.astype(np.int32)


def _reject_volumes(what: str, points: np.ndarray, tetrahedra: np.ndarray) -> None:
    """Raise ``ValueError`` if an element is inverted or flat."""
    corners = points[tetrahedra]
    edge = np.linalg.norm(corners[:, :, None] - corners[:, None], axis=-1).max(axis=(1, 2))
    volume = volumes(points, tetrahedra)
    min_volume = FLAT * edge**3 / (6.0 * np.sqrt(2.0))
    flat = np.flatnonzero(np.abs(volume) <= min_volume)
    if len(flat):
        raise ValueError(
            f"{what}: element {flat[0]} (nodes {tetrahedra[flat[0]].tolist()}) is flat, its volume "
            f"{volume[flat[0]]:.3g} m³ by edges of {edge[flat[0]]:.3g} m: mesh it again"
        )
    inverted = np.flatnonzero(volume < 0)
    if len(inverted):
        raise ValueError(
            f"{what}: element {inverted[0]} (nodes {tetrahedra[inverted[0]].tolist()}) is inverted "
            f"({len(inverted)} of {len(volume)} are): exchange two of its nodes"
        )


def _reject_parts(what: str, nodes: int, tetrahedra: np.ndarray) -> None:
    """Raise ``ValueError`` if the elements are not connected through common nodes."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    first, second = tetrahedra[:, :3].reshape(-1), tetrahedra[:, 1:].reshape(-1)
    links = csr_matrix((np.ones(len(first)), (first, second)), (nodes, nodes))
    parts, which = connected_components(links, directed=False)
    if parts > 1:
        separate = np.flatnonzero(which[tetrahedra[:, 0]] != which[tetrahedra[0, 0]])[0]
        raise ValueError(
            f"{what}: the mesh is of {parts} parts without a common node (elements 0 and "
            f"{separate} are not connected): add each as a solid of its own"
        )


def _listed(what: str, indices: np.ndarray) -> str:
    """Return the first five indices as text, as the subject of a sentence."""
    some = ", ".join(map(str, indices[:5])) + (", …" if len(indices) > 5 else "")
    return f"{what} {some} is" if len(indices) == 1 else f"{what}s {some} are"
