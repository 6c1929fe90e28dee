"""Many shapes of every convex kind, and the kernels that serve them all as one program each."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.collision import Geometry
from jaxccp.collision.cores import CORES, core_table
from tests.collision.scenes import pick

KINDS = sorted(CORES)
"""In the order in which dictionaries go into compiled functions."""
Pool = dict[str, Geometry]
"""By kind: ``2 * count`` shapes, the first half for the first of a pair, the rest for the second."""


def pool(make, count: int, seed: int) -> Pool:
    """Of ``make(kind, count, generator)``."""
    rng = np.random.default_rng(seed)
    return {kind: make(kind, 2 * count, rng) for kind in KINDS}


def moved(shape: Geometry, x) -> Geometry:
    """Shapes shifted, turned (a rotation vector, in the world) and grown by ten numbers."""
    zero = jnp.zeros_like(x[0])
    spin = jnp.array([[zero, -x[5], x[4]], [x[5], zero, -x[3]], [-x[4], x[3], zero]])
    # Exact to second order, which is all that first derivatives and central differences see.
    turn = jnp.eye(3, dtype=x.dtype) + spin + spin @ spin / 2
    return replace(
        shape,
        position=shape.position + x[:3],
        rotation=jnp.einsum("ij,njk->nik", turn, shape.rotation),
        size=shape.size + x[6:9],
        radius=shape.radius + x[9] * (shape.radius > 0),
    )


def placed(shapes: Pool, x) -> Geometry:
    """All shapes of a pool with their cores; the two halves are moved by ten numbers each."""

    def both(shape: Geometry) -> Geometry:
        half = len(shape.radius) // 2
        sides = (pick(shape, slice(half)), x[:10]), (pick(shape, slice(half, None)), x[10:])
        return jax.tree.map(lambda *y: jnp.concatenate(y), *(moved(*side) for side in sides))

    every = {kind: both(shape) for kind, shape in shapes.items()}
    rows = [replace(shape, hull=None) for shape in every.values()]
    table = jax.tree.map(lambda *y: jnp.concatenate(y), *rows)
    return replace(table, core=core_table(list(every.items())))


def rows(kinds: list[tuple[str, str]], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of the shapes make pairs of the given kinds, ``count`` of each, in ``placed``."""
    start = {kind: 2 * count * i for i, kind in enumerate(KINDS)}
    each = np.arange(count)
    first = np.concatenate([start[a] + each for a, _ in kinds])
    return first, np.concatenate([start[b] + count + each for _, b in kinds])


def values(manifold, close: float):
    """Distance, position and normal of each contact point; zero of those further apart."""
    each = [manifold.distance[..., None], manifold.position, manifold.normal]
    near = (manifold.distance < close)[..., None]
    return jnp.where(near, jnp.concatenate(each, axis=-1), 0.0)
