"""Test shafts and gears in equilibrium and under a torque against analytic mechanics."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.dynamics import rollout
from jaxccp.model import Coupling, Model, Revolute, State, TendonPath, gear, joint_motion, motor
from jaxccp.scene import ModelBuilder, add_shaft
from tests.reference.runs import FIRST_STEPPER

STEPS, H = 500, 1e-3


@pytest.fixture(scope="module")
def expected(shared_data: Path) -> dict:
    return json.loads((shared_data / "multibody" / "physics" / "analytic.json").read_text())


@pytest.fixture(scope="module")
def scene(expected: dict) -> tuple[Model, State, jax.Array]:
    """Return pairs of shafts, with rigid and with compliant teeth, and two wheels, side by side."""
    pair, gears = expected["shaft_pair"], expected["gears"]
    builder = ModelBuilder(gravity=gears["gravity"])
    add_shaft(builder, pair["inertia"][0], "shaft1")
    add_shaft(builder, pair["inertia"][1], "shaft2")
    builder.add_tendon(gear("shaft2", "shaft1", pair["ratio"]), "pair")

    shafts, compliant = gears["shaft_model"], gears["compliant"]
    alpha, beta = gears["pressure_angle_rad"], gears["helix_angle_rad"]
    for teeth in ("rigid", "compliant"):
        add_shaft(builder, shafts["inertia_b"], f"{teeth} a")
        add_shaft(builder, shafts["inertia_b"], f"{teeth} b")
        builder.add_tendon(Coupling({f"{teeth} a": 1.0}, length=0.0), f"{teeth} hold")
    builder.add_tendon(gear("rigid b", "rigid a", shafts["transmission_ratio"]), "rigid teeth")
    direction = np.cos(alpha) * np.cos(beta)
    slip = {
        "compliant a": gears["radius_a"] * direction,
        "compliant b": gears["radius_b"] * direction,
    }
    springy = Coupling(
        slip, stiffness=compliant["tooth_stiffness"], damping=compliant["tooth_damping"]
    )
    builder.add_tendon(springy, "compliant teeth")

    # Where they touch, the teeth of two bodies are a rod along the line of action.
    centre_a, centre_b = np.array(gears["centre_a"]), np.array(gears["centre_b"])
    wheel_a = builder.add_fixed(centre_a)
    wheel_b = builder.add_body(1.0, (shafts["inertia_b"],) * 3, centre_b)
    builder.add_joint(Revolute(), 0, wheel_b, centre_b, name="bearing")
    pitch = centre_a + gears["radius_a"] * np.array([1, 0, 0])
    normal = np.array([np.sin(alpha), direction, np.cos(alpha) * np.sin(beta)])
    ends = [(wheel_a, pitch - normal - centre_a), (wheel_b, pitch + normal - centre_b)]
    builder.add_tendon(TendonPath(ends, length=2.0), "teeth")

    torque = gears["torque_on_b"][2]
    controls = {"shaft1": pair["torque_on_1"]}
    controls |= dict.fromkeys(("rigid b", "compliant b", "bearing"), torque)
    for axis in controls:
        builder.add_actuator(motor(), axis)
    model, state = builder.build()
    return model, state, jnp.tile(jnp.array([*controls.values()]), (STEPS, 1))


class Run:
    """A run, with the motion of every axis and the force of every tendon at its end."""

    def __init__(self, scene: tuple[Model, State, jax.Array], stepper: Any) -> None:
        self.model, state, controls = scene
        last, self.path = rollout(
            self.model, state, replace(stepper, h=H), STEPS, controls=controls
        )
        self.motion = jax.jit(joint_motion)(self.model, last)

    def axis(self, name: str) -> tuple[float, float]:
        index = self.model.topology.linkage.axis(name)
        return float(self.motion.coordinate[index]), float(self.motion.rate[index])

    def force(self, name: str) -> float:
        index = self.model.topology.linkage.tendon(name)
        return float(self.path.report.tendon_forces[-1, index])


@pytest.fixture(scope="module", params=FIRST_STEPPER)
def run(request: pytest.FixtureRequest, scene: tuple[Model, State, jax.Array]) -> Run:
    return Run(scene, request.param)


def test_pair_of_shafts(run: Run, expected: dict) -> None:
    pair = expected["shaft_pair"]
    assert (pair["step"], pair["duration"]) == (H, H * STEPS)
    tol, acc, t = pair["tol"], pair["expected"]["acc"], pair["duration"]
    for i in range(2):
        place, rate = run.axis(f"shaft{i + 1}")
        assert place == pytest.approx(acc[i] * t**2 / 2, abs=tol["pos"])
        assert rate == pytest.approx(acc[i] * t, abs=tol["vel"])
    torque = run.force("pair")
    reactions = [-pair["ratio"] * torque, torque]
    assert reactions == pytest.approx(pair["expected"]["reaction_torque"], abs=tol["torque"])


def test_force_between_geared_shafts(run: Run, expected: dict) -> None:
    gears = expected["gears"]
    expected_shafts = gears["shaft_model"]
    tangential = -run.force("rigid teeth") / gears["radius_b"]
    assert tangential == pytest.approx(
        expected_shafts["expected_tangential_force"], abs=expected_shafts["tolerance_abs_rigid"]
    )
    torque = -expected_shafts["transmission_ratio"] * run.force("rigid teeth")
    assert run.force("rigid hold") == pytest.approx(
        -torque, abs=expected_shafts["tolerance_abs_rigid"]
    )


def test_compliant_teeth(run: Run, expected: dict) -> None:
    gears = expected["gears"]
    expected_teeth, shafts = gears["compliant"], gears["shaft_model"]
    angle = run.axis("compliant b")[0]
    assert np.degrees(angle) == pytest.approx(
        expected_teeth["expected_angle_b_deg"], abs=expected_teeth["tolerance_deg"]
    )
    slip = angle * gears["radius_b"]
    assert slip == pytest.approx(expected_teeth["expected_tangential_deformation"], rel=1e-4)
    cosine = np.cos(gears["pressure_angle_rad"]) * np.cos(gears["helix_angle_rad"])
    assert -run.force("compliant teeth") * cosine == pytest.approx(
        shafts["expected_tangential_force"], abs=shafts["tolerance_abs_compliant"]
    )


def test_reaction_of_the_bearing_on_the_ground(run: Run, expected: dict) -> None:
    expected_force = expected["gears"]["expected_bearing_reaction_on_ground"]
    index = run.model.topology.linkage.joint("bearing")
    reaction = -np.asarray(run.path.report.reactions)[-1, index, :3]
    keys = ("radial_x", "tangential_y", "axial_z")
    np.testing.assert_allclose(
        reaction,
        [expected_force[key] for key in keys],
        rtol=0,
        atol=expected_force["tolerance_abs"],
    )
