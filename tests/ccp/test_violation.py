"""Test violations of a problem whose velocities are given."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Cones, DenseDelassus, Law, Problem, violations
from jaxccp.ccp.problem import residuals
from jaxccp.ccp.violation import Worst

INF = np.inf
CASE_OF_LISTS: Any = [[1.0, 0.0], [0.0, 1.0]], [-1, 2], [0, 0], [9, 9], [1.0, 0.5]


def case(u: list[float], lam: list[float]) -> tuple[Problem, jnp.ndarray]:
    """Return a problem with given velocities and impulses.

    It has an equality, an inequality, a box [−1, 2] and two contacts of μ 0.5.
    """
    cones = Cones(
        jnp.asarray([-INF, 0.0, -1.0]), jnp.asarray([INF, INF, 2.0]), jnp.asarray([0.5, 0.5])
    )
    x = jnp.asarray(lam)
    return Problem(DenseDelassus(2.0 * jnp.eye(9)), jnp.asarray(u) - 2.0 * x, cones), x


def check(worst: Worst, value: float, row: int) -> None:
    assert (float(worst.value), int(worst.row)) == (pytest.approx(value, abs=1e-14), row)


def test_a_solution_violates_nothing() -> None:
    u = [0.0, 3.0, -4.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0]
    lam = [-7.0, 0.0, 2.0, 2.0, -1.0, 0.0, 1.0, 0.3, 0.4]
    result = violations(*case(u, lam))
    for worst in (result.equality, result.inequality, result.impulse, result.complementarity):
        check(worst, 0.0, -1)


@pytest.mark.parametrize("law", ["ccp", "ncp"])
def test_each_condition_names_its_worst_row(law: Law) -> None:
    # The second contact slides at 2 m/s with u_n = 0: (0, 2) is 2 μ / √(1 + μ²) from the dual cone,
    # and what Coulomb's law asks for.
    u = [-0.3, -0.2, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]
    lam = [9.0, 1.0, 0.5, 0.0, 4.0, 0.0, 3.0, -1.5, 0.0]
    worst = violations(*case(u, lam), law)
    check(worst.equality, 0.3, 0)
    check(worst.impulse, 4.0 / np.sqrt(1.25), 3)  # (0, 4), whose nearest point is on the surface
    if law == "ccp":
        check(worst.inequality, 1.0 / np.sqrt(1.25), 6)
        check(worst.complementarity, 3.0, 6)
    else:
        check(worst.inequality, 0.2, 1)
        check(
            worst.complementarity, 1.5, 2
        )  # the box row is 1.5 above the bound that u > 0 asks for


def test_no_rows() -> None:
    none = jnp.zeros(0)
    empty = Problem(DenseDelassus(jnp.zeros((0, 0))), none, Cones(none, none, none))
    check(violations(empty, none).complementarity, 0.0, -1)


def test_lists_are_problems() -> None:
    """Two rows of unit mass: u = λ + r."""
    matrix, r, lo, hi, lam = CASE_OF_LISTS
    problem = Problem(DenseDelassus(matrix), r, Cones(lo, hi, jnp.zeros(0)))
    np.testing.assert_allclose(problem.velocity(lam), [0, 2.5])
    assert problem.objective(lam) == pytest.approx(0.5 + 0.125 - 1 + 1)
    np.testing.assert_allclose(residuals(problem, lam, "ccp"), [0, 0.5], atol=1e-14)
    check(violations(problem, lam).complementarity, 1.25, 1)
