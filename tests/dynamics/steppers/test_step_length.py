"""Test that the length of a step is an argument of every stepper, like any other number."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import ModelBuilder, Revolute, forward_kinematics
from jaxccp.dynamics import STEPPERS, EulerImplicitLinearized, describe_step, linearise
from jaxccp.model import Model, State

STEPS, H = 3, 2e-2


@cache
def pendulum() -> tuple[Model, State]:
    builder = ModelBuilder()
    bar = builder.add_body(1.0, (0.02, 0.02, 0.002), (0.25, 0, 0))
    builder.add_joint(Revolute((0, 1, 0)), 0, bar, (0, 0, 0))
    model, state = builder.build()
    return model, forward_kinematics(model, state, jnp.array([0.3]), jnp.array([1.0]))


# The schemes of second order share a step; test_steppers.py and test_second_order.py have them all.
@pytest.mark.parametrize("name", ["euler", "projected", "hht", "rk4"])
def test_steps_of_varying_length_in_one_program(name: str) -> None:
    """Steps that shrink reach the right time in one program, and the derivative by the scale of
    time agrees with differences."""
    model, start = pendulum()
    stepper = STEPPERS[name]()

    def end(scale: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(carry, h: jax.Array) -> tuple:
            carry, report = stepper.advance(model, carry, h=scale * h)
            return carry, report.solver.status

        lengths = H * 0.5 ** jnp.arange(STEPS)
        carry, status = jax.lax.scan(step, stepper.init(model, start), lengths)
        state = carry.state
        return jnp.stack([state.joint_positions[0], state.time]), jnp.max(status)

    @jax.jit
    def run(scale: jax.Array) -> tuple:
        return jax.jvp(end, (scale,), (jnp.ones(()),), has_aux=True)

    (angle, time), (rate, duration), status = run(jnp.ones(()))
    assert status == 0 and angle > 0.3
    np.testing.assert_allclose([time, duration], H * (2 - 0.5 ** (STEPS - 1)), rtol=1e-14)
    change = 1e-5
    after, before = (run(jnp.asarray(1.0 + sign * change, float))[0][0] for sign in (1, -1))
    np.testing.assert_allclose(rate, (after - before) / (2 * change), rtol=1e-7)


@pytest.mark.parametrize("name", ["euler", "rk4"])
def test_a_plain_number_makes_the_program_of_that_setting(name: str) -> None:
    model, state = pendulum()
    carry = STEPPERS[name]().init(model, state)
    asked = jax.make_jaxpr(lambda c: STEPPERS[name]().advance(model, c, h=H))(carry)
    configured = jax.make_jaxpr(lambda c: STEPPERS[name](H).advance(model, c))(carry)
    assert [str(e.primitive) for e in asked.eqns] == [str(e.primitive) for e in configured.eqns]
    assert asked.out_avals == configured.out_avals
    for actual, expected in zip(asked.consts, configured.consts, strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_single_steps_are_one_program() -> None:
    """Single steps outside of ``jit``, for other numbers and another length of the step, are
    traced once."""
    traced = []

    class Traced(EulerImplicitLinearized):
        def advance(self, *args, **settings):
            traced.append(self)
            return super().advance(*args, **settings)

    model, state = pendulum()
    first, _ = Traced(H).step(model, state, h=H)
    heavier = replace(model, bodies=replace(model.bodies, mass=2.0 * model.bodies.mass))
    second, _ = Traced(H).step(heavier, first, h=0.5 * H)
    assert len(traced) == 1
    np.testing.assert_allclose(second.time, 1.5 * H)


@pytest.mark.parametrize("name", STEPPERS)
@pytest.mark.parametrize("h", [0.0, -1e-3, float("nan"), np.inf, jnp.zeros(()), np.zeros(2), "1"])
def test_a_length_that_is_no_time_is_refused(name: str, h: object) -> None:
    with pytest.raises(ValueError, match=r"^h must (be|have)"):
        STEPPERS[name]().step(*pendulum(), h=h)  # type: ignore[arg-type]


def test_linearisations_and_matrices_are_of_the_given_length() -> None:
    model, state = pendulum()
    default, setting = EulerImplicitLinearized(), EulerImplicitLinearized(H)
    actual = linearise(model, state, stepper=default, h=H)
    expected = linearise(model, state, stepper=setting)
    np.testing.assert_allclose(actual.A, expected.A, atol=1e-13)
    carry = setting.init(model, state)
    first = describe_step(default, model, carry, h=H)
    jax.tree.map(np.testing.assert_array_equal, first, describe_step(setting, model, carry))
