"""Bodies whose vector coordinates are only the positions of their nodes, with lumped masses."""

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.layout import Layout, node_indices


def lengthwise(points: Float[np.ndarray, "n 3"]) -> np.ndarray:
    """Return an order of the nodes from end to end [n], in which the nodes of an element are near
    each other: layer by layer in a grid."""
    spread = points - points.mean(axis=0)
    _values, axes = np.linalg.eigh(spread.T @ spread)
    principal = spread @ axes
    # Rounded, so that all layers have their nodes in the same order. The body may be flat.
    extent = np.maximum(np.ptp(principal, axis=0), 1e-9 * np.ptp(principal))
    return np.lexsort(np.round(principal / extent, 9).T)


def point_layout(
    what: str,
    points: Float[np.ndarray, "n 3"],
    rows: np.ndarray,
    fixed: int | Iterable[int] | np.ndarray,
    skin: np.ndarray,
) -> Layout:
    """Return the layout of a body whose nodes are all frames.

    Args:
        what: beginning of error messages.
        points: positions of the nodes [m].
        rows: nodes of each element.
        fixed: index, indices or mask of the nodes that never move.
        skin: frames of the patches by which the body is drawn.

    Raises:
        ValueError: a fixed node does not exist.
    """
    count = len(points)
    mask = np.zeros((count, 3), bool)
    mask[node_indices(f"{what}: fixed", fixed, count)] = True
    every = np.arange(count)
    return Layout(rows, mask, np.ones(count, bool), every, order=lengthwise(points), skin=skin)


def element_masses(
    what: str, rows: np.ndarray, mass: Float[np.ndarray, " n"]
) -> Float[Array, "e k"]:
    """Return the mass that each element adds to each of its nodes [kg] [e k]; the mass of a node is
    divided equally among its elements.

    Args:
        what: beginning of error messages.
        rows: nodes of each element.
        mass: mass of each node [kg].

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
