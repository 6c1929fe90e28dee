"""Test the solver for a chain and a few unknowns that couple to all, against a dense solver."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.dynamics.second_order.bordered_band import BorderedBand


@pytest.mark.parametrize("border", (0, 3))
@pytest.mark.parametrize(("chain", "reach"), ((99, 4), (120, 13)))
def test_solves_as_the_dense_matrix_does(border: int, chain: int, reach: int) -> None:
    rng = np.random.default_rng(border + chain)
    matrix, b = rng.normal(size=(border + chain,) * 2), rng.normal(size=border + chain)
    place = np.arange(chain)
    matrix[border:, border:] *= np.abs(place[:, None] - place) <= reach
    columns = (1, 2, 30, 57)
    matrix[:border, border:] *= np.isin(place, columns)
    arrow = BorderedBand(border, chain, reach, columns)
    assert arrow.is_narrow

    @jax.jit
    def both(matrix):
        factors = arrow.factorise(lambda x: matrix @ x, jnp.asarray(b))
        return factors.solve(jnp.asarray(b)), factors.solve_transposed(jnp.asarray(b))

    x, transposed = both(jnp.asarray(matrix))
    np.testing.assert_allclose(x, np.linalg.solve(matrix, b), atol=1e-10)
    np.testing.assert_allclose(transposed, np.linalg.solve(matrix.T, b), atol=1e-10)


def test_a_short_chain_is_not_worth_it() -> None:
    assert not BorderedBand(0, 90, 4).is_narrow
    assert not BorderedBand(0, 100, 50).is_narrow
