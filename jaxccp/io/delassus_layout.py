"""The layout "delassus": contacts and the matrix of the problem itself, u = W λ + q.

    W_data, W_indices, W_indptr, W_shape   CSR of the symmetric W (3c × 3c) [1/kg]
    q (3c,) [m/s]   mu (c,)
    friction        optional: "cone", "pyramid" or "octagon"

An asymmetry within rounding is averaged out, so that the problem has an objective.
"""

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxccp.ccp import Band, BlockSparseDelassus, Cones, Problem
from jaxccp.io.arrays import Arrays
from jaxccp.io.compressed_rows import read_csr
from jaxccp.io.cone_type import read_cone_type
from jaxccp.io.named import NamedProblem, make_named_problem


def read_delassus(arrays: Arrays, dtype: DTypeLike) -> NamedProblem:
    """Read a problem of the layout "delassus".

    Args:
        arrays: the file.
        dtype: dtype of the problem's arrays.

    Raises:
        InputError: an array is missing, has the wrong shape, or does not describe such a problem.
    """
    fields = ("W_data", "W_indices", "W_indptr", "W_shape", "q", "mu")
    arrays.require(*fields)
    mu = arrays.not_negative("mu", None)
    contacts = len(mu)
    rows = 3 * contacts
    shape, row, column, data = read_csr(arrays, "W")
    if shape != (rows, rows):
        raise arrays.fault(
            "W_shape", f"is {shape}", f"{contacts} contacts (mu) need ({rows}, {rows})"
        )
    r = arrays.floats("q", rows)

    # Include blocks of both triangles, so that the pattern is symmetric whatever the file stores.
    key, transposed = row // 3 * contacts + column // 3, column // 3 * contacts + row // 3
    keys = np.unique(np.concatenate([key, transposed]))
    blocks, transposes = np.zeros((2, len(keys), 3, 3))
    np.add.at(blocks, (np.searchsorted(keys, key), row % 3, column % 3), data)
    np.add.at(transposes, (np.searchsorted(keys, transposed), column % 3, row % 3), data)
    entries = arrays.symmetric("W_data", blocks, transposes)
    block_row, block_column = keys // max(contacts, 1), keys % max(contacts, 1)
    _check_diagonal(arrays, entries[block_row == block_column], keys[block_row == block_column])

    delassus = BlockSparseDelassus(
        jnp.asarray(entries, dtype),
        jnp.asarray(block_row, jnp.int32),
        jnp.asarray(block_column, jnp.int32),
        contacts,
        Band.of(block_row, block_column, contacts),
    )
    none = jnp.zeros(0, dtype)
    cones = Cones(none, none, jnp.asarray(mu, dtype), read_cone_type(arrays))
    problem = Problem(delassus, jnp.asarray(r, dtype), cones)
    zero = np.zeros(rows)
    return make_named_problem(arrays, problem, r, np.arange(rows), zero, zero, 1.0 + zero)


def _check_diagonal(arrays: Arrays, blocks: np.ndarray, keys: np.ndarray) -> None:
    diagonal = np.diagonal(blocks, axis1=1, axis2=2)
    bad = np.argwhere(diagonal < 0)
    if len(bad):
        value = diagonal[tuple(bad[0])]
        raise arrays.fault(
            "W_data",
            f"{len(bad)} diagonal entries are negative, such as {value:.3g}",
            "W must be positive semidefinite",
        )
