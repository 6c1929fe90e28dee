"""Test Gauss–Seidel and Jacobi: colours, sweeps in plain numpy, every form of N, box friction."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import (
    PSOR,
    SIPGS,
    Cones,
    Dantzig,
    Law,
    PJacobi,
    Problem,
    Solver,
    Status,
    Stop,
    residuals,
)
from jaxccp.ccp.sweeps import colouring
from jaxccp.io import read_problem
from tests.ccp.compiled import solve
from tests.ccp.polyhedra import shaped
from tests.ccp.random_problems import BODIES, Case, random_case
from tests.ccp.test_delassus import FORMS, Build

forms = pytest.mark.parametrize(("build", "cases"), FORMS.values(), ids=FORMS)


def blocks_of(case: Case) -> list[slice]:
    """Return the rows of each block."""
    s = len(case.lo)
    contacts = [slice(i, i + 3) for i in range(s, len(case.r), 3)]
    return [slice(i, i + 1) for i in range(s)] + contacts


@forms
def test_coupled_blocks_never_share_a_colour(build: Build, cases: list[Case]) -> None:
    for case in cases:
        colours = np.asarray(colouring.colouring(build(case), len(case.lo)))
        matrix, blocks = case.matrix(), blocks_of(case)
        for i, rows in enumerate(blocks):
            for j, columns in enumerate(blocks[:i]):
                assert colours[i] != colours[j] or not matrix[rows, columns].any()
        assert colours.min() == 0 and colours.max() < len(blocks)


def test_a_wide_floor_takes_few_colours() -> None:
    """Bodies with two contacts each with the world, which couples nothing, take two colours."""
    rows, bodies = np.random.default_rng(0).normal(size=(42, 12)), np.zeros((42, 2), int)
    bodies[:, 1] = np.repeat(np.arange(1, BODIES), 6)
    rows[:, :6] = 0.0
    none = np.zeros(0)
    case = Case(rows, bodies, np.zeros(42), np.zeros(42), none, none, np.full(14, 0.5))
    colours = np.asarray(colouring.colouring(case.problem().delassus, 0))
    assert colours.max() == 1


def order_of(problem: Problem, scalars: int, width: int) -> np.ndarray:
    return np.asarray(colouring.schedule(problem.delassus, scalars, width).order)


def by_hand(case: Case, solver: PSOR | SIPGS, order: np.ndarray, sweeps: int) -> np.ndarray:
    """Return λ after sweeps in the given order, written out in plain numpy.

    Scalar rows stay within their bounds. A contact takes its normal row first, then its tangents on
    the disc that the normal impulse allows, with the step of the stiffer tangent.

    Args:
        case: the problem.
        solver: gives the relaxation factors.
        order: order in which the blocks are visited.
        sweeps: number of sweeps.
    """
    matrix, lam, blocks = case.matrix(), np.zeros(len(case.r)), blocks_of(case)
    omega = solver.omega if isinstance(solver, PSOR) else 1.0
    sharpness = solver.sharpness if isinstance(solver, PSOR) else 1.0
    s = len(case.lo)
    for _ in range(sweeps):
        for block in order:
            rows = blocks[block]
            at, u = rows.start, matrix[rows] @ lam + case.r[rows]
            if block < s:
                relaxed = np.clip(lam[at] - omega * u[0] / matrix[at, at], case.lo[at], case.hi[at])
                lam[at] = sharpness * relaxed + (1 - sharpness) * lam[at]
                continue
            normal = max(lam[at] - u[0] / matrix[at, at], 0.0)
            slip = u[1:] + matrix[at + 1 : at + 3, at] * (normal - lam[at])
            stiffness = np.linalg.eigvalsh(matrix[at + 1 : at + 3, at + 1 : at + 3]).max()
            friction, limit = lam[at + 1 : at + 3] - slip / stiffness, case.mu[block - s] * normal
            length = np.linalg.norm(friction)
            lam[at : at + 3] = [
                normal,
                *(friction * (limit / length) if length > limit else friction),
            ]
    return lam


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize(
    ("solver", "contacts"),
    [(PSOR(momentum=False, omega=1.3, sharpness=0.7), 0), (SIPGS(), 9)],
    ids=["psor", "sipgs"],
)
def test_sweeps_are_those_written_out_by_hand(
    solver: PSOR | SIPGS, contacts: int, width: int
) -> None:
    """Sweeps agree with those written out by hand, in the problem's order and colour by colour.

    Args:
        solver: the algorithm.
        contacts: number of contacts.
        width: number of blocks in a group; 1 keeps the problem's order.
    """
    case = random_case(4, scalars=9, contacts=contacts)
    problem = case.problem()
    solver = replace(solver, width=width)
    sweeps = 5
    stop = Stop(atol=1e-12, max_iterations=sweeps)
    solution = jax.jit(lambda p: solve(p, solver, law="ncp", stop=stop))(problem)
    order = order_of(problem, 9, width)
    assert width > 1 or np.all(order == np.arange(len(order)))
    actual, (kept, last) = solution.lam, (by_hand(case, solver, order, n) for n in (4, 5))
    # The driver returns the better one of the iterates.
    best = min(np.abs(actual - kept).max(), np.abs(actual - last).max())
    assert best < 1e-12


@pytest.mark.parametrize("form", ["body", "dense", "block-sparse"])
@pytest.mark.parametrize(
    "solver", [PSOR(width=3), PJacobi(), SIPGS(width=3)], ids=["psor", "pjacobi", "sipgs"]
)
def test_every_form_of_n_has_the_same_solution(solver: Solver, form: str) -> None:
    build, cases = FORMS[form]
    case = cases[0]
    problem = replace(case.problem(), delassus=build(case))
    stop = Stop(atol=1e-10, max_iterations=5000)
    solution = jax.jit(lambda p: solve(p, solver, law="ncp", stop=stop))(problem)
    assert solution.statistics.status == Status.CONVERGED
    assert jnp.max(residuals(case.problem(), solution.lam, "ncp")) < 1e-9


@forms
def test_jacobis_bound_exceeds_n(build: Build, cases: list[Case]) -> None:
    for case in cases:
        scalars, contacts = (np.asarray(x) for x in build(case).bound(len(case.lo)))
        excess = -case.matrix()
        for value, rows in zip([*scalars, *contacts], blocks_of(case), strict=True):
            excess[rows, rows] += value
        assert np.linalg.eigvalsh(excess).min() > -1e-9


@pytest.mark.parametrize("solver", [PSOR(), SIPGS()], ids=["psor", "sipgs"])
def test_box_friction_is_that_of_pivoting(solver: Solver) -> None:
    """Box friction of Chrono and VEROSIM, ±μ λ_n along each tangent, agrees with exact pivoting."""
    problem = shaped(random_case(1, kind="compliant").problem(), "pyramid")
    stop = Stop(atol=1e-10, max_iterations=20_000)
    swept = jax.jit(lambda p: solve(p, solver, law="ncp", stop=stop))(problem)
    exact = jax.jit(lambda p: solve(p, Dantzig(), law="ncp", stop=stop))(problem)
    assert swept.statistics.status == exact.statistics.status == Status.CONVERGED
    np.testing.assert_allclose(swept.lam, exact.lam, atol=1e-7)


def test_the_change_of_impulses_stops_sequential_impulses() -> None:
    """VEROSIM's criterion is a change, not an error: a stop by it is reported as a stall."""
    problem = random_case(0).problem()
    stop = Stop(atol=1e-12, max_iterations=1000)
    coarse = solve(problem, SIPGS(impulse_tolerance=0.1), law="ncp", stop=stop)
    tight = solve(problem, SIPGS(), law="ncp", stop=stop)
    assert coarse.statistics.status == Status.STALLED
    assert 0 < coarse.statistics.iterations < tight.statistics.iterations


def test_sequential_impulses_refuse_octagons() -> None:
    octagon = shaped(random_case(0).problem(), "octagon")
    with pytest.raises(ValueError, match="cannot solve contacts with friction 'octagon'"):
        solve(octagon, SIPGS())


def test_rows_of_zeros_and_no_friction_at_all() -> None:
    """A contact of the world with itself has no effect, and nothing becomes NaN."""
    case = random_case(2, kind="fixed")
    cones = case.problem().cones
    problem = replace(case.problem(), cones=Cones(cones.lo, cones.hi, jnp.zeros_like(cones.mu)))
    for solver in (PSOR(), PJacobi(), SIPGS()):
        solution = solve(problem, solver, law="ncp", stop=Stop(max_iterations=50))
        assert np.isfinite(solution.lam).all()


@pytest.mark.parametrize(
    ("solver", "law"), [(PSOR(), "ncp"), (PJacobi(), "ccp")], ids=["psor", "pjacobi"]
)
def test_recorded_spheres(shared_data: Path, solver: Solver, law: Law) -> None:
    item = read_problem(shared_data / "ccp" / "siconos" / "NESpheres_30_1.npz", np.float64)
    stop = Stop(atol=1e-6 * item.scale, max_iterations=5000)
    solution = jax.jit(lambda p: solve(p, solver, law=law, stop=stop))(item.problem)
    assert jnp.max(residuals(item.problem, solution.lam, law)) <= 1e-6 * item.scale


@pytest.mark.parametrize("solver", [PSOR(), SIPGS()], ids=["psor", "sipgs"])
def test_forward_sweeps_that_drift_away_are_led_back(shared_data: Path, solver: Solver) -> None:
    """Forward sweeps that diverge are restarted, and converge within 2000.

    With growth counted from the last restart only it took 17 000 sweeps.
    """
    item = read_problem(shared_data / "ccp" / "chrono" / "stack_compl_s50.npz", np.float64)
    stop = Stop(atol=1e-4 * item.scale, max_iterations=2000)
    solution = jax.jit(lambda p: solve(p, solver, stop=stop))(item.problem)
    assert jnp.max(residuals(item.problem, solution.lam, "ccp")) <= 1e-4 * item.scale
