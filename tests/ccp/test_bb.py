"""Test spectral projected gradients (Barzilai and Borwein) after thousands of steps."""

import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import BarzilaiBorwein, Cones, DenseDelassus, Problem, Stop
from tests.ccp.compiled import solve


def test_rounding_does_not_add_up() -> None:
    """The residual is that of λ to rounding, though N λ is a sum over thousands of steps."""
    links, end = 25, 100.0
    lightness = np.ones(links)
    lightness[-1] = 1 / end
    coupling = -np.diag(lightness[:-1], 1)
    before = np.concatenate([[0.0], lightness[:-1]])
    matrix = np.diag(lightness + before) + coupling + coupling.T
    r = np.zeros(links)
    r[[0, -1]] = 1.0, -1.0

    single = jnp.float32
    free = jnp.full(links, jnp.inf, single)
    cones = Cones(-free, free, jnp.zeros(0, single))
    problem = Problem(DenseDelassus(jnp.asarray(matrix, single)), jnp.asarray(r, single), cones)
    solution = solve(problem, BarzilaiBorwein(), stop=Stop(0.0, max_iterations=10_000))
    u = matrix.astype(np.float32).astype(np.float64) @ np.asarray(solution.lam, np.float64) + r
    rounding = 2 * np.finfo(np.float32).eps * np.abs(solution.lam).max()
    residual = float(solution.statistics.residual_ccp)
    np.testing.assert_allclose(residual, np.abs(u).max(), rtol=0, atol=rounding)
