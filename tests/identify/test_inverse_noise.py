"""Check what noise inverse dynamics takes torques of motors to have at first."""

import numpy as np

import jaxccp
from jaxccp.identify import InverseDynamics, Parameter, Problem, recording
from jaxccp.identify.case import subject_of
from tests.identify import planar_arm

TIME = np.arange(0.0, 4.0, 4e-3)
MASS, CENTRE, SPIN, DAMPING = 0.5, 0.1, 1e-3, 0.02
PENDULUM = f"""<mujoco><worldbody><body><joint name="a" axis="0 1 0" damping=".1"/>
  <inertial pos="{CENTRE} 0 0" mass="{MASS}" diaginertia="{SPIN} {SPIN} {SPIN}"/></body></worldbody>
  <actuator><motor name="a" joint="a"/></actuator></mujoco>"""


def swing(size: float, omega: float, phase: float) -> np.ndarray:
    """Return the angle of a motion, its rate and its acceleration."""
    wave = omega * TIME + phase
    return size * np.stack([np.sin(wave), omega * np.cos(wave), -(omega**2) * np.sin(wave)])


def test_noise_of_a_control_at_its_limit_is_that_of_the_recording() -> None:
    """One of two motors of an arm's hip is at its limit now and then. Its noise has no effect
    there, and that of the knee's motor none on the hip's torque but for rounding; still no sample
    of the hip counts more than others."""
    limit, damping = 2.0, np.array([0.3, 0.2])
    motors = f"""<actuator><motor name="clipped" joint="hip" ctrlrange="-{limit} {limit}"/>
      <motor name="hip" joint="hip"/><motor name="knee" joint="knee"/></actuator>"""
    q, rate, gain = np.stack([swing(0.9, 3.0, 0.3), swing(1.1, 4.1, 1.0)], axis=2)
    moments = np.multiply(planar_arm.MASSES, planar_arm.CENTRES)
    spins = np.add(planar_arm.SPINS, moments * planar_arm.CENTRES)
    base = planar_arm.base_of(planar_arm.MASSES, [(m, 0.0) for m in moments], spins)
    torque = np.array([planar_arm.regressor(*x) @ base for x in zip(q, rate, gain, strict=True)])
    torque += damping * rate
    command = 1.2 * limit * np.sin(9.0 * TIME)
    hip = torque[:, 0] - np.clip(command, -limit, limit)
    log = recording(
        TIME,
        noise={f'control["{name}"]': 1e-2 for name in ("clipped", "knee")},
        position=dict(zip(planar_arm.JOINTS, q.T, strict=True)),
        control={"clipped": command, "hip": hip, "knee": torque[:, 1]},
    )
    model = jaxccp.load(planar_arm.XML.replace("</mujoco>", f"{motors}</mujoco>"))
    names = [f'axes["{joint}"].damping' for joint in planar_arm.JOINTS]
    settings = InverseDynamics(cutoff=20.0)
    problem = Problem(model, [log], [Parameter(name, scale=0.1) for name in names], settings)
    weight = np.asarray(problem.plans[0].batch.segments.weight)[:, 0]
    for column in weight.T:
        noise = 1e-2 * np.sqrt(2 * 0.898 * 20 / 250)
        np.testing.assert_allclose(1.0 / column[column > 0], noise, rtol=5e-3)
    np.testing.assert_allclose(problem.fit().values, damping, atol=5e-3)


def torque_of(q, rate, gain):
    """Return the torque that moves the pendulum, by its equation of motion."""
    inertia = SPIN + MASS * CENTRE**2
    return inertia * gain + DAMPING * rate - MASS * CENTRE * 9.81 * np.cos(q)


def free_swing() -> tuple[np.ndarray, np.ndarray]:
    """Return the angle and the rate of the pendulum that swings freely, by its equation of motion
    and the classic Runge-Kutta method."""
    h = TIME[1]

    def slope(x: np.ndarray) -> np.ndarray:
        return np.array([x[1], -torque_of(x[0], x[1], 0.0) / (SPIN + MASS * CENTRE**2)])

    states = [np.array([0.2, 0.0])]
    for _ in TIME[1:]:
        x = states[-1]
        first = slope(x)
        second = slope(x + 0.5 * h * first)
        third = slope(x + 0.5 * h * second)
        last = slope(x + h * third)
        states.append(x + h / 6 * (first + 2 * second + 2 * third + last))
    q, rate = np.array(states).T
    return q, rate


def test_a_free_swing_counts_no_more_than_a_driven_one() -> None:
    """The torque of an idle motor is not known any better; alone it has the spread of the torques
    that the model needs too much, by its damping here."""
    model = jaxccp.load(PENDULUM)
    driven = swing(0.8, 5.0, 0.3)
    q, rate = free_swing()
    noisy = q + 3e-3 * np.random.default_rng(0).normal(size=q.shape)
    control = torque_of(*driven)
    free, shaken, moved = (
        recording(TIME, name, position={"a": angle}, control={"a": motor})
        for name, angle, motor in (
            ("free", q, 0.0 * TIME),
            ("shaken", noisy, 0.0 * TIME),
            ("driven", driven[0], control),
        )
    )
    settings = InverseDynamics(cutoff=20.0)
    problem = Problem(model, [shaken, moved], [Parameter('axes["a"].damping', scale=0.1)], settings)
    weight = np.asarray(problem.plans[0].batch.segments.weight).ravel()
    assert np.ptp(weight[weight > 0]) == 0.0
    np.testing.assert_allclose(problem.fit().values, DAMPING, atol=1e-3)
    segments = settings.plan(subject_of(model, [free]), [free]).batch.segments
    time, weight = np.asarray(segments.time).ravel(), np.asarray(segments.weight).ravel()
    speed = np.interp(time[weight > 0], TIME, rate)
    spread = (0.1 - DAMPING) * np.std(speed)
    np.testing.assert_allclose(1.0 / weight[weight > 0], 1e-2 * spread, rtol=0.02)
