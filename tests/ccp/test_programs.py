"""Outside of ``jit`` a solve is one program for all problems of its shape."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import APGD, Problem, Solution, Stop, Task, solve
from tests.ccp.random_problems import random_case

traced: list[int] = []


class Traced(APGD):
    """APGD that notes each time that its step is traced, or run as it is."""

    def step(self, task: Task, state):
        traced.append(1)
        return super().step(task, state)


def problem() -> Problem:
    return random_case(0, kind="sliding").problem()


def test_other_numbers_and_tolerances_need_no_other_program() -> None:
    first = solve(problem(), Traced(), stop=Stop(1e-6))
    count = len(traced)
    assert count > 0
    other = replace(problem(), r=2.0 * problem().r)
    second = solve(other, Traced(), first.lam, stop=Stop(1e-9, max_iterations=5_000))
    assert len(traced) == count
    # A cone problem is homogeneous.
    np.testing.assert_allclose(second.u, 2.0 * solve(problem(), stop=Stop(1e-10)).u, atol=1e-7)


def test_it_is_that_of_a_solve_within_a_program() -> None:
    """With a tolerance that is traced, too."""

    @jax.jit
    def within(tolerance: jax.Array) -> Solution:
        return solve(problem(), "newton", stop=Stop(tolerance))

    found, alone = within(jnp.asarray(1e-9)), solve(problem(), "newton", stop=Stop(1e-9))
    np.testing.assert_allclose(found.lam, alone.lam, atol=1e-12)
    assert found.statistics.iterations == alone.statistics.iterations
