"""Check at which instants of a step recorded inputs act and sensors are read."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import load
from jaxccp.dynamics import STEPPERS
from jaxccp.identify import Problem, Recording, Simulate, recording
from jaxccp.identify.case import subject_of

pytest.importorskip("mujoco")

H, SAMPLES = 0.01, 51
TIME = H * np.arange(SAMPLES)
SLIDE = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="x" type="slide"
axis="1 0 0"/><geom size=".1" mass="2"/></body></worldbody>{more}</mujoco>"""
ACTUATORS = """<actuator><general name="sum" joint="x" dyntype="integrator"/>
<general name="late" joint="x" dyntype="filterexact" dynprm="0.03"/></actuator><sensor>
<actuatorfrc name="sum" actuator="sum"/><actuatorfrc name="late" actuator="late"/></sensor>"""
TURNING = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body name="arm">
<joint name="turn" axis="0 0 1"/><inertial pos=".3 0 0" mass="1" diaginertia=".1 .1 .11"/>
<site name="tip" pos=".5 0 0"/></body>
<body name="ball" pos="2 0 0"><freejoint/><geom size=".1" mass="1"/></body></worldbody>
<actuator><motor name="motor" joint="turn"/></actuator>
<sensor><gyro name="gyro" site="tip"/><jointvel name="rate" joint="turn"/>
<framelinvel name="tip" objtype="site" objname="tip"/>
<framelinvel name="ball" objtype="body" objname="ball"/></sensor></mujoco>"""


def shown(loaded: Any, log: Recording, stepper: str = "euler") -> dict[str, np.ndarray]:
    """Return what a simulation of a recording predicts, by channel."""
    chosen = None if stepper == "euler" else STEPPERS[stepper](H)
    settings = Simulate(
        TIME[-1], H, "measured", cutoff=np.inf, sensors=loaded.sensors, stepper=chosen
    )
    plan = settings.plan(subject_of(loaded, [log]), [log])
    segment = jax.tree.map(lambda leaf: leaf[0], plan.batch.take(np.zeros(1, int)))
    values = np.asarray(jax.jit(plan.curves)(plan.subject, segment, jnp.zeros(0))[2])
    sizes = [o.size + (o.kind == "pose") for o in plan.observations]
    parts = np.split(values, np.cumsum(sizes)[:-1], axis=1)
    return dict(zip((o.channel for o in plan.observations), parts, strict=True))


def test_a_motion_is_where_it_was_recorded() -> None:
    """An axis that follows a recorded motion is there at the recorded times, from the start on;
    steppers of second order, in which it would oscillate, are refused."""
    position = {"x": np.sin(3.0 * TIME)}
    log, slide = recording(TIME, position=position, motion=position), load(SLIDE.format(more=""))
    after = shown(slide, log)['position["x"]'][:, 0]
    np.testing.assert_allclose(after, position["x"], atol=1e-5)
    with pytest.raises(ValueError, match=r'motion\["x"\] .* needs Euler steps'):
        shown(slide, log, "hht")


@pytest.mark.parametrize("stepper", ["euler", "hht", "rk4"])
def test_a_force_that_grows_acts_when_it_was_recorded(stepper: str) -> None:
    """A force of 12 t on 2 kg moves them by t³, to the second order of the step."""
    log = recording(TIME, position={"x": TIME**3}, torque={"x": 12.0 * TIME})
    after = shown(load(SLIDE.format(more="")), log, stepper)['position["x"]'][:, 0]
    np.testing.assert_allclose(after, TIME**3, atol=H**2)


def test_activations_follow_controls_without_delay() -> None:
    """Integrators and exact filters have the sums of the controls that were held until then."""
    control = np.stack([0.1 * np.arange(SAMPLES), np.sin(np.arange(SAMPLES))])
    truth, activation = np.zeros((2, SAMPLES)), np.zeros(2)
    for k in range(SAMPLES):
        truth[:, k] = activation
        change = H * control[0, k], -np.expm1(-H / 0.03) * (control[1, k] - activation[1])
        activation = activation + change
    log = recording(
        TIME,
        position={"x": np.zeros(SAMPLES)},
        control=dict(zip(("sum", "late"), control, strict=True)),
        sensor=dict(zip(("sum", "late"), truth, strict=True)),
    )
    after = shown(load(SLIDE.format(more=ACTUATORS)), log)
    for name, expected in zip(("sum", "late"), truth, strict=True):
        np.testing.assert_allclose(after[f'sensor["{name}"]'][:, 0], expected, atol=1e-9)


def test_sensors_of_rates_are_read_at_the_time_of_the_pose() -> None:
    """An arm that gathers speed and a ball that falls show the rates of the recorded times."""
    growth = 4.0
    angle, rate = 0.5 * growth * TIME**2, growth * TIME
    fall = -0.5 * 9.81 * TIME**2
    none, one = np.zeros(SAMPLES), np.ones(SAMPLES)
    truth = {
        "gyro": np.stack([none, none, rate], axis=1),
        "rate": rate,
        "tip": 0.5 * rate[:, None] * np.stack([-np.sin(angle), np.cos(angle), none], axis=1),
        "ball": np.stack([none, none, -9.81 * TIME], axis=1),
    }
    log = recording(
        TIME,
        position={"turn": angle},
        rate={"turn": rate},
        pose={"ball": np.stack([2 * one, none, fall, one, none, none, none], axis=1)},
        control={"motor": growth * (0.11 + 0.3**2) * one},
        sensor=truth,
    )
    after = shown(load(TURNING), log)
    # The measured start of a pose has the mean rate of the first interval, that of its middle.
    truth["ball"][:, 2] -= 0.5 * 9.81 * H
    for name, expected in truth.items():
        read = after[f'sensor["{name}"]'].reshape(expected.shape)
        np.testing.assert_allclose(read, expected, atol=2e-4, err_msg=name)


def test_a_recovery_speed_that_simulations_set_is_no_parameter() -> None:
    log = recording(TIME, position={"x": TIME})
    slide = load(SLIDE.format(more=""))
    with pytest.raises(ValueError, match=r"no effect.*recovery_speed=None"):
        Problem(slide, [log], ["contact.recovery_speed"], Simulate(0.5, H))
    free = Simulate(0.5, H, recovery_speed=None)
    assert Problem(slide, [log], ["contact.recovery_speed"], free).names
