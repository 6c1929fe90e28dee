"""Test a batch solved at once against its problems one by one, and problems of other shapes."""

import jax
import numpy as np
import pytest

from jaxccp.ccp import SOLVERS, Law, Problem, Solution, Status, solve
from tests.ccp.random_problems import pick, random_case, stack, violations
from tests.ccp.test_solve import CASES, MEMBERS, NAMES, SEEDS, STOP, solved

# In the processes of test_solve.py.
pytestmark = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in MEMBERS]
)

FIRST_OF_EVERY_KIND = slice(1, None, SEEDS)
"""Problems with this seed are solved soon, redundant ones too: none makes the batch wait."""


def test_vmap_equals_a_loop(name: str) -> None:
    @jax.jit
    @jax.vmap
    def together(problem: Problem) -> Solution:
        return solve(problem, SOLVERS[name](), law="ncp", stop=STOP)

    batch = together(stack([case.problem() for case in CASES[FIRST_OF_EVERY_KIND]]))
    alone = jax.tree.map(lambda leaf: leaf[FIRST_OF_EVERY_KIND], solved(name, "ncp"))
    np.testing.assert_allclose(batch.u, alone.u, atol=1e-7)
    np.testing.assert_array_equal(batch.statistics.status, alone.statistics.status)
    # Rounding differs between the two programs, and an iteration's outcome with it.
    most = 1.3 * np.asarray(alone.statistics.iterations) + 10
    for index, label in enumerate(NAMES[FIRST_OF_EVERY_KIND]):
        assert pick(batch, index).statistics.iterations <= most[index], label


SHAPES: dict[str, tuple[int, int, Law]] = {
    "one contact": (0, 1, "ncp"),
    "nothing": (0, 0, "ccp"),
}


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_other_shapes(name: str, shape: str) -> None:
    scalars, contacts, law = SHAPES[shape]
    case = random_case(0, scalars, contacts)
    solution = solve(case.problem(), SOLVERS[name](), law=law, stop=STOP)
    assert solution.statistics.status == Status.CONVERGED
    assert solution.lam.shape == solution.u.shape == (scalars + 3 * contacts,)
    assert max(violations(case, np.asarray(solution.lam), law).values()) < 1e-8
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(solution))
