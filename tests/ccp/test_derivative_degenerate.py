"""Test derivatives of degenerate problems: redundant contacts, kinks, no rows of a kind."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.linalg import block_diag

from jaxccp.ccp import (
    BodyDelassus,
    Cones,
    Delassus,
    DenseDelassus,
    Law,
    Problem,
    Status,
    Stop,
    solve,
)
from jaxccp.ccp.derivative import attach, linear
from tests.ccp.random_problems import random_case
from tests.ccp.test_derivative import (
    LAWS,
    PRECISE,
    STEP,
    TOLERANCE,
    as_dict,
    from_dict,
    solution,
)

CORNERS = [[-1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [1.0, 0.0, -1.0]]
POINTS: dict[Law, np.ndarray] = {
    "ccp": np.array([*CORNERS, [1.0, 1.0, -1.0], [0.0, 0.0, -1.0]]),
    "ncp": np.array([*CORNERS, *CORNERS[:2]]),
}
"""Where the box touches the floor. Under Coulomb's law a load that may be shared out in several
ways leaves the motion open as well (all of it on the middle point resists no spin), so there the
redundant points are repeated ones."""
STATES = {
    "resting": [0, 0, -0.1, 0, 0, 0],
    "sliding": [2.0, 0.5, -0.1, 0, 0, 0.1],
    "landing": [1.0, 0.3, -1.0, 0.4, -0.7, 0.2],
    "leaving": [1.0, 0.0, 0.5, 0.1, 0, 0],
}
"""Free velocity of a box, linear then angular."""


def box_on_floor(theta: jax.Array, points: np.ndarray) -> Problem:
    """Return a box on a floor at five points, 15 rows over six freedoms: λ is not unique.

    ``theta`` is its free velocity, mass, half size and friction; ``points`` in half sizes.
    """
    free, mass, half, mu = theta[:6], theta[6], theta[7], theta[8]
    count = len(points)
    arm = half * jnp.asarray(points)
    axes = jnp.eye(3)[jnp.array([2, 0, 1])]
    angular = jnp.cross(arm[:, None], axes[None])
    linear_part = jnp.broadcast_to(axes, (count, 3, 3)) / jnp.sqrt(mass)
    inertia = mass * half**2 * jnp.array([0.5, 0.7, 0.9])
    rows = jnp.concatenate([linear_part, angular / jnp.sqrt(inertia)], axis=-1)
    whitened = free * jnp.sqrt(jnp.concatenate([jnp.full(3, mass), inertia]))
    r = jnp.einsum("cij,j->ci", rows, whitened).reshape(-1)
    both_sides = jnp.concatenate([jnp.zeros_like(rows), rows], axis=-1)
    bodies = jnp.tile(jnp.array([0, 1]), (count, 1))
    none = jnp.zeros((0, 12)), jnp.zeros((0, 2), int), jnp.zeros(0)
    n = BodyDelassus(none[0], both_sides, none[1], bodies, jnp.zeros(3 * count), 2)
    return Problem(n, r, Cones(none[2], none[2], jnp.full(count, mu)))


BOX_STATES = np.array([[*v, 1.5, 0.6, 0.4] for v in STATES.values()])


def box_velocity(theta: jax.Array, law: Law) -> jax.Array:
    return solve(box_on_floor(theta, POINTS[law]), law=law, stop=PRECISE).u


@cache
def box_differences(law: Law) -> np.ndarray:
    steps = STEP * jnp.concatenate([k * jnp.eye(9) for k in (-2, -1, 1, 2)])
    states = (jnp.asarray(BOX_STATES)[:, None] + steps).reshape(-1, 9)
    velocities = np.asarray(jax.jit(jax.vmap(lambda theta: box_velocity(theta, law)))(states))
    weights = np.array([1, -8, 8, -1]) / 12 / STEP
    return np.einsum("o,boju->buj", weights, velocities.reshape(len(STATES), 4, 9, -1))


@pytest.mark.parametrize(
    ("law", "linear_solver"),
    [
        ("ccp", "by bodies"),
        ("ncp", "dense"),
        pytest.param("ccp", "matrix-free", marks=pytest.mark.long),
        pytest.param("ccp", "dense", marks=pytest.mark.long),
        pytest.param("ncp", "by bodies", marks=pytest.mark.long),
        pytest.param("ncp", "matrix-free", marks=pytest.mark.long),
    ],
)
def test_redundant_contacts_move_bodies_as_one(
    law: Law, linear_solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Derivatives of velocities agree between modes and with differences where λ is not unique.

    The convex law's systems are symmetric: one mode solves as the other does.

    Args:
        law: the law of contact.
        linear_solver: how the derivative's linear system is solved.
        monkeypatch: replaces the choice of the linear solver.
    """
    if linear_solver == "dense":
        monkeypatch.setattr(BodyDelassus, "factorised", Delassus.factorised)
    elif linear_solver == "matrix-free":
        monkeypatch.setattr(linear, "DENSE_ROWS", 0)

    def jacobians(theta: jax.Array):
        def run(theta: jax.Array) -> jax.Array:
            return box_velocity(theta, law)

        reverse = jax.jacrev(run)(theta)
        return jax.jacfwd(run)(theta) if law == "ncp" else reverse, reverse

    forward, reverse = jax.jit(jax.vmap(jacobians))(jnp.asarray(BOX_STATES))
    np.testing.assert_allclose(reverse, box_differences(law), atol=TOLERANCE)
    np.testing.assert_allclose(
        reverse, forward, atol=1e-8 if linear_solver == "matrix-free" else 1e-10
    )


@pytest.mark.parametrize(
    "law, with_far_limit, upwards",
    [*((law, far, -0.1) for law in LAWS for far in (False, True)), ("ccp", True, 0.05)],
)
def test_error_of_the_solver_does_not_tell_redundant_contacts_apart(
    law: Law, with_far_limit: bool, upwards: float
) -> None:
    """An inexact solution has nearly the derivative of the exact one.

    It has errors of 1e-4, as a loose tolerance leaves. A box that slides and spins on four corners
    can share its load among them in many ways.

    Args:
        law: the law of contact.
        with_far_limit: whether there is a row for a joint 1 rad from its limit, in steps of 1 ms.
        upwards: velocity of the box without contacts along the normal [m/s]; under the convex law a
            box that slides is loaded though it moves up.
    """
    square = np.array([[x, y, -1.0] for x in (-1, 1) for y in (-1, 1)])
    theta = jnp.array([2.0, 0.5, upwards, 0.0, 0.0, 1.0, 1.5, 0.6, 0.4])

    def problem_of(theta: jax.Array) -> Problem:
        box = box_on_floor(theta, square)
        if not with_far_limit:
            return box
        delassus = DenseDelassus(block_diag(jnp.ones((1, 1)), box.delassus.dense()))
        cones = Cones(jnp.zeros(1), jnp.full(1, jnp.inf), box.cones.mu)
        return Problem(delassus, jnp.append(1000.0, box.r), cones)

    exact = jax.jit(lambda problem: solve(problem, law=law, stop=PRECISE).lam)(problem_of(theta))
    size = jnp.abs(exact).max()

    def slope(error: jax.Array) -> jax.Array:
        def velocity(theta: jax.Array) -> jax.Array:
            problem = problem_of(theta)
            return problem.velocity(attach(law, problem, exact + size * error))

        return jax.jacfwd(velocity)(theta)

    errors = 1e-4 * np.random.default_rng(0).normal(size=(200, len(exact)))
    expected, *actual = jax.jit(jax.vmap(slope))(
        jnp.concatenate([jnp.zeros((1, len(exact))), errors])
    )
    actual = jnp.stack(actual)
    assert np.abs(actual - expected).max() < 0.01 * np.abs(expected).max()


def test_a_row_that_cannot_be_satisfied_leaves_the_derivative_of_the_others() -> None:
    """Rows 0 and 1 stay at rest, λ = −N⁻¹ r, and a third one must close, but cannot be moved. Two
    nearly equal rows, with a strength of 5e-4 along their difference, show any ridge."""
    near = 1 - 5e-4
    matrix = jnp.array([[1, near, 0], [near, 1, 0], [0, 0, 0.0]])
    cones = Cones(jnp.zeros(3), jnp.full(3, jnp.inf), jnp.zeros(0))

    def impulses(r: jax.Array) -> tuple[jax.Array, jax.Array]:
        solution = solve(Problem(DenseDelassus(matrix), r, cones), "newton", stop=Stop(1e-13))
        return solution.lam, solution.statistics.status

    slope, status = jax.jacfwd(impulses, has_aux=True)(-jnp.ones(3))
    assert status == Status.INFEASIBLE
    expected = -np.linalg.inv(matrix[:2, :2])
    np.testing.assert_allclose(slope[:2, :2], expected, rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.long)])
@pytest.mark.parametrize("law", LAWS)
def test_gradients_of_degenerate_problems_are_finite(law: Law, dtype: type) -> None:
    """Gradients of degenerate problems are finite.

    They have contacts at the apex, zero tangents, λ = u = 0, zero and repeated rows, bounds that
    coincide, μ = 0.
    """
    rng, count = np.random.default_rng(11), 1000
    case = random_case(0, scalars=3, contacts=3)
    problem = case.problem(dtype)
    leaves = {k: np.tile(v, (count, *[1] * v.ndim)) for k, v in as_dict(problem).items()}
    leaves["r"] = rng.choice([-1.0, 0.0, 0.0, 1.0], leaves["r"].shape)
    leaves["r"][::3] = 0.0
    leaves["mu"] = rng.choice([0.0, 0.5, 1.0, 1e6], leaves["mu"].shape)
    leaves["contact_rows"] = rng.choice([-1.0, 0.0, 0.0, 1.0], leaves["contact_rows"].shape)
    leaves["contact_rows"][::4, 1] = leaves["contact_rows"][::4, 0]
    leaves["contact_rows"][1::4, 1] = 0.0
    leaves["lo"] = rng.choice([-np.inf, -1.0, 0.0], leaves["lo"].shape)
    leaves["hi"] = rng.choice([np.inf, 1.0, 0.0], leaves["hi"].shape)
    batch = {k: jnp.asarray(v, dtype) for k, v in leaves.items()}

    def loss(leaves: dict[str, jax.Array]) -> jax.Array:
        stop = Stop(max_iterations=100)
        solved = solve(from_dict(problem, leaves), law=law, stop=stop)
        return jnp.sum(solved.lam**2) + jnp.sum(solved.u**2)

    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(loss)))(batch)
    finite = {k: np.isfinite(v).reshape(count, -1).all(1) for k, v in gradients.items()}
    assert np.isfinite(values).all()
    assert not {k: np.flatnonzero(~v)[:5] for k, v in finite.items() if not v.all()}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("shape", [(6, 0), (0, 0), (0, 1)])
def test_gradients_without_rows_of_a_kind(law: Law, shape: tuple[int, int]) -> None:
    problem = random_case(0, *shape).problem()

    def loss(leaves: dict[str, jax.Array]) -> jax.Array:
        return jnp.sum(solution(problem, leaves, law) ** 2)

    gradient = jax.jit(jax.grad(loss))(as_dict(problem))
    assert all(np.isfinite(leaf).all() for leaf in gradient.values())
