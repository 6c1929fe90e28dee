"""Rows of a stored Jacobian as small blocks, one for each body that a row acts on."""

import numpy as np

from jaxccp.io.arrays import Arrays
from jaxccp.io.compressed_rows import read_csr


def paired_rows(
    arrays: Arrays, prefix: str, bodies: int, order: np.ndarray, block: np.ndarray, scalars: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a Jacobian as k blocks of six columns, and the body of each block.

    A contact acts on at most two bodies; k is 2 unless a scalar row acts on more.

    Args:
        arrays: the file.
        prefix: name of the CSR matrix in the file, (n, 6 nb).
        bodies: number nb of bodies; the index nb stands for "none".
        order: row of the file of each row, (n,).
        block: row block of each row, (n,); scalar rows come first, one to a block.
        scalars: number of scalar rows.

    Returns:
        The blocks (n, k, 6) and the bodies (number of row blocks, k).

    Raises:
        InputError: the matrix has another size, or a contact acts on more than two bodies.
    """
    shape, row, column, data = read_csr(arrays, prefix)
    if shape != (len(order), 6 * bodies):
        raise arrays.fault(
            f"{prefix}_shape",
            f"is {shape}",
            f"{len(order)} rows on {bodies} bodies need ({len(order)}, {6 * bodies})",
        )
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    row, column, data = position[row][data != 0], column[data != 0], data[data != 0]
    key = block[row] * max(bodies, 1) + column // 6
    pairs = np.unique(key)
    pair_block, pair_body = pairs // max(bodies, 1), pairs % max(bodies, 1)
    slot = np.arange(len(pairs)) - np.searchsorted(pair_block, pair_block)
    crowded = (slot > 1) & (pair_block >= scalars)
    if crowded.any():
        first = order[np.flatnonzero(block == pair_block[np.argmax(crowded)])[0]]
        raise arrays.fault(
            f"{prefix}_data",
            f"row {first} and its contact touch more than two bodies",
            "split them",
        )
    blocks = int(block[-1]) + 1 if len(block) else 0
    width = max(2, int(slot.max(initial=0)) + 1)
    block_bodies = np.full((blocks, width), bodies)
    block_bodies[pair_block, slot] = pair_body
    rows = np.zeros((len(order), width, 6))
    np.add.at(rows, (row, slot[np.searchsorted(pairs, key)], column % 6), data)
    return rows, block_bodies
