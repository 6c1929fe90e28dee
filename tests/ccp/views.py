"""Check that a form of N has every operation of the contract, against its matrix."""

import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import Delassus


def assert_views_agree(operator: Delassus, matrix: np.ndarray, scalars: int) -> None:
    """Assert that rows, dense matrix, diagonal, blocks and products are those of a matrix.

    Args:
        operator: N, with contacts of three rows.
        matrix: N.
        scalars: number of scalar rows.
    """
    assert operator.rows == len(matrix)
    np.testing.assert_allclose(operator.dense(), matrix, atol=1e-13)
    np.testing.assert_allclose(operator.diagonal(), np.diag(matrix), atol=1e-13)
    single, blocks = operator.blocks(scalars)
    np.testing.assert_allclose(single, np.diag(matrix)[:scalars], atol=1e-13)
    expected = [matrix[i : i + 3, i : i + 3] for i in range(scalars, len(matrix), 3)]
    np.testing.assert_allclose(blocks, expected, atol=1e-13)
    lam = np.random.default_rng(0).normal(size=len(matrix))
    np.testing.assert_allclose(operator.apply(jnp.asarray(lam)), matrix @ lam, atol=1e-12)
