"""Check at which instants of a step recorded inputs act and sensors are read."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jaxccp import load
from jaxccp.dynamics import STEPPERS
from jaxccp.identify import Problem, Recording, Simulate, recording
from jaxccp.identify.case import subject_of

pytest.importorskip("mujoco")

H, SAMPLES = 0.01, 51
TIME = H * np.arange(SAMPLES)
SLIDE = """<mujoco><option gravity="0 0 0"/><worldbody><body name="block">
<joint name="x" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body></worldbody>{more}
</mujoco>"""
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
BOX = """<mujoco><option gravity="0 0 0"/><worldbody><body name="box"><freejoint/>
<inertial pos="0 0 0" mass="1" diaginertia="{} {} {}"/><site name="imu"/></body></worldbody>
<sensor><gyro name="gyro" site="imu"/></sensor></mujoco>"""
CARRIER = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="turn" axis="0 0 1"/>
<inertial pos="0 0 0" mass="1" diaginertia=".2 .2 {arm}"/><body>
<joint name="out" type="slide" axis="1 0 0"/>
<inertial pos="0 0 0" mass="{mass}" diaginertia="1e-9 1e-9 1e-9"/></body></body></worldbody>
<sensor><jointvel name="turn" joint="turn"/><jointvel name="out" joint="out"/></sensor></mujoco>"""
CHANNELS = 'position["turn"]', 'position["out"]', 'sensor["turn"]', 'sensor["out"]'


def shown(
    loaded: Any,
    log: Recording,
    stepper: str = "euler",
    h: float = H,
    start: tuple[Sequence[float], Sequence[float]] | None = None,
) -> dict[str, np.ndarray]:
    """Return what a simulation of a recording predicts, by channel.

    Args:
        loaded: the mechanism.
        log: the recording.
        stepper: name of the stepper.
        h: step [s].
        start: ``qpos`` and ``qvel`` at the start; None: as measured.
    """
    chosen = None if stepper == "euler" else STEPPERS[stepper](h)
    length = log.time[-1] - log.time[0]
    settings = Simulate(
        length, h, "measured", cutoff=np.inf, sensors=loaded.sensors, stepper=chosen
    )
    plan = settings.plan(subject_of(loaded, [log]), [log])
    segment = jax.tree.map(lambda leaf: leaf[0], plan.batch.take(np.zeros(1, int)))
    if start is not None:
        qpos, qvel = map(jnp.asarray, start)
        segment = replace(segment, start=(qpos, qvel, *segment.start[2:]))
    values = np.asarray(jax.jit(plan.curves)(plan.subject, segment, jnp.zeros(0))[2])
    sizes = [o.size + (o.kind == "pose") for o in plan.observations]
    parts = np.split(values, np.cumsum(sizes)[:-1], axis=1)
    return dict(zip((o.channel for o in plan.observations), parts, strict=True))


def integrated(change: Any, start: Sequence[float]) -> np.ndarray:
    """Return the solution of an ordinary differential equation at the times of the samples."""
    return solve_ivp(change, (0, TIME[-1]), start, t_eval=TIME, rtol=1e-10, atol=1e-12).y.T


def test_a_motion_is_where_it_was_recorded() -> None:
    """An axis that follows a recorded motion is there at the recorded times, from the start on;
    steppers of second order, in which it would oscillate, are refused."""
    position = {"x": np.sin(3.0 * TIME)}
    log, slide = recording(TIME, position=position, motion=position), load(SLIDE.format(more=""))
    after = shown(slide, log)['position["x"]'][:, 0]
    np.testing.assert_allclose(after, position["x"], atol=1e-5)
    with pytest.raises(ValueError, match=r'motion\["x"\] .* needs Euler steps'):
        shown(slide, log, "hht")


@pytest.mark.parametrize("stepper", ["euler", "hht", "newmark", "rk4"])
def test_a_force_that_grows_acts_when_it_was_recorded(stepper: str) -> None:
    """A force of 12 t on 2 kg, half along the joint and half on the body, moves them by t³, to the
    second order of the step."""
    force = np.zeros((SAMPLES, 6))
    force[:, 0] = 6.0 * TIME
    log = recording(
        TIME, position={"x": TIME**3}, torque={"x": 6.0 * TIME}, wrench={"block": force}
    )
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


def test_a_tumbling_box_turns_and_reads_as_it_does() -> None:
    """A box with three inertias, free of forces, follows Euler's equations; poses and gyro err by
    the square of the step."""
    inertia, spin = np.array([0.02, 0.05, 0.06]), np.array([1.0, 6.0, 0.8])
    box = load(BOX.format(*inertia))

    def change(_: float, state: np.ndarray) -> np.ndarray:
        (w, x, y, z), rate = state[:4], state[4:]
        matrix = np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])
        turn = np.cross(inertia * rate, rate) / inertia
        return np.concatenate([0.5 * matrix @ rate, turn])

    exact = integrated(change, [1.0, 0.0, 0.0, 0.0, *spin])
    place = np.zeros((SAMPLES, 3))
    log = recording(
        TIME,
        pose={"box": np.concatenate([place, exact[:, :4]], axis=1)},
        sensor={"gyro": exact[:, 4:]},
    )
    start = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, *spin]
    errors = []
    for h in (H, 0.5 * H):
        after = shown(box, log, h=h, start=start)
        turned = np.abs(np.sum(after['pose["box"]'][:, 3:] * exact[:, :4], axis=1))
        angle = 2 * np.arccos(np.minimum(turned, 1.0)).max()
        errors.append([angle, np.abs(after['sensor["gyro"]'] - exact[:, 4:]).max()])
    assert np.all(np.array(errors[0]) < [0.01, 0.05]) and np.all(
        errors[1] < np.divide(errors[0], 3.5)
    )


def test_rates_of_a_slide_on_an_arm_that_turns() -> None:
    """A mass that slides out on an arm obeys r̈ = r ω², (I + m r²) ω = const.; positions and rates
    err by the square of the step."""
    arm, mass = 0.3, 0.5

    def change(_: float, state: np.ndarray) -> np.ndarray:
        _, r, spin, out = state
        return np.array([spin, out, -2 * mass * r * out * spin / (arm + mass * r**2), r * spin**2])

    exact = integrated(change, [0.0, 0.4, 3.0, 0.2])
    log = recording(
        TIME,
        position={"turn": exact[:, 0], "out": exact[:, 1]},
        sensor={"turn": exact[:, 2], "out": exact[:, 3]},
    )
    carrier = load(CARRIER.format(arm=arm, mass=mass))
    errors = []
    for h in (H, 0.5 * H):
        after = shown(carrier, log, h=h, start=([0.0, 0.4], [3.0, 0.2]))
        found = np.concatenate([after[name] for name in CHANNELS], axis=1)
        errors.append(np.abs(found - exact).max(axis=0))
    assert np.all(errors[0] < 2e-3) and np.all(errors[1] < errors[0] / 3.5)


def test_a_recovery_speed_that_simulations_set_is_no_parameter() -> None:
    log = recording(TIME, position={"x": TIME})
    slide = load(SLIDE.format(more=""))
    with pytest.raises(ValueError, match=r"no effect.*recovery_speed=None"):
        Problem(slide, [log], ["contact.recovery_speed"], Simulate(0.5, H))
    free = Simulate(0.5, H, recovery_speed=None)
    assert Problem(slide, [log], ["contact.recovery_speed"], free).names
