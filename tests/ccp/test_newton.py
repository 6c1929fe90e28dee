"""Test Newton's method where it is needed: stiff problems in few steps, under both laws."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import (
    APGD,
    Auto,
    Cones,
    DenseDelassus,
    Law,
    Newton,
    Problem,
    Solver,
    Status,
    Stop,
    residuals,
)
from jaxccp.io import read_problem
from tests.ccp.compiled import solve
from tests.ccp.random_problems import random_case

LAWS: tuple[Law, Law] = ("ccp", "ncp")


def column(height: int, ratio: float) -> Problem:
    """Return point masses on top of each other under gravity, one contact each, the top one heavy.

    One step of 10 ms from rest: every contact has to carry all that is above it.
    """
    mass = np.ones(height)
    mass[-1] = ratio
    jacobian = np.eye(height) - np.eye(height, k=-1)
    blocks = np.einsum("ik,k,jk->ij", jacobian, 1 / mass, jacobian)
    matrix = np.kron(blocks, np.eye(3))
    r = np.kron(jacobian @ np.full(height, -0.0981), [1.0, 0.0, 0.0])
    base = random_case(0, 0, height).problem()
    mu = jnp.full(height, 0.5)
    return Problem(DenseDelassus(jnp.asarray(matrix)), jnp.asarray(r), replace(base.cones, mu=mu))


@pytest.mark.parametrize("law", LAWS)
def test_a_stiff_column_takes_few_steps(law: Law) -> None:
    """Each contact carries the weight above it, known in closed form, after at most 30 steps."""
    height, ratio = 12, 1e4
    stop = Stop(atol=1e-12, max_iterations=60)
    solution = jax.jit(lambda p: solve(p, Newton(), law=law, stop=stop))(column(height, ratio))
    above = ratio + np.arange(height - 1, -1, -1)
    np.testing.assert_allclose(solution.lam[::3], 0.0981 * above, rtol=1e-9)
    assert solution.statistics.status == Status.CONVERGED
    assert solution.statistics.iterations <= 30
    slow = solve(column(height, ratio), APGD(), law=law, stop=replace(stop, max_iterations=300))
    assert slow.statistics.status == Status.MAX_ITERATIONS


@pytest.mark.parametrize(
    ("solver", "name", "law"),
    [
        pytest.param(Newton(), "stack100_s5", "ccp", marks=pytest.mark.long),
        (Newton(), "stack100_s5", "ncp"),
        pytest.param(Auto(), "stack1000_s5", "ccp", marks=pytest.mark.long),
        (Auto(), "stack1000_s5", "ncp"),
    ],
)
def test_recorded_problems(shared_data: Path, solver: Solver, name: str, law: Law) -> None:
    """Recorded stacks are solved to a residual of 1e-6 of the largest velocity at zero impulse.

    The residual is computed afresh.

    Args:
        shared_data: folder of the recorded problems.
        solver: the algorithm.
        name: the problem's file.
        law: the law of contact.
    """
    item = read_problem(shared_data / "ccp" / "chrono" / f"{name}.npz", np.float64)
    stop = Stop(atol=1e-6 * item.scale, max_iterations=5000)
    solution = jax.jit(lambda p: solve(p, solver, law=law, stop=stop))(item.problem)
    assert jnp.max(residuals(item.problem, solution.lam, law)) <= 1e-6 * item.scale


@pytest.mark.parametrize("law", LAWS)
def test_finishes_that_come_too_early_cost_a_step_each(shared_data: Path, law: Law) -> None:
    """A heap of spheres takes at most 12 steps.

    Going through all weights at every try it took 19 and 15 steps.
    """
    item = read_problem(shared_data / "ccp" / "siconos" / "NESpheres_10_1.npz", np.float64)
    stop = Stop(atol=1e-9 * item.scale, max_iterations=60)
    solution = jax.jit(lambda p: solve(p, Newton(), law=law, stop=stop))(item.problem)
    assert jnp.max(residuals(item.problem, solution.lam, law)) <= 1e-9 * item.scale
    assert solution.statistics.iterations <= 12


def test_the_start_is_inside_whatever_the_bounds() -> None:
    """Rows bounded below, above, on both sides, by equal bounds and not at all are solved."""
    case = random_case(3, scalars=8, contacts=0)
    lo = np.array([-np.inf, 5.0, -np.inf, 5.0, -5.1, -np.inf, 0.0, 5.0])
    hi = np.array([np.inf, np.inf, -5.0, 5.1, -5.0, 7.0, 0.0, 5.0])
    problem = replace(case, lo=lo, hi=hi).problem()
    solution = solve(problem, Newton(), stop=Stop(atol=1e-10, max_iterations=60))
    assert solution.statistics.status == Status.CONVERGED
    assert solution.statistics.iterations <= 5
    lam, u = np.asarray(solution.lam), np.asarray(solution.u)
    assert np.all(lam >= lo - 1e-12) and np.all(lam <= hi + 1e-12)
    free = (lam > lo + 1e-9) & (lam < hi - 1e-9)
    assert np.all(np.abs(u[free]) <= 1e-9)
    assert np.all(u[np.isclose(lam, lo) & (lo < hi)] >= -1e-9)
    assert np.all(u[np.isclose(lam, hi) & (lo < hi)] <= 1e-9)


def masses_apart(masses: np.ndarray, bound: float, seeds: range) -> Problem:
    """Return a batch of four rows in [0, bound] and six contacts between four bodies of different
    mass."""
    problems = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        jacobian = np.zeros((22, 4, 6))
        for block in np.split(np.arange(22), [1, 2, 3, *range(4, 22, 3)]):
            pair = rng.choice(4, 2, replace=False)
            jacobian[np.ix_(block, pair)] = rng.normal(size=(len(block), 2, 6))
        whitened = (jacobian / np.sqrt(masses)[:, None]).reshape(22, 24)
        r = jacobian.reshape(22, 24) @ rng.normal(size=24)
        bounds = jnp.zeros(4), jnp.full(4, bound)
        cones = Cones(*bounds, jnp.asarray([0.1, 0.3, 0.5, 1.0, 0.8, 0.7]))
        matrix = DenseDelassus(jnp.asarray(whitened @ whitened.T))
        problems.append(Problem(matrix, jnp.asarray(r), cones))
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *problems)


def test_wide_bounds_are_as_good_as_none_and_the_first_steps_may_be_short() -> None:
    program = jax.jit(jax.vmap(lambda p: solve(p, Newton(), stop=Stop(max_iterations=60))))
    seeds = range(12)
    masses = np.array([1e-3, 1.0, 1.0, 1e3])
    free = program(masses_apart(masses, np.inf, seeds))
    assert np.all(free.statistics.status == Status.CONVERGED)
    for bound in (1e4, 1e20, 1e308):
        wide = program(masses_apart(masses, bound, seeds))
        assert np.all(wide.statistics.status == Status.CONVERGED)
        np.testing.assert_allclose(wide.u, free.u, atol=1e-6)
    # With 1e8 between masses rounding is as large as the tolerance in some problems.
    stiff = program(masses_apart(np.array([1e-4, 1.0, 1e2, 1e4]), np.inf, seeds))
    assert np.sum(stiff.statistics.status != Status.CONVERGED) <= 1
