"""Test smooth contact against closed forms of mechanics, and its state, reports and batches."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.dynamics import (
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Mode,
    Stepper,
    Trajectory,
    momentum,
    rollout,
    rollout_batch,
    with_capacity,
)
from jaxccp.dynamics.smooth import SmoothForces, smooth_contacts, smooth_forces
from jaxccp.math import quaternion
from jaxccp.model import (
    Box,
    Material,
    Model,
    Plane,
    Revolute,
    SmoothCoefficients,
    SmoothLaws,
    Sphere,
    State,
)
from jaxccp.scene import ModelBuilder
from tests.dynamics.smooth.smooth_surfaces import HARD, bouncing, plane_modulus, surface
from tests.families.chain import Chain


def overlaps(path: Trajectory) -> np.ndarray:
    """Return the number of smooth contacts of each record."""
    assert path.report.smooth_contacts is not None
    return np.asarray(path.report.smooth_contacts)


def test_two_balls_keep_their_momentum() -> None:
    """Linear and angular momentum are kept while two balls rub, roll and bounce off each other."""
    builder = ModelBuilder((0, 0, 0))
    material = surface(friction=0.4, e=0.6, rolling=1e-3)
    builder.add_solid(Sphere(0.1), 0.5, material, position=(0, 0, 0), angular_velocity=(3, 8, -5))
    builder.add_solid(Sphere(0.2), 2.0, material, position=(0.05, 0.1, 0.29), velocity=(0.2, 0, -2))
    model, state = builder.build()
    end, path = rollout(model, state, EulerImplicitLinearized(1e-5), 5000, every=100)
    assert overlaps(path).max() == 1 and overlaps(path)[-1] == 0
    for before, after in zip(momentum(model, state), momentum(model, end), strict=True):
        np.testing.assert_allclose(after, before, atol=1e-9)
    assert np.abs(end.angular_velocity[2]).min() > 1e-2


@pytest.fixture(scope="module")
def mixed() -> tuple[Model, State, Trajectory]:
    """Simulate a hard ball, a smooth one and a smooth box on one hard floor."""
    builder = ModelBuilder(smooth_laws=SmoothLaws("hooke"))
    builder.add_shape(0, Plane(), material=HARD)
    springy = Material(0.5, 0.0, smooth=SmoothCoefficients(2e4, 200.0, 1e4, 100.0))
    builder.add_solid(Sphere(0.1), 1.0, HARD, position=(0, 0, 0.1), name="hard")
    builder.add_solid(Sphere(0.1), 2.0, springy, position=(1, 0, 0.1), name="smooth")
    builder.add_solid(Box((0.1, 0.1, 0.1)), 4.0, springy, position=(2, 0, 0.1), name="box")
    model, state = builder.build()
    stepper = EulerImplicitLinearized(5e-4, contact_data=True)
    return model, state, rollout(model, state, stepper, 4000, every=1000)[1]


def test_hard_and_smooth_bodies_rest_on_one_floor(mixed: tuple[Model, State, Trajectory]) -> None:
    """The hard ball rests where it touches, the smooth bodies where springs of 2e4 N/m carry
    them."""
    _, _, path = mixed
    height = path.state.position[-1, 1:, 2]
    sunk = np.array([0.0, 2.0 * 9.81 / 2e4, 4.0 * 9.81 / (4 * 2e4)])
    np.testing.assert_allclose(height, 0.1 - sunk, atol=1e-7)
    weight = 9.81 * np.array([-7.0, 1.0, 2.0, 4.0])
    np.testing.assert_allclose(path.report.contact_wrenches[-1, :, 2], weight, atol=1e-4)


def test_smooth_contacts_are_in_the_contact_data(mixed: tuple[Model, State, Trajectory]) -> None:
    _, _, path = mixed
    data = jax.tree.map(lambda leaf: np.asarray(leaf[-1]), path.report.contact_data)
    second = data.bodies[data.live, 1]
    assert sorted(second.tolist()) == [1, 2, 3, 3, 3, 3]
    assert overlaps(path)[-1] == 5 and path.report.contacts[-1] == 1
    for body, share in ((1, 1.0), (2, 2.0), (3, 1.0)):
        forces = data.force[data.live][second == body]
        np.testing.assert_allclose(forces[:, 2], 9.81 * share, atol=1e-4)
    assert np.all(data.mode[data.live] == Mode.STICKING)
    smooth = data.live & (data.bodies[:, 1] > 1)
    np.testing.assert_allclose(data.gap[smooth], -9.81 / 2e4 * np.array([2, 1, 1, 1, 1]), atol=1e-7)


@pytest.mark.parametrize(
    "stepper",
    [EulerImplicitLinearized(5e-4, coordinates="maximal"), EulerImplicitProjected(5e-4)],
    ids=["maximal", "projected"],
)
def test_other_steps_take_the_same_forces(
    mixed: tuple[Model, State, Trajectory], stepper: Stepper
) -> None:
    model, state, path = mixed
    _, alternative = rollout(model, state, stepper, 1000, every=1000)
    # Of the hard ball projection undoes what the other leaves.
    np.testing.assert_allclose(
        alternative.state.position[0, 2:], path.state.position[0, 2:], atol=1e-9
    )


def test_a_hard_scene_knows_nothing_of_smooth_contact() -> None:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=HARD)
    builder.add_solid(Sphere(0.1), 1.0, HARD, position=(0, 0, 0.1))
    builder.add_solid(Sphere(0.1), 1.0, surface(), position=(9, 0, 0.1))
    builder.collide_only([(0, 1)])
    model, state = builder.build()
    stepper = EulerImplicitLinearized()
    carry, report = jax.eval_shape(stepper.advance, model, stepper.init(model, state))
    parts = model.smooth, model.topology.smooth, carry.smooth, report.smooth_contacts
    assert parts == (None,) * 4


def on_slope(tangential: str, tilt: float) -> tuple[Model, State]:
    """Build a box of 1 kg that rests on a slope, with given springs and dashpots and μ = 0.7."""
    builder = ModelBuilder(
        (9.81 * np.sin(tilt), 0, -9.81 * np.cos(tilt)),
        smooth_laws=SmoothLaws("hooke", tangential),  # type: ignore[arg-type]
    )
    builder.add_shape(0, Plane(), material=Material(0.7))
    springy = Material(0.7, 0.0, smooth=SmoothCoefficients(1e4, 50.0, 5e3, 50.0))
    sunk = 9.81 * np.cos(tilt) / 4e4
    builder.add_solid(Box((0.1, 0.1, 0.05)), 1.0, springy, position=(0, 0, 0.05 - sunk))
    return builder.build()


def test_a_stretched_spring_holds_a_box_on_a_slope() -> None:
    """A stretched spring holds the box by k_t s: four springs of 5e3 N/m carry 9.81 sin 20° N. A
    law without memory creeps at 9.81 sin 20° / (4 (g_t + k_t h)), and a slope of 40° is too
    steep."""
    h, steps = 1e-3, 2000
    pull = 9.81 * np.sin(np.radians(20))
    speed = {}
    for tangential in ("multi-step", "one-step", "none"):
        model, state = on_slope(tangential, np.radians(20))
        _, path = rollout(model, state, EulerImplicitLinearized(h), steps, every=steps // 2)
        speed[tangential] = path.state.velocity[-1, 1, 0]
        if tangential == "multi-step":
            # The centre also moves as the box leans over on its springs.
            slid = path.state.position[-1, 1, 0] - 0.05 * 2 * lean(path.state, -1)
            assert slid == pytest.approx(pull / (4 * 5e3), rel=2e-2)
    assert abs(speed["multi-step"]) < 1e-8
    assert speed["one-step"] == pytest.approx(pull / (4 * (50.0 + 5e3 * h)), rel=1e-3)
    assert speed["none"] == pytest.approx(pull / (4 * 50.0), rel=1e-3)
    model, state = on_slope("multi-step", np.radians(40))
    end, _ = rollout(model, state, EulerImplicitLinearized(h), 1000, every=1000)
    sliding = 9.81 * (np.sin(np.radians(40)) - 0.7 * np.cos(np.radians(40)))
    assert end.velocity[1, 0] == pytest.approx(sliding * 1.0, rel=2e-2)


def lean(state: State, at: int) -> float:
    """Return half the sine of the angle by which the first body is rotated about y."""
    return float(state.quaternion[at, 1, 2])


def forces_of(model: Model, state: State) -> SmoothForces:
    stepper = EulerImplicitLinearized(1e-3)
    memory = stepper.init(model, state).smooth
    return smooth_forces(model, state, smooth_contacts(model, state), memory, 1e-3)


def test_a_stretch_turns_with_the_surfaces() -> None:
    """The stretch of a contact between two balls rotates with them, whether they spin together
    about their normal or revolve together."""
    builder = ModelBuilder((0, 0, 0), smooth_laws=SmoothLaws("hooke"))
    material = surface(friction=10.0)
    builder.add_solid(Sphere(0.1), 1.0, material, position=(0, 0, 0))
    builder.add_solid(Sphere(0.1), 1.0, material, position=(0.19, 0, 0), velocity=(0, 0.3, 0))
    model, state = builder.build()
    before = forces_of(model, state)
    assert before.memory is not None
    stretch = before.memory.values[0, :3]
    np.testing.assert_allclose(stretch, (0, 3e-4, 0), atol=1e-15)
    for axis in np.eye(3):
        vector, h = 0.02 * axis, 0.01
        rotated = quaternion.rotate(quaternion.exp(jnp.asarray(vector))[None], state.position)
        spin = jnp.broadcast_to(vector / h, (3, 3))
        swung = jnp.cross(spin, rotated)
        after = replace(state, position=rotated, velocity=swung, angular_velocity=spin)
        contacts = smooth_contacts(model, after)
        forces = smooth_forces(model, after, contacts, before.memory, h)
        assert forces.memory is not None
        expected = quaternion.rotate(quaternion.exp(jnp.asarray(vector)), stretch)
        np.testing.assert_allclose(forces.memory.values[0, :3], expected, atol=1e-3 * 3e-4)


def test_joints_carry_what_smooth_contacts_leave_them() -> None:
    """A bar with one end in a hinge and the other on a smooth floor loads each with half of its
    weight."""
    builder = ModelBuilder(smooth_laws=SmoothLaws("hooke"))
    builder.add_shape(0, Plane(), material=HARD)
    bar = builder.add_body(2.0, (0.01, 0.2, 0.2), (0.5, 0, 0.1))
    springy = Material(0.5, 0.0, smooth=SmoothCoefficients(2e4, 200.0, 0.0, 0.0))
    builder.add_shape(bar, Sphere(0.1), (0.5, 0, 0), material=springy)
    builder.add_joint(Revolute((0, 1, 0)), 0, bar, (0, 0, 0.1), collide=True)
    model, state = builder.build()
    _, path = rollout(model, state, EulerImplicitLinearized(5e-4), 4000, every=4000)
    assert path.report.reactions[-1, 0, 2] == pytest.approx(9.81, rel=1e-3)
    assert path.report.contact_wrenches[-1, bar, 2] == pytest.approx(9.81, rel=1e-3)


def test_a_family_lies_on_a_smooth_floor() -> None:
    """Each point mass of a chain sinks in as far as its own weight demands, and a light one does
    not vibrate, since its dashpot is designed for its mass."""
    start = jnp.array([[0.0, 0, 0.1], [1.0, 0, 0.1]])
    mass = jnp.array([0.1, 2.0])
    soft = jnp.asarray(1e-9)
    chain = Chain(start, mass, stiffness=soft, damping=soft, length=jnp.asarray(1.0))
    builder = ModelBuilder(smooth_laws=SmoothLaws("hertz"))
    builder.add_shape(0, Plane(), material=HARD)
    for frame in builder.add_family(chain):
        builder.add_shape(frame, Sphere(0.1), material=surface(e=0.0))
    model, state = builder.build()
    assert model.smooth is not None
    # A point mass feels its own mass: 1/m = tr(M⁻¹)/3.
    np.testing.assert_allclose(model.smooth.frame_mass, [0.0, 0.1, 2.0], rtol=1e-12)
    end, _ = rollout(model, state, EulerImplicitLinearized(1e-4), 10_000, every=10_000)
    stiffness = 4 / 3 * plane_modulus() * 0.1**0.5
    sunk = (9.81 * mass / stiffness) ** (2 / 3)
    np.testing.assert_allclose(end.position[1:, 2], 0.1 - sunk, rtol=0, atol=2e-3 * sunk.min())


def test_room_and_broad_phases_change_nothing() -> None:
    """A run that finds its room, one with as little as it needs, and one that searches for near
    pairs give the same motion; too little room is reported."""
    builder = {}
    for method in ("all-pairs", "cells"):
        builder[method] = ModelBuilder(broad_phase=method)
        builder[method].add_shape(0, Plane(), material=surface(0.4, 0.5))
        for i in range(9):
            at = (0.11 * (i % 3), 0.12 * (i // 3), 0.1 + 0.02 * i)
            builder[method].add_solid(Sphere(0.06), 1.0, surface(0.4, 0.5), position=at)
    stepper, steps = EulerImplicitLinearized(2e-4), 2000
    model, state = builder["all-pairs"].build()
    expected, path = rollout(model, state, stepper, steps, every=steps)
    most = int(overlaps(path).max())
    assert 4 < most < 45 and not path.report.overflow.any()
    searched, _ = builder["cells"].build()
    assert searched.topology.smooth is not None and searched.topology.searched
    for variant in (with_capacity(model, most), searched):
        end, path = rollout(variant, state, stepper, steps, every=steps)
        np.testing.assert_allclose(end.position, expected.position, atol=1e-9)
        assert not path.report.overflow.any()
    with pytest.raises(OverflowError, match=r"smooth contacts at once.*room for 4"):
        rollout(with_capacity(model, 4), state, stepper, steps, every=steps, check=True)


def test_a_rollout_goes_on_from_its_carry() -> None:
    """The carry holds the stretches: two halves of a rollout give the same state as the whole."""
    model, state = on_slope("multi-step", np.radians(20))
    stepper = EulerImplicitLinearized(1e-3)
    uninterrupted, _ = rollout(model, state, stepper, 200, every=200)
    carry, _ = rollout(model, stepper.init(model, state), stepper, 100, every=100)
    carry, _ = rollout(model, stepper.init(model, carry), stepper, 100, every=100)
    np.testing.assert_allclose(carry.state.position, uninterrupted.position, atol=1e-15)


def test_single_steps_do_not_know_the_stretch() -> None:
    """A loop of single steps from states creeps as the law without memory does; the carry's loop
    stays."""
    model, state = on_slope("multi-step", np.radians(20))
    stepper, steps = EulerImplicitLinearized(1e-3), 500
    single = jax.lax.fori_loop(0, steps, lambda _, s: stepper.step(model, s)[0], state)
    begin = stepper.init(model, state)
    end = jax.lax.fori_loop(0, steps, lambda _, carry: stepper.advance(model, carry)[0], begin)
    creep = 9.81 * np.sin(np.radians(20)) / (4 * (50.0 + 5e3 * 1e-3))
    assert single.velocity[1, 0] == pytest.approx(creep, rel=1e-3)
    assert abs(end.state.velocity[1, 0]) < 1e-3 * creep


def test_batches_and_single_precision() -> None:
    """Copies of a batch move as single runs do, and a ball rebounds in float32 as in float64."""
    model, state = bouncing()
    lifted = [0.0, 0.05]
    states = jax.tree.map(
        lambda *leaves: jnp.stack(leaves),
        *(replace(state, position=state.position.at[1:, 2].add(up)) for up in lifted),
    )
    stepper, steps = EulerImplicitLinearized(1e-4), 3000
    together, _ = rollout_batch(model, states, stepper, steps, every=steps)
    for i in range(2):
        alone = jax.tree.map(lambda leaf: leaf[i], states)  # noqa: B023
        end, _ = rollout(model, alone, stepper, steps, every=steps)
        np.testing.assert_allclose(together.position[i], end.position, atol=1e-9)

    with jax.enable_x64(False):
        builder = ModelBuilder((0, 0, 0))
        builder.add_shape(0, Plane(), material=HARD)
        start = {"position": (0, 0, 0.1), "velocity": (0.5, 0, -1.0)}
        builder.add_solid(Sphere(0.1), 0.5, surface(0.3, 0.5), **start)
        model, state = builder.build()
        end, _ = rollout(model, state, EulerImplicitLinearized(2e-5), 2000, every=2000)
        assert end.velocity.dtype == jnp.float32
        assert end.velocity[1, 2] == pytest.approx(0.5, abs=2e-3)
        # Sliding all through, friction takes μ (1 + e) v from the speed along the floor.
        assert end.velocity[1, 0] == pytest.approx(0.5 * 5 / 7, abs=1e-1)
