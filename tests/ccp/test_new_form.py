"""Test that a form of N with only what the contract asks for is solved and differentiated."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from jaxccp.ccp import SOLVERS, Cones, Delassus, DenseDelassus, Problem, Stop, inequality, solve
from jaxccp.ccp.solver import Solver

CONTACTS = 4
SCALARS = 2
ROWS = SCALARS + 3 * CONTACTS
TAKE_ANY = sorted(set(SOLVERS) - {"minres", "cg", "dantzig"})
"""Solvers that do not need bodies, equalities alone or pyramids."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LowRank(Delassus):
    """A form of N with few columns B: N = D + B Bᵀ."""

    scales: Float[Array, " n"]
    columns: Float[Array, "n k"]

    @property
    def rows(self) -> int:
        return self.scales.shape[-1]

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.scales * lam + self.columns @ (lam @ self.columns)

    def diagonal(self) -> Float[Array, " n"]:
        return self.scales + jnp.sum(self.columns**2, axis=1)

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        return DenseDelassus(self.dense()).blocks(scalars, width)

    def dense(self) -> Float[Array, "n n"]:
        return jnp.diag(self.scales) + self.columns @ self.columns.T

    def scaled(self, s: Float[Array, " n"]) -> "LowRank":
        return LowRank(s * s * self.scales, s[:, None] * self.columns)


def problem(diagonal: Array, form: type[Delassus]) -> Problem:
    rng = np.random.default_rng(7)
    new = LowRank(diagonal, jnp.asarray(rng.normal(size=(ROWS, 3))))
    cones = Cones(*inequality(SCALARS), jnp.full(CONTACTS, 0.5))
    r = jnp.asarray(rng.normal(size=ROWS)).at[SCALARS::3].add(-1.0)
    return Problem(new if form is LowRank else DenseDelassus(new.dense()), r, cones)


@pytest.mark.parametrize("name", TAKE_ANY)
def test_solvers_ask_no_more_than_the_contract(name: str) -> None:
    solver: Solver = SOLVERS[name]()
    diagonal = jnp.linspace(0.5, 2.0, ROWS)

    @jax.jit
    def both(diagonal: Array) -> tuple[Array, Array, Array]:
        low_rank = solve(
            problem(diagonal, LowRank), solver, stop=Stop(1e-10, max_iterations=20_000)
        )
        expected = solve(problem(diagonal, DenseDelassus), stop=Stop(1e-10, max_iterations=20_000))
        return low_rank.lam, expected.lam, low_rank.statistics.status

    lam, expected, status = both(diagonal)
    assert status == 0
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(lam, expected, atol=1e-8)


def test_its_derivative_is_that_of_the_matrix() -> None:
    diagonal = jnp.linspace(0.5, 2.0, ROWS)
    weights = jnp.asarray(np.random.default_rng(8).normal(size=ROWS))

    def loss(diagonal: Array, form: type[Delassus]) -> Array:
        return weights @ solve(problem(diagonal, form), stop=Stop(1e-12, max_iterations=20_000)).lam

    slope = jax.jit(jax.grad(loss), static_argnums=1)
    new, expected = slope(diagonal, LowRank), slope(diagonal, DenseDelassus)
    step = 1e-6 * jnp.ones(ROWS)
    value = jax.jit(loss, static_argnums=1)
    secant = (value(diagonal + step, LowRank) - value(diagonal - step, LowRank)) / 2e-6
    np.testing.assert_allclose(new, expected, atol=1e-8)
    np.testing.assert_allclose(jnp.sum(new), secant, rtol=1e-5)
