"""Test that forces and controls of the wrong shape are refused before anything is computed."""

from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxccp.dynamics import (
    STEPPERS,
    EulerImplicitLinearized,
    RungeKutta4,
    accelerations,
    energy,
    equilibrium,
    fit_capacity,
    linearise,
    modes,
    rollout,
    rollout_adaptive,
    rollout_batch,
)
from jaxccp.model import Model, Revolute, State, motor
from jaxccp.scene import ModelBuilder


@cache
def arm() -> tuple[Model, State]:
    """Build two links on motors: three bodies with the world."""
    builder = ModelBuilder()
    for i in range(2):
        link = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.5 + i, 0, 0))
        builder.add_joint(Revolute((0, 1, 0)), link - 1, link, (i, 0, 0), name=f"hinge{i}")
        builder.add_actuator(motor(), f"hinge{i}")
    return builder.build()


CONTROL, FORCE = jnp.zeros(2), jnp.zeros((3, 6))
BY_STEP = {name: stepper().step for name, stepper in STEPPERS.items()}


@pytest.mark.parametrize("step", BY_STEP.values(), ids=BY_STEP)
def test_control_in_the_place_of_the_force(step) -> None:
    message = r"force must .*\(bodies, 6\) = \(3, 6\) .*, not \(2,\), which is that of control=…"
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(step, *arm(), CONTROL)


@pytest.mark.parametrize("call", [*BY_STEP.values(), accelerations], ids=[*BY_STEP, "a"])
def test_other_shapes(call) -> None:
    call = partial(call, *arm())
    with pytest.raises(ValueError, match=r"\(actuators,\) = \(2,\) .*, not \(3, 6\), .* force=…"):
        call(control=FORCE)
    with pytest.raises(ValueError, match=r"force must have shape .*, not \(3, 3\)$"):
        call(force=jnp.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"control must have shape .*, not \(5,\)$"):
        call(control=jnp.zeros(5))


def test_rollout_says_the_same_of_many_steps() -> None:
    many = partial(rollout, *arm(), EulerImplicitLinearized(), 4)
    with pytest.raises(ValueError, match=r"\(steps, bodies, 6\) = \(4, 3, 6\) .* controls=…"):
        many(jnp.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"\(steps, actuators\) = \(4, 2\) .*, not \(2,\)$"):
        many(controls=CONTROL)


ROLLOUTS: dict[str, Callable[[Any, State, Any], Any]] = {
    "rollout": lambda model, state, stepper: rollout(model, state, stepper, 4),
    "batch": lambda model, state, stepper: rollout_batch(model, state, stepper, 4),
    "adaptive": lambda model, state, stepper: rollout_adaptive(model, state, 0.1, 1e-3, stepper),
    "capacity": lambda model, state, stepper: fit_capacity(model, state, stepper, 4),
}


@pytest.mark.parametrize("run", ROLLOUTS.values(), ids=ROLLOUTS)
def test_what_is_no_model_or_no_stepper_is_refused(run: Callable[[Any, State, Any], Any]) -> None:
    model, state = arm()
    loaded, stepper = SimpleNamespace(model=model, state=state), EulerImplicitLinearized()
    with pytest.raises(TypeError, match=r"not a SimpleNamespace: .* its attribute model$"):
        run(loaded, state, stepper)
    with pytest.raises(TypeError, match=r"must be a jaxccp\.Model, not a str"):
        run("arm.xml", state, stepper)
    with pytest.raises(TypeError, match=r"STEPPERS\['euler'\]\(h\), .*, not 'euler'$"):
        run(model, state, "euler")
    with pytest.raises(TypeError, match=r"such as RungeKutta4\(h\), .* not the class RungeKutta4$"):
        run(model, state, RungeKutta4)
    with pytest.raises(TypeError, match=r"EulerImplicitLinearized\(h\), .*, not a float$"):
        run(model, state, 1e-3)


def test_a_step_and_its_linearisation_refuse_what_is_no_model_or_no_stepper() -> None:
    model, state = arm()
    loaded: Any = SimpleNamespace(model=model)
    wrong: Any = "euler"
    for run in (EulerImplicitLinearized().step, partial(linearise, stepper=RungeKutta4())):
        with pytest.raises(TypeError, match="its attribute model"):
            run(loaded, state)
    with pytest.raises(TypeError, match=r"STEPPERS\['euler'\]\(h\)"):
        linearise(model, state, stepper=wrong)


STEPPER = EulerImplicitLinearized()
FROM_STATE: dict[str, Callable[[Model, Any], Any]] = {
    "linearise": lambda model, state: linearise(model, state, stepper=STEPPER),
    "adaptive": lambda model, state: rollout_adaptive(model, state, 0.1, 1e-3, STEPPER),
    "modes": modes,
    "equilibrium": equilibrium,
    "energy": energy,
    "rollout": lambda model, state: rollout(model, state, STEPPER, 4),
    "step": STEPPER.step,
}


@pytest.mark.parametrize("name", FROM_STATE)
def test_what_is_no_state_is_refused(name: str) -> None:
    builder = ModelBuilder()
    bob = builder.add_body(1.0, (0.1, 0.1, 0.1), (0, 0, -0.5))
    builder.add_joint(Revolute((0, 1, 0)), 0, bob, (0, 0, 0))
    model, state = builder.build()
    run, rest = FROM_STATE[name], equilibrium(model, state)
    if name in ("rollout", "step"):  # which continue from a carry
        with pytest.raises(ValueError, match="not from Equilibrium: pass its attribute state"):
            run(model, rest)
    else:
        for held in (STEPPER.init(model, state), rest):
            kind = type(held).__name__
            with pytest.raises(TypeError, match=rf"State, not {kind}: pass its attribute state"):
                run(model, held)
    with pytest.raises(TypeError, match=r"must be a jaxccp\.State, not an array: ModelBuilder"):
        run(model, state.position)


def test_right_shapes_are_taken() -> None:
    model, state = arm()
    step = EulerImplicitLinearized().step
    after, _ = jax.eval_shape(
        lambda force, control: step(model, state, force, control), FORCE, CONTROL
    )
    assert after.position.shape == (3, 3)
