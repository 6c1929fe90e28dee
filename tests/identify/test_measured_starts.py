"""Check that measured initial states and recorded frames stay where they were measured, whatever
the parameters are."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxccp
from jaxccp.identify import (
    Parameter,
    Problem,
    Simulate,
    inertial_of,
    recording,
)
from jaxccp.identify.case import subject_of
from jaxccp.identify.inverse_dynamics.drives import with_frames
from jaxccp.identify.parameters.parameter import ParameterSet
from jaxccp.identify.recordings.filters import smoothed
from jaxccp.identify.recordings.starts import MeasuredMotion
from jaxccp.identify.simulation.plan import SimulationPlan

pytest.importorskip("mujoco")

LENGTH, MASS, INERTIA, DAMPING = 0.3, 1.0, 0.02, 0.1
PENDULUM = f"""<mujoco><worldbody><body name="bob" pos="0 0 1">
<joint name="a" axis="0 1 0" damping="{DAMPING}"/>
<inertial pos="0 0 {-LENGTH}" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
</body></worldbody></mujoco>"""


def swing(start: float, time: np.ndarray) -> np.ndarray:
    """Return angle and rate of the pendulum [2 s], integrated to rounding.

    Args:
        start: initial angle [rad]; it starts at rest.
        time: times [s].
    """

    def slope(_: float, y: np.ndarray) -> list[float]:
        torque = -MASS * 9.81 * LENGTH * np.sin(y[0]) - DAMPING * y[1]
        return [y[1], torque / (INERTIA + MASS * LENGTH**2)]

    ends = (time[0], time[-1])
    return solve_ivp(slope, ends, [start, 0.0], t_eval=time, rtol=1e-10, atol=1e-12).y


def test_measured_starts_are_calibrated() -> None:
    """Offset and delay of positions, which are early, and a scale of rates also act on the states
    from which simulations start: exact recordings tell all of them, and the damping. The rates of
    the second recording are missing, and those of its starts are slopes of positions."""
    offset, early, scale, time = 0.05, -0.015, 1.2, np.arange(0.0, 2.0, 5e-3)
    logs = []
    # The second recording begins where the rate hardly changes, since the first slope is one-sided.
    for number, (start, first) in enumerate(((1.0, 0), (-0.7, 56))):
        angle, rate = swing(start, 5e-3 * np.arange(first + len(time) + 3))
        logs.append(
            recording(
                time,
                f"swing {number}",
                noise={"position": 1e-4, "rate": 1e-3},
                position={"a": angle[first + 3 :] + offset},
                rate={"a": scale * rate[first:-3] if number == 0 else np.full(len(time), np.nan)},
            )
        )
    parameters = [
        Parameter('axes["a"].damping', initial=0.05, scale=0.05),
        Parameter('channels["position*"].offset', initial=0.0, scale=0.01),
        Parameter('channels["position*"].delay', lower=-0.03, upper=0.03, initial=0.0),
        Parameter('channels["rate*"].scale', initial=1.0, scale=0.1),
    ]
    settings = Simulate(0.4, h=2e-3, start="measured", cutoff=np.inf, observe=("position",))
    problem = Problem(jaxccp.load(PENDULUM), logs, parameters, settings)
    # What was before the start and what comes after the end is not compared, whatever the delay.
    segments = problem.plans[0].batch.segments
    used = np.asarray(segments.time)[np.asarray(segments.weight)[..., 0] > 0]
    assert used.min() == pytest.approx(0.03) and used.max() == pytest.approx(0.37, abs=6e-3)
    assert used.max() < 0.37 + 1e-5
    np.testing.assert_allclose(problem.fit().values, [DAMPING, offset, early, scale], rtol=0.03)


GAP = slice(460, 640)
"""Missing samples of a recording of 5 ms: from 2.3 to 3.2 s."""


@pytest.fixture(scope="module")
def with_gap() -> Problem:
    """A pendulum whose angle was lost for 0.9 s, with the start of every half second unknown."""
    time = 5e-3 * np.arange(1001)
    angle = swing(1.2, time)[0] + np.random.default_rng(0).normal(0.0, 1e-4, len(time))
    angle[GAP] = np.nan
    log = recording(time, "lost", noise={"position": 1e-4}, position={"a": angle})
    damping = Parameter('axes["a"].damping', initial=0.05, scale=0.05)
    return Problem(jaxccp.load(PENDULUM), [log], [damping], Simulate(0.5, h=2e-3))


def test_starts_in_a_gap_are_open(with_gap: Problem) -> None:
    """The straight line over a gap is no measurement."""
    plan = with_gap.plans[0]
    assert isinstance(plan, SimulationPlan)
    deviation, inside = plan.batch.prior_deviation, np.isin(plan.start_times, [2.5, 3.0])
    assert inside.sum() == 2
    np.testing.assert_allclose(plan.batch.start_deviation[:, 0], 1e-3)
    np.testing.assert_array_equal(deviation[inside], [[1.0, 10.0]] * 2)
    np.testing.assert_allclose(deviation[~inside, 0], 1e-3)
    fit = with_gap.fit()
    (error,) = np.atleast_1d(fit.uncertainty.standard_error)
    assert abs(fit.values[0] - DAMPING) < max(3.0 * error, 1e-4)


def test_samples_that_arrive_in_bursts_are_no_gaps() -> None:
    """Twenty samples of 0.1 ms, then none for 48 ms, are how a log arrives, not lost samples."""
    time = (0.05 * np.arange(40)[:, None] + 1e-4 * np.arange(20)).ravel()
    log = recording(time, "bursts", position={"a": swing(1.2, time)[0]})
    subject = subject_of(jaxccp.load(PENDULUM), [log])
    start = MeasuredMotion(subject, log, 20.0, (np.zeros(1), np.zeros(1)))
    assert not any(start.missing(when).any() for when in (0.0, 0.02, 0.5, 1.025))


def test_a_pause_does_not_coarsen_what_was_recorded() -> None:
    """Two seconds at 200 Hz, a minute without samples, and two seconds more."""
    time = 5e-3 * np.concatenate([np.arange(400), 12400 + np.arange(400)])
    omega = 6 * np.pi
    level, rate = smoothed(time, np.sin(omega * time)[:, None], 20.0)
    away = np.min(np.abs(time[:, None] - time[[0, 399, 400, 799]]), axis=1) > 0.3
    np.testing.assert_allclose(level[away, 0], np.sin(omega * time[away]), atol=2e-3)
    np.testing.assert_allclose(rate[away, 0], omega * np.cos(omega * time[away]), atol=2e-3 * omega)


def test_samples_that_are_not_filtered_stay_as_they_are() -> None:
    time = np.cumsum(np.random.default_rng(0).uniform(5e-3, 15e-3, 50))
    wave = np.sin(20.0 * time)[:, None]
    np.testing.assert_array_equal(smoothed(time, wave, np.inf)[0], wave)


def test_frames_do_not_move_on_their_body() -> None:
    """The recorded frame of a link stays where it is when the link's centre of mass moves by a
    parameter."""
    case = jaxccp.load(PENDULUM)
    subject = subject_of(case, [])
    parameters = ParameterSet([inertial_of("bob")], subject)
    values = jnp.asarray(parameters.column("initial")).at[7:10].set([0.3, -0.2, 0.5])
    changed = parameters.apply(subject, values)
    body = subject.model.topology.body("bob")
    assert np.linalg.norm(np.asarray(changed.centre_shift[body])) > 0.01

    def frame(subject) -> np.ndarray:
        posed, sites = with_frames(subject, ("bob",))
        state = posed.layout.state(posed.model, posed.state, jnp.array([0.6]), jnp.zeros(1))
        return np.asarray(posed.model.sites.poses(state)[0][sites[0]])

    expected = [-LENGTH * np.sin(0.6), 0.0, 1.0 - LENGTH * np.cos(0.6)]
    np.testing.assert_allclose(frame(subject), expected, atol=1e-12)
    np.testing.assert_allclose(frame(changed), expected, atol=1e-12)
