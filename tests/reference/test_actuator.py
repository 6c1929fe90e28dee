"""Test a linear actuator against ADAMS.

It imposes the distance between two points over time, on a plate that slides.
"""

from pathlib import Path

import numpy as np
import pytest
from jax import Array
from jax.tree_util import Partial

from jaxccp.model import Prismatic, TendonPath
from jaxccp.scene import ModelBuilder
from tests.reference.adams import STATE, Case, Runs, check_force, run
from tests.reference.runs import FIRST_STEPPER, rms

NAME = "LinActuator_Case01"


def distance(start: Array, speed: Array, time: Array) -> Array:
    return start + speed * time


def add(builder: ModelBuilder, case: Case, body: int) -> None:
    builder.add_joint(Prismatic(), 0, body, case["joint_pos"], case["joint_quat"], name=case.name)
    assert np.array_equal(case["quat0"], [1, 0, 0, 0])
    on_plate = case["actuator_point_plate0"] - case["pos0"]
    imposed = Partial(distance, case.number("actuator_distance0"), case.number("actuator_speed"))
    ends = [(0, case["actuator_point_ground"]), (body, on_plate)]
    builder.add_tendon(TendonPath(ends, length=imposed), "actuator")


@pytest.fixture(scope="module", params=FIRST_STEPPER)
def runs(request: pytest.FixtureRequest, shared_data: Path) -> Runs:
    return run(shared_data, [NAME], add, request.param, h=5e-3)


def test_motion(runs: Runs) -> None:
    """The motion is exact at any step length, as the speed is constant."""
    case, states = runs.cases[NAME], runs.of(NAME)
    for key in STATE:
        for level in states[key]:
            left = rms(level - case.reference(key, runs.count))
            assert left < max(1.2 * case.number(f"ref_err_{key}"), 1e-9)


def test_force_of_the_actuator_on_the_plate(runs: Runs) -> None:
    force = np.zeros_like(runs.of(NAME)["pos"])
    force[..., 2] = runs.tendon_forces["actuator"]
    check_force(runs, NAME, force, "rforce_actuator")
    np.testing.assert_allclose(force[..., 2], 9.80665, rtol=1e-6)
    assert not runs.cases[NAME]["rtorque_actuator"].any()


def test_reactions_of_the_joint_on_the_ground(runs: Runs) -> None:
    reactions = -runs.reactions[NAME]
    check_force(runs, NAME, reactions[..., :3], "rforce_prismatic")
    check_force(runs, NAME, reactions[..., 3:], "rtorque_prismatic")


def test_joint_and_distance_hold(runs: Runs) -> None:
    drift = np.sqrt(np.mean(np.square(runs.samples.error), axis=1))
    assert drift.max() < runs.cases[NAME].number("tol_constraint")
