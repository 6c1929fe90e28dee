"""Test that gradient steps are as long as the active rows allow, and no longer."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.optimize import nnls

from jaxccp.ccp import Cones, DenseDelassus, GradientNewton, Problem, Status, Stop
from jaxccp.ccp.cones import ConeType
from tests.ccp.compiled import solve
from tests.ccp.random_problems import random_case


def in_precision(dtype: type, n: np.ndarray, r: np.ndarray, cones: Cones) -> Problem:
    """Return the problem of a matrix N, with all numbers in one precision.

    Args:
        dtype: the precision.
        n: N.
        r: velocities at zero impulse [m/s].
        cones: sets of the impulses.
    """
    problem = Problem(DenseDelassus(jnp.asarray(n)), jnp.asarray(r), cones)
    return jax.tree.map(lambda x: jnp.asarray(x, dtype), problem)


def limits(count: int) -> Cones:
    return Cones(jnp.zeros(count), jnp.full(count, jnp.inf), jnp.zeros(0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits_out_of_reach_cost_no_iterations(dtype: type) -> None:
    """Forty limits that are out of reach cost at most one iteration.

    They are along coordinates that contacts act on, and make the largest eigenvalue of N fifteen
    times that of the contacts.
    """
    random = np.random.default_rng(0)
    contacts, limit_rows = random.standard_normal((12, 8)), np.repeat(np.eye(4, 8), 10, axis=0)
    r = -random.uniform(0.5, 1.0, 12)
    alone = in_precision(
        dtype, contacts @ contacts.T, r, Cones(jnp.zeros(0), jnp.zeros(0), jnp.ones(4))
    )
    w = np.concatenate([limit_rows, contacts])
    cones = replace(limits(40), mu=jnp.ones(4))
    with_limits = in_precision(dtype, w @ w.T, np.concatenate([np.full(40, 500.0), r]), cones)
    stop = Stop(1e-4, max_iterations=300)
    expected, actual = (
        solve(problem, GradientNewton(), stop=stop) for problem in (alone, with_limits)
    )
    assert actual.statistics.status == expected.statistics.status == Status.CONVERGED
    assert actual.statistics.iterations <= expected.statistics.iterations + 1
    np.testing.assert_array_equal(actual.lam[:40], 0)
    np.testing.assert_allclose(actual.u[40:], expected.u, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_begin_to_act_shorten_the_steps(dtype: type) -> None:
    """A blow from below on a row of touching bodies is solved.

    At first only the row that is hit is active.
    """
    count = 16
    jacobian = np.eye(count) - np.eye(count, k=-1)
    n = jacobian @ np.diag(1 + np.arange(count) % 3) @ jacobian.T
    r = np.zeros(count)
    r[0] = -1.0
    tolerance = 1e-5
    solution = solve(
        in_precision(dtype, n, r, limits(count)), GradientNewton(), stop=Stop(tolerance, 0.0, 1000)
    )
    assert solution.statistics.status == Status.CONVERGED
    root = np.linalg.cholesky(n)
    expected, _ = nnls(root.T, -np.linalg.solve(root, r))
    assert np.count_nonzero(expected) == count
    smallest = np.linalg.eigvalsh(n)[0]
    np.testing.assert_allclose(
        solution.lam, expected, atol=tolerance * np.sqrt(count) / smallest, rtol=1e-5
    )


@pytest.mark.parametrize("cone_type", ["cone", "pyramid", "octagon", "rolling"])
def test_rows_act_where_the_projection_has_a_derivative(cone_type: ConeType | str) -> None:
    cones = random_case(0, 5, 6).problem().cones
    if cone_type == "rolling":
        cones = replace(cones, rolling=jnp.full((6, 2), 0.3))
    else:
        cones = replace(cones, cone_type=cone_type)

    def check(x: Array) -> tuple[Array, Array]:
        return cones.acts(x), jnp.any(jax.jacobian(cones.project)(x) != 0, axis=0)

    points = np.random.default_rng(1).standard_normal((40, cones.rows))
    active, depends = jax.jit(jax.vmap(check))(jnp.asarray(points))
    assert 0.1 < np.mean(active) < 0.95
    np.testing.assert_array_equal(active == 1, depends)
