"""Test that the name of an algorithm may stand for it."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import pytest

import jaxccp
from jaxccp.ccp import (
    APGD,
    SOLVERS,
    Auto,
    Cones,
    DenseDelassus,
    Newton,
    Problem,
    Solver,
    Status,
)
from jaxccp.dynamics import STEPPERS, EulerImplicitLinearized
from jaxccp.identify.cube.fit import CubeSettings
from jaxccp.model import Plane, Sphere
from jaxccp.scene import ModelBuilder
from tests.ccp.compiled import solve

TAKERS: dict[str, Callable[[Solver | str], object]] = {
    **{name: lambda solver, of=stepper: of(solver=solver) for name, stepper in STEPPERS.items()},
    "settings of identify": lambda solver: CubeSettings(solver=solver),
    "solve": lambda solver: solve(two_rows(), solver),
}
everywhere = pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)


def two_rows() -> Problem:
    """Return a problem with λ = (1/2, 0): one row is active, the other is not."""
    operator = DenseDelassus(jnp.diag(jnp.array([2.0, 1.0])))
    nothing, most = jnp.zeros(2), jnp.full(2, jnp.inf)
    return Problem(operator, jnp.array([-1.0, 1.0]), Cones(nothing, most, jnp.zeros(0)))


@everywhere
def test_misspelt_name_is_refused_with_the_one_meant(take: Callable) -> None:
    with pytest.raises(ValueError, match=r"'newtn' is not one of auto, .*mean 'newton'\?"):
        take("newtn")


def test_misspelt_name_is_refused_without_rows() -> None:
    none = jnp.zeros(0)
    nothing = Problem(DenseDelassus(jnp.zeros((0, 0))), none, Cones(none, none, none))
    with pytest.raises(ValueError, match=r"'newtn' is not one of auto"):
        jaxccp.solve(nothing, "newtn")


@everywhere
def test_class_in_place_of_an_instance_is_refused(take: Callable) -> None:
    with pytest.raises(TypeError, match=r"an instance, such as Newton\(\), not <class"):
        take(APGD)


def test_stepper_by_name_is_the_stepper_by_instance() -> None:
    assert EulerImplicitLinearized(1e-3, solver="newton") == EulerImplicitLinearized(
        1e-3, solver=Newton()
    )
    assert EulerImplicitLinearized(1e-3, solver="auto").solver == Auto()
    assert CubeSettings(solver="bb").solver == SOLVERS["bb"]()


def test_solvers_that_docs_name_are_at_the_top() -> None:
    assert (jaxccp.APGD, jaxccp.Auto, jaxccp.Newton) == (APGD, Auto, Newton)


@pytest.mark.parametrize("name", ["apgd", "psor"])
def test_solve_by_name(name: str) -> None:
    solution = solve(two_rows(), name)
    assert solution.statistics.status == Status.CONVERGED
    assert jnp.allclose(solution.lam, jnp.array([0.5, 0.0]), atol=1e-7)


def test_step_by_name() -> None:
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    builder.add_solid(Sphere(0.1), 2.0, position=(0, 0, 0.1))
    model, state = builder.build()
    after, _ = jax.eval_shape(EulerImplicitLinearized(1e-2, solver="newton").step, model, state)
    assert after.position.shape == (2, 3)
