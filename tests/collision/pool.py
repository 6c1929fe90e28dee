"""Many shapes of every convex kind, and the kernels that serve them all as one program each."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.collision import Geometry
from jaxccp.collision.cores import CORES, core_table

KINDS = sorted(CORES)
"""In the order in which dictionaries go into compiled functions."""
Pool = dict[str, Geometry]
"""By kind: shapes, the first half for the first of a pair, the other for the second."""


def pool(make, count: int, seed: int) -> Pool:
    """Of ``make(kind, count, generator)``, for ``count`` pairs of any two kinds."""
    rng = np.random.default_rng(seed)
    return {kind: make(kind, 2 * count, rng) for kind in KINDS}


def moved(shape: Geometry, x) -> Geometry:
    """Shapes shifted, turned (a rotation vector, in the world) and grown, by ten numbers each."""
    shift, turn, size, radius = x[:, :3], x[:, 3:6, None], x[:, 6:9], x[:, 9]
    # Exact to second order, which is all that is looked at.
    once = jnp.cross(turn, shape.rotation, axis=1)
    return replace(
        shape,
        position=shape.position + shift,
        rotation=shape.rotation + once + jnp.cross(turn, once, axis=1) / 2,
        size=shape.size + size,
        radius=shape.radius + radius * (shape.radius > 0),
    )


def placed(shapes: Pool, x: dict) -> Geometry:
    """All shapes of a pool, moved by ten numbers each, with their cores."""
    every = {kind: moved(shapes[kind], x[kind]) for kind in KINDS}
    rows = [replace(shape, hull=None) for shape in every.values()]
    table = jax.tree.map(lambda *y: jnp.concatenate(y), *rows)
    return replace(table, core=core_table(list(every.items())))


def motions(shapes: Pool, rng: np.random.Generator | None = None) -> dict:
    """Ten random numbers for every shape, or zeros."""
    sizes = {kind: (len(shape.radius), 10) for kind, shape in shapes.items()}
    return {k: np.zeros(n) if rng is None else rng.normal(size=n) for k, n in sizes.items()}


def along(function, shapes, direction: dict, t=0.0):
    """Derivative of a function of moves and shapes along a move, t of it ahead; and what it gives
    there: values, and others that are not differentiated."""

    def value(t):
        return function({kind: t * move for kind, move in direction.items()}, shapes)

    t = jnp.asarray(t, next(iter(direction.values())).dtype)
    here, first, more = jax.jvp(value, (t,), (jnp.ones_like(t),), has_aux=True)
    return first, (here, more)


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
