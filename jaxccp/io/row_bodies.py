"""Rows of a stored Jacobian by the bodies that they touch."""

import numpy as np

from jaxccp.io.arrays import Arrays


def paired_rows(
    arrays: Arrays, prefix: str, bodies: int, order: np.ndarray, block: np.ndarray, scalars: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, k, 6) of the CSR matrix ``prefix`` and the bodies (blocks, k) of each row block.

    ``bodies``: how many there are, six columns each; one more stands for "none". ``order``: file
    row of each row; ``block``: its row block, those of ``scalars`` scalar rows first. Contacts
    touch two bodies at most; k is 2 unless a scalar row touches more.
    """
    shape, row, column, data = arrays.csr(prefix)
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
    touched = np.full((blocks, width), bodies)
    touched[pair_block, slot] = pair_body
    rows = np.zeros((len(order), width, 6))
    np.add.at(rows, (row, slot[np.searchsorted(pairs, key)], column % 6), data)
    return rows, touched
