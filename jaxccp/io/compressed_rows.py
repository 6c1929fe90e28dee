"""Matrices in compressed sparse rows (CSR), as four arrays of an npz file."""

import numpy as np

from jaxccp.io.arrays import Arrays


def read_csr(
    arrays: Arrays, prefix: str
) -> tuple[tuple[int, int], np.ndarray, np.ndarray, np.ndarray]:
    """Read a CSR matrix; return its shape and the rows, columns and values of its entries.

    Args:
        arrays: the file.
        prefix: beginning of the names of the arrays ``…_data``, ``…_indices``, ``…_indptr`` and
            ``…_shape``.

    Raises:
        InputError: an array is missing, or the arrays are not a CSR matrix.
    """
    shape = arrays.integers(f"{prefix}_shape", 2)
    data = arrays.floats(f"{prefix}_data", None)
    column = arrays.integers(f"{prefix}_indices", len(data))
    start = arrays.integers(f"{prefix}_indptr", int(shape[0]) + 1)
    lengths = np.diff(start)
    if start[0] != 0 or start[-1] != len(data) or (lengths < 0).any():
        raise arrays.fault(
            f"{prefix}_indptr", f"does not rise from 0 to {len(data)}", "store CSR row starts"
        )
    if len(column) and (column.min() < 0 or column.max() >= shape[1]):
        raise arrays.fault(
            f"{prefix}_indices", f"leaves 0 … {shape[1] - 1}", f"correct it or {prefix}_shape"
        )
    row = np.repeat(np.arange(shape[0]), lengths)
    return (int(shape[0]), int(shape[1])), row, column, data
