"""Test the residual history of a solve."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import APGD, Problem, Stop, residuals, solve
from tests.ccp.random_problems import random_case

LENGTH = 12


def test_each_entry_is_the_residual_after_so_many_iterations() -> None:
    problem = random_case(0).problem()

    @jax.jit
    def run(problem: Problem, limit: jax.Array):
        return solve(problem, APGD(), stop=Stop(1e-12, max_iterations=limit, history=LENGTH))

    history = np.asarray(run(problem, jnp.int32(100)).statistics.history)
    assert history.shape == (LENGTH,)
    start = residuals(problem, jnp.zeros_like(problem.r), "ccp")
    np.testing.assert_allclose(history[0], jnp.max(start), rtol=1e-12)
    best = np.minimum.accumulate(history)
    for limit in (0, 1, 5, LENGTH - 1):
        solution = run(problem, jnp.int32(limit))
        residual = jnp.max(residuals(problem, solution.lam, "ccp"))
        np.testing.assert_allclose(best[limit], residual, rtol=1e-9)
        kept = np.asarray(solution.statistics.history)
        np.testing.assert_array_equal(kept[: limit + 1], history[: limit + 1])
        assert np.isinf(kept[limit + 1 :]).all()
