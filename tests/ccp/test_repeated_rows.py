"""Test N whose scalar rows are multiples of fewer rows, against numpy's F N₀ Fᵀ + E."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import (
    Cones,
    Delassus,
    DenseDelassus,
    Problem,
    RepeatedDelassus,
    Repetition,
    Stop,
    WhitenedDelassus,
    solve,
)
from tests.ccp.views import assert_views_agree
from tests.laws import CONVEX_LAW_LONG

INDEX = {"one after the other": [0, 1, 2] * 3, "in any order": [2, 0, 0, 1, 0, 2]}
"""The distinct row of each scalar row."""
CONTACTS = 2
VELOCITIES = 7


class Made(NamedTuple):
    """An operator, and the same matrix in numpy."""

    operator: RepeatedDelassus
    whitened: np.ndarray
    """W of all rows."""
    matrix: np.ndarray


def made(index: list[int], stored: bool = True) -> Made:
    """Return an operator over three distinct rows and two contacts; a row is multiplied by 0.

    Args:
        index: the distinct row of each scalar row.
        stored: whether N₀ is stored as W Wᵀ, else as a matrix.
    """
    random, s = np.random.default_rng(0), len(index)
    distinct = random.normal(size=(3 + 3 * CONTACTS, VELOCITIES))
    factor, compliance = random.normal(size=(2, s + 3 * CONTACTS))
    factor[1], compliance = 0.0, compliance**2
    rows = np.append(index, 3 + np.arange(3 * CONTACTS))
    whitened = factor[:, None] * distinct[rows]
    base: Delassus = WhitenedDelassus(jnp.asarray(distinct), jnp.zeros(len(distinct)))
    if not stored:
        base = DenseDelassus(jnp.asarray(distinct @ distinct.T))
    operator = RepeatedDelassus(
        base, jnp.asarray(factor), jnp.asarray(compliance), Repetition(np.array(index))
    )
    return Made(operator, whitened, whitened @ whitened.T + np.diag(compliance))


@pytest.mark.parametrize("stored", [True, False], ids=["W", "matrix"])
@pytest.mark.parametrize("index", INDEX.values(), ids=INDEX)
def test_every_view_agrees_with_numpy(index: list[int], stored: bool) -> None:
    operator, _, matrix = made(index, stored)
    s, random = len(index), np.random.default_rng(1)
    scale = random.uniform(0.5, 2.0, len(matrix))
    for actual, expected in (
        (operator, matrix),
        (operator.for_iterations(), matrix),
        (operator.scaled(jnp.asarray(scale)), scale[:, None] * matrix * scale),
    ):
        assert_views_agree(actual, expected, s)
        lam = random.normal(size=(4, len(matrix)))
        products = jax.jit(jax.vmap(actual.apply))(jnp.asarray(lam))
        np.testing.assert_allclose(products, lam @ expected, atol=1e-12)


@pytest.mark.parametrize("index", INDEX.values(), ids=INDEX)
def test_impulses_and_velocities_of_what_is_stored_as_w(index: list[int]) -> None:
    operator, whitened, _ = made(index)
    random = np.random.default_rng(2)
    lam, velocity = random.normal(size=len(whitened)), random.normal(size=VELOCITIES)
    split = operator.split()
    assert split is not None
    np.testing.assert_allclose(split.impulse(jnp.asarray(lam)), lam @ whitened, atol=1e-13)
    np.testing.assert_allclose(split.velocity(jnp.asarray(velocity)), whitened @ velocity)
    np.testing.assert_allclose(operator.whitened, whitened)
    assert made(index, stored=False).operator.split() is None
    with pytest.raises(TypeError, match="DenseDelassus is not stored as W"):
        made(index, stored=False).operator.impulse(jnp.asarray(lam))


@CONVEX_LAW_LONG
@pytest.mark.parametrize("solver", ["apgd", "gradient-newton", "newton", "psor", "admm"])
def test_solvers_find_what_they_find_with_the_matrix(solver: str, law) -> None:
    """Solvers agree on both forms of N; with compliance in every row the solution is unique."""
    index = INDEX["in any order"]
    operator, _, matrix = made(index)
    r = np.random.default_rng(3).normal(size=len(matrix))
    lo = jnp.asarray([0.0, 0.0, -0.1, -0.2, -jnp.inf, 0.0])
    cones = Cones(lo, jnp.where(lo < 0, -lo, jnp.inf), jnp.full(CONTACTS, 0.5))
    forms, stop = (operator, DenseDelassus(jnp.asarray(matrix))), Stop(1e-10, max_iterations=20_000)
    repeated, dense = (
        solve(Problem(form, jnp.asarray(r), cones), solver, law=law, stop=stop) for form in forms
    )
    assert int(repeated.statistics.status) == int(dense.statistics.status) == 0
    np.testing.assert_allclose(repeated.lam, dense.lam, atol=1e-8)
    np.testing.assert_allclose(repeated.u, matrix @ np.asarray(repeated.lam) + r, atol=1e-12)
