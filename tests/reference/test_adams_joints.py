"""Test revolute, spherical, universal, prismatic and cylindrical joints against ADAMS."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from jaxccp.dynamics import accelerations
from jaxccp.model import Cylindrical, Prismatic, Revolute, Spherical, Universal
from jaxccp.scene import ModelBuilder
from tests.reference.adams import STATE, Case, Runs, check_energy, check_force, check_states, run
from tests.reference.runs import STEPPERS, rms

KINDS = {
    "revolute": Revolute,
    "spherical": Spherical,
    "universal": Universal,
    "prismatic": Prismatic,
    "cylindrical": Cylindrical,
}
CASES = (
    *("Revolute_Case01", "Spherical_Case01", "Spherical_Case02"),
    *("Universal_Case01", "Universal_Case02", "Prismatic_Case01", "Prismatic_Case02"),
    *("Cylindrical_Case01", "Cylindrical_Case02"),
)
FINEST = 5e-4


def add(builder: ModelBuilder, case: Case, body: int) -> None:
    joint = KINDS[str(case["joint_type"])]()
    builder.add_joint(joint, 0, body, case["joint_pos"], case["joint_quat"], name=case.name)


@pytest.fixture(scope="module", params=STEPPERS)
def runs(request: pytest.FixtureRequest, shared_data: Path, optimised: None) -> Runs:
    return run(shared_data, CASES, add, request.param, h=4 * FINEST)


@pytest.mark.parametrize("name", CASES)
def test_motion(runs: Runs, name: str) -> None:
    check_states(runs, name)


@pytest.mark.parametrize("name", CASES)
def test_reactions_on_the_ground_about_the_fixed_point(runs: Runs, name: str) -> None:
    case, reactions = runs.cases[name], runs.reactions[name]
    force, torque = -reactions[..., :3], -reactions[..., 3:]
    # The report's torque is about the joint's origin on the body, which slides.
    arm = runs.body_point(name, case["joint_point_body"]) - case["joint_pos"]
    check_force(runs, name, force, "rforce")
    check_force(runs, name, torque + np.cross(arm, force), "rtorque")


@pytest.mark.parametrize("name", CASES)
def test_energy(runs: Runs, name: str) -> None:
    check_energy(runs, name, runs.mechanical_energy(name))


def test_joints_stay_closed(runs: Runs) -> None:
    """Joints drift by less than the record's tolerance at the finest step, the record's own."""
    owner = runs.model.topology.linkage.bilateral[0]
    for joint, name in enumerate(runs.model.topology.linkage.joints):
        assert runs.cases[name].number("sim_step") == pytest.approx(FINEST)
        drift = rms(np.asarray(runs.samples.error)[-1][:, owner == joint])
        assert drift < runs.cases[name].number("tol_constraint"), name


@pytest.mark.long
def test_accelerations_at_the_recorded_states(runs: Runs) -> None:
    """Accelerations by :func:`jaxccp.accelerations` agree with the records of all cases at once."""
    model, cases = runs.model, [runs.cases[name] for name in runs.model.topology.bodies[1:]]
    first = jax.tree.map(lambda leaf: leaf[0, 0], runs.samples.state)

    @jax.jit
    @jax.vmap
    def body_accelerations(
        position: Array, quaternion: Array, velocity: Array, spin: Array
    ) -> Array:
        def placed(values: Array, world: Array) -> Array:
            return jnp.concatenate([world[None], values])

        state = replace(
            first,
            position=placed(position, first.position[0]),
            quaternion=placed(quaternion, first.quaternion[0]),
            velocity=placed(velocity, first.velocity[0]),
            angular_velocity=placed(spin, first.angular_velocity[0]),
        )
        return accelerations(model, state).body[1:]

    recorded = (np.stack([case[key] for case in cases], axis=1) for key in STATE)
    values = np.asarray(body_accelerations(*recorded))
    for i, case in enumerate(cases):
        assert rms(values[:, i, :3] - case["acc"]) < case.number("tol_acc"), case.name
        assert rms(values[:, i, 3:] - case["angacc"]) < case.number("tol_angacc"), case.name
