"""Means of inputs that are held, over the time that a step acts in."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.identify.simulation.input_table import averaged

CELLS = np.array([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0], [2.0, 2.0]])


def integral(place: np.ndarray) -> np.ndarray:
    """Return the integral of the cells from 0 to each place."""
    whole = np.concatenate([np.zeros((1, 2)), np.cumsum(CELLS, axis=0)])
    return np.stack([np.interp(place, np.arange(5), column) for column in whole.T], axis=-1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_are_integrals_over_widths(dtype: type) -> None:
    begin = np.linspace(0.0, 2.0, 41)
    for width in (0.4, 1.0, 2.0):
        cells, first = jnp.asarray(CELLS, dtype), jnp.asarray(begin, dtype)
        found = averaged(cells, first, first + dtype(width), 3)
        assert found.dtype == dtype
        exact = (integral(begin + width) - integral(begin)) / width
        np.testing.assert_allclose(found, exact, atol=20 * np.finfo(dtype).eps)
    beyond = averaged(jnp.asarray(CELLS), jnp.array([-3.0, 4.5]), jnp.array([-2.0, 6.0]), 3)
    np.testing.assert_allclose(beyond, CELLS[[0, -1]], rtol=1e-12)


@pytest.mark.parametrize("begin", [0.3, 1.0, 1.7])
def test_derivatives_are_those_of_a_delay(begin: float) -> None:
    """On an edge that of the interval moved back, as from a delay of 0 it can only be."""

    def mean(late: jax.Array) -> jax.Array:
        place = jnp.array([begin]) - late
        return averaged(jnp.asarray(CELLS), place, place + 2.0, 3)[0]

    slope = jax.jacfwd(mean)(jnp.zeros(()))
    np.testing.assert_allclose(slope, (mean(jnp.array(1e-4)) - mean(jnp.array(0.0))) / 1e-4)
