"""Check which torques inverse dynamics compares: of coupled joints, tendons, and sparse samples."""

import numpy as np
import pytest

import jaxccp
from jaxccp.identify import InverseDynamics, Parameter, Problem, recording
from jaxccp.identify.case import subject_of

TIME = np.arange(0.0, 4.0, 4e-3)
NAMES = ('axes["a"].damping', 'axes["b"].damping')
TRUTH = np.array([0.3, 0.2])
MASSES, CENTRE, SPIN = {"a": 0.5, "b": 0.8}, 0.1, 1e-3
PENDULUMS = "".join(
    f"""<body><joint name="{name}" axis="0 1 0" damping=".1"/>
    <inertial pos="{CENTRE} 0 0" mass="{mass}" diaginertia="{SPIN} {SPIN} {SPIN}"/></body>"""
    for name, mass in MASSES.items()
)
BELT = '<tendon><fixed name="belt"><joint joint="a" coef=".02"/><joint joint="b" coef=".05"/>'
COEFFICIENTS = (0.1, 1.5, 0.2)
"""Joint b as a polynomial of joint a, lowest degree first."""
MIMIC = '<equality><joint joint1="b" joint2="a" polycoef=".1 1.5 .2 0 0"/></equality>'


def load(more: str, bodies: str = PENDULUMS):
    return jaxccp.load(f"<mujoco><worldbody>{bodies}</worldbody>{more}</mujoco>")


def swing(size: float, omega: float, phase: float) -> np.ndarray:
    """Return the angle of a motion, its rate and its acceleration."""
    wave = omega * TIME + phase
    return size * np.stack([np.sin(wave), omega * np.cos(wave), -(omega**2) * np.sin(wave)])


def torque_of(name: str, damping: float, motion: np.ndarray) -> np.ndarray:
    """Return the torque that moves one pendulum alone, by its equation of motion.

    Args:
        name: name of the joint.
        damping: its damping [N m s/rad].
        motion: its angle, rate and acceleration.
    """
    q, rate, gain = motion
    mass = MASSES[name]
    return (SPIN + mass * CENTRE**2) * gain + damping * rate - mass * CENTRE * 9.81 * np.cos(q)


def both() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return angles and torques of two pendulums that move independently."""
    motions = {"a": swing(0.8, 5.0, 0.3), "b": swing(0.6, 7.0, 1.0)}
    torques = {
        name: torque_of(name, damping, motions[name])
        for name, damping in zip(motions, TRUTH, strict=True)
    }
    return {name: motion[0] for name, motion in motions.items()}, torques


def fitted(model, log) -> np.ndarray:
    settings = InverseDynamics(cutoff=20.0)
    return Problem(model, [log], [Parameter(n, scale=0.1) for n in NAMES], settings).fit().values


@pytest.mark.parametrize(("share", "kind"), [(None, ""), (0.3, "torque"), (0.3, "control")])
def test_the_torque_of_a_leader_moves_its_follower(share: float | None, kind: str) -> None:
    """The motor of a drives b too, by the slope of their coupling; what a motor of b contributes,
    by its torque or its control, is taken off."""
    q, rate, gain = leader = swing(0.8, 5.0, 0.3)
    slope, curvature = COEFFICIENTS[1] + 2 * COEFFICIENTS[2] * q, 2 * COEFFICIENTS[2]
    follower = np.stack(
        [np.polyval(COEFFICIENTS[::-1], q), slope * rate, slope * gain + curvature * rate**2]
    )
    needed = torque_of("b", TRUTH[1], follower)
    helped = (share or 0.0) * needed
    torque = {"a": torque_of("a", TRUTH[0], leader) + slope * (needed - helped)}
    position, control = {"a": q, "b": follower[0]}, {"b": helped} if kind == "control" else {}
    if kind == "torque":
        torque["b"] = helped
    log = recording(TIME, position=position, torque=torque, control=control)
    motor = '<actuator><motor name="b" joint="b"/></actuator>'
    np.testing.assert_allclose(fitted(load(MIMIC + motor), log), TRUTH, atol=3e-3)


def test_joints_in_loops_are_refused_and_others_are_not() -> None:
    """A four-bar linkage, and a pendulum beside it."""
    link = '<geom type="capsule" fromto="0 0 0 0 0 {}" size=".02" mass="1"/>'
    bars = f"""<body><joint name="a" axis="0 1 0"/>{link.format(0.5)}
      <body pos="0 0 .5"><joint name="b" axis="0 1 0"/>{link.format(0.3)}
      <site name="tip" pos="0 0 .3"/></body></body>
      <body name="post" pos="2 0 0"><joint name="c" axis="0 1 0"/>{link.format(0.2)}</body>"""
    loop = '<equality><connect site1="pin" site2="tip"/></equality>'
    model = load(loop, f'<site name="pin" pos="0 0 .8"/>{bars}')
    q = swing(0.1, 5.0, 0.0)[0]
    position = {"a": q, "b": q, "c": q}
    settings, names = InverseDynamics(), ['axes["c"].damping']
    log = recording(TIME, position=position, torque={"a": q, "c": q})
    with pytest.raises(ValueError, match=r"closes a loop, whose force on a .* take Simulate"):
        Problem(model, [log], names, settings)
    Problem(model, [recording(TIME, position=position, torque={"c": q})], names, settings)


def test_controls_of_motors_on_tendons_stand_for_torques() -> None:
    """A motor on a belt exerts its force times the coefficient of each joint."""
    motors = f"""{BELT}</fixed></tendon><actuator><motor name="direct" joint="a"/>
      <motor name="belt" tendon="belt"/></actuator>"""
    position, torque = both()
    pull = torque["b"] / 0.05
    control = {"belt": pull, "direct": torque["a"] - 0.02 * pull}
    log = recording(TIME, position=position, control=control)
    np.testing.assert_allclose(fitted(load(motors), log), TRUTH, atol=3e-3)


def test_noise_of_controls_is_that_of_torques() -> None:
    """A torque has the noise of its motor's control, times the gear and the filter's gain
    √(2 · 0.898 · 20 Hz / 250 Hz); where none is given, a hundredth of its spread."""
    motors = '<motor name="a" joint="a" gear="2"/><motor name="b" joint="b"/>'
    position, torque = both()
    control = {"a": torque["a"] / 2, "b": torque["b"]}
    logs = [
        recording(TIME, name, noise=noise, position=position, control=control)
        for name, noise in (("plain", None), ("given", {"control": 1e-3}))
    ]
    subject = subject_of(load(f"<actuator>{motors}</actuator>"), logs)
    batch = InverseDynamics(cutoff=20.0).plan(subject, logs).batch
    time, weight = (np.asarray(x)[:, 0] for x in (batch.segments.time, batch.segments.weight))
    for column, (values, gear) in enumerate(((torque["a"], 2.0), (torque["b"], 1.0))):
        used = weight[:, column] > 0
        plain, given = (1.0 / weight[used & (batch.recording == k), column] for k in (0, 1))
        spread = np.std(np.interp(time[used], TIME, values))
        np.testing.assert_allclose(plain, 1e-2 * spread, rtol=0.02)
        np.testing.assert_allclose(given, gear * 1e-3 * np.sqrt(2 * 0.898 * 20 / 250), rtol=5e-3)


@pytest.mark.parametrize("kind", ["filter", "integrator"])
def test_activations_follow_recorded_controls(kind: str) -> None:
    """The force is the activation a: controls are T ȧ + a of a filter, ȧ of an integrator."""
    motors = "".join(
        f"""<general name="{name}" joint="{name}" dyntype="{kind}" dynprm=".05" gainprm="2"
        actlimited="false"/>"""
        for name in "ab"
    )
    # Motions and torques grow from rest, where activations are 0.
    start = 1.0 - np.exp(-((TIME / 0.3) ** 4))
    wave = {"a": swing(0.8, 5.0, 0.3), "b": swing(0.6, 7.0, 1.0)}
    slope, curvature = np.gradient(start, TIME), np.gradient(np.gradient(start, TIME), TIME)
    control, position = {}, {}
    for (name, (q, rate, gain)), damping in zip(wave.items(), TRUTH, strict=True):
        angle = np.pi / 2 + start * q
        motion = np.stack(
            [angle, start * rate + slope * q, start * gain + 2 * slope * rate + curvature * q]
        )
        position[name] = angle
        a = torque_of(name, damping, motion) / 2.0
        change = np.gradient(a, TIME)
        held = 0.05 * change + a if kind == "filter" else change
        control[name] = 0.5 * (held + np.append(held[1:], held[-1]))
    log = recording(TIME, position=position, control=control)
    model = load(f"<actuator>{motors}</actuator>")
    np.testing.assert_allclose(fitted(model, log), TRUTH, atol=5e-3)


def test_actuators_on_tendons_are_part_of_recorded_torques() -> None:
    servo = '</fixed></tendon><actuator><position name="belt" tendon="belt" kp="2e4"/></actuator>'
    position, torque = both()
    log = recording(TIME, position=position, torque=torque)
    np.testing.assert_allclose(fitted(load(BELT + servo), log), TRUTH, atol=3e-3)
    log = recording(TIME, position=position, torque={"a": torque["a"]})
    problem = Problem(load(BELT + servo), [log], [NAMES[0]], InverseDynamics())
    assert any("'belt' moves a, whose torque was recorded, and b" in w for w in problem.warnings)


def test_dry_friction_of_a_tendon_jumps_where_its_length_turns_back() -> None:
    """Friction along a belt acts on both joints, by the sign of the rate of the belt."""
    model = load(BELT.replace('name="belt"', 'name="belt" frictionloss="5"') + "</fixed></tendon>")
    position, torque = both()
    rates = {"a": swing(0.8, 5.0, 0.3)[1], "b": swing(0.6, 7.0, 1.0)[1]}
    pull = 10.0 * np.sign(0.02 * rates["a"] + 0.05 * rates["b"])
    torque = {"a": torque["a"] + 0.02 * pull, "b": torque["b"] + 0.05 * pull}
    log = recording(TIME, position=position, torque=torque)
    names = [*NAMES, 'axes["belt"].friction']
    fit = Problem(model, [log], names, InverseDynamics()).fit()
    np.testing.assert_allclose(fit.values, [*TRUTH, 10.0], rtol=0.02)


def test_torques_may_be_slower_than_positions() -> None:
    """Torques that are there at every tenth sample, never at a compared one."""
    position, torque = both()
    for column in torque.values():
        column[np.arange(len(TIME)) % 10 != 3] = np.nan
    log = recording(TIME, position=position, torque=torque)
    np.testing.assert_allclose(fitted(load(""), log), TRUTH, atol=0.01)


def test_nothing_to_compare_is_refused_even_with_priors() -> None:
    still = {"a": np.zeros_like(TIME), "b": np.zeros_like(TIME)}
    log = recording(TIME, position=still, torque=still)
    with pytest.raises(ValueError, match="no recorded numbers are compared"):
        Problem(load(""), [log], [Parameter(NAMES[0], prior=0.1)], InverseDynamics())


def test_long_rests_are_not_taken_for_chaos() -> None:
    """Joints stand still for most of the recording; what they do in the rest counts in full."""
    rest = np.zeros(3 * len(TIME))
    position, torque = (
        {name: np.concatenate([rest + values[0], values]) for name, values in part.items()}
        for part in both()
    )
    time = TIME[1] * np.arange(4 * len(TIME))
    log = recording(time, position=position, torque=torque)
    settings = InverseDynamics(cutoff=20.0)
    fit = Problem(load(""), [log], list(NAMES), settings).fit()
    np.testing.assert_allclose(fit.values, TRUTH, atol=5e-3)
    assert not fit.notes


def test_joints_at_their_limits_are_not_compared() -> None:
    """The force of a limit is not known, and the filter spreads it over half its period."""
    limited = PENDULUMS.replace('name="a"', 'name="a" range="-90 28.6479"')
    model = load("", limited)  # 0.5 rad
    position, torque = both()
    log = recording(TIME, position=position, torque=torque)
    settings = InverseDynamics(cutoff=20.0, moving=0.0)
    batch = settings.plan(subject_of(model, [log]), [log]).batch
    time, weight = (np.asarray(x)[:, 0] for x in (batch.segments.time, batch.segments.weight))
    beyond = np.interp(time, TIME, position["a"]) > 0.5
    assert beyond.any() and not weight[beyond, 0].any()
    assert weight[:, 1].all() and weight[np.interp(time, TIME, position["a"]) < 0.0, 0].all()
