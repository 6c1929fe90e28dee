"""Test contacts with spinning and rolling friction: projection, solutions and derivatives."""

from functools import cache, partial
from pathlib import Path
from typing import Any

import clarabel as _clarabel
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse

from jaxccp.ccp import (
    SOLVERS,
    BodyDelassus,
    Cones,
    DenseDelassus,
    Law,
    Problem,
    Status,
    Stop,
    residuals,
    solve,
)
from jaxccp.ccp.cones import rolling
from jaxccp.io import read_problem

clarabel: Any = _clarabel  # a compiled module without type stubs

project, shift, slope, spectrum = map(
    jax.jit, (rolling.project, rolling.shift, rolling.slope, rolling.spectrum)
)

MU, COEFFICIENTS = 0.5, (0.1, 0.2)
LIMITS = (MU, *COEFFICIENTS)
GROUPS = (slice(1, 3), slice(3, 4), slice(4, 6))
LAWS: tuple[Law, Law] = ("ccp", "ncp")
STOP = Stop(atol=1e-12, max_iterations=50_000)


def points(count: int = 60) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, 6)) * 10 ** rng.uniform(-1, 1, (count, 6))
    x[:3] = 0.0
    x[1, 0], x[2, 0] = 1.0, -1.0
    return x


def cone(matrix: np.ndarray, r: np.ndarray, contacts: int) -> np.ndarray:
    """Return argmin ½ λᵀ matrix λ + rᵀ λ over the cones, by Clarabel.

    Args:
        matrix: N.
        r: velocities at zero impulse.
        contacts: number of contacts of six rows.
    """
    a, cones = [], []
    for start in range(0, 6 * contacts, 6):
        for limit, group in zip(LIMITS, GROUPS, strict=True):
            rows = np.zeros((1 + group.stop - group.start, 6 * contacts))
            rows[0, start] = -limit
            rows[np.arange(1, len(rows)), start + np.arange(group.start, group.stop)] = -1
            a.append(rows)
            cones.append(clarabel.SecondOrderConeT(len(rows)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    rows, quadratic = np.vstack(a), sparse.csc_matrix(np.triu(matrix))
    problem = (quadratic, r, sparse.csc_matrix(rows), np.zeros(len(rows)), cones)
    return np.array(clarabel.DefaultSolver(*problem, settings).solve().x)


def full(count: int) -> tuple[jax.Array, jax.Array]:
    return jnp.full(count, MU), jnp.broadcast_to(jnp.array(COEFFICIENTS), (count, 2))


def test_projection_is_the_nearest_point() -> None:
    x = points()
    ours = np.asarray(project(jnp.asarray(x), *full(len(x))))
    for point, nearest in zip(x, ours, strict=True):
        scale = 1 + float(np.linalg.norm(point))
        np.testing.assert_allclose(nearest, cone(np.eye(6), -point, 1), atol=2e-6 * scale)
    again = np.asarray(project(jnp.asarray(ours), *full(len(x))))
    np.testing.assert_allclose(again, ours, atol=1e-12)


def test_jacobian_is_the_projections() -> None:
    x = points()[3:]
    values, vectors = map(np.asarray, spectrum(jnp.asarray(x), *full(len(x))))
    np.testing.assert_allclose(
        np.swapaxes(vectors, 1, 2) @ vectors, [np.eye(6)] * len(x), atol=1e-12
    )
    jacobian = np.einsum("cij,cj,ckj->cik", vectors, values, vectors)
    h, eye = 1e-6, np.eye(6)
    neighbours = [project(jnp.asarray(x + s * h * e), *full(len(x))) for e in eye for s in (1, -1)]
    differences = np.stack(
        [(a - b) / (2 * h) for a, b in zip(neighbours[::2], neighbours[1::2], strict=True)], 2
    )
    np.testing.assert_allclose(jacobian, differences, atol=1e-7)
    # At a solution λ = Π(x) the shift is that of u = λ − x, and so is its slope, where groups move.
    u = (np.asarray(project(jnp.asarray(x), *full(len(x)))) - x)[:, 1:]
    sliding = np.abs(np.asarray(slope(jnp.asarray(x), *full(len(x))))) > 0
    shifted = jax.grad(lambda velocity: shift(velocity[None], *full(1))[0])
    slopes = jax.jit(jax.vmap(shifted))(jnp.asarray(u))
    np.testing.assert_allclose(
        np.where(sliding, slopes, 0.0), slope(jnp.asarray(x), *full(len(x))), atol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_nan_at_kinks(dtype: type) -> None:
    x = jnp.asarray(np.vstack([points(), np.zeros((1, 6))]), dtype)
    mu, both = (jnp.asarray(part, dtype) for part in full(len(x)))

    @jax.jit
    @partial(jax.grad, argnums=(0, 1, 2))
    def slopes(x: jax.Array, mu: jax.Array, both: jax.Array) -> jax.Array:
        values, vectors = spectrum(x, mu, both)
        return jnp.sum(project(x, mu, both)) + jnp.sum(values) + jnp.sum(vectors)

    for limit in (mu, 0.0 * mu):
        for part in slopes(x, limit, both):
            assert np.isfinite(part).all()


CONTACTS, BODIES = 4, 3


@cache
def case(seed: int = 1) -> Problem:
    """Return contacts of three bodies with the world and each other; most slide, some roll."""
    rng = np.random.default_rng(seed)
    pairs = np.array([[0, 1], [1, 2], [0, 2], [0, 1]])
    rows = rng.normal(size=(CONTACTS, 6, 2, 6))
    rows[pairs[:, 0] == 0, :, 0] = 0.0
    rows = jnp.asarray(rows.reshape(CONTACTS, 6, 12))
    delassus = BodyDelassus(
        rows[:0, 0], rows, jnp.zeros((0, 2), jnp.int32), jnp.asarray(pairs), jnp.zeros(24), BODIES
    )
    r = delassus.velocity(jnp.asarray(rng.normal(size=(BODIES, 6))))
    return Problem(delassus, r, Cones(jnp.zeros(0), jnp.zeros(0), *_coefficients(full(CONTACTS))))


def _coefficients(both: tuple[jax.Array, jax.Array]) -> tuple:
    return both[0], "cone", both[1]


ROLLING = [name for name, solver in SOLVERS.items() if solver.rolling]


@pytest.mark.parametrize("name", ROLLING)
def test_convex_law_agrees_with_interior_point(name: str) -> None:
    problem = case()
    solution = jax.jit(lambda p: solve(p, SOLVERS[name](), stop=STOP))(problem)
    assert solution.statistics.status == Status.CONVERGED
    best = cone(np.asarray(problem.delassus.dense()), np.asarray(problem.r), CONTACTS)
    ours, reference = problem.objective(solution.lam), problem.objective(jnp.asarray(best))
    assert ours == pytest.approx(float(reference), abs=1e-9)
    np.testing.assert_allclose(solution.u, problem.velocity(jnp.asarray(best)), atol=1e-5)


@cache
def under_coulomb():
    return jax.jit(lambda p: solve(p, SOLVERS["admm"](), law="ncp", stop=STOP))


def test_coulomb_law_dissipates_in_every_group() -> None:
    solution = under_coulomb()(case())
    assert solution.statistics.status == Status.CONVERGED
    lam, u = (np.asarray(x).reshape(-1, 6) for x in (solution.lam, solution.u))
    assert u[:, 0].min() > -1e-10 and np.abs(lam[:, 0] * u[:, 0]).max() < 1e-10
    for limit, group in zip(LIMITS, GROUPS, strict=True):
        friction, slide = (np.linalg.norm(x[:, group], axis=1) for x in (lam, u))
        assert np.all(friction <= limit * lam[:, 0] + 1e-10)
        power = np.sum(lam[:, group] * u[:, group], axis=1)
        np.testing.assert_allclose(power, -limit * lam[:, 0] * slide, atol=1e-9)


def test_derivatives_in_r_and_in_the_coefficients() -> None:
    problem = case()
    rng = np.random.default_rng(2)
    direction = jax.tree.map(lambda leaf: 0.0 * leaf, problem)
    cones = Cones(
        problem.cones.lo,
        problem.cones.hi,
        jnp.asarray(rng.normal(size=CONTACTS)),
        rolling=jnp.asarray(rng.normal(size=(CONTACTS, 2))),
    )
    direction = Problem(direction.delassus, jnp.asarray(rng.normal(size=24)), cones)

    def velocities(t: jax.Array) -> jax.Array:
        shifted = jax.tree.map(
            lambda a, b: a + t * b if a.dtype == float else a, problem, direction
        )
        return under_coulomb()(shifted).u

    h = 1e-6
    differences = (velocities(jnp.asarray(h)) - velocities(jnp.asarray(-h))) / (2 * h)
    tangent = jax.jit(jax.jacfwd(velocities))(jnp.asarray(0.0))
    np.testing.assert_allclose(tangent, differences, atol=2e-6)


def test_refused_where_not_supported() -> None:
    problem = case()
    with pytest.raises(ValueError, match="PSOR cannot solve contacts with rolling friction"):
        solve(problem, SOLVERS["psor"]())
    square = Cones(jnp.zeros(0), jnp.zeros(0), jnp.ones(1), "pyramid", jnp.ones((1, 2)))
    with pytest.raises(ValueError, match="rolling friction goes with round cones"):
        solve(Problem(DenseDelassus(jnp.eye(6)), jnp.ones(6), square))


def test_agrees_with_chrono(shared_data: Path, tmp_path: Path) -> None:
    """The solution of a heap of 27 spheres is Chrono's, which its ADMM solved to 1e-8.

    The scene's coefficients are 1 cm.
    """
    with np.load(shared_data / "ccp/chrono/sph27_roll_s40.npz") as stored:
        fields: dict[str, Any] = dict(stored)
    fields["spinning"] = fields["rolling"] = np.full(len(fields["mu"]), 0.01)
    np.savez(tmp_path / "heap.npz", **fields)
    item = read_problem(tmp_path / "heap.npz", np.float64)
    chrono = jnp.asarray(fields["gamma_chrono_admm"][item.order] / item.unit)
    assert float(jnp.max(residuals(item.problem, chrono, "ccp"))) < 2e-8 * item.scale
    stop = Stop(1e-10, 0.0, 5000)
    ours = jax.jit(lambda p: solve(p, SOLVERS["apgd"](), stop=stop))(item.problem)
    np.testing.assert_allclose(ours.u, item.problem.velocity(chrono), atol=5e-7)
    np.testing.assert_allclose(
        item.problem.objective(ours.lam), item.problem.objective(chrono), rtol=1e-8
    )
