"""Test the order of statuses, and what is refused before a problem is solved."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxccp.ccp import Cones, DenseDelassus, GradientNewton, Problem, Status, Stop, solve


def test_the_worst_status_is_the_largest() -> None:
    """A failure is never hidden by a solution that may not be the only one."""
    solved = [Status.CONVERGED, Status.NOT_UNIQUE]
    unsolved = [Status.MAX_ITERATIONS, Status.STALLED, Status.INFEASIBLE, Status.NON_FINITE]
    assert max(solved) < min(unsolved) and max(Status) == Status.NON_FINITE


def test_no_gradient_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="steps must be at least 1, not 0"):
        GradientNewton(steps=0)


@pytest.mark.parametrize("name", ["lo", "mu"])
def test_numbers_in_place_of_arrays_are_refused(name: str) -> None:
    arrays: dict[str, Any] = {"lo": jnp.zeros(1), "hi": jnp.ones(1), "mu": jnp.ones(1), name: 0.5}
    with pytest.raises(ValueError, match=rf"cones\.{name}"):
        Cones(**arrays).checked()


@pytest.mark.parametrize(("lo", "hi"), [(jnp.nan, jnp.inf), (0.0, jnp.nan)])
def test_bounds_that_are_no_numbers_are_reported(lo: float, hi: float) -> None:
    cones = Cones(jnp.array([lo]), jnp.array([hi]), jnp.zeros(0))
    solution = solve(Problem(DenseDelassus(jnp.eye(1)), jnp.array([-1.0]), cones))
    assert Status(int(solution.statistics.status)) is Status.NON_FINITE


@pytest.mark.parametrize("guess", [0.0, 1.2, 9.0])
@pytest.mark.parametrize(("lo", "hi"), [(1.0, 2.0), (-2.0, -1.0)])
def test_the_start_is_within_bounds_that_exclude_zero(lo: float, hi: float, guess: float) -> None:
    """Without iterations the start is returned: the guess projected on the bounds.

    With more of them than 32 bits can count the bound next to 0 is reached.
    """
    cones = Cones(jnp.array([lo]), jnp.array([hi]), jnp.zeros(0))
    problem = Problem(DenseDelassus(jnp.eye(1)), jnp.zeros(1), cones)
    start = solve(problem, guess=jnp.array([guess]), stop=Stop(max_iterations=0))
    assert start.lam[0] == start.u[0] == jnp.clip(guess, lo, hi)
    end = solve(problem, guess=jnp.array([guess]), stop=Stop(max_iterations=3_000_000_000))
    assert abs(end.lam[0] - jnp.clip(0.0, lo, hi)) < 1e-8


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        (([0.0, 1.0], [1.0, 0.5], []), r"scalar row 1 they are 1\.0 and 0\.5"),
        (([], [], [0.5, -0.1]), r"cones\.mu must be ≥ 0 and finite, but of contact 1 it is -0\.1"),
        (([], [], [jnp.inf]), r"cones\.mu must be ≥ 0 and finite, but of contact 0 it is inf"),
    ],
)
def test_empty_sets_of_impulses_are_refused(numbers: tuple, message: str) -> None:
    lo, hi, mu = map(jnp.array, numbers)
    cones = Cones(lo, hi, mu)
    with pytest.raises(ValueError, match=message):
        cones.checked()
    jax.jit(Cones.checked)(cones)  # numbers that are not known are not compared


def test_a_matrix_that_is_not_symmetric_is_refused() -> None:
    """A triangle is refused, rounding is not."""
    matrix = jnp.array([[2.0, 1.0], [0.0, 2.0]])
    with pytest.raises(ValueError, match=r"\(0, 1\) and \(1, 0\) are 1\.0 and 0\.0; 0\.5"):
        DenseDelassus(matrix).checked(matrix.dtype)
    DenseDelassus(matrix.at[1, 0].set(1.0 + 1e-3)).checked(matrix.dtype)
