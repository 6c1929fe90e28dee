"""Test that outside of ``jit`` a solve is one program for all problems of its shape."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import APGD, Problem, Solution, Stop, Task, solve
from tests.ccp.random_problems import random_case

traced: list[int] = []


class Traced(APGD):
    """An APGD that notes each time its step is traced, or run without compilation."""

    def step(self, task: Task, state):
        traced.append(1)
        return super().step(task, state)


def problem() -> Problem:
    return random_case(0, kind="sliding").problem()


def test_other_numbers_and_tolerances_need_no_other_program() -> None:
    first = solve(problem(), Traced(), stop=Stop(1e-6))
    count = len(traced)
    assert count > 0
    doubled = replace(problem(), r=2.0 * problem().r)
    second = solve(doubled, Traced(), first.lam, stop=Stop(1e-9, max_iterations=5_000))
    assert len(traced) == count
    # A cone problem is homogeneous.
    np.testing.assert_allclose(second.u, 2.0 * solve(problem(), stop=Stop(1e-10)).u, atol=1e-7)


def test_it_is_that_of_a_solve_within_a_program() -> None:
    """A solve on its own agrees with one inside ``jit`` whose tolerance is traced, too."""

    @jax.jit
    def within(tolerance: jax.Array) -> Solution:
        return solve(problem(), "newton", stop=Stop(tolerance))

    compiled, alone = within(jnp.asarray(1e-9)), solve(problem(), "newton", stop=Stop(1e-9))
    np.testing.assert_allclose(compiled.lam, alone.lam, atol=1e-12)
    assert compiled.statistics.iterations == alone.statistics.iterations
