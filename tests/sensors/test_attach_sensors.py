"""Test sensors of models made by the builder against mechanics by hand."""

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Fixed,
    Model,
    ModelBuilder,
    Plane,
    Revolute,
    Sensor,
    Site,
    Spherical,
    State,
    Stop,
    accelerations,
    attach_sensors,
    forward_kinematics,
    joint_motion,
    mean_acceleration,
    motor,
)
from jaxccp.dynamics import STEPPERS, StepReport
from jaxccp.sensors import ContactSelection, SensorScope

G = 9.81
TILT = np.array([np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0])
"""A quarter turn about x: the frame's y axis points upwards."""


@cache
def bench() -> tuple[Model, State]:
    """Return a box that rests on a floor, two weights in a chain, and a beam fixed to the world."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    builder.add_solid(Box((0.1, 0.1, 0.1)), 2.0, position=(0, 0, 0.1), name="box")
    builder.add_site("box", (0.02, 0.03, 0.01), TILT, name="imu")
    builder.add_site("world", (0, 0, 1), name="hook")
    for name, mass, z in (("upper", 3.0, 2.0), ("lower", 0.5, 1.0), ("beam", 4.0, 3.0)):
        builder.add_body(mass, (0.1, 0.1, 0.1), (5.0, 0.0, z), name=name)
    builder.add_joint(Revolute((0, 1, 0)), 0, "upper", (5, 0, 2.5), name="top")
    builder.add_joint(Revolute((0, 1, 0)), "upper", "lower", (5, 0, 1.5), name="bottom")
    builder.add_joint(Fixed(), 0, "beam", (4.7, 0, 3), TILT, name="wall")
    return builder.build()


def test_forces_at_rest() -> None:
    """Sensors at rest show the weights of the box, of what hangs below each joint, and the beam's.

    The beam's torque is its weight times 0.3 m, about the world's −y axis, in the joint's frame its
    z axis.
    """
    model, state = bench()
    about = {
        "imu": Sensor("accelerometer", "imu"),
        "still": Sensor("accelerometer", Site("beam", (0.1, 0, 0))),
        "touch": Sensor("touch", "box"),
        "floor": Sensor("touch", "world"),
        "push": Sensor("contactforce", "box"),
        "turn": Sensor("contacttorque", "box"),
        "top": Sensor("jointforce", "top"),
        "bottom": Sensor("jointforce", "bottom"),
        "wall": Sensor("jointforce", "wall"),
        "moment": Sensor("jointtorque", "wall"),
        "capped": Sensor("touch", "box", bounds=(0, 10)),
    }
    sensors = attach_sensors(model, about)
    stepper = EulerImplicitLinearized(2e-3, stop=Stop(1e-12), contact_data=True)

    @jax.jit
    def shown(before: State) -> tuple[dict[str, jax.Array], StepReport]:
        after, report = stepper.step(model, before)
        acceleration = mean_acceleration(before, after, stepper.h)
        return sensors.values(model, after, acceleration=acceleration, report=report), report

    actual, report = shown(state)
    expected = {
        "imu": [0, G, 0],
        "still": [0, 0, G],
        "touch": [2 * G],
        "floor": [2 * G],
        "push": [0, 0, 2 * G],
        "turn": [0, 0, 0],
        "top": [0, 0, 3.5 * G],
        "bottom": [0, 0, 0.5 * G],
        "wall": [0, 4 * G, 0],
        "moment": [0, 0, 0.3 * 4 * G],
        "capped": [10],
    }
    assert actual.keys() == expected.keys() == about.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(actual[name], values, atol=1e-7, err_msg=name)
    assert not sensors.values(model, state)
    with pytest.raises(ValueError, match="contact_data=True"):
        sensors.values(model, state, report=replace(report, contact_data=None))


@pytest.mark.parametrize("name", ["euler", "hht", "rk4"])
def test_sensors_of_what_hangs_where_nothing_can_touch(name: str) -> None:
    builder = ModelBuilder()
    builder.add_body(3.0, (0.1, 0.1, 0.1), (0, 0, -0.5), name="weight")
    builder.add_joint(Revolute((0, 1, 0)), 0, "weight", (0, 0, 0), name="top")
    model, state = builder.build()
    about = {"top": Sensor("jointforce", "top"), "touch": Sensor("touch", "weight")}
    after, report = STEPPERS[name](1e-3, contact_data=True).step(model, state)
    assert report.contact_data is not None and report.contact_data.live.shape == (0,)
    shown = attach_sensors(model, about).values(model, after, report=report)
    np.testing.assert_allclose(shown["top"], [0, 0, 3 * G], atol=1e-9)
    np.testing.assert_allclose(shown["touch"], [0], atol=1e-12)


def test_motion_of_sites() -> None:
    """Sites of a body that flies and spins move at v + ω × r, and accelerate by ω × (ω × r).

    That is what an accelerometer measures in free fall.
    """
    builder = ModelBuilder()
    spin, arm = np.array([0.3, -2.0, 1.0]), np.array([0.2, 0.1, -0.4])
    velocity = np.array([1.0, 2.0, 3.0])
    inertia, pose = (0.2, 0.2, 0.2), ((0.0, 0.0, 5.0), TILT)
    builder.add_body(2.0, inertia, *pose, velocity, spin, name="body")
    builder.add_body(1.0, inertia, (1.0, 0.0, 0.0), velocity=(0, 0, 3), name="other")
    site = builder.add_site("body", arm, name="tip")
    assert builder.add_site("body") == site + 1
    model, state = builder.build()
    about = {
        "place": Sensor("framepos", "tip", against="world"),
        "seen": Sensor("framepos", "tip", against=Site("other")),
        "facing": Sensor("framequat", "tip"),
        "up": Sensor("frameyaxis", "tip"),
        "speed": Sensor("framelinvel", "tip"),
        "past": Sensor("framelinvel", "tip", against=Site("other", (0, 0, 7.0))),
        "own": Sensor("velocimeter", "tip"),
        "gyro": Sensor("gyro", "tip"),
        "spin": Sensor("frameangvel", "site1"),
        "felt": Sensor("accelerometer", "tip"),
        "north": Sensor("magnetometer", "tip"),
        "centre": Sensor("subtreecom", "world"),
        "drift": Sensor("subtreelinvel", ("other",)),
        "turning": Sensor("subtreeangmom", "body"),
        "energy": Sensor("e_kinetic"),
        "height": Sensor("e_potential"),
    }
    sensors = attach_sensors(model, about, magnetic=(0, 0, 1))

    @jax.jit
    def shown(model: Model, state: State) -> dict[str, jax.Array]:
        return sensors.values(model, state, acceleration=accelerations(model, state).body)

    actual = shown(model, state)
    back = np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    """From the world's axes into the body's: its y is up, its z is the world's −y."""
    reach = back.T @ arm
    speed = velocity + np.cross(spin, reach)
    expected = {
        "place": np.array([0, 0, 5]) + reach,
        "seen": np.array([-1, 0, 5]) + reach,
        "facing": TILT,
        "up": [0, 0, 1],
        "speed": speed,
        "past": speed - [0, 0, 3],
        "own": back @ speed,
        "gyro": back @ spin,
        "spin": spin,
        "felt": back @ np.cross(spin, np.cross(spin, reach)),
        "north": [0, 1, 0],
        "centre": [1 / 3, 0, 10 / 3],
        "drift": [0, 0, 3],
        "turning": 0.2 * spin,
        "energy": [0.5 * (2 * 14 + 0.2 * spin @ spin + 9)],
        "height": [2 * G * 5],
    }
    assert expected.keys() == actual.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(actual[name], values, atol=1e-12, err_msg=name)

    def measured(position: jax.Array) -> jax.Array:
        sites = replace(model.sites, position=model.sites.position.at[site].set(position))
        return sensors.values(replace(model, sites=sites), state)["place"]

    np.testing.assert_allclose(
        jax.jit(jax.jacobian(measured))(jnp.asarray(arm)), back.T, atol=1e-12
    )


def test_joints_and_actuators() -> None:
    """Sensors show coordinates as they were set, the subtree below a joint, and a motor's force."""
    builder = ModelBuilder()
    for name, x in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        builder.add_body(1.0, (0.1, 0.1, 0.1), (x, 0, 0), name=name)
    builder.add_joint(Revolute((0, 0, 1)), 0, "a", (0.5, 0, 0), name="hinge")
    builder.add_joint(Spherical(), "a", "b", (1.5, 0, 0), name="ball")
    builder.add_actuator(motor(gear=3.0), "hinge", name="motor")
    model, state = builder.build()
    coordinate, rate = jnp.array([0.4, 0.0, np.pi / 2, 0.0]), jnp.array([0.5, 0.1, 0.2, 0.3])
    state = jax.jit(forward_kinematics)(model, state, coordinate, rate)
    sensors = attach_sensors(
        model,
        {
            "angle": Sensor("jointpos", "hinge"),
            "rate": Sensor("jointvel", "hinge"),
            "turned": Sensor("ballquat", "ball"),
            "turning": Sensor("ballangvel", "ball"),
            "force": Sensor("actuatorfrc", "motor"),
            "travel": Sensor("actuatorpos", "motor"),
            "both": Sensor("subtreecom", "a"),
            "last": Sensor("subtreecom", "b"),
        },
    )
    actual = jax.jit(sensors.values)(model, state, jnp.array([2.0]))
    motion = jax.jit(joint_motion)(model, state)
    np.testing.assert_allclose(motion.coordinate, coordinate, atol=1e-12)
    np.testing.assert_allclose(actual["angle"], [0.4], atol=1e-12)
    np.testing.assert_allclose(actual["rate"], [0.5], atol=1e-12)
    np.testing.assert_allclose(actual["turned"], [np.sqrt(0.5), 0, np.sqrt(0.5), 0], atol=1e-12)
    np.testing.assert_allclose(actual["turning"], motion.rate[1:], atol=1e-12)
    np.testing.assert_allclose(actual["force"], [2.0], atol=1e-12)
    np.testing.assert_allclose(actual["travel"], [1.2], atol=1e-12)
    a, b = np.asarray(state.position)[[1, 2]]
    np.testing.assert_allclose(actual["both"], (a + b) / 2, atol=1e-12)
    np.testing.assert_allclose(actual["last"], b, atol=1e-12)


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        (Sensor("gyroscope", "imu"), "did you mean 'gyro'"),
        (Sensor("gyro", "box"), "there is no site 'box'; there are imu, hook"),
        (Sensor("gyro", ("box",)), "give a site's name or a Site"),
        (Sensor("gyro", Site("bax")), "there is no body 'bax'"),
        (Sensor("gyro", Site("box", (0, 0, np.nan))), "position"),
        (Sensor("jointpos", "tap"), "did you mean 'top'"),
        (Sensor("jointpos", "top", "nowhere"), "relative to no frame: leave out against"),
        (Sensor("ballquat", "top"), "has no ball; use jointpos"),
        (Sensor("touch", Site("box")), "give its name"),
        (Sensor("subtreecom", Site("box")), "the name of one or a sequence"),
        (Sensor("subtreecom", ("world",)), "nothing moves"),
        (Sensor("clock", bounds=(1, 0)), "lower"),
        (Sensor("e_kinetic", "box"), "about the whole model, not 'box': leave out about"),
    ],
)
def test_bad_sensors(sensor: Sensor, message: str) -> None:
    model, _ = bench()
    with pytest.raises(ValueError, match=message) as error:
        attach_sensors(model, {"mine": sensor})
    assert "sensor 'mine'" in str(error.value)


@pytest.mark.parametrize(
    "kind",
    [
        *("gyro", "velocimeter", "accelerometer", "magnetometer", "framelinacc", "frameangacc"),
        *("rangefinder", "force", "torque", "zonetouch", "contact"),
    ],
)
def test_readings_in_their_own_or_world_axes_have_no_reference(kind: str) -> None:
    model, _ = bench()
    counts = ContactSelection(None, None, None, ("found",), "none", 1)
    mine = Sensor(kind, "imu", counts=counts if kind == "contact" else None)
    attach_sensors(model, {"mine": mine})
    with pytest.raises(ValueError, match=f"'mine'.* {kind} is relative to no frame") as error:
        attach_sensors(model, {"mine": replace(mine, against="hook")})
    assert "framepos, framequat, framexaxis" in str(error.value)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("choice", "maxforc", "choice .* did you mean 'maxforce'"),
        ("data", ("forse",), "data: .* did you mean 'force'"),
        ("data", "force", "data must be a tuple of found, force"),
        ("data", (), "data must be a tuple of found, force"),
        ("count", -1, "count .* at least 1, not -1"),
        ("count", 0, "count .* at least 1"),
        ("count", 1.5, "count .* at least 1"),
        ("zone", Plane(), "zone 'plane' is not one of sphere, box"),
        ("zone", "ball", "zone 'ball' is not one of sphere, box"),
    ],
)
def test_bad_selections_of_contacts(field: str, value: Any, message: str) -> None:
    model, _ = bench()
    selection = ContactSelection(None, None, None, ("found", "force"), "mindist", 2)
    attach_sensors(model, {"mine": Sensor("contact", counts=selection)})
    bad = replace(selection, **{field: value})
    with pytest.raises(ValueError, match=f"sensor 'mine': .*{message}"):
        attach_sensors(model, {"mine": Sensor("contact", "imu", counts=bad)})


def test_a_reading_at_its_bound_has_the_slope_of_one_within_it() -> None:
    model, state = bench()
    sensors = attach_sensors(model, {"time": Sensor("clock", bounds=(0.0, 0.5))})

    def reading(time: jax.Array) -> jax.Array:
        return sensors.values(model, replace(state, time=time))["time"][0]

    slopes = jax.vmap(jax.grad(reading))(jnp.array([0.0, 0.2, 0.5, 0.6]))
    np.testing.assert_array_equal(slopes, [1.0, 1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("kind", "parts", "message"),
    [
        ("zonetouch", {"zone": Plane()}, "the zone 'plane' is not one of"),
        ("rangefinder", {"zone": Box((1, 1, 1))}, "a rangefinder has no zone"),
        ("force", {"body": 5}, "counts: there is no body 5"),
    ],
)
def test_bad_scopes(kind: str, parts: Any, message: str) -> None:
    model, _ = bench()
    topology = model.topology
    scope = SensorScope(np.zeros(len(topology.shapes), bool), np.zeros(len(topology.bodies), bool))
    with pytest.raises(ValueError, match=f"sensor 'mine': {message}"):
        attach_sensors(model, {"mine": Sensor(kind, "imu", counts=replace(scope, **parts))})
