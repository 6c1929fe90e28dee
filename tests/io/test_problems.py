"""Check that problems read from files have the N, r and cones that plain numpy finds in them."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import ccp
from jaxccp.io import read_problem
from tests.io import problem_files as files


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_delassus_layout(tmp_path: Path, dtype: type) -> None:
    fields, n, r = files.delassus()
    item = read_problem(files.write(tmp_path / "a.npz", fields), dtype)
    assert item.name == "chain"
    assert item.problem.r.dtype == dtype
    tolerance = 1e-6 if dtype is np.float32 else 1e-14
    np.testing.assert_allclose(item.problem.delassus.dense(), n, atol=tolerance * abs(n).max())
    np.testing.assert_allclose(item.problem.r, r, rtol=tolerance)
    np.testing.assert_allclose(item.problem.cones.mu, fields["mu"], rtol=tolerance)
    lam = np.arange(12.0)
    np.testing.assert_array_equal(item.file_multipliers(lam), lam)


def test_slight_asymmetry_is_averaged_out(tmp_path: Path) -> None:
    fields, n, _ = files.delassus()
    skew = n.copy()
    skew[0, 1] += 2e-5 * abs(n).max()
    item = read_problem(files.write(tmp_path / "a.npz", fields | files.csr("W", skew)))
    dense = np.asarray(item.problem.delassus.dense())
    np.testing.assert_allclose(dense, 0.5 * (skew + skew.T), atol=1e-14)


def test_one_triangle_of_the_pattern_is_not_half_the_matrix(tmp_path: Path) -> None:
    """An entry below rounding that only one triangle stores does not unbalance the blocks."""
    fields, n, _ = files.delassus()
    n[0, -1] = 1e-9
    item = read_problem(files.write(tmp_path / "a.npz", fields | files.csr("W", n)))
    np.testing.assert_allclose(item.problem.delassus.dense(), 0.5 * (n + n.T), atol=1e-14)


@pytest.mark.parametrize("cohesion", [0.0, 0.4])
def test_bodies_layout(tmp_path: Path, cohesion: float) -> None:
    fields, n, r = files.bodies(cohesion)
    item = read_problem(files.write(tmp_path / "b.npz", fields))
    order = np.array([3, 7, 4, 5, 6, 0, 1, 2, 8, 9, 10])
    np.testing.assert_array_equal(item.order, order)
    dense = np.asarray(item.problem.delassus.dense())
    np.testing.assert_allclose(dense, n[np.ix_(order, order)], atol=1e-12)
    np.testing.assert_allclose(item.problem.delassus.diagonal(), np.diag(dense), rtol=1e-12)
    np.testing.assert_array_equal(item.problem.cones.lo, [-np.inf, 0.0])
    np.testing.assert_array_equal(item.problem.cones.hi, [np.inf, np.inf])

    # Whatever the multipliers, velocities and objective are those of the file's own problem.
    x = np.random.default_rng(1).normal(size=11)
    lam = item.file_multipliers(x)
    u = n @ lam + r
    np.testing.assert_allclose(item.problem.velocity(jnp.asarray(x)), u[order], atol=1e-12)
    objective = float(item.problem.objective(jnp.asarray(x))) + item.objective
    np.testing.assert_allclose(objective, 0.5 * lam @ n @ lam + r @ lam, rtol=1e-12)
    contacts = [np.linalg.norm(r[k : k + 3]) for k in (4, 0, 8)]
    np.testing.assert_allclose(item.scale, max(abs(r[3]), abs(r[7]), *contacts), rtol=1e-14)


def test_cohesion_moves_the_apex_of_the_cone(tmp_path: Path) -> None:
    """The solution in the file's rows satisfies ‖λ_t‖ ≤ μ (λ_n + a), and u is optimal for that
    cone."""
    cohesion = 0.4
    fields, n, r = files.bodies(cohesion)
    item = read_problem(files.write(tmp_path / "b.npz", fields))
    x = ccp.solve(item.problem, stop=ccp.Stop(atol=1e-11, max_iterations=20_000)).lam
    lam = item.file_multipliers(np.asarray(x))
    u = n @ lam + r
    assert abs(u[3]) < 1e-9  # the equality
    assert lam[7] > -1e-9
    assert u[7] > -1e-9
    assert abs(lam[7] * u[7]) < 1e-9
    pulled = False
    for start, mu in zip(fields["contact_row"], fields["mu"], strict=True):
        normal, tangents = lam[start], lam[start + 1 : start + 3]
        speed = np.linalg.norm(u[start + 1 : start + 3])
        assert np.linalg.norm(tangents) <= mu * (normal + cohesion) + 1e-9
        assert u[start] >= mu * speed - 1e-9
        gap = (normal + cohesion) * u[start] + tangents @ u[start + 1 : start + 3]
        assert abs(gap) < 1e-8
        pulled |= normal < -1e-3
    assert pulled, "no contact pulls: the scene tests nothing"


def test_fixed_body_and_missing_name(tmp_path: Path) -> None:
    """A body with zero inverse mass moves nothing, and a problem without a name has that of its
    file."""
    fields, _, _ = files.bodies()
    del fields["name"]
    fields["Minv_blocks"][2] = 0
    item = read_problem(files.write(tmp_path / "stem.npz", fields))
    assert item.name == "stem"
    blocks = np.asarray(item.problem.delassus.dense()) - np.diag(fields["E"][item.order])
    np.testing.assert_array_equal(blocks[2:5], 0)


def test_no_rows(tmp_path: Path) -> None:
    empty = {"layout": "delassus", "q": np.zeros(0), "mu": np.zeros(0)} | files.csr(
        "W", np.zeros((0, 0))
    )
    item = read_problem(files.write(tmp_path / "empty.npz", empty))
    assert item.problem.cones.rows == 0
    assert item.scale == 0
    solution = ccp.solve(item.problem)
    assert solution.lam.shape == (0,)
    assert int(solution.statistics.status) == ccp.Status.CONVERGED
