"""Test inverses of the blocks of a linear system that contacts make nearly singular."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import block_diag

from jaxccp.ccp.operators.blocks import BlockDiagonal

WEAK = 4e-10
"""Ridge of a block that is otherwise 0 along some directions."""


@pytest.mark.parametrize("width", [3, 6])
def test_inverse_of_definite_blocks_is_definite(width: int) -> None:
    """The inverse of definite blocks is definite beside inverses of 1 / WEAK.

    Otherwise Cholesky's factor of their sum with the identity, over the bodies, is not a number, as
    happens with inverses by the adjugate.
    """
    random = np.random.default_rng(0)
    rotations = np.linalg.qr(random.normal(size=(500, width, width)))[0]
    spectrum = np.where(np.arange(width) % 3 == 0, 1.0, WEAK)
    blocks = (rotations * spectrum) @ np.swapaxes(rotations, 1, 2)
    system = BlockDiagonal(jnp.full(2, WEAK), jnp.asarray(blocks))
    inverted = system.inverse(definite=True)
    inverse = np.asarray(inverted.blocks)
    smallest = np.linalg.eigvalsh(inverse + np.swapaxes(inverse, 1, 2)).min() / 2
    assert smallest > 0
    np.testing.assert_allclose(inverted.scalars, 1 / WEAK)
    exact = (rotations / spectrum) @ np.swapaxes(rotations, 1, 2)
    np.testing.assert_allclose(inverse * WEAK, exact * WEAK, atol=1e-6)


@pytest.mark.parametrize(("scalars", "contacts", "width"), [(2, 3, 3), (0, 2, 6), (3, 0, 3)])
def test_products_are_those_of_the_dense_matrix(scalars: int, contacts: int, width: int) -> None:
    random = np.random.default_rng(0)
    diagonal, blocks = random.normal(size=scalars), random.normal(size=(contacts, width, width))
    matrix = BlockDiagonal(jnp.asarray(diagonal), jnp.asarray(blocks))
    dense = np.asarray(block_diag(np.diag(diagonal), *blocks))
    x = random.normal(size=(len(dense), 4))
    np.testing.assert_array_equal(matrix.dense(), dense)
    np.testing.assert_allclose(matrix.columns(jnp.asarray(x)), dense @ x, atol=1e-14)
    np.testing.assert_allclose(matrix.apply(jnp.asarray(x[:, 0])), dense @ x[:, 0], atol=1e-14)
