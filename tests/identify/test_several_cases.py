"""Check what problems and reports of several cases say of each of them."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import Case, InverseDynamics, Parameter, Problem, recording
from jaxccp.identify.parameters.problem_parameters import check_recording_names
from jaxccp.identify.report import write_report
from jaxccp.identify.report.as_json import fit_as_json
from jaxccp.identify.report.html_page import _bodies
from jaxccp.io.mjcf.load import Loaded

pytest.importorskip("mujoco")

BODY = """<mujoco><worldbody><body name="{body}"><joint name="{joint}" type="{motion}"/>
<geom type="box" size=".1 .2 .3" mass="{mass}"/></body></worldbody></mujoco>"""
TIME = np.linspace(0.0, 1.0, 51)


def case(body: str, joint: str, motion: str, mass: float, name: str) -> Case:
    """Return a case of one body.

    Args:
        body: name of the body.
        joint: name of its joint.
        motion: type of the joint.
        mass: mass of the body [kg].
        name: name of the recording.
    """
    mechanism = load(BODY.format(body=body, joint=joint, motion=motion, mass=mass))
    log = recording(TIME, name, position={joint: np.sin(TIME)}, torque={joint: np.cos(TIME)})
    return Case(mechanism, [log], InverseDynamics())


def test_a_report_has_units_and_bodies_of_every_case():
    """The slide is in the first case, the hinge in the second."""
    cases = case("slider", "rail", "slide", 1.0, "a"), case("lever", "hinge", "hinge", 2.0, "b")
    paths = ["axes[*].damping", "axes[*].armature", 'bodies["*er"].mass']
    problem = Problem(cases, parameters=paths)
    ones = np.ones(len(problem.names))
    fit: Any = SimpleNamespace(
        problem=problem,
        values=problem.column("initial") + ones,
        uncertainty=SimpleNamespace(
            half_width=lambda: ones, standard_error=ones, covariance=np.diag(ones)
        ),
        descent=SimpleNamespace(losses=[1.0], evaluations=1, converged=True),
        identifiability=SimpleNamespace(poorly_determined=()),
        notes=(),
    )
    units = {name: entry["unit"] for name, entry in fit_as_json(fit, ())["parameters"].items()}
    assert units == {
        'axes["rail"].damping': "N s/m",
        'axes["rail"].armature': "kg",
        'bodies["slider"].mass': "kg",
        'axes["hinge"].damping': "N m s/rad",
        'axes["hinge"].armature': "kg m²",
        'bodies["lever"].mass': "kg",
    }
    table = _bodies(fit)
    for name, mass, identified in (("case 0: slider", 1, 2), ("case 1: lever", 2, 3)):
        assert f'<td class="name">{name}</td><td>{mass}</td><td>{identified}</td>' in table


def test_a_parameter_that_cases_do_not_share_is_said():
    """The cart of either case has a damping on a rail, but the lever is on a hinge."""
    cart, twin = (case("cart", "rail", "slide", mass, "log") for mass in (1.0, 2.0))
    lever = case("lever", "hinge", "hinge", 1.0, "log")
    shared = Parameter("axes[*].damping", shared=True)
    assert not any("shares" in line for line in Problem([cart, twin], parameters=[shared]).warnings)
    problem = Problem([cart, lever], parameters=[shared])
    (line,) = [line for line in problem.warnings if "shares" in line]
    assert all(name in line for name in problem.names) and len(problem.names) == 2


def test_models_of_files_with_like_names_are_kept_apart(tmp_path, monkeypatch):
    """One in a folder of its own may have the name that another would be given."""
    mechanism = case("cart", "rail", "slide", 1.0, "log").mechanism
    assert isinstance(mechanism, Loaded)
    reading, written = mechanism.reading, []
    for name, value in (("curves_of", ()), ("fit_as_json", {}), ("next_as_json", {}), ("page", "")):
        monkeypatch.setattr(write_report, name, lambda *_, value=value: value)
    monkeypatch.setattr(
        write_report, "write_identified", lambda _fit, _model, out, _case: written.append(out) or ()
    )
    mechanisms = [
        replace(mechanism, reading=replace(reading, origin=replace(origin, label=tmp_path / path)))
        for origin in [replace(reading.origin, kind="file")]
        for path in ("a.xml", "other/a.xml", "a_2.xml", "other/a+.xml")
    ]
    cases = [SimpleNamespace(mechanism=mechanism) for mechanism in mechanisms]
    fit: Any = SimpleNamespace(problem=SimpleNamespace(cases=cases))
    write_report.write_report(fit, tmp_path)
    assert len(set(written)) == 4


def test_recordings_of_different_cases_need_names_of_their_own():
    """One recording may be in two cases, though, and has one value there."""
    light, heavy = (case("cart", "rail", "slide", mass, "log") for mass in (1.0, 2.0))
    (log,) = heavy.recordings
    heavy = replace(heavy, recordings=[replace(log, time=2.0 * log.time)])
    offset = Parameter('channels["torque*"].offset', per_sequence=True)
    with pytest.raises(ValueError, match="different names, and several are called 'log'"):
        Problem([light, heavy], parameters=[offset])
    check_recording_names([light, light, case("cart", "rail", "slide", 2.0, "other")])
    check_recording_names([light, case("cart", "rail", "slide", 2.0, "log")])
    (log,) = light.recordings
    check_recording_names([light, replace(heavy, recordings=[replace(log, notes=("short",))])])
    files = [replace(log, source=source) for source in ("log.csv", str(Path.cwd() / "log.csv"))]
    for sharing in (files, [log, files[0]]):
        check_recording_names([replace(light, recordings=[entry]) for entry in sharing])
    for other in (
        replace(log, time=TIME + 0.5),
        replace(log, channels=log.channels[:0]),
    ):
        with pytest.raises(ValueError, match="or give both cases the same recording"):
            check_recording_names([light, replace(heavy, recordings=[other])])
