"""Test operator splitting (ADMM) on a problem with a large mass ratio."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import ADMM, Law, Stop, residuals, solve
from jaxccp.io import read_problem


@pytest.mark.parametrize("law", ["ccp", "ncp"])
def test_the_smallest_penalty_is_not_the_last_word(shared_data: Path, law: Law) -> None:
    """ADMM solves a stack with a mass ratio of 4660 to a relative residual of 1e-6.

    With σ at its first floor rounding kept the residual at 4e-5, however long it iterated.
    """
    name = "regen-BoxesStackMassRatio-nc78-s00080"
    item = read_problem(shared_data / "ccp" / "siconos" / f"{name}.npz", np.float64)
    stop = Stop(atol=1e-6 * item.scale, max_iterations=8000)
    solution = jax.jit(lambda p: solve(p, ADMM(), law=law, stop=stop))(item.problem)
    assert jnp.max(residuals(item.problem, solution.lam, law)) <= 1e-6 * item.scale
