"""Test smooth contact against the acceptance limits of Chrono's own tests."""

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.dynamics.steppers.settings import ImpulseCarry
from jaxccp.model import (
    Box,
    Material,
    Model,
    SmoothCoefficients,
    SmoothLaws,
    SmoothMaterial,
    Sphere,
    State,
)
from jaxccp.model.smooth.laws import Tangential
from jaxccp.scene import ModelBuilder

TANGENTIAL: dict[str, Tangential] = {"MultiStep": "multi-step", "OneStep": "one-step"}
LAWS = {"Hooke": "hooke", "Hertz": "hertz", "PlainCoulomb": "plain-coulomb"}

pytestmark = pytest.mark.usefixtures("optimised")


@dataclass(frozen=True)
class Case:
    """One test of the file, with its numbers as they are there."""

    data: dict

    @property
    def stepper(self) -> EulerImplicitLinearized:
        return EulerImplicitLinearized(self.data["step"])

    def build(self, law: str) -> tuple[Model, State]:
        data, material = self.data, self.data["material"]
        smooth = (
            SmoothMaterial(
                material["young_modulus"], material["poisson_ratio"], material["adhesion"]
            )
            if data["material_from_properties"]
            else SmoothCoefficients(material["kn"], material["gn"], material["kt"], material["gt"])
        )
        # Rolling friction is a length here, there a number: that of the ball's radius.
        reach = material.get("rolling_friction", 0.0) * data["bodies"][-1].get("radius", 0.0)
        friction = material.get("sliding_friction", material.get("friction"))
        surface = Material(friction, material["restitution"], rolling=reach, smooth=smooth)
        tangential = TANGENTIAL[data["tangential_model"]]
        builder = ModelBuilder(
            data["gravity"], smooth_laws=SmoothLaws(LAWS[law], tangential=tangential)
        )
        for body in data["bodies"]:
            ball = body["shape"] == "sphere"
            shape = Sphere(body["radius"]) if ball else Box(tuple(s / 2 for s in body["size"]))
            if body.get("fixed"):
                builder.add_shape(builder.add_fixed(body["pos"]), shape, material=surface)
            else:
                builder.add_solid(
                    shape, body["mass"], surface, position=body["pos"], velocity=body["vel"]
                )
        if (box := data.get("container")) is not None:
            inner, wall = box["inner_width"] / 2, box["wall_thickness"] / 2
            tray = builder.add_fixed(name="container")
            # A rigid one: there equal coefficients of two surfaces are those of their contact.
            surface = Material(friction, material["restitution"])
            builder.add_shape(tray, Box((inner, inner, wall)), (0, 0, -wall), material=surface)
            for sign in (-1, 1):
                away = sign * (inner + wall)
                for at, half in (
                    ((away, 0, box["height"] / 2), (wall, inner, box["height"] / 2)),
                    ((0, away, box["height"] / 2), (inner, wall, box["height"] / 2)),
                ):
                    builder.add_shape(tray, Box(half), at, material=surface)
        return builder.build()


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> dict[str, Case]:
    file = shared_data / "multibody" / "smc" / "smc_tests.json"
    return {test["test"]: Case(test) for test in json.loads(file.read_text())["tests"]}


@pytest.fixture(params=LAWS)
def law(request: pytest.FixtureRequest) -> str:
    return request.param


@partial(jax.jit, static_argnames=("stepper",))
def until_still(
    model: Model,
    carry: ImpulseCarry,
    stepper: EulerImplicitLinearized,
    duration: float,
    limit: float,
) -> tuple[ImpulseCarry, jax.Array]:
    """Step until the bodies are at rest or the time is over; return the end and its energy [J].

    It takes at least one step. All bodies here are spheres and cubes.

    Args:
        model: the model.
        carry: state at the start.
        stepper: the stepper.
        duration: the longest time [s].
        limit: kinetic energy below which the bodies count as at rest [J].
    """
    end = carry.state.time + duration - stepper.h / 2

    def kinetic(state: State) -> jax.Array:
        swing = model.bodies.inertia[:, 0, 0] * jnp.sum(state.angular_velocity**2, axis=1)
        return 0.5 * jnp.sum(model.bodies.mass * jnp.sum(state.velocity**2, axis=1) + swing)

    def advance(current: tuple[ImpulseCarry, jax.Array]) -> tuple[ImpulseCarry, jax.Array]:
        after, _ = stepper.advance(model, current[0])
        return after, kinetic(after.state)

    def on(current: tuple[ImpulseCarry, jax.Array]) -> jax.Array:
        return (current[0].state.time < end) & (current[1] > limit)

    return lax.while_loop(on, advance, (carry, jnp.asarray(jnp.inf)))


def two_phases(case: Case, law: str) -> tuple[State, State, float]:
    """Return the states after either phase, and the kinetic energy at the end [J].

    The second phase begins with a set velocity of the last body.
    """
    model, state = case.build(law)
    settling, moving = case.data["phases"]
    limits = [(p["max_time"], p["stop_when_kinetic_energy_below"]) for p in (settling, moving)]
    rest, _ = until_still(model, case.stepper.init(model, state), case.stepper, *limits[0])
    velocity = rest.state.velocity.at[-1].set(jnp.asarray(moving["set_velocity"], float))
    start = replace(rest, state=replace(rest.state, velocity=velocity))
    end, kinetic = until_still(model, start, case.stepper, *limits[1])
    return rest.state, end.state, float(kinetic)


def test_balls_rebound_with_their_restitution(cases: dict[str, Case], law: str) -> None:
    case = cases["cor_normal"]
    model, state = case.build(law)
    steps = round(case.data["duration"] / case.data["step"])
    restitutions = np.array(case.data["restitution_values"])

    @jax.jit
    @jax.vmap
    def rebound(e: jax.Array) -> jax.Array:
        surfaces = replace(model.shapes, restitution=jnp.full(2, e))
        changed = replace(model, shapes=surfaces)
        end, _ = lax.scan(
            lambda carry, _: (case.stepper.advance(changed, carry)[0], None),
            case.stepper.init(changed, state),
            length=steps,
        )
        return end.state.velocity[1, 1] - end.state.velocity[2, 1]

    expected = case.data["expected"]["per_model"][law]
    assert [expected[str(e)] for e in restitutions] == restitutions.tolist()
    np.testing.assert_allclose(rebound(restitutions) / 2.0, restitutions, atol=1e-3)


def test_a_box_slides_as_far_as_friction_lets_it(cases: dict[str, Case], law: str) -> None:
    case = cases["sliding_gravity"]
    rest, end, kinetic = two_phases(case, law)
    expected = case.data["expected"]
    assert kinetic < case.data["phases"][1]["stop_when_kinetic_energy_below"]
    assert end.time - rest.time < expected["must_stop_within_s"]
    travelled = float(end.position[-1, 0] - rest.position[-1, 0])
    assert travelled == pytest.approx(expected["value"], rel=expected["tolerance_percent"] / 100)


def test_a_ball_stops_rolling(cases: dict[str, Case], law: str) -> None:
    case = cases["rolling_gravity"]
    _, end, _ = two_phases(case, law)
    spin = np.linalg.norm(end.angular_velocity[-1])
    assert spin < case.data["expected"]["less_than"]


def test_falling_balls_come_to_rest_on_one_another(cases: dict[str, Case], law: str) -> None:
    case = cases["stacking"]
    model, state = case.build(law)
    bodies = len(case.data["bodies"])
    end, kinetic = until_still(
        model, case.stepper.init(model, state), case.stepper, case.data["duration"], 1e-9 * bodies
    )
    expected = case.data["expected"]
    assert kinetic < 1e-9 * bodies and end.state.time < expected["must_stop_within_s"]
    sideways = end.state.position[2:, np.array([0, 2])]
    assert np.abs(sideways).max() < expected["tolerance_abs"]
    assert np.abs(end.state.quaternion[:, 0] - 1).max() < expected["quaternion_w_tolerance_abs"]
    assert np.all(np.diff(end.state.position[2:, 1]) > 1.98)


def test_a_container_carries_the_weight(cases: dict[str, Case]) -> None:
    case = cases["contact_force_total_weight"]
    model, state = case.build("Hooke")
    expected = case.data["expected"]

    @jax.jit
    def forces(carry: ImpulseCarry) -> jax.Array:
        def step(carry: ImpulseCarry, _: None) -> tuple[ImpulseCarry, jax.Array]:
            carry, report = case.stepper.advance(model, carry)
            return carry, report.contact_wrenches[model.topology.body("container"), 2]

        steps = round(case.data["duration"] / case.data["step"])
        return lax.scan(step, carry, length=steps)[1]

    force = forces(case.stepper.init(model, state))
    after = round(expected["after_time_s"] / case.data["step"])
    np.testing.assert_allclose(force[after:], expected["value"], rtol=expected["tolerance_rel"])
