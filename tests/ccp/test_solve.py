"""Test solutions of every solver: laws, interior point, edge cases and statuses."""

from dataclasses import replace
from functools import cache
from typing import Any

import clarabel as _clarabel
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse

from jaxccp.ccp import SOLVERS, BodyDelassus, Law, Problem, Solution, Status, Stop, residuals, solve
from tests.ccp.random_problems import (
    KINDS,
    SCALARS,
    Case,
    pick,
    random_case,
    stack,
    violations,
)

clarabel: Any = _clarabel  # a compiled module without type stubs

LAWS: tuple[Law, Law] = ("ccp", "ncp")
SEEDS = 2
CASES = [random_case(seed, kind=kind) for kind in KINDS for seed in range(SEEDS)]
NAMES = [f"{kind}-{seed}" for kind in KINDS for seed in range(SEEDS)]
STOP = Stop(atol=1e-9, max_iterations=20_000)

MEMBERS = [
    name for name, solver in SOLVERS.items() if "cone" in solver.cone_types and name != "auto"
]
"""Solvers that take round cones; Auto, which chooses one of them, is in ``test_newton.py``."""

# What is solved once for all tests of a solver is solved in one process.
pytestmark = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in MEMBERS]
)


@cache
def program(name: str, law: Law):
    """Return a compiled function that solves a batch, one problem after the other.

    ``test_batches.py`` solves them at once. Limits are arguments, so that it is compiled once a
    precision.
    """

    def run(batch: Problem, guesses: jax.Array, atol: Any, rtol: Any, limit: Any) -> Solution:
        def solve_member(problem: Problem, guess: jax.Array) -> Solution:
            return solve(problem, SOLVERS[name](), guess, law=law, stop=Stop(atol, rtol, limit))

        return jax.lax.map(lambda case: solve_member(*case), (batch, guesses))

    return jax.jit(run)


def solver(name: str, law: Law, stop: Stop = STOP):
    """Return the function that solves a batch to the given limits.

    Args:
        name: name of the algorithm.
        law: the law of contact.
        stop: tolerances and iteration limit.
    """

    def run(problem: Problem, guess: jax.Array) -> Solution:
        limits = (jnp.asarray(x, problem.r.dtype) for x in (stop.atol, stop.rtol))
        return program(name, law)(problem, guess, *limits, jnp.int32(stop.max_iterations))

    return run


@cache
def solved(name: str, law: Law, dtype: type = np.float64) -> Solution:
    # Velocities are some 10 m/s, so that rounding alone leaves 1e-5 m/s in float32.
    stop = STOP if dtype == np.float64 else Stop(atol=5e-5, max_iterations=20_000)
    batch = stack([case.problem(dtype) for case in CASES])
    return solver(name, law, stop)(batch, jnp.zeros_like(batch.r))


def must_converge(name: str, law: Law) -> np.ndarray:
    """Return which cases must come to the tolerance.

    De Saxcé's fixed point, which leads solvers of the convex law to Coulomb's, creeps where
    contacts are redundant: whether it gets there in 20 000 iterations is decided by rounding.
    """
    led = not SOLVERS[name]().solves(law)
    return np.array([not (led and label.startswith("redundant")) for label in NAMES])


@pytest.mark.parametrize("law", LAWS)
def test_solutions_satisfy_the_law(name: str, law: Law) -> None:
    solution, required = solved(name, law), must_converge(name, law)
    for index, (label, case) in enumerate(zip(NAMES, CASES, strict=True)):
        member = pick(solution, index)
        if not required[index]:
            assert member.statistics.residual_ncp < 1e-5, label  # of velocities of some 10 m/s
            continue
        assert member.statistics.status == Status.CONVERGED, label
        broken = {k: v for k, v in violations(case, member.lam, law).items() if v > 3e-8}
        assert not broken, label
        np.testing.assert_allclose(member.u, case.matrix() @ member.lam + case.r, atol=1e-12)


def interior_point(case: Case) -> np.ndarray:
    """Return λ of the convex law by Clarabel: min ½ λᵀNλ + rᵀλ, b − Aλ in a product of cones."""
    n, s = len(case.r), len(case.lo)
    eye = np.eye(n)
    bounds = [(eye[i], case.hi[i]) for i in range(s) if np.isfinite(case.hi[i])]
    bounds += [(-eye[i], -case.lo[i]) for i in range(s) if np.isfinite(case.lo[i])]
    bounds += [(-eye[i], 0.0) for i in range(s, n, 3)]
    a, b = [row for row, _ in bounds], [bound for _, bound in bounds]
    cones: list = [clarabel.NonnegativeConeT(len(bounds))]
    for i, mu in zip(range(s, n, 3), case.mu, strict=True):
        a += [-mu * eye[i], -eye[i + 1], -eye[i + 2]] if mu else [eye[i + 1], eye[i + 2]]
        b += [0.0] * (3 if mu else 2)
        cones.append(clarabel.SecondOrderConeT(3) if mu else clarabel.ZeroConeT(2))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    quadratic = sparse.csc_matrix(np.triu(case.matrix()))
    problem = (quadratic, case.r, sparse.csc_matrix(np.array(a)), np.array(b), cones)
    return np.array(clarabel.DefaultSolver(*problem, settings).solve().x)


def test_convex_law_agrees_with_interior_point(name: str) -> None:
    solution = solved(name, "ccp")
    for index, (label, case) in enumerate(zip(NAMES, CASES, strict=True)):
        lam, reference, matrix = pick(solution, index).lam, interior_point(case), case.matrix()
        ours, best = (0.5 * x @ matrix @ x + case.r @ x for x in (lam, reference))
        np.testing.assert_allclose(ours, best, atol=1e-8, err_msg=label)
        # λ need not be unique, N λ is; it errs with the square root of Clarabel's gap.
        np.testing.assert_allclose(matrix @ lam, matrix @ reference, atol=2e-5, err_msg=label)


def test_laws_agree_without_sliding_and_differ_with_it(name: str) -> None:
    """The convex law lets a sliding contact separate at μ ‖u_t‖, Coulomb's does not."""
    convex, coulomb = solved(name, "ccp"), solved(name, "ncp")
    differ = 0
    for index, case in enumerate(CASES):
        u = pick(convex, index).u[SCALARS:].reshape(-1, 3)
        slip = np.hypot(u[:, 1], u[:, 2]) * case.mu * (pick(convex, index).lam[SCALARS::3] > 1e-6)
        gap = np.abs(pick(convex, index).u - pick(coulomb, index).u).max()
        if slip.max() < 1e-9:
            assert gap < 1e-6
        differ += gap > 1e-3
    assert differ > len(CASES) / 2


@pytest.mark.parametrize("law", LAWS)
def test_reported_residuals_are_those_of_the_solution(name: str, law: Law) -> None:
    solution = solved(name, law)
    for index, case in enumerate(CASES):
        member, problem = pick(solution, index), case.problem()
        for of in LAWS:
            blocks = np.asarray(residuals(problem, jnp.asarray(member.lam), of))
            residual = getattr(member.statistics, f"residual_{of}")
            np.testing.assert_allclose(residual, blocks.max(), atol=1e-11)
            rms = getattr(member.statistics, f"rms_{of}")
            np.testing.assert_allclose(rms, np.sqrt(np.mean(blocks**2)), atol=1e-11)


def test_float32(name: str) -> None:
    """Single precision solves every problem, under Coulomb's law too, by solving the convex one."""
    single, double = solved(name, "ncp", np.float32), solved(name, "ncp")
    assert {leaf.dtype for leaf in jax.tree.leaves((single.lam, single.u))} == {np.dtype("f4")}
    regular = np.array([not label.startswith("redundant") for label in NAMES])
    assert np.all(np.asarray(single.statistics.status)[regular] == Status.CONVERGED)
    error = np.abs(np.asarray(single.u, float) - np.asarray(double.u)).max(axis=1)
    assert np.all(error[regular] < 1e-3), dict(zip(NAMES, error, strict=True))
    assert np.all(error < 1e-2), dict(zip(NAMES, error, strict=True))


@pytest.mark.parametrize("law", LAWS)
def test_a_warm_start_takes_no_iterations_and_a_bad_guess_does_no_harm(name: str, law: Law) -> None:
    cold, required = solved(name, law), must_converge(name, law)
    batch = stack([case.problem() for case in CASES])
    warm = solver(name, law)(batch, cold.lam)
    assert np.all(np.asarray(warm.statistics.iterations)[required] == 0)
    same = (warm.lam[required], cold.lam[required])
    np.testing.assert_allclose(*same, rtol=1e-14, atol=1e-15)  # projected once more
    rng = np.random.default_rng(0)
    bad = rng.normal(size=cold.lam.shape) * 10.0 ** rng.uniform(-3, 6, cold.lam.shape)
    bad[::2, ::5] = np.nan
    bad[1::2, ::7] = -np.inf
    astray = solver(name, law)(batch, jnp.asarray(bad))
    assert np.all(np.asarray(astray.statistics.status)[required] == Status.CONVERGED)
    np.testing.assert_allclose(astray.u[required], cold.u[required], atol=2e-6)


@pytest.mark.parametrize("law", LAWS)
def test_the_iteration_limit_is_reported_with_the_best_iterate(name: str, law: Law) -> None:
    batch = stack([case.problem() for case in CASES])
    limited = solver(name, law, Stop(atol=1e-9, max_iterations=7))(batch, jnp.zeros_like(batch.r))
    finished = np.asarray(solved(name, law).statistics.iterations) <= 7
    status, count = limited.statistics.status, limited.statistics.iterations
    expected = np.where(finished, Status.CONVERGED, Status.MAX_ITERATIONS)
    np.testing.assert_array_equal(status, expected)
    assert np.all(np.asarray(count)[~finished] == 7)
    residual = getattr(limited.statistics, f"residual_{law}")
    for index, case in enumerate(CASES):
        problem, zero = case.problem(), jnp.zeros_like(batch.r[index])
        assert residual[index] <= residuals(problem, zero, law).max() + 1e-12
        assert violations(case, np.asarray(limited.lam[index]), law)["lambda in K"] < 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_a_relative_tolerance_multiplies_the_largest_velocity(name: str, law: Law) -> None:
    batch = stack([case.problem() for case in CASES])
    largest = [
        max(
            np.abs(case.r[:SCALARS]).max(),
            np.linalg.norm(case.r[SCALARS:].reshape(-1, 3), axis=1).max(),
        )
        for case in CASES
    ]
    for factor in (1.0, 1e3):
        problem = replace(batch, r=factor * batch.r)
        stop = Stop(atol=0.0, rtol=1e-4)
        statistics = solver(name, law, stop)(problem, jnp.zeros_like(batch.r)).statistics
        # Bounds of box rows do not grow with r, so that it is another problem and may be harder.
        assert statistics.status[0] == Status.CONVERGED
        residual = np.asarray(getattr(statistics, f"residual_{law}"))
        solved_ones = np.asarray(statistics.status) == Status.CONVERGED
        limit = 1e-4 * factor * np.array(largest) * (1 + 1e-9)
        np.testing.assert_array_equal(residual <= limit, solved_ones)


@pytest.mark.parametrize("law", LAWS)
def test_non_finite_numbers_are_a_status_and_stay_in_their_problem(name: str, law: Law) -> None:
    batch = stack([case.problem() for case in CASES])
    operator = batch.delassus
    assert isinstance(operator, BodyDelassus)
    rows = operator.contact_rows.at[2, 0, 0, 0].set(jnp.nan)
    r = batch.r.at[0, 3].set(jnp.nan).at[1, -1].set(jnp.inf)
    broken = replace(batch, r=r, delassus=replace(operator, contact_rows=rows))
    solution, healthy = solver(name, law)(broken, jnp.zeros_like(batch.r)), solved(name, law)
    status, required = np.asarray(solution.statistics.status), must_converge(name, law)
    required[:3] = False
    assert np.all(status[:3] == Status.NON_FINITE) and np.all(status[required] == Status.CONVERGED)
    assert np.all(np.isfinite(solution.lam))
    np.testing.assert_allclose(solution.u[required], healthy.u[required], atol=1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_nan_anywhere_in_a_contact_is_never_a_solution(name: str, law: Law) -> None:
    problem = CASES[0].problem()
    operator = problem.delassus
    assert isinstance(operator, BodyDelassus)
    broken = [
        replace(problem, r=problem.r.at[0].set(jnp.nan)),
        replace(problem, cones=replace(problem.cones, mu=problem.cones.mu.at[0].set(jnp.nan))),
        *(
            replace(problem, delassus=replace(operator, **{leaf: values}))
            for leaf, values in {
                "contact_rows": operator.contact_rows.at[0, 0, 0].set(jnp.nan),
                "compliance": operator.compliance.at[0].set(jnp.nan),
            }.items()
        ),
    ]
    batch = stack(broken + [case.problem() for case in CASES[len(broken) :]])
    solution = solver(name, law)(batch, jnp.zeros_like(batch.r))
    np.testing.assert_array_equal(solution.statistics.status[: len(broken)], Status.NON_FINITE)
    assert np.isfinite(solution.lam).all()


def test_wrong_input_is_refused_by_name(name: str) -> None:
    problem = CASES[0].problem()
    with pytest.raises(ValueError, match="law must be"):
        solve(problem, SOLVERS[name](), law="coulomb")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="row counts differ: r has 23"):
        solve(replace(problem, r=problem.r[1:]), SOLVERS[name]())
