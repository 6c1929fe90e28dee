"""Which algorithm auto chooses, and how two take turns."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import (
    APGD,
    PSOR,
    Auto,
    Law,
    Newton,
    Problem,
    Solution,
    Solver,
    Status,
    Stop,
    solve,
)
from jaxccp.ccp.relay import Relay
from tests.ccp.polyhedra import shaped
from tests.ccp.problems import random_case
from tests.ccp.test_newton import column


@pytest.mark.parametrize(("law", "first"), [("ccp", APGD()), ("ncp", PSOR())])
def test_the_choice_goes_by_size_law_and_shape(law: Law, first: Solver) -> None:
    problem = column(20, 1.0)  # 60 rows
    assert Auto().chosen(problem, law) == Relay(first, Newton(), Auto().brief)
    assert Auto(small=59, middle=60).chosen(problem, law) == Relay(first, Newton(), 2000)
    assert Auto(small=59, middle=120).chosen(problem, law) == Relay(first, Newton(), 500)
    assert Auto(small=10, largest=59).chosen(problem, law) == first
    bodies = random_case(0, 0, 40).problem()  # 120 rows over 8 bodies
    assert Auto(small=48).chosen(bodies, law) == Relay(first, Newton(), Auto().brief)
    assert Auto().chosen(shaped(bodies, "pyramid"), law) == first


@partial(jax.jit, static_argnums=(1, 2))
def run(problem: Problem, solver: Solver, law: Law) -> Solution:
    return solve(problem, solver, law=law, stop=Stop(atol=1e-10, max_iterations=100))


@pytest.mark.xdist_group("relay")
@pytest.mark.parametrize("law", ["ccp", "ncp"])
def test_the_second_finishes_what_the_first_cannot(law: Law) -> None:
    problem = column(12, 1e4)
    alone = run(problem, PSOR(), law)
    both = run(problem, Relay(PSOR(), Newton(), patience=5), law)
    assert alone.statistics.status == Status.MAX_ITERATIONS
    assert both.statistics.status == Status.CONVERGED
    assert 5 < both.statistics.iterations < 60


@dataclass(frozen=True)
class Idle(Solver):
    """Spoils the iterate once and gives up."""

    def init(self, task, lam, n_lam):
        return lam, n_lam

    def step(self, task, state):
        lam = task.problem.cones.project(state[0] + 1.0)
        return lam, task.problem.delassus.apply(lam)

    def candidate(self, task, state):
        return state

    def done(self, task, state):
        return jnp.asarray(True)


@pytest.mark.parametrize("patience", [0, 8])
def test_the_first_goes_on_from_the_better_iterate(patience: int) -> None:
    problem, stop = random_case(1).problem(), Stop(atol=1e-9, max_iterations=2000)
    alone = solve(problem, APGD(), stop=stop)
    relayed = solve(problem, Relay(APGD(), Idle(), patience), stop=stop)
    assert relayed.statistics.status == Status.CONVERGED
    np.testing.assert_allclose(relayed.u, alone.u, atol=1e-7)
    # One step is the idle one's, and the state of the first is kept over it.
    assert relayed.statistics.iterations == alone.statistics.iterations + 1


def test_giving_up_twice_is_a_stall() -> None:
    problem = random_case(1).problem()
    solution = solve(problem, Relay(Idle(), Idle(), 1), stop=Stop(atol=1e-9))
    assert solution.statistics.status == Status.STALLED
    assert solution.statistics.iterations == 2
