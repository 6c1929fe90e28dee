"""Many shapes of every convex kind, and helpers to run the shared kernels on all as one program."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.collision import Geometry
from jaxccp.collision.cores import CORES, core_table

KINDS = sorted(CORES)
"""Kinds in the order in which dictionaries go into compiled functions."""
Pool = dict[str, Geometry]
"""Shapes by kind, the first half for the first of a pair, the other for the second."""


def pool(make, count: int, seed: int) -> Pool:
    """Return shapes of every kind, enough for ``count`` pairs of any two kinds.

    Args:
        make: function of a kind, a number of shapes and a generator, which returns the shapes.
        count: number of pairs of any two kinds.
        seed: seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    return {kind: make(kind, 2 * count, rng) for kind in KINDS}


def displaced(shape: Geometry, x) -> Geometry:
    """Return shapes shifted, rotated (by a world rotation vector) and grown, ten numbers each."""
    shift, rotation_vector, size, radius = x[:, :3], x[:, 3:6, None], x[:, 6:9], x[:, 9]
    # Exact to second order, which is all that is looked at.
    first_order = jnp.cross(rotation_vector, shape.rotation, axis=1)
    return replace(
        shape,
        position=shape.position + shift,
        rotation=shape.rotation + first_order + jnp.cross(rotation_vector, first_order, axis=1) / 2,
        size=shape.size + size,
        radius=shape.radius + radius * (shape.radius > 0),
    )


def placed(shapes: Pool, x: dict) -> Geometry:
    """Return all shapes of a pool with their cores, each moved by ten numbers."""
    every = {kind: displaced(shapes[kind], x[kind]) for kind in KINDS}
    rows = [replace(shape, hull=None) for shape in every.values()]
    table = jax.tree.map(lambda *y: jnp.concatenate(y), *rows)
    return replace(table, core=core_table(list(every.items())))


def motions(shapes: Pool, rng: np.random.Generator | None = None) -> dict:
    """Return ten random numbers for every shape, or zeros."""
    sizes = {kind: (len(shape.radius), 10) for kind, shape in shapes.items()}
    return {k: np.zeros(n) if rng is None else rng.normal(size=n) for k, n in sizes.items()}


def directional_derivative(function, shapes, direction: dict, t=0.0):
    """Return the derivative of a function along a motion, and the function's results there.

    The results are its values, and others that are not differentiated.

    Args:
        function: function of motions and shapes, which returns both.
        shapes: shapes at rest.
        direction: the motion, ten numbers for every shape.
        t: distance along the motion at which the derivative is taken.
    """

    def value(t):
        return function({kind: t * move for kind, move in direction.items()}, shapes)

    t = jnp.asarray(t, next(iter(direction.values())).dtype)
    results, first, auxiliary = jax.jvp(value, (t,), (jnp.ones_like(t),), has_aux=True)
    return first, (results, auxiliary)


def rows(kinds: list[tuple[str, str]], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places in ``placed`` of ``count`` pairs of each of the given kinds."""
    start = {kind: 2 * count * i for i, kind in enumerate(KINDS)}
    offsets = np.arange(count)
    first = np.concatenate([start[a] + offsets for a, _ in kinds])
    return first, np.concatenate([start[b] + count + offsets for _, b in kinds])


def values(manifold, close: float):
    """Return distance, position and normal of each contact point, zero where too far apart.

    Args:
        manifold: contact points.
        close: the largest distance of interest [m].
    """
    columns = [manifold.distance[..., None], manifold.position, manifold.normal]
    within = (manifold.distance < close)[..., None]
    return jnp.where(within, jnp.concatenate(columns, axis=-1), 0.0)
