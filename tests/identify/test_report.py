"""Check reports of fits and identified models on a pendulum whose motion is known."""

import json
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jaxccp import load
from jaxccp.identify import (
    InverseDynamics,
    Method,
    Parameter,
    Problem,
    Simulate,
    inertial_of,
    recording,
)
from jaxccp.identify.case import subject_of
from jaxccp.identify.parameters.parameter import ParameterSet
from jaxccp.identify.parameters.units import unit_of
from jaxccp.identify.recordings.recording import KINDS
from jaxccp.identify.report.as_json import fit_as_json, read_values
from jaxccp.identify.report.curves import CaseCurves, Column, Curve, Curved, curves_of
from jaxccp.identify.report.html_page import page
from jaxccp.identify.report.next_recording import next_as_json
from jaxccp.identify.report.pictures import MOST_SAMPLES, NO_PICTURES, _panels
from jaxccp.identify.report.replay import _put, replay
from jaxccp.identify.report.write_model import write_identified
from jaxccp.io import InputError

pytest.importorskip("mujoco")
MASS, LENGTH, INERTIA, DAMPING, NOISE = 1.2, 0.4, 0.02, 0.3, 1e-3
PENDULUM = f"""<mujoco model="pendulum"><compiler angle="radian"/><worldbody>
<body name="bob &lt;1&gt;" pos="0 0 2"><joint name="swing" axis="0 1 0" damping="0.2"/>
  <inertial pos="0 0 -{LENGTH}" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
  <geom type="box" size=".05 .04 .1" pos="0 0 -.3"/></body></worldbody>
<actuator><motor name="motor" joint="swing"/></actuator></mujoco>"""


def swings(number, deviation=NOISE):
    """Return a recording of the pendulum by another integrator, with the torque that drove it."""
    time = np.linspace(0, 1, 101)
    random = np.random.default_rng(number)

    def torque(t):
        return 0.8 * np.sin((5 + number) * t)

    def rate(t, y):
        weight = MASS * 9.81 * LENGTH * np.sin(y[0])
        return [y[1], (torque(t) - weight - DAMPING * y[1]) / (INERTIA + MASS * LENGTH**2)]

    start = [0.5 - number, 0.4]
    angle = solve_ivp(rate, (0, 1), start, t_eval=time, rtol=1e-9, atol=1e-9).y[0]
    angle = angle + random.normal(0, deviation, len(time))
    angle[7] = np.nan
    noise = {"position": NOISE}
    return recording(
        time,
        f"swing {number} & co",
        noise,
        position={"swing": angle},
        torque={"swing": torque(time)},
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "pendulum.xml"
    path.write_text(PENDULUM)
    return path


@pytest.fixture(scope="module")
def fit(file):
    parameters = [
        Parameter("axes[*].damping", lower=0.0, prior=0.5),
        Parameter("axes[*].stribeck_velocity", initial=0.2, lower=0.1, upper=1.0),
        Parameter('channels["torque["swing"]"].offset', scale=0.1),
    ]
    settings = Simulate(segment=0.34, h=1e-2)
    problem = Problem(
        load(file), [swings(0), swings(1)], parameters, settings, Method(iterations=4)
    )
    return problem.fit()


@pytest.fixture(scope="module")
def report(fit, tmp_path_factory):
    return fit.report(tmp_path_factory.mktemp("report") / "out")


class Reader(HTMLParser):
    """A parser that checks that tags close in order, and collects the visible text, the sources and
    the ids."""

    VOID = ("meta", "img", "input", "br", "link")

    def __init__(self):
        super().__init__()
        self.open, self.text, self.sources, self.ids = [], [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.sources += [values[name] for name in ("src", "href") if name in values]
        self.ids += [values["id"]] if "id" in values else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_page_is_whole_and_needs_nothing_else(fit, report):
    text = report[0].read_text()
    assert "http://" not in text and "https://" not in text
    assert len(text) < 3e6
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    assert len(reader.ids) == len(set(reader.ids))
    assert all(source.startswith(("#", "data:image/png;base64,")) for source in reader.sources)
    assert {source[1:] for source in reader.sources if source.startswith("#")} <= set(reader.ids)
    shown = " ".join(reader.text)
    for name in fit.names:
        assert name in shown
    for words in ("swing 0 & co", "which no model file says", "stribeck_velocity", "N m s/rad"):
        assert words in shown
    data = json.loads(text.split('type="application/json">')[1].split("</script>")[0])
    (body,) = data["bodies"]
    assert body["name"] == "bob <1>"
    assert len(body["shapes"][0]["points"]) == 8
    assert len(data["motions"]) == 2


def test_replay_shows_where_the_bob_is(fit):
    """The bob's centre of mass is drawn at its distance from the joint, at the measured angle."""
    (curves,) = curves_of(fit)
    drawn = replay(fit, curves)
    assert drawn is not None
    motion = drawn["motions"][0]
    recorded = fit.problem.cases[0].recordings[0]
    angle = np.interp(
        motion["time"],
        recorded.time[np.isfinite(recorded.channels[0].values[:, 0])],
        recorded.channels[0].values[np.isfinite(recorded.channels[0].values[:, 0]), 0],
    )
    drawn_pose = np.array(motion["measured"])[:, :3]
    np.testing.assert_allclose(drawn_pose[:, 0], -LENGTH * np.sin(angle), atol=1e-4)
    np.testing.assert_allclose(drawn_pose[:, 2], 2 - LENGTH * np.cos(angle), atol=1e-4)


def test_errors_are_those_of_the_loss(fit):
    (curves,) = curves_of(fit)
    terms, evaluator = fit.point.terms[0], fit.descent.objective.evaluators[0]
    mean = np.sqrt(terms.square.sum() / terms.count.sum()) * NOISE / evaluator.weight[0]
    error, unit = curves.rms['position["swing"]']
    assert unit == "rad"
    assert error == pytest.approx(mean, rel=1e-6)
    assert (
        sum(np.isfinite(segment.measured).sum() for segment in curves.segments) == 200 + 4
    )  # ends and starts


def test_values_are_read_back(fit, report):
    values = read_values(report[1])
    assert values == dict(zip(fit.names, fit.values.tolist(), strict=True))
    content = json.loads(report[1].read_text())
    damping = content["parameters"]['axes["swing"].damping']
    half = fit.uncertainty.half_width()[0]
    assert damping["interval"] == pytest.approx([fit.values[0] - half, fit.values[0] + half])
    assert (damping["lower"], damping["upper"], damping["unit"]) == (0.0, None, "N m s/rad")
    correlation = np.array(content["correlation"], float)
    covariance = fit.uncertainty.covariance
    expected = covariance[0, 2] / np.sqrt(covariance[0, 0] * covariance[2, 2])
    assert correlation[0, 2] == pytest.approx(expected)
    assert content["identifiability"] == [
        direction.text for direction in fit.identifiability.poorly_determined
    ]
    still = Problem(
        fit.problem.cases[0].mechanism,
        fit.problem.cases[0].recordings,
        fit.problem.parameters,
        fit.problem.cases[0].residual,
    )
    still.__dict__["objective"] = fit.problem.objective
    still.method = Method(iterations=0)
    np.testing.assert_array_equal(still.fit(initial=values).values, fit.values)


def test_the_identified_file_has_the_values(fit, report, file):
    assert report[2].name == "pendulum_identified.xml"
    model = load(report[2]).model
    assert float(model.axes.damping[0]) == pytest.approx(fit.values[0], rel=1e-12)
    text = report[2].read_text()
    assert 'channels["torque["swing"]"].offset is' in text
    assert "stribeck_velocity is" in text
    with pytest.raises(InputError, match="bodies world, other"):
        write_identified(fit, load(PENDULUM.replace("bob &lt;1&gt;", "other")), file)


def test_a_model_of_single_recordings_keeps_its_numbers(file, tmp_path):
    loaded = load(file)
    parameters = [
        Parameter("axes[*].damping", per_sequence=True),
        Parameter("time_scale", initial=1.0, lower=0.9, upper=1.1),
        inertial_of("bob*"),
    ]
    problem = Problem(loaded, [swings(0), swings(1)], parameters, Simulate(0.5, h=1e-2))
    values = problem.column("initial") + 0.1 * np.arange(len(problem.names))
    fake: Any = SimpleNamespace(problem=problem, values=values, names=problem.names)
    lines = write_identified(fake, loaded, tmp_path / "out.xml")
    assert sum('axes["swing"].damping of swing' in line for line in lines) == 2
    assert sum("time_scale is" in line for line in lines) == 1
    assert len(lines) == 3
    model = load(tmp_path / "out.xml").model
    assert float(model.axes.damping[0]) == 0.2
    expected = problem.subject(values).model.bodies
    np.testing.assert_allclose(model.bodies.inertia, expected.inertia, rtol=1e-10)
    changed = replace(loaded.model, gravity=jnp.asarray([0.0, 0.0, -1.0]))
    assert write_identified(changed, file, tmp_path / "moon.xml") == ()
    assert float(load(tmp_path / "moon.xml").model.gravity[2]) == -1.0


def test_a_model_alone_does_not_tell_the_frames_of_free_bodies(tmp_path):
    """The coordinates of a free body are those of its frame, which a model has no place for."""
    loaded = load(
        "<mujoco><worldbody><body name='b'><freejoint/><geom size='.1' pos='.3 0 0'/></body>"
        "</worldbody></mujoco>"
    )
    heavy, wide = (
        replace(loaded.model, bodies=replace(loaded.model.bodies, **changed))
        for changed in (
            {"mass": loaded.model.bodies.mass.at[1].multiply(2.0)},
            {"inertia": loaded.model.bodies.inertia.at[1].multiply(2.0)},
        )
    )
    file = tmp_path / "b.xml"
    assert write_identified(heavy, loaded, file) == ()
    np.testing.assert_allclose(load(file).model.bodies.mass[1], heavy.bodies.mass[1])
    assert write_identified(wide, loaded, file) == ()  # the centre stays
    away = replace(wide, shapes=replace(wide.shapes, position=wide.shapes.position + 0.1))
    with pytest.raises(ValueError, match="give the fit"):
        write_identified(away, loaded, file)
    with pytest.raises(ValueError, match="leave out case="):
        write_identified(heavy, loaded, file, case=1)


@pytest.mark.parametrize(("number", "length"), [(5000, 10), (40, 1000), (1, 20_001), (9000, 1)])
def test_long_curves_are_thinned_without_bias(number: int, length: int):
    """Of errors that grow from 0 at the start of each segment, the drawn ones have the mean."""
    pytest.importorskip("matplotlib")
    error = np.arange(float(length))[:, None]
    segments = tuple(
        Curve(0, k * length + error[:, 0], np.zeros((length, 1)), error) for k in range(number)
    )
    (panel,) = _panels(CaseCurves(0, (Column("rate", "", "m/s"),), segments), None)
    drawn = np.concatenate(panel.simulated)
    assert MOST_SAMPLES / 2 < len(drawn) < 1.1 * MOST_SAMPLES
    assert drawn.mean() == pytest.approx(error.mean(), rel=0.02)
    assert np.concatenate(panel.time).max() > 0.99 * number * length - 20


def test_without_matplotlib_the_page_says_so(fit, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    curves = []
    content = fit_as_json(fit, curves) | next_as_json(fit, (), None)
    text = page(fit, content, curves, "a <title>", ())
    assert NO_PICTURES in text.replace("&#x27;", "'")
    assert "<img" not in text and "a &lt;title&gt;" in text
    assert ">null</script>" in text


def test_torques_of_inverse_dynamics_are_curves(file):
    """Measured torques are drawn and agree with those of the true pendulum."""
    loaded = load(
        PENDULUM.replace('damping="0.2"', f'damping="{DAMPING}"').replace("&lt;1&gt;", "1")
    )
    settings = InverseDynamics(cutoff=20.0)
    problem = Problem(loaded, [swings(0, 0.0)], ["axes[*].damping"], settings)
    point = SimpleNamespace(theta=problem.column("initial"), starts=problem._still())
    fake: Any = SimpleNamespace(problem=problem, point=point)
    (curves,) = curves_of(fake)
    assert [column.label for column in curves.columns] == ['torque["swing"]']
    error, unit = curves.rms['torque["swing"]']
    assert unit == "N m" and 0 < error < 0.03
    segment = curves.segments[2]
    np.testing.assert_allclose(segment.measured[:, 0], 0.8 * np.sin(5 * segment.time), atol=1e-2)
    assert not isinstance(SimpleNamespace(subject=None, observations=()), Curved)


def test_poses_have_two_errors():
    """A pose has errors in position and orientation; both signs of a quaternion are one
    orientation, and for small angles half the angle is its sine."""
    columns = tuple(Column('pose["b"]', part, "m") for part in "xyz")
    columns += tuple(Column('pose["b"]', f"q{part}", "") for part in "wxyz")
    rotated = np.array([[0, 0, 0, np.cos(5e-4), np.sin(5e-4), 0, 0]])
    level = np.array([[0.3, 0, 0.4, 1.0, 0, 0, 0]])
    curves = CaseCurves(0, columns, (Curve(0, np.zeros(1), level, rotated),))
    assert curves.rms['pose["b"].position'] == (pytest.approx(0.5), "m")
    assert curves.rms['pose["b"].orientation'] == (pytest.approx(1e-3, rel=1e-6), "rad")


def test_poses_of_free_bodies_are_replayed():
    """A pose sets the coordinates of its body's frame, and a missing sample leaves them
    unchanged."""
    text = """<mujoco><worldbody><body name="b"><freejoint/><geom size=".1" pos=".3 0 0"/></body>
    </worldbody></mujoco>"""
    loaded = load(text)
    time = np.arange(3.0)
    poses = np.tile([1.0, 2, 3, 1, 0, 0, 0], (3, 1))
    subject = subject_of(loaded, [recording(time, pose={"b": poses})])
    columns = [Column('pose["b"]', part, "m") for part in (*"xyz", "qw", "qx", "qy", "qz")]
    coordinates = np.zeros((3, 7))
    poses[1] = np.nan
    _put(subject, CaseCurves(0, tuple(columns), ()), poses, coordinates)
    np.testing.assert_array_equal(coordinates[::2], poses[::2])
    assert not coordinates[1].any()


@pytest.mark.parametrize(
    ("parameter", "unit"),
    [
        (Parameter('axes["swing"].damping'), "N m s/rad"),
        (Parameter("axes[0].armature"), "kg m²"),
        (Parameter("axes[*].damping", factor=True), ""),
        (Parameter("axes[0].damping", factor=True, per_sequence=True), ""),
        (Parameter("gravity[2]", per_sequence=True), "m/s²"),
        (Parameter('channels["torque["swing"]"].offset'), "N m"),
        (Parameter("gravity", initial=1.0, apply=lambda subject, value: subject), ""),
        (Parameter("some name", initial=1.0, apply=lambda subject, value: subject), ""),
    ],
)
def test_units_follow_what_an_axis_does(fit, parameter: Parameter, unit: str):
    subject = fit.problem.plans[0].subject
    (scalar,) = ParameterSet([parameter], subject).scalars
    named = replace(scalar, name=f"{scalar.name} of swing 1")
    assert unit_of(scalar, subject) == unit_of(named, subject) == unit


@pytest.mark.parametrize(
    ("motion", "unit"), [("slide", "m/s"), ("hinge", "rad/s"), ("ball", "rad/s")]
)
def test_channels_of_an_axis_have_units_of_its_motion(motion: str, unit: str):
    """The rate of an axis of a ball is that of an angle, too."""
    assert KINDS["rate"].axis_unit(motion) == unit
    assert KINDS["control"].axis_unit(motion) == "of the actuator"


def test_sensors_of_orientation_have_no_error_of_sign():
    """A tracker gives the quaternion of a turning body with the other sign."""
    xml = """<mujoco><option gravity="0 0 0"/><worldbody><body name="arm">
    <joint name="swing" axis="0 1 0"/><geom size=".1" mass="1"/></body></worldbody>
    <sensor><framequat name="q" objtype="body" objname="arm"/></sensor></mujoco>"""
    arm, time = load(xml), 0.01 * np.arange(31)
    turn = np.stack([np.cos(time), 0 * time, np.sin(time), 0 * time], axis=1)
    log = recording(time, position={"swing": 2.0 * time}, sensor={"q": -turn})
    settings = Simulate(0.3, h=0.01, start="measured", cutoff=np.inf, sensors=arm.sensors)
    parameter = Parameter("axes[*].damping", initial=0.0, lower=0.0, upper=1.0, prior=1.0)
    fit = Problem(arm, [log], [parameter], settings, Method(iterations=0)).fit()
    (curves,) = curves_of(fit)
    (segment,) = curves.segments
    assert segment.simulated.shape[1] == 5
    np.testing.assert_allclose(segment.simulated[:, 1:], -turn, atol=1e-6)
    assert max(error for error, _ in curves.rms.values()) < 1e-6


def test_no_fit_is_refused(tmp_path):
    path = tmp_path / "fit.json"
    with pytest.raises(InputError, match="cannot be read"):
        read_values(path)
    for text in ("[]", "{", '{"parameters": {"a": 1}}'):
        path.write_text(text)
        with pytest.raises(InputError, match="has no parameters of a fit"):
            read_values(path)
