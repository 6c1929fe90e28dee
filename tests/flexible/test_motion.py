"""Test moving flexible bodies: a record, mechanics, obstacles and derivatives."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    Capsule,
    EulerImplicitLinearized,
    Material,
    ModelBuilder,
    Plane,
    Sensor,
    Site,
    Sphere,
    Spherical,
    Stop,
    attach_sensors,
    rollout,
)
from jaxccp.flexible import NodalFamily
from jaxccp.flexible.ancf import CableElements, rope
from jaxccp.model.family import FamilyState

STEPPER = EulerImplicitLinearized(1e-4)


def swinging(data) -> NodalFamily:
    """Return the cable of the record."""
    keys = {"area": "area", "second_moment": "second_moment", "young": "young_modulus"}
    keys |= {"density": "density", "retardation": "damping_alpha"}
    numbers: dict[str, Any] = {name: float(data[key]) for name, key in keys.items()}
    nodes = np.zeros((5, 3))
    nodes[:, 0] = data["node_x"]
    made = rope(jnp.asarray(nodes), **numbers, pinned=(0,))
    velocity = jnp.zeros((10, 3)).at[::2].set(data["node_velocity0"])
    return replace(made, velocity=velocity.at[1::2].set(data["slope_velocity0"]))


def test_the_cable_pendulum_follows_its_record(shared_data):
    """The cable follows the first 0.2 s of a record that was made with the same integrator.

    The whole record is in experiments/flexible.
    """
    data = np.load(shared_data / "multibody/fea/ancf_cable_pendulum.npz")
    builder = ModelBuilder(gravity=data["gravity"])
    builder.add_family(swinging(data), "cable")
    model, state = builder.build()
    _final, path = rollout(model, state, STEPPER, 2000)
    step = np.round(data["time"] / 1e-4).astype(int)
    recorded = (step > 0) & (step <= 2000)
    at = path.state.position[step[recorded] - 1]
    assert recorded.sum() > 200
    np.testing.assert_allclose(at[:, 3, 1], data["mid_y"][recorded], atol=1e-6)
    np.testing.assert_allclose(at[:, 5, 0], data["tip_x"][recorded], atol=1e-6)
    np.testing.assert_allclose(at[:, 5, 2], data["tip_z"][recorded], atol=1e-6)
    slope = path.state.families[0].q[step[recorded] - 1, :3]
    np.testing.assert_allclose(slope, data["root_slope"][recorded], atol=2e-5)
    assert not np.any(path.report.inverted)


@pytest.mark.slow
def test_youngs_modulus_is_found_from_the_record(shared_data):
    """The method of Gauss and Newton recovers Young's modulus of another program's cable.

    It starts from two thirds of it, and uses the first 0.1 s.
    """
    data = np.load(shared_data / "multibody/fea/ancf_cable_pendulum.npz")
    builder = ModelBuilder(gravity=data["gravity"])
    builder.add_family(swinging(data), "cable")
    model, state = builder.build()
    step = np.round(data["time"] / 1e-4).astype(int)
    used = (step > 0) & (step <= 1000)
    recorded = np.stack([data[key][used] for key in ("mid_y", "tip_x", "tip_z")], axis=1)

    def path(logarithm):
        (cable,) = model.families
        assert isinstance(cable, NodalFamily) and isinstance(cable.elements, CableElements)
        elements = replace(cable.elements, young=jnp.exp(logarithm))
        changed = replace(model, families=(replace(cable, elements=elements),))
        at = rollout(changed, state, STEPPER, 1000)[1].state.position[step[used] - 1]
        return jnp.stack([at[:, 3, 1], at[:, 5, 0], at[:, 5, 2]], axis=1)

    path_and_slope = jax.jit(lambda at: jax.jvp(path, (at,), (jnp.ones(()),)))
    logarithm = jnp.log(float(data["young_modulus"]) * 2 / 3)
    for _ in range(5):
        at, slope = path_and_slope(logarithm)
        logarithm = logarithm + jnp.sum(slope * (recorded - at)) / jnp.sum(slope * slope)
    np.testing.assert_allclose(jnp.exp(logarithm), data["young_modulus"], rtol=1e-4)


@pytest.fixture(scope="module")
def cable_on_peg():
    """Return a cable that has fallen over a fixed peg and hangs.

    It has 16 elements, and balls of its own radius at its nodes.
    """
    builder = ModelBuilder()
    rough, radius, count = Material(friction=0.6), 0.004, 16
    peg = builder.add_fixed((0, 0, 0.25))
    rotation = (np.sqrt(0.5), np.sqrt(0.5), 0, 0)
    builder.add_shape(peg, Capsule(0.03, 0.2), quaternion=rotation, material=rough)
    nodes = np.linspace([-0.2, 0, 0.29], [0.2, 0, 0.29], count + 1)
    for body in builder.add_cable(nodes, radius, 2e6, 1100.0, 0.3, name="rope"):
        builder.add_shape(body, Sphere(radius), material=rough)
    model, state = builder.build(max_contacts=8)
    stop = Stop(1e-9)
    final, path = rollout(model, state, EulerImplicitLinearized(5e-3, stop=stop), 500)
    return model, final, path


def test_a_cable_hangs_over_a_peg_by_hard_contacts(cable_on_peg):
    model, final, path = cable_on_peg
    gap = jnp.linalg.norm(final.position[2:, ::2] - jnp.array([0, 0.25]), axis=1) - 0.034
    assert gap.min() > -1e-6
    assert np.abs(final.velocity).max() < 1e-3
    # It hangs down on both sides, and the peg carries all of it.
    assert final.position[2, 2] < 0.2 and final.position[-1, 2] < 0.2
    weight = 1100.0 * np.pi * 0.004**2 * 0.4 * 9.81
    lifted = path.report.contact_wrenches[-50:, 2:, 2].sum(1)
    np.testing.assert_allclose(lifted.mean(), weight, rtol=1e-3)
    assert not np.any(path.report.inverted) and not path.report.solver.status.any()
    kinetic, _potential = model.families[0].energy(*vars(final.families[0]).values(), model.gravity)
    assert kinetic < 1e-7


def test_a_weight_on_a_joint_at_the_end_stretches_a_cable():
    """The stretch s satisfies E A ε s = m g, ε = ½ (s² − 1); the cable weighs next to nothing."""
    builder, radius, young = ModelBuilder(), 0.002, 1e7
    nodes = builder.add_cable(
        np.linspace([0, 0, 0], [0, 0, -0.5], 3), radius, young, 1.0, 0.05, pinned=[0]
    )
    bob = builder.add_solid(Sphere(0.03), 0.5, position=(0, 0, -0.53))
    builder.add_joint(Spherical(), nodes[-1], bob, anchor=(0, 0, -0.5))
    model, state = builder.build()
    final, path = rollout(model, state, EulerImplicitLinearized(5e-3), 300)
    force, stiffness = 0.5 * 9.81, young * np.pi * radius**2
    stretch = np.roots([0.5, 0.0, -0.5, -force / stiffness]).real.max()
    np.testing.assert_allclose(final.position[bob, 2], -0.5 * stretch - 0.03, atol=2e-6)
    np.testing.assert_allclose(path.report.reactions[-1, 0, :3], (0, 0, force), atol=1e-6)


INPUTS = {"young": 1.6e6, "retardation": 2e-3, "area": 2.5e-5, "reach": 1.0, "load": 0.02}


@pytest.fixture(scope="module")
def motion():
    """Return the path of a cable's nodes while it swings as a function of all :data:`INPUTS`."""
    builder = ModelBuilder(gravity=(0, -9.8, 0))
    builder.add_cable(np.linspace([0, 0, 0], [1, 0, 0], 4), 0.003, 1.6e6, 320.0, pinned=(0,))
    model, state = builder.build()

    def run(inputs):
        numbers = dict(zip(INPUTS, inputs, strict=True))
        nodes = jnp.linspace(jnp.zeros(3), jnp.array([1.0, 0, 0]), 4) * numbers.pop("reach")
        load = numbers.pop("load")
        family = rope(nodes, second_moment=5e-8, density=320.0, **numbers, pinned=(0,))
        family = replace(family, load=family.load.at[-2, 2].set(load))
        changed = replace(model, families=(family,))
        start = replace(state, families=(family.start(),))
        _final, path = rollout(changed, start, EulerImplicitLinearized(2e-3), 60)
        return path.state.families[0].q

    return run


def test_derivatives_of_a_motion_are_central_differences(motion):
    """Derivatives in all inputs, in one batch, agree with central differences.

    The inputs are modulus, damping, section, length and load.
    """
    inputs, step = jnp.array(list(INPUTS.values())), 1e-5
    scale = jnp.diag(inputs)
    both = jax.jit(jax.vmap(lambda at, direction: jax.jvp(motion, (at,), (direction,))))
    away = step * jnp.concatenate([0 * scale, scale, -scale])
    ends, slopes = both(inputs + away, jnp.tile(scale, (3, 1)))
    central = (ends[5:10] - ends[10:]) / (2 * step)
    for slope, difference in zip(slopes[:5], central, strict=True):
        assert np.abs(difference).max() > 1e-4
        np.testing.assert_allclose(slope, difference, atol=1e-6 * np.abs(difference).max())


@pytest.mark.long
def test_youngs_modulus_is_found_from_a_motion(motion):
    """The method of Gauss and Newton recovers the logarithm of the modulus, from a third too
    soft."""
    truth = jnp.array(list(INPUTS.values()))
    measured = jax.jit(motion)(truth)

    @jax.jit
    def improved(log_young):
        def residual(at):
            return motion(truth.at[0].set(jnp.exp(at))) - measured

        error, slope = jax.jvp(residual, (log_young,), (jnp.ones(()),))
        return log_young - jnp.vdot(slope, error) / jnp.vdot(slope, slope)

    guess = jnp.log(truth[0] / 1.5)
    for _ in range(8):
        guess = improved(guess)
    np.testing.assert_allclose(jnp.exp(guess), truth[0], rtol=1e-8)


def test_frames_follow_families_that_are_replaced():
    """A cable that is given a place and a velocity by its coordinates alone has them for sensors
    and contacts of the first step: lowered to a floor, it is stopped there."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.add_shape(0, Plane(), material=Material(friction=0.0))
    frames = builder.add_cable([(0, 0, 1), (0.1, 0, 1)], 0.01, 1e6, 1e3)
    for frame in frames:
        builder.add_shape(frame, Sphere(0.01), material=Material(friction=0.0))
    model, state = builder.build()
    low = jnp.zeros((4, 3)).at[::2].set(jnp.array([0.0, 0.0, -0.99]))
    speed = jnp.zeros((4, 3)).at[::2].set(jnp.array([1.0, 2.0, -3.0]))
    falling = FamilyState(state.families[0].q + low.reshape(-1), speed.reshape(-1))
    state = replace(state, families=(falling,))
    sensors = attach_sensors(
        model,
        {
            "speed": Sensor("velocimeter", Site(frames[1])),
            "place": Sensor("framepos", Site(frames[1])),
        },
    )
    actual = sensors.values(model, state)
    np.testing.assert_allclose(actual["speed"], [1, 2, -3], atol=1e-12)
    np.testing.assert_allclose(actual["place"], [0.1, 0, 0.01], atol=1e-12)
    after, report = EulerImplicitLinearized(1e-3).step(model, state)
    assert report.contacts == 2
    np.testing.assert_allclose(after.position[1:, 2], 0.01, atol=1e-9)
