"""Test factors by the tiles of a band against NumPy, and their users against the full matrix."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import (
    ADMM,
    Band,
    BlockSparseDelassus,
    Cones,
    Law,
    Newton,
    Problem,
    Stop,
    solve,
)
from jaxccp.ccp.operators import band_cholesky, band_lu
from jaxccp.ccp.solver import Solver
from tests.laws import CONVEX_LAW_LONG


def shuffled(contacts: int, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of all blocks of a band, contacts in random order.

    Args:
        contacts: number of contacts.
        width: number of blocks beside the diagonal.
        seed: seed of the order.
    """
    place = np.arange(contacts)
    row, column = np.nonzero(np.abs(place[:, None] - place) <= width)
    order = np.random.default_rng(seed).permutation(contacts)
    row, column = order[row], order[column]
    by_row = np.lexsort((column, row))
    return row[by_row], column[by_row]


def full(entries: np.ndarray, row: np.ndarray, column: np.ndarray, contacts: int) -> np.ndarray:
    tiles = np.zeros((contacts, contacts, 3, 3))
    np.add.at(tiles, (row, column), entries)
    return tiles.swapaxes(1, 2).reshape(3 * contacts, -1)


@pytest.mark.parametrize(("contacts", "width"), [(40, 1), (40, 10), (57, 9)])
def test_the_order_has_a_band_that_holds_all_blocks(contacts: int, width: int) -> None:
    row, column = shuffled(contacts, width, 0)
    band = made(row, column, contacts)
    position = np.asarray(band.position)
    assert sorted(position) == list(range(contacts))
    assert list(np.asarray(band.contact)[position]) == list(range(contacts))
    # Cuthill–McKee need not find the best order; it does not miss a band by much.
    assert width <= np.max(np.abs(position[row] - position[column])) <= width + 1
    assert max(width, 8) <= band.tile <= max(width + 1, 8)


@pytest.mark.parametrize(("contacts", "width"), [(31, 1), (40, 11), (8, 7), (0, 0)])
def test_too_wide_a_band_is_none(contacts: int, width: int) -> None:
    assert Band.of(*shuffled(contacts, width, 0), contacts) is None


def test_contacts_without_blocks_have_a_place_all_the_same() -> None:
    band = made(np.array([0, 2]), np.array([0, 2]), 40)
    assert sorted(np.asarray(band.position)) == list(range(40))


def test_blocks_at_the_same_place_are_refused() -> None:
    place = np.array([*range(40), 7])
    with pytest.raises(ValueError, match="two blocks at the same row and column"):
        Band.of(place, place, 40)


def made(row: np.ndarray, column: np.ndarray, contacts: int) -> Band:
    band = Band.of(row, column, contacts)
    assert band is not None
    return band


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize(("contacts", "width"), [(40, 1), (40, 10), (57, 9)])
@pytest.mark.parametrize("definite", [True, False])
def test_solves_like_numpy(contacts: int, width: int, definite: bool, precision: type) -> None:
    random = np.random.default_rng(1)
    row, column = shuffled(contacts, width, 1)
    # Nothing is definite or dominant about these: only pivoting keeps the factors accurate.
    entries, diagonal_blocks = (
        random.normal(size=(len(row), 3, 3)),
        random.normal(size=(contacts, 3, 3)),
    )
    if definite:
        place = {pair: at for at, pair in enumerate(zip(row, column, strict=True))}
        mirrored = [place[pair] for pair in zip(column, row, strict=True)]
        entries = entries + entries[mirrored].swapaxes(1, 2)
        diagonal_blocks = diagonal_blocks @ diagonal_blocks.swapaxes(1, 2) + 20 * width * np.eye(3)
    matrix = full(entries, row, column, contacts)
    matrix += full(diagonal_blocks, np.arange(contacts), np.arange(contacts), contacts)
    band, b = made(row, column, contacts), random.normal(size=(2, 3 * contacts))
    factorised = band_cholesky.factorised if definite else band_lu.factorised

    @jax.jit
    def both(entries: jax.Array, diagonal: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        factors = factorised(band.tiles(entries, diagonal), band)
        return factors.solve(b[0]), factors.solve_transposed(b[1])

    x, y = both(*(jnp.asarray(array, precision) for array in (entries, diagonal_blocks, b)))
    tolerance = 200 * np.finfo(precision).eps * np.linalg.cond(matrix)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, b[0]), atol=tolerance)
    np.testing.assert_allclose(y, np.linalg.solve(matrix.T, b[1]), atol=tolerance)


def test_pivots_that_vanish_are_avoided() -> None:
    contacts = 40
    row, column = shuffled(contacts, 1, 2)
    # No diagonal at all: each unknown is in the equations of its neighbours only.
    entries = np.where((row == column)[:, None, None], 0.0, np.eye(3))
    matrix = full(entries, row, column, contacts)
    band = made(row, column, contacts)
    factors = band_lu.factorised(
        band.tiles(jnp.asarray(entries), jnp.zeros((contacts, 3, 3))), band
    )
    b = np.arange(3.0 * contacts)
    np.testing.assert_allclose(factors.solve(jnp.asarray(b)), np.linalg.solve(matrix, b), atol=1e-9)


def chain(contacts: int, seed: int) -> Problem:
    """Return a problem of contacts between each body and the next, in random order and motion."""
    random = np.random.default_rng(seed)
    row, column = shuffled(contacts, 1, seed)
    band = made(row, column, contacts)
    place = np.asarray(band.position)
    w = np.zeros((contacts, 3, contacts + 1, 6))
    w[np.arange(contacts), :, place] = random.normal(size=(contacts, 3, 6))
    w[np.arange(contacts), :, place + 1] = random.normal(size=(contacts, 3, 6))
    w = w.reshape(3 * contacts, -1)
    matrix = (w @ w.T).reshape(contacts, 3, contacts, 3)
    delassus = BlockSparseDelassus(
        jnp.asarray(matrix[row, :, column, :]),
        jnp.asarray(row),
        jnp.asarray(column),
        contacts,
        band,
    )
    mu = jnp.asarray(random.uniform(0.2, 0.9, contacts))
    none = jnp.zeros(0)
    return Problem(delassus, jnp.asarray(w @ random.normal(size=w.shape[1])), Cones(none, none, mu))


@CONVEX_LAW_LONG
@pytest.mark.parametrize("solver", [Newton(), ADMM()], ids=lambda solver: type(solver).__name__)
def test_solvers_and_derivative_agree_with_the_full_matrix(solver: Solver, law: Law) -> None:
    banded = chain(70, 3)
    assert isinstance(banded.delassus, BlockSparseDelassus) and banded.delassus.factor_rows == 0
    dense = replace(banded, delassus=replace(banded.delassus, band=None))
    weights = jnp.asarray(np.random.default_rng(4).normal(size=banded.r.shape))

    @jax.jit
    @jax.value_and_grad
    def measured(r: jax.Array, problem: Problem) -> jax.Array:
        stop = Stop(1e-11, max_iterations=20_000)
        return weights @ solve(replace(problem, r=r), solver, law=law, stop=stop).u

    value, slope = measured(banded.r, banded)
    expected, expected_slope = measured(dense.r, dense)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(slope, expected_slope, atol=1e-5)
