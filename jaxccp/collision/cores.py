"""The convex core of every kind of shape, and those of many shapes in one table."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.core import FACETED, ROUND, SMOOTH, Core
from jaxccp.collision.kernels.corners import BOX_FACES, CORNERS
from jaxccp.collision.manifold import Geometry

_NO_FACES = np.zeros((1, 3), np.int32)


def _sphere(shape: Geometry) -> Core:
    return _core(shape, jnp.zeros((1, 3), shape.size.dtype), style=SMOOTH)


def _capsule(shape: Geometry) -> Core:
    return _core(shape, _ends(shape), style=ROUND)


def _box(shape: Geometry) -> Core:
    corners = jnp.asarray(CORNERS, shape.size.dtype) * (shape.size - shape.radius)
    return _core(shape, corners, style=FACETED, faces=BOX_FACES)


def _cylinder(shape: Geometry) -> Core:
    disc = shape.radius * jnp.array([1.0, 1.0, 0.0], shape.size.dtype)
    return _core(shape, _ends(shape), disc, jnp.zeros_like(shape.radius), style=ROUND)


def _ellipsoid(shape: Geometry) -> Core:
    return _core(shape, jnp.zeros((1, 3), shape.size.dtype), shape.size, style=SMOOTH)


def _convex(shape: Geometry) -> Core:
    assert shape.hull is not None
    faces = shape.hull.faces
    real = jnp.arange(len(shape.hull.vertices)) <= jnp.max(faces)
    return _core(shape, shape.hull.vertices * shape.size, style=FACETED, faces=faces, real=real)


def _core(shape: Geometry, points, semi_axes=None, radius=None, *, style, faces=None, real=None):
    """Return the core with these parts.

    Without ``radius`` it has the shape's; other parts that are not given are empty.
    """
    none = jnp.zeros(3, shape.size.dtype)
    return Core(
        points=points,
        real=jnp.ones(len(points), bool) if real is None else real,
        sweep=jnp.diag(none if semi_axes is None else semi_axes),
        radius=shape.radius if radius is None else radius,
        style=jnp.asarray(style, jnp.int32),
        faces=jnp.asarray(_NO_FACES if faces is None else faces, jnp.int32),
    )


def _ends(shape: Geometry) -> Float[Array, "2 3"]:
    """Return the ends of a segment of half length ``size[2]`` on z."""
    return jnp.array([[0, 0, -1], [0, 0, 1]], shape.size.dtype) * shape.size[2]


CORES: dict[str, Callable[[Geometry], Core]] = {
    "sphere": _sphere,
    "capsule": _capsule,
    "box": _box,
    "cylinder": _cylinder,
    "ellipsoid": _ellipsoid,
    "convex": _convex,
}
"""The function that gives the core of each kind of shape, in the shape's frame."""


def core_table(shapes: Sequence[tuple[str, Geometry]]) -> Core:
    """Return the cores of several batches of shapes in one table, padded to the same size.

    Args:
        shapes: the batches; each has the kind of its shapes, and the shapes.
    """
    cores = [jax.vmap(CORES[kind])(batch) for kind, batch in shapes]
    sizes = [(core.points.shape[1], *core.faces.shape[1:]) for core in cores]
    size = [max(dimension) for dimension in zip(*sizes, strict=True)]
    padded = [jax.vmap(lambda core: core.padded(*size))(core) for core in cores]
    return jax.tree.map(lambda *x: jnp.concatenate(x), *padded)
