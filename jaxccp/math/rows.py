"""Rows of arrays at indices that are known when a program is traced."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Shaped


def take_rows(x: Shaped[Array, "n *k"], index: np.ndarray) -> Shaped[Array, "m *k"]:
    """Return ``x[index]``, as a slice where the indices follow one another.

    Args:
        x: rows.
        index: indices of the rows to return, each at most once.
    """
    first = _first(index)
    return x[index] if first is None else x[first : first + len(index)]


def put_rows(
    x: Shaped[Array, "n *k"], index: np.ndarray, rows: Shaped[Array, "m *k"]
) -> Shaped[Array, "n *k"]:
    """Return ``x`` with its rows at ``index`` replaced.

    Where the indices follow one another the parts of the result are joined, which costs less than a
    scatter and is as easy to differentiate.

    Args:
        x: rows.
        index: indices of the rows to replace, each at most once.
        rows: the rows in their place.
    """
    first = _first(index)
    if first is None:
        return x.at[index].set(rows)
    return jnp.concatenate([x[:first], rows.astype(x.dtype), x[first + len(index) :]])


def _first(index: np.ndarray) -> int | None:
    """Return the first of indices that follow one another; None if they do not."""
    if not len(index):
        return 0
    return int(index[0]) if (np.diff(index) == 1).all() else None
