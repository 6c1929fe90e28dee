"""Beams, plates and blocks in regular rows of continuum elements."""

from collections.abc import Callable, Collection
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.ancf.continuum import ContinuumElements
from jaxccp.flexible.ancf.shape import Shape
from jaxccp.flexible.layout import Layout
from jaxccp.flexible.nodal import NodalFamily

FACES = ("x0", "x1", "y0", "y1", "z0", "z1")
"""Names of the two faces of a body at the ends of each axis."""
Map = Callable[[Float[Array, "3"]], Float[Array, "3"]]
"""A function from a point [m] to a point [m]."""


def box(
    shape: Shape,
    size: Float[Array, "3"],
    counts: tuple[int, int, int],
    moduli: Float[Array, "s 6 6"],
    density: Array | float,
    retardation: Array | float = 0.0,
    *,
    layers: tuple[float, ...] = (1.0,),
    clamped: Collection[str] = (),
    pinned: Collection[str] = (),
    place: Map = lambda point: point,
    curve: Map = lambda point: point,
) -> NodalFamily:
    """Return a body of equal elements, differentiable in all its numbers.

    Along axes with several nodes, the straight body extends from 0 to ``size``. Along the other
    axes it extends from −``size``/2 to ``size``/2.

    Args:
        shape: the type of the elements.
        size: size of the whole body [m].
        counts: number of elements along x, y, z; 1 along axes with a single node.
        moduli: as in :class:`ContinuumElements`; one for all layers, or one for each.
        density: mass per volume [kg/m³].
        retardation: α of Kelvin and Voigt's damping [s].
        layers: thickness of each layer as a fraction of the whole, from below. Several layers of
            one material are one layer, except in ``shell_3423``, where each has enhanced strains
            of its own: there they are too soft across the shell.
        clamped: faces (:data:`FACES`) whose nodes keep all their vector coordinates.
        pinned: faces whose nodes keep their positions.
        place: function from points of the reference configuration to their positions at time 0; it
            must not strain the body.
        curve: function from points of the straight body to the reference configuration; applied
            before ``place``.

    Raises:
        ValueError: a face has another name or no nodes of its own, layers do not add up to 1, there
            are moduli for another number of layers, or counts are no whole numbers of elements that
            share nodes.
    """
    number = len(shape.derivatives)
    flat = np.ptp(np.array(shape.nodes), axis=0) == 0
    moduli = jnp.asarray(moduli, float)
    if not shape.section and moduli.shape == (1, 6, 6):  # of all layers
        moduli = jnp.broadcast_to(moduli, (len(layers), 6, 6))
    _check(shape, flat, counts, moduli.shape, layers, (*clamped, *pinned))
    rows, lattice = _mesh(shape, counts)
    size = jnp.asarray(size, float)
    points = (lattice / (2.0 * np.array(counts)) - 0.5 * flat) * size
    reference = jax.vmap(lambda point: _nodal_coordinates(shape, curve, point))(points)
    start = jax.vmap(lambda point: _nodal_coordinates(shape, lambda at: place(curve(at)), point))(
        points
    )
    reference, start = (part.reshape(-1, 3) for part in (reference, start))
    first = np.arange(len(lattice)) * number
    elements = ContinuumElements(
        reference=reference[rows],
        size=jnp.broadcast_to(size / np.array(counts), (len(rows), 3)),
        moduli=moduli,
        density=jnp.asarray(density, float),
        retardation=jnp.asarray(retardation, float),
        shape=shape,
        layers=layers,
    )
    positions = np.arange(len(start)) % number == 0
    fixed = np.repeat(_on(clamped, lattice, counts), number)
    fixed = fixed | (np.repeat(_on(pinned, lattice, counts), number) & positions)
    turning = [i for i, part in enumerate(shape.derivatives) if len(part) == 1][:2]
    layout = Layout(
        rows,
        np.repeat(fixed[:, None], 3, axis=1),
        positions,
        first,
        tuple(("xyz".index(shape.derivatives[i]), first + i) for i in turning),
        skin=_skin(shape, rows[:, ::number] // number),
    )
    return NodalFamily(elements, start, jnp.zeros_like(start), jnp.zeros_like(start), layout)


def _check(
    shape: Shape,
    flat: np.ndarray,
    counts: tuple[int, int, int],
    moduli: tuple[int, ...],
    layers: tuple[float, ...],
    faces: tuple[str, ...],
) -> None:
    """Raise ``ValueError`` for numbers of elements, faces, layers or moduli that would have no
    effect, or another one.

    Args:
        shape: the type of the elements.
        flat: mask of the axes along which an element has a single node.
        counts: number of elements along each axis.
        moduli: shape of the moduli.
        layers: thickness of each layer as a fraction of the whole.
        faces: names of clamped and pinned faces.
    """
    for axis, count, single in zip("xyz", counts, flat, strict=True):
        if int(count) != count or count < 1:
            raise ValueError(f"box: counts must be whole numbers ≥ 1, not {count!r} along {axis}")
        if single and count > 1:
            raise ValueError(
                f"box: {shape.name} has a single node along {axis}, so {count} elements along it "
                "would not be connected: take 1, and layers=… for the plies of a shell"
            )
    known = [face for face in FACES if not flat["xyz".index(face[0])]]
    for face in faces:
        if face not in known:
            raise ValueError(f"box: nodes are on the faces {', '.join(known)}, not on {face!r}")
    if abs(sum(layers) - 1.0) > 1e-6 or min(layers) <= 0:
        raise ValueError(
            f"box: layers are fractions of the thickness that add up to 1, not {layers}"
        )
    count = 2 if shape.section else len(layers)
    if moduli != (count, 6, 6) or (shape.section and len(layers) > 1):
        what = "a section, without layers" if shape.section else f"{len(layers)} layers"
        raise ValueError(f"box: moduli must have shape ({count}, 6, 6) for {what}, not {moduli}")


@lru_cache
def _mesh(shape: Shape, counts: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the vector coordinates of each element [e k], and the positions of the nodes in units
    of half an element [N 3].

    The nodes are numbered first along the axis with the fewest elements, so that matrices have a
    narrow band.
    """
    corners = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
    positions = (2 * corners[:, None] + 1 + np.array(shape.nodes)).round().astype(int)
    order = np.argsort(np.array(counts), kind="stable")[::-1]
    flat = positions.reshape(-1, 3)[:, order]
    lattice, node = np.unique(flat, axis=0, return_inverse=True)
    number = len(shape.derivatives)
    rows = number * node.reshape(len(corners), -1, 1) + np.arange(number)
    return rows.reshape(len(corners), -1), lattice[:, np.argsort(order)]


def _skin(shape: Shape, nodes: np.ndarray) -> np.ndarray:
    """Return the patches to draw [k 4]: the axis of a beam, the middle surface of a shell, the
    faces of a block.

    A patch connects corners of one element; ``nodes`` [e m] are the nodes of the elements.
    """
    positions = np.array(shape.nodes)
    across = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    if np.ptp(positions[:, 1]) == 0:
        faces = [across * [1, 0]]
    elif np.ptp(positions[:, 2]) == 0:
        faces = [across]
    else:
        # Counter-clockwise seen from outside, on both sides of each axis.
        faces = [
            np.roll(np.insert(across[::side], 2, side, axis=1), axis + 1, axis=1)
            for axis in range(3)
            for side in (-1, 1)
        ]
    patches = []
    for face in faces:
        corners = np.pad(face, ((0, 0), (0, 3 - face.shape[1])))
        indices = [int(np.flatnonzero((positions == corner).all(axis=1))[0]) for corner in corners]
        patches.append(nodes[:, indices])
    return np.concatenate(patches)


def _nodal_coordinates(shape: Shape, place: Map, point: Float[Array, "3"]) -> Float[Array, "d 3"]:
    """Return the vector coordinates of a node at a point of the straight body.

    They are the image of the point under ``place``, and the derivatives of ``place`` there.
    """
    parts = []
    for derivative in shape.derivatives:
        function = place
        for axis in derivative:
            function = _directional_derivative(function, np.eye(3)["xyz".index(axis)])
        parts.append(function(point))
    return jnp.stack(parts)


def _directional_derivative(function: Map, direction: np.ndarray) -> Map:
    """Return the derivative of a function of a point along a direction."""
    return lambda at: jax.jvp(function, (at,), (jnp.asarray(direction, at.dtype),))[1]


def _on(faces: Collection[str], lattice: np.ndarray, counts: tuple[int, int, int]) -> np.ndarray:
    """Return a mask of the nodes on any of the faces [N]."""
    on_face = np.zeros(len(lattice), bool)
    for face in faces:
        axis = "xyz".index(face[0])
        on_face |= lattice[:, axis] == 2 * counts[axis] * int(face[1])
    return on_face
