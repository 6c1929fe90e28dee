"""Test CG and MINRES on equality rows against numpy, and what they refuse."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import CG, MINRES, DenseDelassus, Law, Problem, Solver, Status, Stop, solve
from tests.ccp.random_problems import Case, random_case

SOLVERS: list[Solver] = [CG(), MINRES()]
both = pytest.mark.parametrize("solver", SOLVERS, ids=["cg", "minres"])
STOP = Stop(atol=1e-10, max_iterations=300)


def joints(seed: int, kind: str, rows: int = 15) -> Case:
    case = random_case(seed, rows, 0, kind)
    free = np.full(rows, np.inf)
    return replace(case, lo=-free, hi=free)


def run(problem: Problem, solver: Solver, law: Law = "ccp"):
    return jax.jit(lambda p: solve(p, solver, law=law, stop=STOP))(problem)


@both
@pytest.mark.parametrize("kind", ["mixed", "compliant", "masses", "redundant"])
def test_the_linear_system_is_solved(solver: Solver, kind: str) -> None:
    """Equality rows are solved, redundant ones (15 over two bodies) too, if they are consistent."""
    case = joints(1, kind)
    solution = run(case.problem(), solver)
    assert solution.statistics.status == Status.CONVERGED
    matrix = case.matrix()
    expected = np.linalg.lstsq(matrix, -case.r, rcond=1e-12)[0]
    np.testing.assert_allclose(matrix @ solution.lam, matrix @ expected, atol=1e-8)
    if kind != "redundant":
        np.testing.assert_allclose(solution.lam, expected, atol=1e-7 * np.abs(expected).max())
    assert solution.statistics.iterations <= 2 * (15 + 6 * 8)


@both
def test_rows_that_contradict_each_other_are_a_status(solver: Solver) -> None:
    case = joints(0, "mixed", 6)
    rows, bodies = case.rows.copy(), case.bodies.copy()
    rows[1], bodies[1] = rows[0], bodies[0]
    r = case.r.copy()
    r[:2] = [1.0, -1.0]
    solution = run(replace(case, rows=rows, bodies=bodies, r=r).problem(), solver)
    assert solution.statistics.status != Status.CONVERGED
    assert np.isfinite(solution.lam).all()


@both
@pytest.mark.parametrize("law", ["ccp", "ncp"])
def test_the_derivative_is_that_of_a_linear_solve(solver: Solver, law: Law) -> None:
    problem = joints(2, "mixed", 9).problem()
    slope = jax.jacrev(lambda r: run(replace(problem, r=r), solver, law).lam)(problem.r)
    np.testing.assert_allclose(
        slope, -np.linalg.inv(problem.delassus.dense()), rtol=1e-7, atol=1e-7
    )


@both
def test_float32(solver: Solver) -> None:
    case = joints(3, "mixed")
    stop = Stop(rtol=1e-4, atol=0.0, max_iterations=300)
    solution = jax.jit(lambda p: solve(p, solver, stop=stop))(case.problem(np.float32))
    assert solution.lam.dtype == jnp.float32
    assert solution.statistics.status == Status.CONVERGED


@both
def test_cones_are_refused(solver: Solver) -> None:
    with pytest.raises(ValueError, match="the problem has 6 contacts and 4 rows with bounds"):
        solve(random_case(0).problem(), solver)
    with pytest.raises(ValueError, match="the problem has 0 contacts and 13 rows with bounds"):
        solve(random_case(0, 15, 0).problem(), solver)


def test_minres_needs_bodies() -> None:
    case = joints(0, "mixed")
    dense = replace(case.problem(), delassus=DenseDelassus(jnp.asarray(case.matrix())))
    assert run(dense, CG()).statistics.status == Status.CONVERGED
    with pytest.raises(ValueError, match="iterated on with a DenseDelassus: use CG"):
        solve(dense, MINRES())
