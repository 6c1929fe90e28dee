"""Test the three forms of N against numpy's J M⁻¹ Jᵀ + E, and the sign convention."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import (
    BlockSparseDelassus,
    BodyDelassus,
    Cones,
    Delassus,
    DenseDelassus,
    Problem,
)
from tests.ccp.compiled import solve
from tests.ccp.random_problems import BODIES, SCALARS, Case, random_case, stack
from tests.ccp.views import assert_views_agree

CASES = [random_case(seed, kind="compliant") for seed in range(3)]
CONTACTS = [random_case(seed, scalars=0, kind="compliant") for seed in range(3)]


def sparse(case: Case) -> BlockSparseDelassus:
    """Return N as its non-zero blocks; one of them is given as two halves, which must add up."""
    count = len(case.mu)
    tiles = case.matrix().reshape(count, 3, count, 3).swapaxes(1, 2)
    row, column = np.nonzero(np.abs(tiles).sum(axis=(2, 3)))
    entries = tiles[row, column]
    entries[0] *= 0.5
    row, column = np.insert(row, 0, row[0]), np.insert(column, 0, column[0])
    entries = np.insert(entries, 0, entries[0], axis=0)
    return BlockSparseDelassus(jnp.asarray(entries), jnp.asarray(row), jnp.asarray(column), count)


def body(case: Case) -> Delassus:
    return case.problem().delassus


def dense(case: Case) -> Delassus:
    return DenseDelassus(jnp.asarray(case.matrix()))


FORMS = {
    "body": (body, CASES),
    "dense": (dense, CASES),
    "body, contacts only": (body, CONTACTS),
    "dense, contacts only": (dense, CONTACTS),
    "block-sparse": (sparse, CONTACTS),
}
parametrize = pytest.mark.parametrize(("build", "cases"), FORMS.values(), ids=FORMS)
Build = Callable[[Case], Delassus]


@parametrize
def test_every_view_agrees_with_numpy(build: Build, cases: list[Case]) -> None:
    for case in cases:
        assert_views_agree(build(case), case.matrix(), len(case.lo))


def test_operators_that_are_not_symmetric_are_refused() -> None:
    """Blocks of one triangle alone, or indices out of range, would be another operator."""
    case = CONTACTS[0]
    problem, blocks, bodies = case.problem(), sparse(case), case.problem().delassus
    assert isinstance(bodies, BodyDelassus)
    replace(problem, delassus=blocks).checked()
    upper = jnp.flatnonzero(blocks.row <= blocks.column)
    parts = {name: getattr(blocks, name)[upper] for name in ("entries", "row", "column")}
    reverse = {name: getattr(blocks, name)[::-1] for name in parts}
    pairs = np.array(case.bodies[::3])
    for bad, message in (
        (replace(blocks, **parts), "delassus.entries must be those of a symmetric matrix"),
        (replace(blocks, **reverse), "delassus.row must ascend"),
        (replace(blocks, column=blocks.column + 1), "delassus.column .* 0 and 5, not 6"),
        (replace(bodies, contact_bodies=pairs + BODIES), "contact_bodies must lie .* 0 and 7, not"),
        (replace(bodies, contact_bodies=pairs - BODIES), "contact_bodies .* 0 and 7, not -"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(problem, delassus=bad).checked()


def test_block_sparse_batches_with_jit() -> None:
    """Block-sparse matrices of one pattern batch; here they are one matrix at two scales."""
    operator, lam = sparse(CONTACTS[0]), jnp.asarray(np.random.default_rng(1).normal(size=18))

    def scaled(factor: jax.Array) -> jax.Array:
        entries = factor * operator.entries
        return BlockSparseDelassus(entries, operator.row, operator.column, operator.contacts).apply(
            lam
        )

    batch = jax.jit(jax.vmap(scaled))(jnp.array([1.0, -2.0]))
    expected = CONTACTS[0].matrix() @ np.asarray(lam)
    np.testing.assert_allclose(batch, [expected, -2 * expected], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("build", [body, dense], ids=["body", "dense"])
def test_vmap_and_jit(build: Build, dtype: type) -> None:
    def cast(operator: Delassus) -> Delassus:
        return jax.tree.map(
            lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x, operator
        )

    batch = jax.tree.map(lambda *x: jnp.stack(x), *[cast(build(case)) for case in CASES])
    lam = np.random.default_rng(2).normal(size=(len(CASES), len(CASES[0].r)))
    product = jax.jit(jax.vmap(lambda n, x: n.apply(x)))(batch, jnp.asarray(lam, dtype))
    expected = np.stack([case.matrix() @ x for case, x in zip(CASES, lam, strict=True)])
    assert product.dtype == dtype
    tolerance = 200 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(product, expected, atol=tolerance * np.abs(expected).max())


def test_impulse_and_velocity_are_transposes() -> None:
    operator, jacobian = CASES[0].problem().delassus, CASES[0].jacobian()
    assert isinstance(operator, BodyDelassus)
    rng = np.random.default_rng(3)
    lam, v = rng.normal(size=jacobian.shape[0]), rng.normal(size=jacobian.shape[1])
    impulse = operator.impulse(jnp.asarray(lam)).reshape(-1)
    np.testing.assert_allclose(impulse, jacobian.T @ lam, atol=1e-12)
    velocity = operator.velocity(jnp.asarray(v).reshape(-1, 6))
    np.testing.assert_allclose(velocity, jacobian @ v, atol=1e-12)


def test_sign_convention() -> None:
    """λ ≥ 0 pushes bodies apart; u = N λ + r is the velocity after; K ∋ λ ⟂ u ∈ K*.

    Two unit masses on a line, the first moving at 3 m/s into the second at 1 m/s. The normal
    points from A to B, so the row is (−n, n) and the free velocity r = 1 − 3 < 0 approaches.
    """
    row = np.zeros((3, 12))
    row[[0, 1, 2], [0, 1, 2]], row[[0, 1, 2], [6, 7, 8]] = -1.0, 1.0
    operator = BodyDelassus(
        jnp.zeros((0, 12)),
        jnp.asarray(row)[None],
        jnp.zeros((0, 2), int),
        jnp.array([[1, 2]]),
        jnp.zeros(3),
        3,
    )
    problem = Problem(
        operator, jnp.array([-2.0, 0.0, 0.0]), Cones(jnp.zeros(0), jnp.zeros(0), jnp.array([0.5]))
    )
    solution = solve(problem)
    np.testing.assert_allclose(solution.lam, [1, 0, 0], atol=1e-8)
    np.testing.assert_allclose(solution.u, 0, atol=1e-8)
    impulse = operator.impulse(jnp.array([1.0, 0.0, 0.0]))
    assert impulse[1, 0] < 0 < impulse[2, 0]
    np.testing.assert_allclose(solution.u, problem.delassus.apply(solution.lam) + problem.r)
    # Receding bodies feel nothing.
    free = solve(Problem(operator, -problem.r, problem.cones))
    np.testing.assert_array_equal(free.lam, 0)
    np.testing.assert_allclose(free.u, [2, 0, 0])


def test_objective_residual_and_scale() -> None:
    case = CASES[0]
    problem, matrix = case.problem(), case.matrix()
    lam = np.random.default_rng(4).normal(size=len(matrix))
    np.testing.assert_allclose(
        problem.objective(jnp.asarray(lam)), 0.5 * lam @ matrix @ lam + case.r @ lam, rtol=1e-12
    )
    diagonal = np.diag(matrix)
    expected = [1 / d for d in diagonal[:SCALARS]]
    for start in range(SCALARS, len(diagonal), 3):
        expected += [3 / diagonal[start : start + 3].sum()] * 3
    np.testing.assert_allclose(problem.step_sizes(), expected, rtol=1e-12)
    blocks = [abs(x) for x in case.r[:SCALARS]]
    blocks += [np.linalg.norm(x) for x in case.r[SCALARS:].reshape(-1, 3)]
    np.testing.assert_allclose(problem.scale(), max(blocks))
    assert jax.vmap(Problem.scale)(stack([problem, problem])).shape == (2,)
