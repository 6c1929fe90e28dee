"""Test HHT against ADAMS without extrapolation.

Joints, a spring and dampers are compared over the first seconds.
"""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from jaxccp import HHT, ModelBuilder, Revolute, Spherical, Stop, Universal
from tests.reference.adams import STATE, Case, Runs, rms, run

KINDS = {"revolute": Revolute, "spherical": Spherical, "universal": Universal}
CASES = ("Revolute_Case01", "Spherical_Case02", "Universal_Case02")
SECONDS = 1.0


def add(builder: ModelBuilder, case: Case, body: int) -> None:
    joint = KINDS[str(case["joint_type"])]()
    builder.add_joint(joint, 0, body, case["joint_pos"], case["joint_quat"], name=case.name)


@pytest.fixture(scope="module")
def runs(shared_data: Path) -> Runs:
    return run(shared_data, CASES, add, HHT(stop=Stop(1e-10)), h=5e-3, seconds=SECONDS)


@pytest.mark.parametrize("name", CASES)
def test_motion_and_reactions(runs: Runs, name: str) -> None:
    """The motion is of second order, and at 1.25 ms as near to the record as the step allows.

    Reactions agree by as much as the record's own test asks for.
    """
    case, states = runs.cases[name], runs.of(name)
    changes = [rms(a - b) for a, b in pairwise(states["pos"])]
    assert 3.6 < changes[0] / changes[1] < 4.4, changes
    for key in STATE:
        left = rms(states[key][-1] - case.reference(key, runs.count))
        step = rms(states[key][-1] - states[key][-2]) / 3
        assert left < 1.5 * (step + case.number(f"ref_err_{key}")) + 1e-5, (key, left, step)
    force = -runs.reactions[name][-1, :, :3]
    left = rms(force - case.reference("rforce", runs.count))
    assert left < max(case.number("tol_rforce"), 5e-3 * np.abs(force).max()), left
