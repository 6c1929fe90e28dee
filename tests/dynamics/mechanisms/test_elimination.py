"""Test eliminated equality rows against dense linear algebra in numpy."""

from dataclasses import dataclass, replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import BodyDelassus
from jaxccp.dynamics.free_bodies.eliminated_delassus import EliminatedDelassus
from jaxccp.dynamics.free_bodies.equalities import Equalities, equalities
from jaxccp.dynamics.free_bodies.forest import Edge, Forest, forest
from jaxccp.dynamics.rows.row import Rows

PARENTS = (None, 0, 1, 2, 2, None, 5, 0, None)
"""Parent of each body: two limbs on the fixed body 0, a pair of bodies, and a body without rows."""
ROW_COUNTS = (0, 3, 5, 2, 6, 0, 4, 3, 0)
"""Number of rows between each body and its parent."""
LOOPS = ((3, 4), (4, 7), (6, 6), (3, 4))
"""Bodies that rows outside the trees connect; the last row repeats the first. The row of a body
with itself is zero on one side."""
CONTACTS = ((0, 3), (3, 4), (2, 7), (8, 0), (6, 8), (5, 6), (4, 3))
LIMITS = ((1, 2), (6, 5), (0, 8))


@dataclass
class Mechanism:
    equality_rows: np.ndarray
    """Equality rows on all bodies [m 54]."""
    compliance: np.ndarray
    rest: np.ndarray
    """Rows that are not eliminated [n 54]."""
    equalities: Equalities
    """The eliminated rows, those without compliance first."""
    order: np.ndarray
    """Index in ``equality_rows`` of each row of ``equalities`` [m]."""
    delassus: EliminatedDelassus

    def solve(self, free_w: jax.Array, r: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return w and λ with w − Wᵀ λ = ``free_w`` and W w + E λ = −``r``."""
        yields = jnp.asarray(self.compliance > 0)
        compliance = jnp.asarray(np.where(self.compliance > 0, self.compliance, 1.0), r.dtype)
        w, lam = solved(self.equalities, free_w, jnp.where(yields, r / compliance, r)[self.order])
        return w, lam[np.argsort(self.order)]

    def inverse(self) -> np.ndarray:
        """Compute P = 1 − Wᵀ (W Wᵀ + E)⁺ W by a pseudo-inverse in numpy."""
        matrix = self.equality_rows @ self.equality_rows.T + np.diag(self.compliance)
        pseudo = np.linalg.pinv(matrix, rcond=1e-12, hermitian=True)
        return (
            np.eye(self.equality_rows.shape[1]) - self.equality_rows.T @ pseudo @ self.equality_rows
        )


def spread(rows: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return rows [m 12] of two bodies each as rows on all bodies [m 54]."""
    total = np.zeros((len(rows), len(PARENTS), 6))
    for line, row, pair in zip(total, rows.reshape(-1, 2, 6), pairs, strict=True):
        line[pair[0]] += row[0]
        line[pair[1]] += row[1]
    return total.reshape(len(rows), -1)


@cache
def mechanism() -> Mechanism:
    random = np.random.default_rng(5)
    edges, pairs = [], []
    for body, (parent, count) in enumerate(zip(PARENTS, ROW_COUNTS, strict=True)):
        if parent is not None:
            second = bool(random.integers(2))
            edges.append(Edge(body, parent, second, len(pairs) + np.arange(count)))
            pairs += [(parent, body) if second else (body, parent)] * count
    tied = len(pairs)
    pairs = np.array([*pairs, *LOOPS])

    def rows_of(pairs: np.ndarray) -> np.ndarray:
        rows = random.normal(size=(len(pairs), 2, 6))
        rows[pairs == 0] = 0.0
        return rows.reshape(-1, 12)

    equality_rows = rows_of(pairs)
    equality_rows[tied + 2, :6] = 0.0
    equality_rows[-1] = 2.0 * equality_rows[tied]
    compliance = np.where(random.random(len(pairs)) < 0.5, 0.0, random.random(len(pairs)))
    compliance[tied:] = 0.0
    movable = np.arange(len(PARENTS)) > 0
    order = np.argsort(compliance > 0, kind="stable")
    edges = [replace(edge, rows=np.argsort(order)[edge.rows]) for edge in edges]
    factors = factorised(
        equality_rows[order],
        pairs[order],
        compliance[order],
        forest(edges, [5], len(pairs), movable),
    )
    limits, contacts = np.array(LIMITS), np.array(CONTACTS)
    scalar, normal = rows_of(limits), rows_of(np.repeat(contacts, 3, axis=0))
    total = len(limits) + 3 * len(contacts)
    delassus = BodyDelassus(
        jnp.array(scalar),
        jnp.array(normal.reshape(-1, 3, 12)),
        jnp.array(limits),
        jnp.array(contacts),
        jnp.array(random.random(total)),
        len(PARENTS),
    )
    rest = np.concatenate([spread(scalar, limits), spread(normal, np.repeat(contacts, 3, axis=0))])
    both = EliminatedDelassus(delassus, factors)
    return Mechanism(spread(equality_rows, pairs), compliance, rest, factors, order, both)


def factorised(
    equality_rows: np.ndarray,
    pairs: np.ndarray,
    compliance: np.ndarray,
    trees: Forest,
    dtype: type = jnp.float64,
) -> Equalities:
    """Return equality rows and their factors, those without compliance first.

    Args:
        equality_rows: rows of two bodies each, those without compliance first [m 12]
        pairs: the two bodies of each row [m 2]
        compliance: compliance of each row [m]
        trees: order of elimination
        dtype: type of the numbers
    """
    rigid = int(np.sum(compliance == 0))
    stiffness = np.where(compliance > 0, 1.0 / np.where(compliance > 0, compliance, 1.0), 0.0)
    whitened, zero = jnp.asarray(equality_rows, dtype), jnp.zeros(len(equality_rows), dtype)
    rows = Rows(
        whitened.reshape(len(equality_rows), 2, 6),
        jnp.asarray(pairs, jnp.int32),
        *(zero, jnp.asarray(compliance, dtype), zero, zero, jnp.asarray(stiffness, dtype), zero),
    )
    return jax.jit(partial(equalities, rigid=rigid, forest=trees))(rows, whitened)


solved = jax.jit(Equalities.solve)


def test_velocities_and_multipliers_solve_the_saddle_system() -> None:
    m, random = mechanism(), np.random.default_rng(0)
    free_w = random.normal(size=(len(PARENTS), 6))
    free_w[0] = 0.0
    r = random.normal(size=len(m.equality_rows))
    r[-1] = 2.0 * r[-4]
    w, lam = map(np.asarray, m.solve(jnp.array(free_w), jnp.array(r)))
    np.testing.assert_allclose(
        np.ravel(w), free_w.ravel() + m.equality_rows.T @ lam, rtol=0, atol=1e-13
    )
    expected = -r - m.compliance * lam
    np.testing.assert_allclose(m.equality_rows @ np.ravel(w), expected, rtol=0, atol=1e-12)
    # Two rows that say the same bear half of it each, the second one being twice the first.
    assert 2 * lam[-1] == pytest.approx(lam[-4], rel=1e-9)


def test_contradicting_loops_move_nothing() -> None:
    m = mechanism()
    free_w = jnp.zeros((len(PARENTS), 6))
    r = jnp.zeros(len(m.equality_rows)).at[-1].set(2.0).at[-4].set(-1.0)
    w, lam = m.solve(free_w, r)
    assert np.abs(w).max() < 1e-12
    assert np.abs(lam).max() < 1e-12


@jax.jit
def parts(delassus: EliminatedDelassus) -> tuple:
    return delassus.blocks(len(LIMITS)), delassus.diagonal()


@pytest.mark.parametrize("looped", [True, False])
def test_delassus_is_the_schur_complement(looped: bool) -> None:
    m = mechanism()
    delassus = m.delassus
    if not looped:
        tied = len(m.equality_rows) - len(LOOPS)
        m = replace(m, equality_rows=m.equality_rows[:tied], compliance=m.compliance[:tied])
        delassus = replace(delassus, equalities=replace(m.equalities, loops=None))
    expected = m.rest @ m.inverse() @ m.rest.T + np.diag(delassus.rest.compliance)
    (scalars, blocks), diagonal = parts(delassus)
    tolerance = {"rtol": 0, "atol": 1e-12 * np.abs(expected).max()}
    np.testing.assert_allclose(scalars, np.diag(expected)[: len(LIMITS)], **tolerance)
    for i, block in enumerate(blocks):
        at = slice(len(LIMITS) + 3 * i, len(LIMITS) + 3 * i + 3)
        np.testing.assert_allclose(block, expected[at, at], **tolerance)
    np.testing.assert_allclose(diagonal, np.diag(expected), **tolerance)
    if looped:
        np.testing.assert_allclose(
            jax.jit(EliminatedDelassus.dense)(delassus), expected, **tolerance
        )


def test_the_diagonal_changes_with_the_rows() -> None:
    """If the rows of contacts are s times as long, their part of the diagonal is s² times as
    large; loads that are shared as the diagonal says have the derivative of that."""
    m = mechanism()

    @jax.jit
    def diagonal(s: jax.Array) -> jax.Array:
        rest = replace(m.delassus.rest, contact_rows=s * m.delassus.rest.contact_rows)
        return replace(m.delassus, rest=rest).diagonal()

    expected = 2.0 * np.diag(m.rest @ m.inverse() @ m.rest.T)
    expected[: len(LIMITS)] = 0.0
    slope = jax.jvp(diagonal, (jnp.ones(()),), (jnp.ones(()),))[1]
    np.testing.assert_allclose(slope, expected, atol=1e-12 * expected.max())


def test_derivative_in_one_right_hand_side() -> None:
    """Reverse mode is right where nothing but ``r`` varies, as far as rows that repeat each
    other agree."""
    m = mechanism()
    still = jnp.zeros((len(PARENTS), 6))
    weights = np.random.default_rng(2).normal(size=m.equality_rows.shape[1])

    @jax.jit
    @jax.grad
    def slope(r: jax.Array) -> jax.Array:
        return jnp.ravel(m.solve(still, r)[0]) @ weights

    matrix = m.equality_rows @ m.equality_rows.T + np.diag(m.compliance)
    pseudo = np.linalg.pinv(matrix, rcond=1e-12, hermitian=True)
    agreeing = np.eye(len(m.equality_rows))[:, :-1]
    agreeing[-1, len(m.equality_rows) - 4] = 2.0
    expected = -agreeing.T @ pseudo @ m.equality_rows @ weights
    np.testing.assert_allclose(
        agreeing.T @ slope(jnp.zeros(len(m.equality_rows))), expected, atol=1e-11
    )


def test_float32() -> None:
    """A mechanism in single precision, with loops that repeat each other, has the velocities of
    the pseudo-inverse."""
    m = mechanism()
    double = m.equalities
    single = factorised(
        np.asarray(double.rows),
        np.asarray(double.bodies),
        m.compliance[m.order],
        double.trees.forest,
        jnp.float32,
    )
    free_w = np.random.default_rng(1).normal(size=(len(PARENTS), 6))
    free_w[0] = 0.0
    none = jnp.zeros(len(m.equality_rows), jnp.float32)
    w, lam = solved(single, jnp.array(free_w, jnp.float32), none)
    assert w.dtype == lam.dtype == jnp.float32
    np.testing.assert_allclose(np.ravel(w), m.inverse() @ free_w.ravel(), rtol=0, atol=2e-4)
