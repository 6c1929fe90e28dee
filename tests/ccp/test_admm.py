"""What is particular to operator splitting."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import ADMM, Law, Stop, residuals, solve
from jaxccp.io import read_problem


@pytest.mark.parametrize("law", ["ccp", "ncp"])
def test_the_smallest_penalty_is_not_the_last_word(shared_data: Path, law: Law) -> None:
    """Mass ratio 4660. With σ at its first floor rounding kept it at 4e-5, however long."""
    name = "regen-BoxesStackMassRatio-nc78-s00080"
    item = read_problem(shared_data / "ccp" / "siconos" / f"{name}.npz", np.float64)
    stop = Stop(atol=1e-6 * item.scale, max_iterations=8000)
    solution = jax.jit(lambda p: solve(p, ADMM(), law=law, stop=stop))(item.problem)
    assert jnp.max(residuals(item.problem, solution.lam, law)) <= 1e-6 * item.scale
