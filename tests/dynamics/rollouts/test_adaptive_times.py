"""Test that adaptive rollouts end at their time, in single precision too, and hide nothing."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import Box, EulerImplicitLinearized, ModelBuilder, Plane, rollout_adaptive
from jaxccp.dynamics.rollouts.adaptive import AdaptiveStatus


@pytest.mark.parametrize(("begin", "duration"), [(0.0, 0.1), (0.0, 1.37), (100.0, 0.5)])
def test_single_precision_ends_at_the_time(begin: float, duration: float) -> None:
    with jax.enable_x64(False):
        builder = ModelBuilder(gravity=(0, 0, 0))
        builder.add_body(1.0, (0.1, 0.1, 0.1), velocity=(1.0, 0, 0))
        model, state = builder.build()
        state = replace(state, time=jnp.float32(begin))
        end, report = rollout_adaptive(model, state, duration, 1e-3, EulerImplicitLinearized(0.05))
        assert report.status == AdaptiveStatus.DONE and report.steps <= 30
        np.testing.assert_allclose(end.position[1, 0], duration, rtol=1e-5)


def test_contacts_that_are_left_out_are_reported() -> None:
    overflows = []
    for room in (1, 4):
        builder = ModelBuilder()
        builder.add_shape(0, Plane())
        builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(0, 0, 0.1))
        model, state = builder.build(max_contacts=room)
        stepper = EulerImplicitLinearized(1 / 128)
        overflows.append(bool(rollout_adaptive(model, state, 1 / 64, 1.0, stepper)[1].overflow))
    assert overflows == [True, False]


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize(("steps", "last"), [(300, 0.01), (299.0001, 0.01), (300.02, 0.0051)])
def test_no_step_is_so_short_that_contacts_throw_a_box(
    double: bool, steps: float, last: float
) -> None:
    """A box that is at rest stays at rest to the end, which 300 steps of 10 ms reach but for
    rounding, a millionth of a step, or 0.2 ms."""
    with jax.enable_x64(double):
        builder = ModelBuilder()
        builder.add_shape(0, Plane())
        builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(0, 0, 0.12))
        model, state = builder.build(max_contacts=4)
        stepper = EulerImplicitLinearized(0.01)
        end, report = rollout_adaptive(model, state, 0.01 * steps, 1.0, stepper)
    assert report.status == AdaptiveStatus.DONE
    assert report.steps == round(steps + (last < 0.01))
    assert report.shortest == pytest.approx(last, rel=0.02)
    assert abs(end.velocity[1, 2]) < 1e-5 and abs(end.position[1, 2] - 0.1) < 1e-6


@pytest.mark.parametrize("wrong", [-1.0, 0.0, float("nan")])
def test_a_duration_or_tolerance_that_is_not_positive_is_refused(wrong: float) -> None:
    builder = ModelBuilder()
    builder.add_body(1.0, (0.1, 0.1, 0.1))
    for duration, tolerance, message in (
        (wrong, 1e-3, "duration must be a positive time"),
        (1.0, wrong, "tolerance must be a positive error"),
    ):
        with pytest.raises(ValueError, match=message):
            rollout_adaptive(*builder.build(), duration, tolerance, EulerImplicitLinearized(1e-2))
