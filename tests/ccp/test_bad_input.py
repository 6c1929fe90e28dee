"""Test every solver on problems that nobody should pose: a true status, finite impulses, an end.

Batches have the size and shape of those that other tests solve: the programs are theirs.
"""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp.ccp import (
    PSOR,
    SOLVERS,
    Dantzig,
    DenseDelassus,
    Law,
    Newton,
    Problem,
    Solution,
    Status,
    Stop,
)
from jaxccp.ccp.solver_sequence import SolverSequence
from tests.ccp import test_auto, test_solve
from tests.ccp.bad_problems import CASES, HEALTHY, expected
from tests.ccp.compiled import solve
from tests.ccp.pivoting import run as pivot
from tests.ccp.polyhedra import coulomb_violation, shaped
from tests.ccp.random_problems import SCALARS, pick, random_case, stack, violations

LAWS: tuple[Law, Law] = ("ccp", "ncp")
LIMIT = 500
SIZE = len(test_solve.CASES)
"""Number of problems that other tests solve at once, and these too."""
NAMES = [*CASES, *(["healthy"] * (-len(CASES) % SIZE))]
ALONE = [name for name in SOLVERS if name not in (*test_solve.MEMBERS, "dantzig", "auto")]

general = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in test_solve.MEMBERS],
)
every_law = pytest.mark.parametrize("law", LAWS)


def batch() -> Problem:
    return stack([CASES.get(name, (HEALTHY,))[0].problem() for name in NAMES])


@cache
def solved(name: str, law: Law) -> Solution:
    problems, run = batch(), test_solve.solver(name, law, Stop(atol=1e-9, max_iterations=LIMIT))
    parts = [
        jax.tree.map(lambda leaf, at=at: leaf[at : at + SIZE], problems)
        for at in range(0, len(NAMES), SIZE)
    ]
    solutions = [run(part, jnp.zeros_like(part.r)) for part in parts]
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *solutions)


def check_statuses(solution: Solution, law: Law) -> None:
    wrong = {}
    for index, name in enumerate(CASES):
        member = pick(solution, index)
        assert np.isfinite(member.lam).all(), name
        # So large that nothing of a velocity is left but rounding.
        assert np.abs(member.lam).max() < 1e14, name
        if (status := Status(int(member.statistics.status))) not in expected(name, law):
            wrong[name] = status.name
    assert not wrong


@general
@every_law
def test_a_status_says_what_is_wrong_and_impulses_are_finite(name: str, law: Law) -> None:
    solution = solved(name, law)
    check_statuses(solution, law)
    assert np.max(solution.statistics.iterations) <= LIMIT


@general
@every_law
def test_what_is_called_a_solution_is_one(name: str, law: Law) -> None:
    """Solutions satisfy each row's law, and one impossible row does not spoil the others."""
    solution = solved(name, law)
    for index, label in enumerate(NAMES):
        member, case = pick(solution, index), CASES.get(label, (HEALTHY,))[0]
        impossible = member.statistics.status == Status.INFEASIBLE
        if not (impossible or member.statistics.status == Status.CONVERGED):
            continue
        if impossible:
            still = np.abs(case.rows).max(axis=1) == 0
            case = replace(case, r=np.where(still, 0.0, case.r))
        limit = 3e-8 * max(1.0, case.mu.max())  # of μ‖u_t‖ as well
        broken = {k: v for k, v in violations(case, member.lam, law).items() if v > limit}
        assert not broken, label


@pytest.mark.xdist_group("dantzig")
@every_law
def test_dantzig(law: Law) -> None:
    """Dantzig's method, on pyramids, ends with a true status on every bad problem."""
    solution = pivot(shaped(batch(), "pyramid"), law)
    check_statuses(solution, law)
    for index, name in enumerate(CASES):
        member, case = pick(solution, index), CASES[name][0]
        if member.statistics.status == Status.CONVERGED and law == "ncp":
            u = case.matrix() @ member.lam + case.r
            impulses, velocities = (x[SCALARS:].reshape(-1, 3) for x in (member.lam, u))
            limit = 1e-9 * max(1.0, case.mu.max())
            assert coulomb_violation(impulses, velocities, case.mu, "pyramid") < limit, name


EQUALITIES: dict[str, tuple[float, float, Status]] = {
    "NaN": (1.0, np.nan, Status.NON_FINITE),
    "infinity": (1.0, np.inf, Status.NON_FINITE),
    "NaN in N": (np.nan, 1.0, Status.NON_FINITE),
    "a row of zeros": (0.0, 1.0, Status.INFEASIBLE),
    "a row of zeros, satisfied": (0.0, 0.0, Status.CONVERGED),
    "healthy": (1.0, 1.0, Status.CONVERGED),
}
"""Factor of the first of six rows, its velocity, and the expected status."""


@pytest.mark.parametrize("name", ALONE)
def test_linear_systems(name: str) -> None:
    free = np.full(6, np.inf)
    case = replace(random_case(0, 6, 0), lo=-free, hi=free)
    cases = []
    for factor, speed, _ in EQUALITIES.values():
        rows, r = case.rows.copy(), case.r.copy()
        rows[0], r[0] = factor * rows[0], speed
        cases.append(replace(case, rows=rows, r=r))
    stop = Stop(atol=1e-9, max_iterations=LIMIT)
    run = jax.jit(lambda problem: solve(problem, SOLVERS[name](), stop=stop))
    for edited, (label, (*_, status)) in zip(cases, EQUALITIES.items(), strict=True):
        solution = run(edited.problem())
        assert np.isfinite(solution.lam).all(), label
        assert Status(int(solution.statistics.status)) == status, label
        if status in (Status.CONVERGED, Status.INFEASIBLE):
            u = edited.matrix() @ np.asarray(solution.lam) + edited.r
            np.testing.assert_allclose(u[1:], 0.0, atol=1e-8, err_msg=label)


@pytest.mark.xdist_group("relay")
@every_law
def test_solvers_that_take_turns(law: Law) -> None:
    """A sequence of PSOR and Newton, as in Auto, ends with a true status on a column of boxes."""
    column = test_auto.column(12, 1e4)
    matrix, r = np.array(column.delassus.dense()), np.array(column.r)
    still, jammed = matrix.copy(), matrix.copy()
    still[:3] = still[:, :3] = 0.0
    jammed[:3, :3], jammed[:3, 3:6] = matrix[3:6, 3:6], -matrix[3:6, 3:6]
    jammed[3:6, :3], jammed[:6, 6:], jammed[6:, :6] = -matrix[3:6, 3:6], 0.0, 0.0
    closing = np.where(np.arange(len(r)) % 3 == 0, -1.0, r)
    cases = {
        "NaN in r": (matrix, np.where(np.arange(len(r)) == 4, np.nan, r), {Status.NON_FINITE}),
        "NaN in N": (np.where(matrix > 0, np.nan, matrix), r, {Status.NON_FINITE}),
        "no rows that move": (0.0 * matrix, closing, {Status.INFEASIBLE}),
        "a contact of zeros": (still, closing, {Status.INFEASIBLE}),
        "open": (0.0 * matrix, -closing, {Status.CONVERGED}),
        "jammed": (jammed, closing, {Status.MAX_ITERATIONS, Status.STALLED}),
    }
    for name, (n, velocity, statuses) in cases.items():
        problem = replace(column, delassus=DenseDelassus(jnp.asarray(n)), r=jnp.asarray(velocity))
        solution = test_auto.run(problem, SolverSequence(PSOR(), Newton(), first_steps=5), law)
        assert np.isfinite(solution.lam).all(), name
        assert Status(int(solution.statistics.status)) in statuses, name


@pytest.mark.parametrize("name", [*ALONE, "dantzig", "auto"])
def test_no_rows(name: str) -> None:
    solution = solve(shaped(random_case(0, 0, 0).problem(), "pyramid"), SOLVERS[name]())
    assert solution.statistics.status == Status.CONVERGED
    assert solution.lam.shape == solution.u.shape == (0,)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1e-9, 2000), r"rtol must lie in \[0, 1\).*max_iterations"),
        ((-1e-9,), "atol must be a speed ≥ 0"),
        ((1e-9, 0.0, 1e3), "max_iterations must be a whole number"),
        ((1e-9, 0.0, -1), "max_iterations must be a whole number"),
        ((1e-9, np.float32(2)), r"rtol must lie in \[0, 1\)"),
        ((np.float32(-1),), "atol must be a speed ≥ 0"),
        ((1e-9, 0.0, np.int64(-1)), "max_iterations must be a whole number"),
        ((float("nan"),), "atol must be a speed ≥ 0"),
        ((1e-9, 0.0, 10, 2.5), "history must be a whole number ≥ 0, not 2.5"),
        ((1e-9, 0.0, 10, -1), "history must be a whole number"),
    ],
)
def test_bad_limits_of_a_solve_are_refused(given, message) -> None:
    with pytest.raises(ValueError, match=message):
        Stop(*given)


def test_bad_settings_of_solvers_are_refused() -> None:
    with pytest.raises(ValueError, match='bounds must be "exact" or "one-shot", not \'oneshot\''):
        Dantzig(bounds="oneshot")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="PSOR: width must be at least 1, not 0"):
        PSOR(width=0)


@pytest.mark.parametrize("stop", [1e-8, Stop, "tight", 0, {"atol": 1e-8}])
def test_what_is_no_stopping_rule_is_refused(stop) -> None:
    problem = random_case(0, 0, 1).problem()
    for call in (
        lambda: jaxccp.solve(problem, stop=stop),
        lambda: jaxccp.EulerImplicitLinearized(stop=stop),
        lambda: jaxccp.HHT(stop=stop),
    ):
        with pytest.raises(TypeError, match=r"stop must be a Stop, such as Stop\(atol=1e-8\), not"):
            call()
