"""Check inverse dynamics as a residual against torques that MuJoCo computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp.identify import InverseDynamics, Parameter, Problem, recording
from jaxccp.identify.case import subject_of

mujoco = pytest.importorskip("mujoco")

XML = """
<mujoco>
  <worldbody>
    <body name="upper"><joint name="hip" axis="0 1 0" damping=".4" armature=".03"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="1.2"/>
      <body name="lower" pos=".3 0 0"><joint name="knee" axis="0 1 0" damping=".2"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass=".8"/></body></body>
  </worldbody>
  <actuator><position name="hip" joint="hip" kp="40" kv="2"/>
    <position name="knee" joint="knee" kp="30" kv="1"/></actuator>
</mujoco>
"""
TRUTH = {
    'axes["hip"].damping': 0.4,
    'axes["knee"].damping': 0.2,
    'axes["hip"].friction': 0.3,
    'axes["knee"].friction': 0.15,
    'axes["hip"].armature': 0.03,
    'bodies["lower"].mass': 0.8,
    'channels["torque["knee"]"].offset': 0.05,
}
JOINTS = ("hip", "knee")
FRICTION_XML = XML.replace('damping=".4"', 'damping=".4" frictionloss=".3"').replace(
    'damping=".2"', 'damping=".2" frictionloss=".15"'
)
"""The arm with the dry friction that is in the torques of ``motion``."""


@pytest.fixture(scope="module")
def motion() -> dict[str, np.ndarray]:
    """Return a smooth motion and the torques that MuJoCo's inverse dynamics gives for it, with
    friction."""
    time = np.arange(0.0, 4.0, 2e-3)
    phase = 2 * np.pi * np.outer(time, [0.5, 0.8])
    q = 0.7 * np.sin(phase) + 0.3 * np.sin(2.3 * phase + 1.0)
    rate = np.gradient(q, time, axis=0)
    gain = np.gradient(rate, time, axis=0)
    model = mujoco.MjModel.from_xml_string(XML)
    data = mujoco.MjData(model)
    torque = np.zeros_like(q)
    for row, (data.qpos[:], data.qvel[:], data.qacc[:]) in enumerate(
        zip(q, rate, gain, strict=True)
    ):
        mujoco.mj_inverse(model, data)
        torque[row] = data.qfrc_inverse
    dry = np.array([0.3, 0.15]) * np.sign(rate)
    return {"time": time, "q": q, "torque": torque + dry, "rate": rate}


def by_joint(values: np.ndarray) -> dict[str, np.ndarray]:
    return dict(zip(JOINTS, values.T, strict=True))


def unknown(names: list[str]) -> list[Parameter]:
    return [Parameter(name, initial=0.5 * TRUTH[name] + 0.01, scale=0.1) for name in names]


def test_torques_tell_what_they_were_made_with(motion) -> None:
    noise = 0.02 * np.random.default_rng(0).normal(size=motion["torque"].shape)
    noise[:, 1] += TRUTH['channels["torque["knee"]"].offset']
    log = recording(
        motion["time"], position=by_joint(motion["q"]), torque=by_joint(motion["torque"] + noise)
    )
    problem = Problem(jaxccp.load(XML), [log], unknown(list(TRUTH)), InverseDynamics(cutoff=20.0))
    fit = problem.fit()
    values, error = fit.values, fit.uncertainty.standard_error
    truth = np.array([TRUTH[name] for name in problem.names])
    assert np.all(np.abs(values - truth) < 4 * error)
    assert np.all(error < 0.1 * np.abs(truth) + 0.01)


def test_samples_do_not_depend_on_where_the_clock_begins(motion) -> None:
    """Accelerations are those of a clock that begins at 0 where it counts from 1970, in steps of
    0.2 µs."""
    samples = []
    for epoch in (0.0, 1.7e9):
        position, torque = by_joint(motion["q"]), by_joint(motion["torque"])
        log = recording(motion["time"] + epoch, position=position, torque=torque)
        settings = InverseDynamics(trim=0.101, every=0.02)
        problem = Problem(jaxccp.load(XML), [log], ["axes[*].damping"], settings)
        samples.append(problem.plans[0].batch.segments)
    plain, late = samples
    np.testing.assert_allclose(late.position, plain.position, atol=1e-3)
    np.testing.assert_allclose(late.time, plain.time, atol=1e-6)


def test_times_of_samples_are_those_of_the_recording_in_single_precision(motion) -> None:
    """Single-precision numbers of 1.7e9 are 128 apart."""
    time = motion["time"] + 1.7e9
    log = recording(time, position=by_joint(motion["q"]), torque=by_joint(motion["torque"]))
    with jax.enable_x64(False):
        plan = InverseDynamics().plan(subject_of(jaxccp.load(XML), [log]), [log])
        when = plan.start_times + np.asarray(plan.batch.segments.time, float)[:, 0]
    recorded = time[np.searchsorted(time, when - 1e-3)]
    np.testing.assert_allclose(when - 1.7e9, recorded - 1.7e9, atol=1e-4)
    assert np.ptp(when) == pytest.approx(time[-1] - time[0] - 0.2, abs=0.03)


@pytest.mark.parametrize("pause", [0.0, 30.0])
def test_accelerations_are_those_of_the_motion(pause: float) -> None:
    """At 50 samples a second differences of differences would be 5 % off for a swing of 3 Hz, and
    those of a grid that the mean rate gives, with a pause, far more."""
    time = 0.02 * np.arange(1000)
    time[500:] += pause
    q, omega, inertia = 0.5 * np.sin(6 * np.pi * time), 6 * np.pi, 0.4 * 0.1**2
    model = jaxccp.load(
        """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="a" axis="0 1 0"/>
        <geom size=".1" mass="1"/></body></worldbody></mujoco>"""
    )
    log = recording(time, position={"a": q}, torque={"a": -(inertia + 0.05) * omega**2 * q})
    parameter = Parameter('axes["a"].armature', scale=0.05)
    fit = Problem(model, [log], [parameter], InverseDynamics(moving=0.0)).fit()
    assert inertia + fit.values[0] == pytest.approx(inertia + 0.05, rel=5e-3)


def damped_swing(error: np.ndarray, noise: dict[str, float] | None, every: float | None):
    """Return the fit of a damping of 0.4 N m s to 40 s of torques with errors, and the times and
    rates of the compared samples.

    Args:
        error: errors of the torques, every 5 ms [N m].
        noise: standard deviations of the channels that are given.
        every: time between compared samples [s].
    """
    model = jaxccp.load(
        """<mujoco><option gravity="0 0 0"/><worldbody><body>
        <joint name="a" axis="0 1 0" damping="0.4"/><geom size=".1" mass="1"/></body></worldbody>
        </mujoco>"""
    )
    time = np.arange(0.0, 40.0, 5e-3)
    omega = 2 * np.pi * np.array([0.5, 1.15])
    q, rate, gain = (
        np.cos(np.outer(time, omega) + shift) @ (np.array([0.7, 0.3]) * omega**power)
        for shift, power in ((0.0, 0), (np.pi / 2, 1), (np.pi, 2))
    )
    inertia = 0.4 * 1.0 * 0.1**2
    torque = inertia * gain + 0.4 * rate + error
    log = recording(time, noise=noise, position={"a": q}, torque={"a": torque})
    settings = InverseDynamics(cutoff=10.0, moving=0.0, every=every)
    fit = Problem(model, [log], [Parameter('axes["a"].damping', scale=0.1)], settings).fit()
    used = (time > settings.trim) & (time < time[-1] - settings.trim)
    return fit, time[used], rate[used]


@pytest.mark.parametrize("every", [None, 0.01])
@pytest.mark.parametrize("noise", [None, {"torque": 0.3}])
def test_standard_errors_are_those_of_white_noise(every, noise) -> None:
    """Filtered samples count as many as are independent: a damping has the standard error
    σ / √Σ q̇², that of least squares on the unfiltered samples, however close the compared samples
    are, with noise that is given or estimated."""
    error = 0.3 * np.random.default_rng(0).normal(size=8000)
    fit, _, rate = damped_swing(error, noise, every)
    expected = 0.3 / np.sqrt(np.sum(rate**2))
    np.testing.assert_allclose(fit.uncertainty.standard_error, expected, rtol=0.1)
    assert abs(fit.values[0] - 0.4) < 4 * expected


def test_standard_errors_are_those_of_errors_that_last() -> None:
    """Errors of the torque that stay for a fifth of a second are independent only as often."""
    error = np.repeat(0.3 * np.random.default_rng(0).normal(size=200), 40)
    fit, time, rate = damped_swing(error, None, None)
    block = np.floor(time / 0.2 + 1e-9).astype(int)
    sums = np.bincount(block, rate)
    expected = 0.3 * np.sqrt(np.sum(sums**2)) / np.sum(rate**2)
    ratio = float(fit.uncertainty.standard_error[0]) / expected
    assert 0.7 < ratio < 1.3


def pendulum_motion(seconds: float = 12.0) -> tuple[np.ndarray, ...]:
    """Return times, angles, rates and accelerations of a sum of sines that changes its direction
    often."""
    time = np.arange(0.0, seconds, 2e-3)
    size, omega, phase = np.array([[0.5, 0.3, 0.2], [2.5, 6.9, 11.9], [0.0, 1.0, 2.0]])
    wave = np.outer(time, omega) + phase
    return (
        time,
        np.sin(wave) @ size,
        np.cos(wave) @ (size * omega),
        -np.sin(wave) @ (size * omega**2),
    )


def test_jumps_of_dry_friction_go_through_the_filter_of_torques() -> None:
    """A filter of 10 Hz smooths the jumps of the measured torque; dry friction and damping are
    still those of the torques' formula."""
    model = jaxccp.load(
        """<mujoco><worldbody><body><joint name="a" axis="0 1 0" damping=".02"/>
        <inertial pos="0 0 -.3" mass="1" diaginertia=".03 .03 .01"/></body></worldbody></mujoco>"""
    )
    time, q, rate, gain = pendulum_motion()
    torque = 0.12 * gain + 0.1 * rate + 0.5 * np.sign(rate) + 0.3 * 9.81 * np.sin(q)
    noise = 0.01 * np.random.default_rng(0).normal(size=len(time))
    log = recording(time, position={"a": q}, torque={"a": torque + noise})
    names = ['axes["a"].damping', 'axes["a"].friction']
    fit = Problem(model, [log], names, InverseDynamics()).fit()
    np.testing.assert_allclose(fit.values, [0.1, 0.5], atol=6e-3)
    assert np.all(np.abs(fit.values - [0.1, 0.5]) < 4 * fit.uncertainty.standard_error)


def test_a_torque_acts_its_delay_after_it_is_recorded(motion) -> None:
    """The delay of an input has the sign that it has in simulations."""
    late, time = 0.012, motion["time"]
    recorded = [np.interp(time + late, time, column) for column in motion["torque"].T]
    log = recording(
        time, position=by_joint(motion["q"]), torque=dict(zip(JOINTS, recorded, strict=True))
    )
    delay = Parameter('channels["torque*"].delay', initial=0.0, scale=0.01, shared=True)
    fit = Problem(
        jaxccp.load(FRICTION_XML), [log], [delay], InverseDynamics(cutoff=20.0, moving=0.3)
    ).fit()
    assert fit.values[0] == pytest.approx(late, abs=1e-3)


def test_servo_laws_stand_for_torques(motion) -> None:
    """Commands for which the servos exert the torques of the motion identify the same
    parameters."""
    gains = np.array([[40.0, 30.0], [2.0, 1.0]])
    command = motion["q"] + (motion["torque"] + gains[1] * motion["rate"]) / gains[0]
    log = recording(motion["time"], position=by_joint(motion["q"]), control=by_joint(command))
    names = ['axes["hip"].damping', 'axes["knee"].friction', 'axes["hip"].friction']
    problem = Problem(jaxccp.load(XML), [log], unknown(names), InverseDynamics(cutoff=40.0))
    fit = problem.fit()
    truth = [TRUTH[name] for name in problem.names]
    np.testing.assert_allclose(fit.values, truth, atol=0.01)


def test_what_it_cannot_compare_is_refused(motion) -> None:
    time, q, torque = motion["time"], by_joint(motion["q"]), by_joint(motion["torque"])
    arm, parameters = jaxccp.load(XML), ['axes["hip"].damping']

    def refused(match: str, log, mechanism=arm) -> None:
        with pytest.raises(ValueError, match=match):
            Problem(mechanism, [log], parameters, InverseDynamics())

    refused("no position of 'knee'", recording(time, position={"hip": q["hip"]}, torque=torque))
    refused("neither torques nor controls", recording(time, position=q))
    short_positions = {name: values[:40] for name, values in q.items()}
    short = {name: values[:40] for name, values in torque.items()}
    refused("too short", recording(time[:40], position=short_positions, torque=short))
    box = (
        '<geom size=".1"/><body name="leg"><joint name="hip"/><geom size=".1" pos="1 0 0"/></body>'
    )
    floating = f"<mujoco><worldbody><body><freejoint/>{box}</body></worldbody></mujoco>"
    log = recording(time, position={"hip": q["hip"]}, torque={"hip": torque["hip"]})
    refused("fixed base", log, jaxccp.load(floating))


def test_gaps_of_positions_are_not_compared(motion) -> None:
    """Within a gap the motion is not known, so torques there tell nothing; sparse samples do."""
    q = motion["q"].copy()
    q[500:1000, 1] = np.nan
    q[1::2, 0] = np.nan
    log = recording(motion["time"], position=by_joint(q), torque=by_joint(motion["torque"]))
    plan = InverseDynamics(cutoff=20.0).plan(subject_of(jaxccp.load(XML), [log]), [log])
    samples = plan.batch.segments
    time, weight = (np.asarray(x)[:, 0] for x in (samples.time, samples.weight))
    inside = (time > motion["time"][500] + 0.03) & (time < motion["time"][1000] - 0.03)
    assert inside.any() and not weight[inside].any()
    assert weight[time < motion["time"][500] - 0.11].any()


def test_torques_beside_gaps_are_not_compared(motion) -> None:
    """Where a gap begins or ends, the straight line over it has a kink, which the filter turns into
    an acceleration on both sides."""
    arm = jaxccp.load(FRICTION_XML)

    def largest_error(q: np.ndarray) -> float:
        log = recording(motion["time"], position=by_joint(q), torque=by_joint(motion["torque"]))
        plan = InverseDynamics(cutoff=20.0).plan(subject_of(arm, [log]), [log])
        compare = jax.jit(jax.vmap(lambda x: plan.curves(plan.subject, x, jnp.zeros(0))))
        _, measured, needed, used = compare(plan.batch.segments)
        return float(np.abs(np.asarray(needed) - measured)[np.asarray(used)].max())

    late, lost = (motion["q"].copy() for _ in range(2))
    late[:600, 1] = np.nan
    lost[500:1000, 1] = np.nan
    whole = largest_error(motion["q"])
    assert largest_error(lost) < 2.0 * whole
    assert largest_error(late) < 2.0 * whole


def test_recordings_that_lack_a_torque_are_refused(motion) -> None:
    logs = [
        recording(
            motion["time"],
            name,
            position=by_joint(motion["q"]),
            torque={"hip": motion["torque"][:, 0]} | more,
        )
        for name, more in (("a", {"knee": motion["torque"][:, 1]}), ("b", {}))
    ]
    for order in (logs, logs[::-1]):
        with pytest.raises(ValueError, match=r"differ in torque\[.knee.\]"):
            Problem(jaxccp.load(XML), order, ["axes[*].damping"], InverseDynamics())


def test_each_recording_has_its_own_noise(motion) -> None:
    """A noisy recording does not count as much as a precise one."""
    arm, levels = jaxccp.load(XML), {"precise": 0.01, "noisy": 0.5}
    logs = [
        recording(
            motion["time"],
            name,
            noise={"torque": level},
            position=by_joint(motion["q"]),
            torque=by_joint(motion["torque"]),
        )
        for name, level in levels.items()
    ]
    batch = InverseDynamics(cutoff=20.0).plan(subject_of(arm, logs), logs).batch
    weight = np.asarray(batch.segments.weight)[:, 0]
    precise, noisy = (weight[batch.recording == number].max(axis=0) for number in (0, 1))
    np.testing.assert_allclose(precise / noisy, levels["noisy"] / levels["precise"])
