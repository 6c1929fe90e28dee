"""Test rods without mass against ADAMS.

They are spherical at both ends (a distance joint), or revolute on the ground (a revolute–spherical
joint).
"""

from pathlib import Path

import numpy as np
import pytest

from jaxccp.model import Ball, Compound, Slide, TendonPath
from jaxccp.scene import ModelBuilder
from tests.reference.adams import Case, Runs, check_energy, check_force, check_states, run
from tests.reference.runs import STEPPERS, rms

DISTANCE, REVOLUTE = ("Distance_Case01", "Distance_Case02"), "RevSpherical_Case01"
CASES = (*DISTANCE, REVOLUTE)
SECONDS = 0.8
"""Compared part of the record's five seconds [s].

The bodies whip round their rods, and errors grow several times with each turn.
"""
FINEST = 5e-5


def add(builder: ModelBuilder, case: Case, body: int) -> None:
    ends = [(0, case["point_ground"]), (body, case["point_body"])]
    builder.add_tendon(TendonPath(ends, length=case.number("distance")), case.name)
    if case.name == REVOLUTE:
        # The body's end of the rod stays in the plane in which the hinge lets the rod turn.
        assert np.array_equal(case["joint_axis"], [0, 0, 1])
        plane = Compound((Slide((1, 0, 0)), Slide((0, 1, 0)), Ball()))
        builder.add_joint(plane, 0, body, case["point_body_global0"], name=case.name)


@pytest.fixture(scope="module", params=STEPPERS)
def runs(request: pytest.FixtureRequest, shared_data: Path, optimised: None) -> Runs:
    return run(shared_data, CASES, add, request.param, 4 * FINEST, SECONDS)


def pull(runs: Runs, name: str) -> np.ndarray:
    """Return the force of the rod on the body [N]."""
    case = runs.cases[name]
    axis = runs.body_point(name, case["point_body"]) - case["point_ground"]
    axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    return runs.tendon_forces[name][..., None] * axis


@pytest.mark.parametrize("name", CASES)
def test_motion(runs: Runs, name: str) -> None:
    check_states(runs, name)


@pytest.mark.parametrize("name", DISTANCE)
def test_force_of_the_rod_on_the_ground(runs: Runs, name: str) -> None:
    check_force(runs, name, -pull(runs, name), "rforce")
    assert not runs.cases[name]["rtorque"].any()


def test_reactions_of_the_rod_with_a_hinge(runs: Runs) -> None:
    case, at_tip = runs.cases[REVOLUTE], runs.reactions[REVOLUTE]
    force = pull(runs, REVOLUTE) + at_tip[..., :3]
    arm = runs.body_point(REVOLUTE, case["point_body"]) - case["point_ground"]
    check_force(runs, REVOLUTE, force, "rforce_body2", "tol_rforce")
    check_force(runs, REVOLUTE, -force, "rforce_body1", "tol_rforce")
    check_force(runs, REVOLUTE, np.cross(arm, -force), "rtorque_body1", "tol_rtorque")
    np.testing.assert_allclose(at_tip[..., 3:], 0, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_energy(runs: Runs, name: str) -> None:
    check_energy(runs, name, runs.mechanical_energy(name))


def test_rods_keep_their_lengths(runs: Runs) -> None:
    for error in np.asarray(runs.samples.error)[-1].T:
        assert rms(error[:, None]) < runs.cases[DISTANCE[0]].number("tol_constraint")
