"""Test the order of statuses, and what is refused before a problem is solved."""

from typing import Any

import jax.numpy as jnp
import pytest

from jaxccp.ccp import Cones, GradientNewton, Status


def test_the_worst_status_is_the_largest() -> None:
    """A failure is never hidden by a solution that may not be the only one."""
    solved = [Status.CONVERGED, Status.NOT_UNIQUE]
    unsolved = [Status.MAX_ITERATIONS, Status.STALLED, Status.INFEASIBLE, Status.NON_FINITE]
    assert max(solved) < min(unsolved) and max(Status) == Status.NON_FINITE


def test_no_gradient_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="steps must be at least 1, not 0"):
        GradientNewton(steps=0)


@pytest.mark.parametrize("name", ["lo", "mu"])
def test_numbers_in_place_of_arrays_are_refused(name: str) -> None:
    arrays: dict[str, Any] = {"lo": jnp.zeros(1), "hi": jnp.ones(1), "mu": jnp.ones(1), name: 0.5}
    with pytest.raises(ValueError, match=rf"cones\.{name}"):
        Cones(**arrays).checked()
