"""Test which algorithm Auto chooses, and how two algorithms alternate on one problem."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

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
)
from jaxccp.ccp.solver import Task
from jaxccp.ccp.solver_sequence import SolverSequence
from jaxccp.ccp.solvers.auto import SMALL_MATRIX_STEPS, STEPS_PER_TILE_CONTACT
from tests.ccp.compiled import solve
from tests.ccp.polyhedra import shaped
from tests.ccp.random_problems import random_case
from tests.ccp.test_band import chain
from tests.ccp.test_newton import column


@pytest.mark.parametrize("law", ["ccp", "ncp"])
def test_the_choice_goes_by_size_law_and_shape(law: Law) -> None:
    first, last = APGD(), None if law == "ccp" else PSOR()
    alone = APGD() if last is None else SolverSequence(first, last, 2000)
    small = SolverSequence(first, Newton(), SMALL_MATRIX_STEPS)
    problem = column(20, 1.0)  # 60 rows
    assert Auto().resolve(problem, law) == small
    assert Auto(small=59, middle=60).resolve(problem, law) == SolverSequence(
        first, Newton(), 2000, last
    )
    assert Auto(small=59, middle=120).resolve(problem, law) == SolverSequence(
        first, Newton(), 500, last
    )
    assert Auto(small=10, largest=59).resolve(problem, law) == alone
    bodies = random_case(0, 0, 40).problem()  # 120 rows over 8 bodies
    assert Auto(small=48).resolve(bodies, law) == small
    assert Auto().resolve(shaped(bodies, "pyramid"), law) == alone
    banded = chain(40, 0)  # by tiles of 8 contacts
    assert Auto().resolve(banded, law) == SolverSequence(
        first, Newton(), 40 * Auto().steps_per_contact, last
    )
    assert Auto(steps_per_contact=20).resolve(banded, law) == SolverSequence(
        first, Newton(), 8 * STEPS_PER_TILE_CONTACT, last
    )


@partial(jax.jit, static_argnums=(1, 2))
def run(problem: Problem, solver: Solver, law: Law) -> Solution:
    return solve(problem, solver, law=law, stop=Stop(atol=1e-10, max_iterations=100))


@pytest.mark.xdist_group("relay")
@pytest.mark.parametrize("law", ["ccp", "ncp"])
def test_the_second_finishes_what_the_first_cannot(law: Law) -> None:
    problem = column(12, 1e4)
    alone = run(problem, PSOR(), law)
    both = run(problem, SolverSequence(PSOR(), Newton(), first_steps=5), law)
    assert alone.statistics.status == Status.MAX_ITERATIONS
    assert both.statistics.status == Status.CONVERGED
    assert 5 < both.statistics.iterations < 60


@dataclass(frozen=True)
class SpoilOnce(Solver):
    """A solver that spoils the iterate once and gives up."""

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
    relayed = solve(problem, SolverSequence(APGD(), SpoilOnce(), patience), stop=stop)
    assert relayed.statistics.status == Status.CONVERGED
    np.testing.assert_allclose(relayed.u, alone.u, atol=1e-7)
    # One step is the idle one's, and it spoils nothing; the first begins anew where it was.
    if not patience:
        assert relayed.statistics.iterations == alone.statistics.iterations + 1
    assert relayed.statistics.iterations <= alone.statistics.iterations + 1


class Idle(SpoilOnce):
    """A solver that changes nothing and never gives up."""

    def step(self, task, state):
        return state

    def done(self, task, state):
        return jnp.asarray(False)


def test_half_of_the_iterations_are_left_for_the_second() -> None:
    problem, stop = random_case(1).problem(), Stop(atol=1e-9, max_iterations=2000)
    alone = solve(problem, APGD(), stop=stop)
    after = solve(problem, SolverSequence(Idle(), APGD(), 5000), stop=stop)
    assert after.statistics.status == Status.CONVERGED
    assert after.statistics.iterations == 1000 + alone.statistics.iterations


@pytest.mark.parametrize("patience", [0, 8])
def test_the_last_goes_on_from_the_better_iterate(patience: int) -> None:
    problem, stop = random_case(1).problem(), Stop(atol=1e-9, max_iterations=2000)
    relay = SolverSequence(SpoilOnce(), SpoilOnce(), patience, APGD())
    alone, relayed = solve(problem, APGD(), stop=stop), solve(problem, relay, stop=stop)
    assert relayed.statistics.status == Status.CONVERGED
    np.testing.assert_allclose(relayed.u, alone.u, atol=1e-7)
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), problem)
    both = jax.vmap(lambda problem: solve(problem, relay, stop=stop))(batch)
    np.testing.assert_allclose(both.u[1], relayed.u, atol=1e-9)


def test_giving_up_twice_is_a_stall() -> None:
    problem = random_case(1).problem()
    solution = solve(problem, SolverSequence(SpoilOnce(), SpoilOnce(), 1), stop=Stop(atol=1e-9))
    assert solution.statistics.status == Status.STALLED
    assert solution.statistics.iterations == 3  # the first again, from the better iterate


def test_an_algorithm_that_overflows_is_followed_by_the_next() -> None:
    problem = random_case(2).problem()
    wide = jnp.where(jnp.isfinite(problem.cones.lo), problem.cones.lo, -1e300)
    cones = replace(problem.cones, lo=wide)
    overflowing = SolverSequence(_Overflowing(), APGD(), 2)
    solution = solve(replace(problem, cones=cones), overflowing, stop=Stop(max_iterations=2000))
    assert solution.statistics.status == Status.CONVERGED


class _Overflowing(APGD):
    """Gradient steps whose candidate is not finite."""

    def candidate(self, task: Task, state: Any) -> tuple[jax.Array, jax.Array]:
        lam, n_lam = super().candidate(task, state)
        return lam * jnp.inf, n_lam
