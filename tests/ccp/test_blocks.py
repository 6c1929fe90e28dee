"""Inverses of the blocks of a linear system that contacts make nearly singular."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import block_diag

from jaxccp.ccp.operators.blocks import BlockDiagonal

WEAK = 4e-10
"""The ridge of a block that is else 0 along some directions."""


@pytest.mark.parametrize("width", [3, 6])
def test_inverse_of_definite_blocks_is_definite(width: int) -> None:
    """What is definite stays so beside inverses of 1 / WEAK: else Cholesky's factor of their sum
    with the identity, over the bodies, is not a number, as that of inverses by the adjugate is."""
    random = np.random.default_rng(0)
    turns = np.linalg.qr(random.normal(size=(500, width, width)))[0]
    spectrum = np.where(np.arange(width) % 3 == 0, 1.0, WEAK)
    blocks = (turns * spectrum) @ np.swapaxes(turns, 1, 2)
    system = BlockDiagonal(jnp.full(2, WEAK), jnp.asarray(blocks))
    found = system.inverse(definite=True)
    inverse = np.asarray(found.blocks)
    least = np.linalg.eigvalsh(inverse + np.swapaxes(inverse, 1, 2)).min() / 2
    assert least > 0
    np.testing.assert_allclose(found.scalars, 1 / WEAK)
    exact = (turns / spectrum) @ np.swapaxes(turns, 1, 2)
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
