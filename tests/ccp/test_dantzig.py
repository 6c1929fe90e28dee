"""Test Dantzig's method on rows of every kind, its derivative, and what it refuses."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import BodyDelassus, Dantzig, Law, Problem, Solution, Status, solve
from jaxccp.ccp.cones import ConeType
from tests.ccp.pivoting import EXACT, run
from tests.ccp.polyhedra import check_convex, coulomb_violation, shaped
from tests.ccp.random_problems import KINDS, SCALARS, Case, pick, random_case, stack

LAWS: tuple[Law, Law] = ("ccp", "ncp")
CASES = [random_case(seed, kind=kind) for kind in KINDS for seed in range(4)]


@cache
def solved(law: Law) -> Solution:
    return run(stack([shaped(case.problem(), "pyramid") for case in CASES]), law)


@pytest.mark.parametrize("law", LAWS)
def test_every_kind_of_row(law: Law) -> None:
    solution = solved(law)
    assert np.all(np.asarray(solution.statistics.status) == Status.CONVERGED)
    assert np.all(np.asarray(solution.statistics.iterations) <= 60)
    for index, case in enumerate(CASES):
        lam = pick(solution, index).lam
        u = case.matrix() @ lam + case.r
        if law == "ccp":
            check_convex(case, "pyramid", lam)
            continue
        impulses, velocities = (x[SCALARS:].reshape(-1, 3) for x in (lam, u))
        assert coulomb_violation(impulses, velocities, case.mu, "pyramid") < 1e-10
        lam, u = lam[:SCALARS], u[:SCALARS]
        assert np.all((lam >= case.lo) & (lam <= case.hi))
        assert np.all((lam <= case.lo + 1e-12) | (u < 1e-10))
        assert np.all((lam >= case.hi - 1e-12) | (u > -1e-10))


def test_larger_problems_without_friction() -> None:
    """Problems of 84 equality, inequality and box rows are solved; without contacts cones are
    alike."""
    cases = [random_case(seed, scalars=84, contacts=0, kind="mixed") for seed in range(4)]
    cases += [random_case(seed, scalars=84, contacts=0, kind="redundant") for seed in range(4)]
    solution = run(stack([case.problem() for case in cases]), "ccp")
    assert np.all(np.asarray(solution.statistics.status) == Status.CONVERGED)
    for index, case in enumerate(cases):
        check_convex(case, "pyramid", pick(solution, index).lam)


def test_one_shot_on_every_kind_of_row() -> None:
    """One-shot bounds end on every problem, and are exact where there is no friction."""
    batch = stack([shaped(case.problem(), "pyramid") for case in CASES])
    solution = run(batch, "ncp", "one-shot")
    status = np.asarray(solution.statistics.status)
    assert set(status) == {Status.CONVERGED, Status.STALLED}
    slick = [bool(np.all(case.mu == 0)) for case in CASES]
    assert np.all(status[slick] == Status.CONVERGED)
    assert np.mean(status[~np.array(slick)] == Status.STALLED) > 0.5


@pytest.mark.parametrize("law", LAWS)
def test_float32(law: Law) -> None:
    single = run(stack([shaped(case.problem(np.float32), "pyramid") for case in CASES]), law)
    assert single.lam.dtype == np.float32 and np.isfinite(single.lam).all()
    worst = np.asarray(getattr(single.statistics, f"residual_{law}"))
    # Of velocities of some 10 m/s. Where rows depend on each other pivots are rounding themselves:
    # one such problem ends between 2e-4 and 2e-3, as the compiler orders its sums.
    redundant = np.repeat([kind == "redundant" for kind in KINDS], len(CASES) // len(KINDS))
    assert np.median(worst) < 3e-6
    assert np.max(worst[~redundant]) < 3e-5 and np.max(worst[redundant]) < 3e-3


def test_vmap_equals_a_loop() -> None:
    solve_member = jax.jit(lambda problem: solve(problem, Dantzig(), law="ncp", stop=EXACT))
    for index in range(0, len(CASES), 4):
        alone, member = (
            solve_member(shaped(CASES[index].problem(), "pyramid")),
            pick(solved("ncp"), index),
        )
        np.testing.assert_allclose(alone.lam, member.lam, atol=1e-9)
        assert alone.statistics.iterations == member.statistics.iterations


def test_gradient() -> None:
    kinds = ("mixed", "compliant", "sticking", "sliding", "saturated")
    batch = stack([shaped(random_case(2, kind=kind).problem(), "pyramid") for kind in kinds])
    rng = np.random.default_rng(0)
    assert isinstance(batch.delassus, BodyDelassus)
    move = [jnp.asarray(rng.normal(size=x.shape)) for x in (batch.r, batch.delassus.contact_rows)]
    weights = jnp.asarray(rng.normal(size=(2, batch.r.shape[1])))

    def loss(problem: Problem, move: list[jax.Array], t: jax.Array) -> jax.Array:
        n = problem.delassus
        assert isinstance(n, BodyDelassus)
        rows = replace(n, contact_rows=n.contact_rows + t * move[1])
        shifted = Problem(rows, problem.r + t * move[0], problem.cones)
        solution = solve(shifted, Dantzig(), law="ncp", stop=EXACT)
        return weights[0] @ solution.lam + weights[1] @ solution.u

    step = 1e-5

    @jax.jit
    @jax.vmap
    def both(problem: Problem, move: list[jax.Array]) -> tuple[jax.Array, jax.Array]:
        offsets = step * jnp.array([-2.0, -1.0, 1.0, 2.0])
        values = jax.vmap(lambda t: loss(problem, move, t))(offsets)
        return jax.grad(loss, 2)(problem, move, 0.0), values

    slopes, values = both(batch, move)
    expected = values @ jnp.array([1, -8, 8, -1]) / 12 / step
    np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", ["cone", "octagon"])
def test_other_cones_are_refused(shape: ConeType) -> None:
    problem = shaped(random_case(0).problem(), shape)
    with pytest.raises(ValueError, match=rf"friction '{shape}': use .*cone_type=\"pyramid\""):
        solve(problem, Dantzig(), law="ncp")


def test_joints_twice() -> None:
    """A joint row that is given twice is solved, unless the two contradict each other."""
    case = CASES[0]
    rows, bodies, r = case.rows.copy(), case.bodies.copy(), case.r.copy()
    rows[1], bodies[1] = rows[0], bodies[0]
    r[1] = r[0]
    agree = Case(rows, bodies, case.compliance, r, case.lo, case.hi, case.mu)
    differ = replace(agree, r=r + np.eye(len(r))[1])
    batch = stack([shaped(case.problem(), "pyramid") for case in (agree, differ, *CASES[2:])])
    solution = run(batch)
    assert solution.statistics.status[0] == Status.CONVERGED
    assert solution.statistics.status[1] != Status.CONVERGED
    assert np.isfinite(solution.lam).all()


def test_a_solution_given_takes_no_pivots() -> None:
    batch = stack([shaped(case.problem(), "pyramid") for case in CASES])
    again = run(batch, guess=solved("ncp").lam)
    assert np.all(np.asarray(again.statistics.iterations) == 0)
