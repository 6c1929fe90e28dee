"""Check the identification of any model on a robot that MuJoCo simulates, and its parts."""

import re
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import Case, Parameter, Problem, Simulate, inertial_of, recording
from jaxccp.identify.case import subject_of
from jaxccp.identify.estimation.elimination import Chains
from jaxccp.identify.parameters.inertial import nominal_factor, physical, with_inertias
from jaxccp.identify.parameters.parameter import ParameterSet
from jaxccp.identify.parameters.paths import resolve
from jaxccp.identify.parameters.problem_parameters import parameter_of
from jaxccp.identify.recordings.channel_values import errors
from jaxccp.identify.recordings.filters import filled_poses
from jaxccp.identify.recordings.recording import Channel, Recording
from jaxccp.identify.recordings.segments import Observation, noise_of
from jaxccp.identify.recordings.starts import MeasuredMotion, start_deviation
from jaxccp.identify.simulation.inputs import Roles
from jaxccp.identify.uncertainty.intervals import direction_text
from jaxccp.math import quaternion
from jaxccp.model.coordinate import Coordinate

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco><compiler angle="radian"/><option timestep="5e-4" integrator="RK4"/><worldbody>
<body name="upper" pos="0 0 1">
  <joint name="a" axis="0 1 0" damping="{damping}" armature="{armature}"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="{mass}"/>
  <site name="mark" pos=".1 0 .05"/>
  <body name="lower" pos=".3 0 0"><joint name="b" axis="0 1 0" damping="{damping}"/>
    <geom type="capsule" fromto="0 0 0 .25 0 0" size=".02" mass=".5"/></body></body></worldbody>
<actuator><motor joint="a"/><motor joint="b"/></actuator></mujoco>"""
NAMES = "a", "b"
NOISE = 2e-4
"""Standard deviation of joint positions [rad]."""


def recorded(seed: int, damping=0.12, armature=0.03, mass=1.1):
    """Return the motion of an arm that MuJoCo simulates under random torques, sampled every 5 ms
    with noise.

    Args:
        seed: seed of the torques, the initial state and the noise.
        damping: damping of both joints [N m s/rad].
        armature: rotor inertia of the first joint [kg m²].
        mass: mass of the upper link [kg].
    """
    text = ARM.format(damping=damping, armature=armature, mass=mass)
    m = mujoco.MjModel.from_xml_string(text)
    data, random = mujoco.MjData(m), np.random.default_rng(seed)
    data.qpos, data.qvel = random.normal(0, 0.5, 2), random.normal(0, 1, 2)
    amplitude, rate, phase = (
        random.uniform(low, high, (2, 3)) for low, high in ((0.5, 2.0), (2.0, 9.0), (0.0, 6.0))
    )
    time, position, torque = [], [], []
    for step in range(1001):
        applied = np.sum(amplitude * np.sin(rate * data.time + phase), axis=1)
        if step % 10 == 0:
            time.append(data.time)
            position.append(np.array(data.qpos))
            torque.append(applied)
        data.ctrl = applied
        mujoco.mj_step(m, data)
    position = np.array(position) + random.normal(0, NOISE, (len(time), 2))
    return recording(
        np.array(time),
        f"swing {seed}",
        noise={"position": NOISE},
        position=dict(zip(NAMES, position.T, strict=True)),
        torque=dict(zip(NAMES, np.array(torque).T, strict=True)),
    )


@pytest.fixture(scope="module")
def arm():
    return load(ARM.format(damping=0, armature=0, mass=0.8))


def test_a_wrench_acts_beside_controls(arm):
    """Controls drive the simulation where no torques and motions are recorded, with a wrench or
    without; and recorded rates are those of a start, in whatever order channels come."""
    time = np.linspace(0.0, 1.0, 101)
    level = np.sin(time)
    both = {"a": level, "b": level}
    control = dict.fromkeys(arm.model.topology.linkage.actuators, level)
    log = recording(time, position=both, control=control, wrench={"upper": np.zeros((101, 6))})
    roles = Roles.of(None, ("position",), [log], arm.model.topology)
    assert len(roles.controls) == 2 and len(roles.wrenches) == 1 and not roles.torques
    gone = dict(control, **{next(iter(control)): np.full(101, np.nan)})
    silent = recording(time, position=both, control=gone, wrench={"upper": np.zeros((101, 6))})
    table = arm.model.topology
    assert Roles.of(None, ("position",), [silent], table).controls == roles.controls[1:]
    assert Roles.of(None, ("position",), [silent, log], table).controls == roles.controls
    rates = [Channel("rate", name, np.full((101, 1), 9.0)) for name in NAMES]
    positions = list(log.of_kind("position"))
    for channels in (positions + rates, rates + positions):
        one = Recording("log", time, tuple(channels))
        motion = MeasuredMotion(subject_of(arm, [one]), one, np.inf, (np.zeros(2), np.zeros(2)))
        np.testing.assert_allclose(motion.qvel, 9.0)


def test_samples_that_are_missing_leave_a_start_open(arm):
    """A channel at half the rate has the noise of its samples; one without samples is no measured
    start; missing samples are interpolated in time."""
    time = np.sort(np.concatenate([np.linspace(0, 1, 51), np.linspace(0, 1, 51)[:-1] + 0.002]))
    half, none = 2.0 * time, np.full(101, np.nan)
    half[1::2] = np.nan
    log = recording(time, position={"a": half, "b": none})
    subject, rest = subject_of(arm, [log]), (np.array([0.3, 0.4]), np.zeros(2))
    motion = MeasuredMotion(subject, log, np.inf, rest)
    np.testing.assert_allclose(motion.qpos, np.stack([2.0 * time, 0 * time + 0.4], axis=1))
    assert motion.known.tolist() == [True, False]
    deviation = start_deviation(subject, log, motion, 0.1)
    assert np.isfinite(deviation).all() and deviation[1] == 1.0


def test_noise_is_that_of_the_samples():
    """It is also that of the samples of every other time, and that of the other channels of the
    kind where a joint is parked."""
    noise = np.random.default_rng(0).normal(0, 1e-3, 1001)
    thin, parked = noise.copy(), np.full(1001, 0.3)
    thin[1::2] = np.nan
    log = recording(np.arange(1001.0), position={"a": noise, "b": thin, "c": parked})
    for channel in log.channels:
        assert noise_of(log, channel) == pytest.approx(1e-3, rel=0.2)
    alone = recording(log.time, position={"c": parked}, rate={"a": noise})
    assert noise_of(alone, alone.channels[0]) == 1e-4


def test_orientations_are_interpolated_whatever_their_sign():
    time = np.linspace(0, 1, 5)
    angle = np.stack([np.cos(time), np.sin(time), 0 * time, 0 * time], axis=1)
    poses = np.concatenate([np.zeros((5, 3)), angle], axis=1)
    poses[3:, 3:] *= -1
    poses[2] = np.nan
    filled = filled_poses(time, poses)
    np.testing.assert_allclose(filled[:, 3:], angle, atol=1e-12)


def test_an_orientation_between_samples_has_length_one():
    """Halfway between samples 60° apart the body is at 30°, and its quaternion has length 1."""
    body = load(
        "<mujoco><worldbody><body name='b'><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    )
    half = np.linspace(0.0, np.pi / 6, 2)
    still = np.zeros((2, 3))
    pose = np.column_stack([still, np.cos(half), 0 * half, 0 * half, np.sin(half)])
    log = recording(np.arange(2.0), pose={"b": pose})
    subject = subject_of(body, [log])
    motion = MeasuredMotion(subject, log, np.inf, (np.eye(7)[3], np.zeros(6)))
    expected = [np.cos(np.pi / 12), 0.0, 0.0, np.sin(np.pi / 12)]
    np.testing.assert_allclose(motion.at(0.5)[0][3:], expected, atol=1e-12)


def test_recordings_with_parameters_of_their_own_need_names(arm):
    time = np.linspace(0, 1, 101)
    logs = [recording(time, position={"a": time, "b": time})] * 2
    with pytest.raises(ValueError, match="different names, and several are called 'recording'"):
        Problem(arm, logs, [Parameter("axes[*].damping", per_sequence=True)], Simulate(segment=0.5))


def test_what_belongs_to_no_problem_is_refused(arm):
    residual = Simulate(segment=0.5)
    case = Case(arm, [recorded(3)], residual)
    with pytest.raises(ValueError, match="cases have their own recordings and residual"):
        Problem([case], case.recordings, ["axes[*].damping"])
    with pytest.raises(ValueError, match="cases have their own recordings and residual"):
        Problem([case], parameters=["axes[*].damping"], residual=residual)
    with pytest.raises(ValueError, match="give a residual"):
        Problem(arm, case.recordings, ["axes[*].damping"])


@pytest.mark.parametrize("name", ["stribeck_velocity", "damping_power"])
def test_a_path_of_a_number_above_zero_has_a_bound_above_zero(name: str):
    """A model takes only values above 0 of these, so no fit may reach 0 (others may be 0)."""
    assert 0 < parameter_of(f"axes[*].{name}").lower < 1e-3
    assert parameter_of("axes[*].damping").lower == 0.0
    with pytest.raises(ValueError, match=f"{name} must be positive, not 0"):
        Coordinate(**{name: 0.0})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["prior", "scale"])
def test_a_prior_and_a_scale_are_finite(name: str):
    for value in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match=f"{name} must be > 0"):
            Parameter("axes[*].damping", **dict[str, Any]({name: value}))


@pytest.mark.parametrize("name", ["every", "continuity"])
def test_times_of_segments_are_above_zero(name: str):
    for value in (0.0, -1.0):
        with pytest.raises(ValueError, match=f"{name} must be > 0"):
            Simulate(segment=0.5, **dict[str, Any]({name: value}))


def test_both_signs_of_a_sensed_quaternion_are_one_orientation():
    turned = np.array([[0.8, 0.6, 0.0, 0.0]])
    seen = (Observation("sensor", "sensor", 0, 4, 0.0),)
    error = errors(jnp.asarray(turned), jnp.asarray(-turned), seen)
    np.testing.assert_allclose(error, 0.0, atol=1e-15)


@pytest.mark.parametrize("level", [0.0, -1.0, np.nan])
def test_noise_is_positive(level: float):
    with pytest.raises(ValueError, match="must be positive"):
        recording(np.arange(3.0), noise={"position": level}, position={"a": np.zeros(3)})


def heavier(subject, mass):
    """Return the subject with another mass of the upper link, with unchanged shape and uniform
    density."""
    model = subject.model
    body = model.topology.body("upper")
    factor = mass / model.bodies.mass[body]
    bodies = replace(
        model.bodies,
        mass=model.bodies.mass.at[body].set(mass),
        inertia=model.bodies.inertia.at[body].multiply(factor),
    )
    return replace(subject, model=replace(model, bodies=bodies))


def test_arm_of_another_engine(arm, optimised):
    """Parameters of an arm that MuJoCo simulates are identified, even though damping and armature
    start at zero."""
    parameters = [
        Parameter("mass", initial=0.8, lower=0.1, apply=heavier),
        Parameter("axes[*].damping", lower=0.0, scale=0.1),
        Parameter('axes["a"].armature', lower=0.0, scale=0.02),
    ]
    recordings = [recorded(seed) for seed in range(9)]
    problem = Problem(arm, recordings, parameters, Simulate(segment=0.25, h=2.5e-3))
    fit = problem.fit()
    assert fit.descent.converged
    truth = {"mass": 1.1, 'axes["a"].armature': 0.03}
    truth |= {f'axes["{name}"].damping': 0.12 for name in NAMES}
    for name, true in truth.items():
        error = fit.uncertainty.standard_error[fit.names.index(name)]
        assert error < 0.05 * true
        # Implicit damping is that of half a step later: d h / 2 of armature, h being 2.5 ms.
        bias = 0.12 * 1.25e-3 if "armature" in name else 0.01 * true
        assert fit[name] == pytest.approx(true, abs=3 * error + bias)
    assert not fit.identifiability.poorly_determined
    assert all(name in fit.table() for name in truth)


def test_every_inertia_is_physical(arm):
    random = np.random.default_rng(0)
    body = arm.model.topology.body("upper")
    nominal = nominal_factor(arm.model, body)
    mass, shift, inertia = physical(nominal, jnp.zeros(10))
    np.testing.assert_allclose(np.asarray(mass), arm.model.bodies.mass[body])
    np.testing.assert_allclose(np.asarray(inertia), arm.model.bodies.inertia[body], atol=2e-6)
    assert not np.asarray(shift).any()
    for _ in range(20):
        mass, _, inertia = physical(nominal, jnp.asarray(random.normal(0, 1, 10)))
        moments = np.linalg.eigvalsh(np.asarray(inertia))
        assert mass > 0
        assert moments[0] > 0
        assert moments[2] < moments[0] + moments[1]


def test_what_is_on_a_body_stays_where_it_is():
    in_water = '<option density="1000"/><worldbody>'
    arm = load(ARM.format(damping=0, armature=0, mass=0.8).replace("<worldbody>", in_water))
    subject = subject_of(arm, [recorded(0)])
    body = arm.model.topology.body("upper")
    shift = jnp.asarray([[0.02, -0.03, 0.01]])
    shifted = with_inertias(subject, np.array([body]), jnp.ones(1), shift, jnp.eye(3)[None] * 0.01)

    def places(subject):
        state = subject.layout.state(subject.model, subject.state, jnp.asarray([0.3, -0.7]))
        on, fluid = np.array(subject.model.fluid.bodies), subject.model.fluid
        boxes = state.position[on] + quaternion.rotate(state.quaternion[on], fluid.position)
        return subject.model.sites.poses(state)[0], state.position[body + 1], boxes

    for before, after in zip(places(subject), places(shifted), strict=True):
        np.testing.assert_allclose(np.asarray(before), np.asarray(after), atol=1e-12)


def test_parameters_are_found_by_their_paths(arm):
    subject = subject_of(arm, [recorded(0)])
    shared = Parameter(("axes[*].damping",), initial=0.3)
    mirrored = Parameter(('sites["mark"].position[0]', '-sites["mark"].position[2]'))
    custom = Parameter(
        "half gravity",
        initial=0.5,
        apply=lambda s, x: replace(s, model=replace(s.model, gravity=x * s.model.gravity)),
    )
    parameters = ParameterSet(
        [shared, mirrored, custom, Parameter("gravity[1]", factor=True)], subject
    )
    assert len(parameters) == 4
    changed = parameters.apply(subject, jnp.asarray([0.3, 0.2, 0.5, 2.0])).model
    np.testing.assert_allclose(np.asarray(changed.axes.damping), [0.3, 0.3])
    np.testing.assert_allclose(np.asarray(changed.sites.position[0, [0, 2]]), [0.2, -0.2])
    third = ParameterSet([Parameter("gravity[1]", initial=2.0)], subject)
    with_third = third.apply(subject, jnp.asarray([3.0])).model.gravity
    np.testing.assert_allclose(np.asarray(with_third), arm.model.gravity.at[1].set(3.0))
    for path, words in (
        ("gravity[3]", "no such component"),
        ("contact[1].margin", "has no rows"),
        ('axes["c"].damping', "did you mean|none of the axes"),
        ("axes[*].dampin", "did you mean 'damping'"),
        ("axes.damping", "say which"),
        ("wheels[*].mass", "no table"),
        ("axes[7].damping", "only 2"),
        ("what?", "cannot read"),
        ('bodies["world"].inertial', "fixed"),
        ('bodies["world"].mass', "fixed"),
        (('bodies["upper"].inertial', '-bodies["lower"].inertial'), "without a -"),
        (('bodies["lower"].inertial', 'axes["a"].damping'), "with inertial of other bodies alone"),
        ('bodies["payload"].mass', "part of the one that it is fixed to"),
        ('activations["a"].time_constant', "has no activations"),
        ('bodies["lower"].inertia', 'take bodies."lower".+inertial, or factor=True'),
        (('bodies["lower"].mass', 'bodies["lower"].inertia'), 'take bodies."lower".+inertial'),
    ):
        with pytest.raises(ValueError, match=words):
            ParameterSet([Parameter(path)], subject)
    assert [leaf.path for leaf in resolve(subject, "axes[*].friction")] == [
        'axes["a"].friction',
        'axes["b"].friction',
    ]
    offsets = resolve(subject, 'channels["position["*"]"].offset')
    assert [leaf.path for leaf in offsets] == [f'channels["position["{x}"]"].offset' for x in NAMES]
    with pytest.raises(ValueError, match="listed twice"):
        ParameterSet([Parameter("axes[*].damping"), Parameter('axes["a"].damping')], subject)
    assert len(ParameterSet([inertial_of("*")], subject)) == 20
    (mass,) = ParameterSet([Parameter("bodies[*].mass", shared=True)], subject).scalars
    assert mass.name == 'bodies["upper"].mass (and 1 alike)'
    assert mass.initial == pytest.approx(0.8)
    with pytest.raises(ValueError, match="leave out the -"):
        ParameterSet([Parameter(("gravity[0]", "-gravity[1]"), factor=True)], subject)


@pytest.mark.parametrize(
    ("first", "second", "number"),
    [
        ('bodies["lower"].mass', inertial_of("lower"), 'bodies["lower"].mass'),
        (inertial_of("*"), Parameter('bodies["lower"].inertia', factor=True), 'bodies["lower"]'),
        ('axes["a"].damping', ('axes["a"].friction', 'axes["a"].damping'), 'axes["a"].damping'),
        ("gravity[2]", Parameter("gravity", factor=True), "gravity"),
        (Parameter("axes[*].damping", shared=True), 'axes["b"].damping', 'axes["b"].damping'),
    ],
)
def test_numbers_have_one_parameter(arm, first, second, number):
    """A parameter that another one overwrites would have no effect."""
    subject = subject_of(arm, [recorded(0)])
    both = [p if isinstance(p, Parameter) else Parameter(p) for p in (first, second)]
    for parameters in (both, both[::-1]):
        with pytest.raises(ValueError, match="both set " + re.escape(number)):
            ParameterSet(parameters, subject)
    apart = ["gravity[0]", "gravity[2]", 'axes["a"].damping', 'bodies["lower"].mass']
    assert len(ParameterSet([*map(Parameter, apart), inertial_of("upper")], subject)) == 14


def test_bad_recordings_are_refused(arm):
    time = np.arange(5.0)
    with pytest.raises(ValueError, match="does not rise at sample 3"):
        recording(np.array([0.0, 1, 2, 1, 3]), position={"a": time})
    with pytest.raises(ValueError, match="5 samples, time has 4"):
        recording(time[:4], position={"a": time})
    with pytest.raises(ValueError, match=r"no kind of channel 'positon'.*'position'"):
        recording(time, positon={"a": time})
    with pytest.raises(ValueError, match="needs 7 numbers"):
        recording(time, pose={"upper": np.ones((5, 6))})
    with pytest.raises(ValueError, match="noise is given for rate"):
        recording(time, noise={"rate": 1.0}, position={"a": time})
    with pytest.raises(ValueError, match="no axis 'elbow'"):
        Problem(
            arm,
            [recording(time, position={"elbow": time})],
            ["axes[*].damping"],
            Simulate(segment=1.0),
        )


def test_starts_are_eliminated_exactly():
    """Elimination of the starts gives the solution of a dense system of all unknowns."""
    random = np.random.default_rng(1)
    n, x, p = 4, 3, 2
    root = random.normal(size=(n * x + p, n * x + p))
    dense = root @ root.T + 5 * np.eye(n * x + p)
    for i in range(n):
        for j in range(n):
            if abs(i - j) > 1 or {i, j} == {1, 2}:  # the second chain begins at segment 2
                dense[i * x : i * x + x, j * x : j * x + x] = 0
    dense += 30 * np.eye(len(dense))
    slope = random.normal(size=n * x + p)
    blocks = dense[: n * x, : n * x].reshape(n, x, n, x)
    chains = Chains(
        np.stack([blocks[i, :, i] for i in range(n)]),
        np.stack([blocks[i, :, i + 1] if i + 1 < n else np.zeros((x, x)) for i in range(n)]),
        dense[: n * x, n * x :].reshape(n, x, p),
        dense[n * x :, n * x :],
        slope[: n * x].reshape(n, x),
        slope[n * x :],
    )
    reduced = chains.reduced(0.0)
    step = -np.linalg.solve(reduced.corner, reduced.gradient)
    dense_solution = -np.linalg.solve(dense, slope)
    np.testing.assert_allclose(step, dense_solution[n * x :], rtol=1e-8)
    np.testing.assert_allclose(reduced.starts(step).reshape(-1), dense_solution[: n * x], rtol=1e-7)


def test_untold_combinations_are_named():
    names, ones = ("mass", "friction"), np.ones(2)
    both = np.array([1.0, 1.0]) / np.sqrt(2)
    theta = np.array([2.0, 2.0])
    assert "common factor is not determined" in direction_text(both, np.inf, names, ones, theta)
    opposite = both * [1, -1]
    assert "only as a product" in direction_text(opposite, np.inf, names, ones, theta)
    assert (
        direction_text(np.array([1.0, 0.0]), np.inf, names, ones, theta) == "mass is not determined"
    )


def test_derivatives_are_those_of_the_simulation(arm):
    """The derivatives of a residual with unknown starts match central differences."""
    problem = Problem(
        arm,
        [recorded(0).part(0, 15)],
        [Parameter("axes[*].damping", lower=0.0, scale=0.1)],
        Simulate(segment=0.05, h=2.5e-3),
    )
    plan, parameters = problem.plans[0], problem.sets[0]
    segment = jax.tree.map(lambda leaf: leaf[0], plan.batch.take(np.zeros(1, int)))

    @jax.jit
    def residual(z):
        subject = parameters.apply(plan.subject, z[:2])
        return plan.residual(subject, segment, z[2:])[0].reshape(-1)

    z = jnp.asarray([0.2, 0.1, 0.01, -0.02, 0.1, 0.05])
    exact = np.asarray(jax.jacfwd(residual)(z))
    for column in range(6):
        step = 1e-5 * np.eye(6)[column]
        slope = np.asarray(residual(z + step) - residual(z - step)) / 2e-5
        np.testing.assert_allclose(exact[:, column], slope, atol=1e-4 * np.abs(exact).max())


def test_gradient_of_joined_segments(arm):
    """The gradient of the loss with gaps between segments, in parameters and starts, matches
    differences."""
    problem = Problem(
        arm,
        [recorded(0).part(0, 40)],
        [Parameter("axes[*].damping", initial=0.1, lower=0.0, scale=0.1)],
        Simulate(segment=0.05, h=5e-3, continuity=1.0),
    )
    objective, theta = problem.objective, problem.column("initial")
    plan = problem.plans[0]
    assert plan.batch.joined.sum() == len(plan.batch) - 1 > 2
    starts = 1e-3 * np.random.default_rng(0).standard_normal((len(plan.batch), plan.unknowns))
    chains = objective.at(theta, (starts,)).chains
    for place in range(2):
        step = 1e-5 * np.eye(2)[place]
        slope = (
            objective.at(theta + step, (starts,)).loss - objective.at(theta - step, (starts,)).loss
        )
        assert chains.corner_gradient[place] == pytest.approx(slope / 2e-5, rel=1e-5)
    for place in ((0, 0), (1, 3), (2, 1)):
        step = np.zeros_like(starts)
        step[place] = 1e-6
        slope = (
            objective.at(theta, (starts + step,)).loss - objective.at(theta, (starts - step,)).loss
        )
        assert chains.gradient[place] == pytest.approx(slope / 2e-6, rel=1e-5)


def delayed(late: float, clock: float = 1.0):
    """Return a recording whose torques are logged ``late`` seconds before they act, by a clock that
    runs ``clock`` times too slowly."""
    log = recorded(3)
    torque = {}
    for name in NAMES:
        (values,) = log[f'torque["{name}"]'].values.T
        torque[name] = np.interp(log.time + late, log.time, values)
    position = {name: log[f'position["{name}"]'].values[:, 0] for name in NAMES}
    noise = {"position": NOISE}
    return recording(log.time / clock, "late", noise=noise, position=position, torque=torque)


def test_delays_of_inputs_and_the_clock_are_found_within_their_bounds():
    arm = load(ARM.format(damping=0.12, armature=0.03, mass=1.1))
    late = Parameter('channels["torque*"].delay', lower=0.0, upper=0.03, shared=True)
    clock = Parameter("time_scale", initial=1.0, lower=0.9, upper=1.1)
    residual = Simulate(segment=0.25, h=1e-3)
    fit = Problem(arm, [delayed(0.012, 1.03)], [late, clock], residual).fit()
    assert len(fit.values) == 2
    np.testing.assert_allclose(fit.values, [0.012, 1.03], rtol=0.03)


@pytest.mark.parametrize("path", ['channels["torque*"].delay', "time_scale"])
def test_a_time_without_bounds_is_refused(path: str):
    arm = load(ARM.format(damping=0.12, armature=0.03, mass=1.1))
    with pytest.raises(ValueError, match=r"needs lower= .*upper="):
        Problem(arm, [recorded(3)], [path], Simulate(segment=0.25))


@pytest.mark.parametrize(("lower", "upper"), [(-0.06, 0.06), (0.0, 0.2)])
def test_delays_leave_samples_of_a_segment(lower: float, upper: float):
    """Bounds that together reach the length of a segment would leave none of its samples."""
    arm = load(ARM.format(damping=0.12, armature=0.03, mass=1.1))
    late = Parameter('channels["position["a"]"].delay', 0.0, lower, upper)
    with pytest.raises(ValueError, match=r'position\["a"\].*a longer segment or narrower bounds'):
        Problem(arm, [recorded(3)], [late], Simulate(segment=0.1))
