"""Bodies whose vector coordinates are positions of nodes alone, with their mass at the nodes."""

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.layout import Layout


def lengthwise(points: Float[np.ndarray, "n 3"]) -> np.ndarray:
    """Nodes from end to end [n], so that elements join near ones: layer by layer in a grid."""
    spread = points - points.mean(axis=0)
    _values, axes = np.linalg.eigh(spread.T @ spread)
    along = spread @ axes
    # Rounded, so that the nodes of a layer are in one order in all of them; flat in some direction.
    extent = np.maximum(np.ptp(along, axis=0), 1e-9 * np.ptp(along))
    return np.lexsort(np.round(along / extent, 9).T)


def point_layout(
    points: Float[np.ndarray, "n 3"], rows: np.ndarray, held: Iterable[int], skin: np.ndarray
) -> Layout:
    """Return the layout of a body all of whose nodes are frames; those in ``held`` never move."""
    count = len(points)
    fixed = np.zeros((count, 3), bool)
    fixed[list(held)] = True
    every = np.arange(count)
    return Layout(rows, fixed, np.ones(count, bool), every, order=lengthwise(points), skin=skin)


def divided(what: str, rows: np.ndarray, mass: Float[np.ndarray, " n"]) -> Float[Array, "e k"]:
    """Return what each element has of the masses [kg] of its nodes [e k], in equal parts.

    Raises:
        ValueError: a mass is not positive, or a node is in no element.
    """
    mass = np.asarray(mass, float)
    if not (np.isfinite(mass).all() and (mass > 0).all()):
        raise ValueError(f"{what}: all masses of nodes [kg] must be positive, not {mass.min():g}")
    number = np.bincount(rows.reshape(-1), minlength=len(mass))
    alone = np.flatnonzero(number == 0)
    if len(alone):
        raise ValueError(f"{what}: node {alone[0]} is in no element: remove it, or connect it")
    return jnp.asarray((mass / number)[rows], float)
