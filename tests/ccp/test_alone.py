"""Problems solved alone, and of other shapes, by one solver of each kind."""

import jax
import numpy as np
import pytest

from jaxccp.ccp import SOLVERS, Law, Problem, Solution, Status, solve
from tests.ccp.problems import pick, random_case, violations
from tests.ccp.test_solve import CASES, SEEDS, STOP, solved

pytestmark = [
    pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=pytest.mark.xdist_group(name))
            for name in ("apgd", "newton", "psor")
        ],
    ),
    pytest.mark.usefixtures("hasty_compilation"),
]
"""Without branches, with them, and with a schedule; in the processes of ``test_solve.py``."""


def test_vmap_equals_a_loop(name: str) -> None:
    batch = solved(name, "ncp")

    @jax.jit
    def one(problem: Problem) -> Solution:
        return solve(problem, SOLVERS[name](), law="ncp", stop=STOP)

    for index in range(0, len(CASES), SEEDS):
        alone, member = one(CASES[index].problem()), pick(batch, index)
        np.testing.assert_allclose(alone.u, member.u, atol=1e-7)
        # Rounding differs between the two programs, and an iteration's outcome with it.
        assert alone.statistics.iterations <= 1.3 * member.statistics.iterations + 10
        assert alone.statistics.status == member.statistics.status


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
