"""Systems of a chain and of a few unknowns that meet all, beside numpy's dense solver."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.dynamics.second_order.bordered_band import BorderedBand


@pytest.mark.parametrize("few", (0, 3))
@pytest.mark.parametrize(("chain", "reach"), ((99, 4), (120, 13)))
def test_solves_as_the_dense_matrix_does(few: int, chain: int, reach: int) -> None:
    rng = np.random.default_rng(few + chain)
    matrix, b = rng.normal(size=(few + chain,) * 2), rng.normal(size=few + chain)
    place = np.arange(chain)
    matrix[few:, few:] *= np.abs(place[:, None] - place) <= reach
    met = (1, 2, 30, 57)
    matrix[:few, few:] *= np.isin(place, met)
    arrow = BorderedBand(few, chain, reach, met)
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
