"""Points of a flexible body between its nodes, as frames of constant orientation for collision
shapes."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from jaxccp.flexible.ancf.continuum import continuum_elements
from jaxccp.flexible.nodal import NodalFamily


def with_points(
    family: NodalFamily, rows: Int[np.ndarray, "m k"], weights: Float[np.ndarray, "m k"]
) -> NodalFamily:
    """Return the body with ``m`` additional frames, after those of its nodes.

    Args:
        family: a body without additional frames.
        rows: indices of the vector coordinates in the sum that gives each frame's position, rows of
            ``family.position``.
        weights: weights in this sum.
    """
    return replace(family, layout=replace(family.layout, between=(rows, weights)))


def with_points_on_cable(
    family: NodalFamily, lengths: Float[np.ndarray, " e"], count: int
) -> NodalFamily:
    """Return a cable with additional frames, evenly spaced between neighbouring nodes on its centre
    line. Their weights are those of these lengths, even if elements get other lengths later.

    Args:
        family: a cable.
        lengths: length of each element [m].
        count: number of frames between two nodes.
    """
    at = np.arange(1, count + 1) / (count + 1)
    first, last = np.arange(len(lengths)), np.arange(1, len(lengths) + 1)
    rows = np.stack([2 * first, 2 * first + 1, 2 * last, 2 * last + 1], axis=1)
    cubics = np.stack(
        [
            1 - 3 * at**2 + 2 * at**3,
            at - 2 * at**2 + at**3,
            3 * at**2 - 2 * at**3,
            at**3 - at**2,
        ],
        axis=1,
    )
    size = np.ones((len(lengths), 1, 4))
    size[..., 1::2] = lengths[:, None, None]
    weights = (size * cubics).reshape(-1, 4)
    return with_points(family, np.repeat(rows, count, axis=0), weights)


def with_points_on_shell(family: NodalFamily, elements: tuple[int, int], count: int) -> NodalFamily:
    """Return a shell with a lattice of additional frames in its middle surface.

    There are ``count`` frames, evenly spaced, between neighbouring nodes along an edge; the
    interior of the elements has the same spacing. Their weights are those of the elements' present
    sizes, even if elements get other sizes later.

    Args:
        family: a shell of :func:`jaxccp.flexible.ancf.box`.
        elements: number of elements along x and along y.
        count: number of points between neighbouring nodes.

    Raises:
        TypeError: the body has elements of another class.
    """
    continuum = continuum_elements(family)
    nodes = np.array(continuum.shape.nodes)[:, :2]
    steps = (len(np.unique(nodes[:, 0])) - 1) * (count + 1)
    sides = [np.arange(steps * number + 1) for number in elements]
    lattice = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
    # A point of two elements has the same polynomial in both, so either can be used.
    cell: np.ndarray = np.minimum(lattice // steps, np.array(elements) - 1)
    place = 2.0 * (lattice - steps * cell) / steps - 1.0
    new = ~(place[:, None] == nodes).all(axis=2).any(axis=1)
    element = (elements[1] * cell[:, 0] + cell[:, 1])[new]
    unlike, which = np.unique(place[new], axis=0, return_inverse=True)
    weights = np.stack([continuum.weights(np.append(point, 0.0)) for point in unlike])
    # Gradients across the shell do not move its middle.
    used = np.flatnonzero(continuum.shape.orders[:, 2] == 0)
    rows = family.layout.rows[element][:, used]
    return with_points(family, rows, weights[which.reshape(-1), element][:, used])


def with_points_on_edges(family: NodalFamily, triangles: Int[np.ndarray, "f 3"]) -> NodalFamily:
    """Return a body of tetrahedra or triangles with an additional frame in the middle of each
    surface edge.

    Args:
        family: the body.
        triangles: nodes of the triangles of its surface.
    """
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges = np.unique(np.sort(edges, axis=1), axis=0)
    return with_points(family, edges, np.full(edges.shape, 0.5))
