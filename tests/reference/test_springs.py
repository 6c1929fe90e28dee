"""Test springs and dampers between two points and about a hinge against ADAMS.

Some are linear, some have force laws of the user's.
"""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.tree_util import Partial

from jaxccp.model import Revolute, TendonPath
from jaxccp.scene import ModelBuilder
from tests.reference.adams import Case, Runs, check_force, check_states, run
from tests.reference.runs import STEPPERS

LINEAR = "TranSpring_Case01"
LAWS = ("TranSpringCB_Case01", "TranSpringCB_Case03")
HINGED = "RotSpring_Case01"
CASES = (LINEAR, *LAWS, HINGED)


def law(k: Array, k_nl: Array, c: Array, rest: Array, length: Array, rate: Array, t: Array):
    stretch = length - rest
    return -k * stretch - k_nl * jnp.abs(stretch) * stretch - c * rate


def add(builder: ModelBuilder, case: Case, body: int) -> None:
    k, c, k_nl = (case.number(f"spring_{key}") for key in ("k", "c", "k_nl"))
    if case.name == HINGED:
        assert k_nl == case.number("spring_free_angle") == 0
        hinge = Revolute(stiffness=k, damping=c)
        builder.add_joint(hinge, 0, body, case["joint_pos"], case["joint_quat"], name=case.name)
        return
    ends = [(0, case["point_ground"]), (body, case["point_body"])]
    rest = case.number("spring_free_length")
    if case.name == LINEAR:
        assert k_nl == 0
        spring = TendonPath(ends, stiffness=k, damping=c, rest=rest)
    else:
        spring = TendonPath(ends, law=Partial(law, k, k_nl, c, rest))
    builder.add_tendon(spring, case.name)


@pytest.fixture(scope="module", params=STEPPERS)
def runs(request: pytest.FixtureRequest, shared_data: Path, optimised: None) -> Runs:
    return run(shared_data, CASES, add, request.param, h=0.01 / 32)


@pytest.mark.parametrize("name", CASES)
def test_motion(runs: Runs, name: str) -> None:
    check_states(runs, name)


@pytest.mark.parametrize("name", [LINEAR, *LAWS])
def test_force_of_the_spring_on_the_ground(runs: Runs, name: str) -> None:
    case = runs.cases[name]
    axis = runs.body_point(name, case["point_body"]) - case["point_ground"]
    axis = axis / np.linalg.norm(axis, axis=-1, keepdims=True)
    check_force(runs, name, -runs.tendon_forces[name][..., None] * axis, "rforce")
    assert not case["rtorque"].any()


def test_reaction_and_torque_of_the_hinge_on_the_ground(runs: Runs) -> None:
    check_force(runs, HINGED, -runs.reactions[HINGED][..., :3], "rforce")
    check_force(runs, HINGED, -runs.reactions[HINGED][..., 3:], "rtorque")


def test_the_hinge_stays_closed(runs: Runs) -> None:
    drift = np.sqrt(np.mean(np.square(runs.samples.error[-1]), axis=0))
    assert drift.max() < runs.cases[HINGED].number("tol_constraint")
