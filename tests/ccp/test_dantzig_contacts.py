"""Test Dantzig's method on contacts alone: all active sets, degenerate ones, ODE's short cut."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from jaxccp.ccp import Solution, Status
from tests.ccp.pivoting import Bounds, Contacts, enumerated, first, padded, run
from tests.ccp.polyhedra import coulomb_violation


def random_contacts(seed: int) -> Contacts:
    """Return one to four random contacts, most of them approaching, some of them redundant."""
    rng = np.random.default_rng(seed)
    contacts = 1 + seed % 4
    rank = rng.integers(3, 3 * contacts + 3)
    rows, free = rng.normal(size=(3 * contacts, rank)), rng.normal(size=rank)
    rows[::3] *= np.where(rows[::3] @ free > 0.3, -1.0, 1.0)[:, None]
    r = rows @ free
    r[::3] += rng.uniform(0, 0.3, contacts)
    return rows @ rows.T, r, rng.uniform(0.1, 1.2, contacts)


@pytest.mark.slow
def test_agrees_with_all_active_sets() -> None:
    """Dantzig's solution is one of those of all active sets; Coulomb's law may have several."""
    problems = [random_contacts(seed) for seed in range(1000)]
    solution = run(padded(problems, 4))
    assert np.all(np.asarray(solution.statistics.status) == Status.CONVERGED)
    assert np.all(np.asarray(solution.statistics.iterations) <= 25)
    several = busy = 0
    for index, (matrix, r, mu) in enumerate(problems):
        lam, _ = first(solution, index, len(r))
        u = matrix @ lam + r
        assert coulomb_violation(lam.reshape(-1, 3), u.reshape(-1, 3), mu, "pyramid") < 1e-9
        solutions = enumerated(matrix, r, mu) @ matrix + r
        assert np.abs(solutions - u).max(axis=1).min() < 1e-7
        several += np.ptp(solutions, axis=0).max() > 1e-6
        busy += np.any(lam > 1e-6)
    assert several > 5
    assert busy > 900


def box_on_a_plane(tilt: float, spin: float = 0.0) -> Contacts:
    """Return a unit cube's four corners on a tilted plane, one step of gravity (0.1 m/s), μ =
    0.5."""
    rows = []
    for x, y in product((-0.5, 0.5), repeat=2):
        for axis in ([0, 0, 1], [1, 0, 0], [0, 1, 0]):
            rows.append([*axis, *np.cross([x, y, -0.5], axis)])
    jacobian = np.array(rows, float)
    inverse_mass = np.diag([1.0, 1, 1, 6, 6, 6])
    free = 0.1 * np.array([np.sin(tilt), 0, -np.cos(tilt), 0, 0, spin])
    return jacobian @ inverse_mass @ jacobian.T, jacobian @ free, np.full(4, 0.5)


def sliding_contact(coupling: float) -> Contacts:
    """Return a contact that approaches at 1 m/s and slides at 5 m/s.

    Impulses along the slide also change the approach.
    """
    matrix = np.eye(3)
    matrix[0, 1] = matrix[1, 0] = coupling
    return matrix, np.array([-1.0, 5.0, 0.0]), np.array([0.5])


BOXES = [box_on_a_plane(tilt, spin) for tilt, spin in product((0.0, 0.3, 0.7), (0.0, 2.0))]
MATRIX, R, _ = box_on_a_plane(0.7, 1.0)
SPECIAL: list[Contacts] = [
    *BOXES,
    (MATRIX, R, np.full(4, 0.5)),
    (np.tile(MATRIX, (2, 2)), np.tile(R, 2), np.full(8, 0.5)),  # every contact twice
    *(sliding_contact(coupling) for coupling in (0.4, -0.4, 0.0)),
    (np.zeros((3, 3)), np.array([-1.0, 0.0, 0.0]), np.array([0.5])),  # nothing can stop it
    (MATRIX, np.where(np.arange(12) == 4, np.nan, R), np.full(4, 0.5)),
]


@cache
def special(dtype: type = np.float64, bounds: Bounds = "exact") -> Solution:
    return run(padded(SPECIAL, 8, dtype), "ncp", bounds)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_redundant_and_degenerate_contacts(dtype: type) -> None:
    """Redundant and degenerate contacts are solved.

    They are a box on four corners, whose second tangents do not move at all, the same contacts
    twice, and contacts that touch nothing.
    """
    limit = 1e-6 if dtype == np.float32 else 1e-14
    assert special(dtype).lam.dtype == dtype
    for index, (matrix, r, mu) in enumerate(SPECIAL[:-2]):
        lam, u = first(special(dtype), index, len(r))
        assert coulomb_violation(lam.reshape(-1, 3), u.reshape(-1, 3), mu, "pyramid") < limit
        np.testing.assert_allclose(u, matrix @ lam + r, atol=limit)
    # tan 0.3 < μ < tan 0.7: the third box stays, the fifth slides, and so does its double.
    np.testing.assert_allclose(first(special(dtype), 2, 12)[1], 0, atol=limit)
    slide = 0.1 * (np.sin(0.7) - 0.5 * np.cos(0.7))
    np.testing.assert_allclose(first(special(dtype), 4, 12)[1][1::3], slide, rtol=1e-5)
    single, double = first(special(dtype), 6, 12)[1], first(special(dtype), 7, 24)[1]
    np.testing.assert_allclose(double, np.tile(single, 2), atol=10 * limit)


def test_one_shot_bounds_are_no_solution_where_friction_changes_the_normal_impulse() -> None:
    """ODE bounds friction by the normal impulse that would act without it: here 1 N·s."""
    short, exact = special(bounds="one-shot"), special()
    for index, coupling in enumerate((0.4, -0.4, 0.0), start=8):
        normal = 1 / (1 - 0.5 * coupling)
        lam, _ = first(exact, index, 3)
        np.testing.assert_allclose(lam, [normal, -0.5 * normal, 0.0], atol=1e-12)
        assert exact.statistics.residual_ncp[index] < 1e-12
    # Friction presses the first contact down: μ of 1 N·s is too little for the 1.2 N·s it gets.
    np.testing.assert_allclose(first(short, 8, 3)[0], [1.2, -0.5, 0.0], atol=1e-12)
    # It lifts the second, where 0.5 N·s is more than μ λ_n.
    for index in (8, 9):
        assert short.statistics.residual_ncp[index] > 5e-3
        assert short.statistics.status[index] == Status.STALLED
    # Without coupling the normal impulse stays, and the short cut is no loss.
    np.testing.assert_allclose(first(short, 10, 3)[0], [1.0, -0.5, 0.0], atol=1e-12)
    assert short.statistics.status[10] == Status.CONVERGED


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_solution_is_reported(dtype: type) -> None:
    """A contact that no impulse can stop, and NaN, are reported by their statuses."""
    status = list(np.asarray(special(dtype).statistics.status[-2:]))
    assert status == [Status.INFEASIBLE, Status.NON_FINITE]
    assert np.isfinite(special(dtype).lam).all()
