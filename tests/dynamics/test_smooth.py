"""Smooth contact against closed forms of mechanics."""

from dataclasses import replace
from functools import partial
from math import pi

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from jaxccp.dynamics import (
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Mode,
    Stepper,
    Trajectory,
    energy,
    momentum,
    rollout,
    rollout_batch,
    with_capacity,
)
from jaxccp.dynamics.smooth import SmoothForces, smooth_contacts, smooth_forces
from jaxccp.math import quaternion
from jaxccp.model import (
    Box,
    Capsule,
    Material,
    Model,
    Plane,
    Revolute,
    SmoothCoefficients,
    SmoothLaws,
    SmoothMaterial,
    Sphere,
    State,
)
from jaxccp.scene import ModelBuilder
from tests.families.chain import Chain

pytestmark = pytest.mark.usefixtures("optimised")

YOUNG, POISSON = 2e6, 0.3
HARD = Material(friction=0.5, restitution=1.0)


def surface(
    friction: float = 0.0, e: float = 1.0, rolling: float = 0.0, adhesion: float = 0.0
) -> Material:
    smooth = SmoothMaterial(YOUNG, POISSON, adhesion)
    return Material(friction, e, rolling=rolling, smooth=smooth)


def plane_modulus(rigid_partner: bool = True) -> float:
    """E*, with a rigid partner or with one that is the same."""
    return YOUNG / (1 - POISSON**2) / (1 if rigid_partner else 2)


def test_a_hertzian_collision_is_as_long_and_as_deep_as_hertz_has_it() -> None:
    """δ = (15 m v² / (16 E* √R))^⅖ and t = 2.94325 δ / v (Johnson, Contact Mechanics, 11.1), of a
    ball and of two different balls."""
    builder = ModelBuilder((0, 0, 0))
    builder.add_shape(0, Plane(), material=HARD)
    radius, mass, speed = 0.1, 0.5, 2.0
    builder.add_solid(Sphere(radius), mass, surface(), position=(0, 0, radius), velocity=(0, 0, -2))
    builder.add_solid(Sphere(0.1), 0.5, surface(), position=(3, 0, 5), velocity=(0, 0, -1))
    builder.add_solid(Sphere(0.3), 2.0, surface(), position=(3, 0, 4.6), velocity=(0, 0, 1))
    model, state = builder.build()
    h, steps = 1e-6, 40_000
    _, path = rollout(model, state, EulerImplicitLinearized(h), steps, every=4)
    height = path.state.position[:, :, 2]
    gaps = height[:, 1] - radius, height[:, 2] - height[:, 3] - 0.4
    heavy = 0.5 * 2.0 / 2.5
    kinds = ((mass, radius, plane_modulus()), (heavy, 0.075, plane_modulus(False)))
    for gap, (m, r, modulus) in zip(gaps, kinds, strict=True):
        deepest = (15 * m * speed**2 / (16 * modulus * r**0.5)) ** 0.4
        assert -gap.min() == pytest.approx(deepest, rel=1e-5)
        assert np.sum(gap < 0) * 4 * h == pytest.approx(2.94325 * deepest / speed, rel=2e-3)


@pytest.mark.parametrize("e", [0.3, 0.8])
def test_flores_rebounds_as_its_equation_has_it(e: float) -> None:
    """m δ̈ = −K δⁿ (1 + χ δ̇) has the integral d (1 + e') = ln((1 + d) / (1 − d e')), d = χ v, for
    every n; the law sets d = 8 (1 − e) / (5 e), and e' is near e for small losses only."""
    builder = ModelBuilder((0, 0, 0), smooth_laws=SmoothLaws("flores"))
    builder.add_shape(0, Plane(), material=HARD)
    for i, speed in enumerate((0.5, 3.0)):
        start = {"position": (i, 0, 0.1), "velocity": (0, 0, -speed)}
        builder.add_solid(Sphere(0.1), 0.5, surface(e=e), **start)
    model, state = builder.build()
    end, _ = rollout(model, state, EulerImplicitLinearized(2e-6), 30_000, every=30_000)
    d = 8 * (1 - e) / (5 * e)
    exact = brentq(
        lambda x: d * (1 + x) - np.log((1 + d) / (1 - d * x)), 1e-6, min(1, 0.999999 / d)
    )
    np.testing.assert_allclose(end.velocity[1:, 2], exact * np.array([0.5, 3.0]), rtol=2e-4)


@pytest.mark.parametrize(("law", "strength"), [("constant", 1.3), ("dmt", 5.0), ("perko", 40.0)])
def test_a_ball_hangs_until_its_weight_is_the_pull_off_force(law: str, strength: float) -> None:
    """Under a ceiling: 1.3 N; 2 π w R (Derjaguin, Muller & Toporov); 3.6e-2 S² R (Perko)."""
    radius = 0.05
    pull = {
        "constant": strength,
        "dmt": 2 * pi * strength * radius,
        "perko": 3.6e-2 * strength**2 * radius,
    }[law]
    builder = ModelBuilder(smooth_laws=SmoothLaws(adhesion=law))
    builder.add_shape(0, Plane(), quaternion=(0, 1, 0, 0), material=HARD)
    sticky = surface(e=0.1, adhesion=strength)
    # Where it rests without weight: f(δ) = (4/3) E* √R δ^{3/2} is the adhesion.
    overlap = (pull / (4 / 3 * plane_modulus() * radius**0.5)) ** (2 / 3)
    for i, share in enumerate((0.97, 1.03)):
        at = (i, 0, overlap - radius)
        builder.add_solid(Sphere(radius), share * pull / 9.81, sticky, position=at)
    model, state = builder.build()
    # Put on at once, a weight stretches a spring twice as far: they are let down slowly.
    steps = 20_000
    lift = 9.81 * model.bodies.mass * jnp.linspace(1, 0, steps)[:, None]
    forces = jnp.zeros((steps, 3, 6)).at[:, :, 2].set(lift)
    held, _ = rollout(model, state, EulerImplicitLinearized(1e-4), steps, forces, every=steps)
    _, path = rollout(model, held, EulerImplicitLinearized(1e-4), 5000, every=5000)
    hanging, fallen = path.state.position[-1, 1:, 2]
    assert -radius < hanging < overlap - radius and fallen < -0.5


def bouncing() -> tuple[Model, State]:
    """Balls and capsules that spin, on a floor and on one another."""
    builder = ModelBuilder(smooth_laws=SmoothLaws("hertz"))
    own = surface(friction=0.5, e=0.9, rolling=1e-3)
    builder.add_shape(0, Plane(), material=own)
    turning = {"velocity": (1.0, -0.5, -1.0), "angular_velocity": (9.0, 4.0, -12.0)}
    builder.add_solid(Sphere(0.1), 0.5, own, position=(0, 0, 0.25), **turning)
    builder.add_solid(Sphere(0.15), 1.0, own, position=(0.05, 0.02, 0.6))
    lying = {"position": (-0.6, 0, 0.4), "quaternion": (0.8, 0.6, 0, 0)}
    builder.add_solid(Capsule(0.1, 0.15), 1.0, own, **lying, angular_velocity=(0, 7, 0))
    return builder.build()


def test_energy_never_grows() -> None:
    """Elastic energy is in it only while surfaces overlap, and is positive: what has none then has
    never more than what it had without before."""
    model, state = bouncing()
    _, path = rollout(model, state, EulerImplicitLinearized(2e-5), 60_000, every=20)
    kinetic, potential = jax.vmap(partial(energy, model))(path.state)
    total, apart = np.array(kinetic + potential), np.array(path.report.smooth_contacts) == 0
    assert apart.sum() > 100 and np.sum(np.diff(apart.astype(int)) < 0) > 5
    alone = total[apart]
    assert np.all(alone <= np.minimum.accumulate(alone) * (1 + 1e-4))
    assert np.all(total <= total[0] * (1 + 1e-4)) and alone[-1] < 0.8 * total[0]


def test_two_balls_keep_their_momentum() -> None:
    """Linear and angular, while they rub, roll and bounce off each other."""
    builder = ModelBuilder((0, 0, 0))
    own = surface(friction=0.4, e=0.6, rolling=1e-3)
    builder.add_solid(Sphere(0.1), 0.5, own, position=(0, 0, 0), angular_velocity=(3, 8, -5))
    builder.add_solid(Sphere(0.2), 2.0, own, position=(0.05, 0.1, 0.29), velocity=(0.2, 0, -2))
    model, state = builder.build()
    end, path = rollout(model, state, EulerImplicitLinearized(1e-5), 5000, every=100)
    assert path.report.smooth_contacts.max() == 1 and path.report.smooth_contacts[-1] == 0
    for before, after in zip(momentum(model, state), momentum(model, end), strict=True):
        np.testing.assert_allclose(after, before, atol=1e-9)
    assert np.abs(end.angular_velocity[2]).min() > 1e-2


@pytest.fixture(scope="module")
def mixed() -> tuple[Model, State, Trajectory]:
    """On one hard floor: a hard ball, a smooth one, and a smooth box."""
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
    """The hard one where it touches, the others where springs of 2e4 N/m carry them."""
    model, _, path = mixed
    height = path.state.position[-1, 1:, 2]
    sunk = np.array([0.0, 2.0 * 9.81 / 2e4, 4.0 * 9.81 / (4 * 2e4)])
    np.testing.assert_allclose(height, 0.1 - sunk, atol=1e-7)
    weight = 9.81 * np.array([-7.0, 1.0, 2.0, 4.0])
    np.testing.assert_allclose(path.report.contact_wrenches[-1, :, 2], weight, atol=1e-4)


def test_smooth_contacts_are_in_the_contact_data(mixed: tuple[Model, State, Trajectory]) -> None:
    model, _, path = mixed
    data = jax.tree.map(lambda leaf: np.asarray(leaf[-1]), path.report.contact_data)
    second = data.bodies[data.live, 1]
    assert sorted(second.tolist()) == [1, 2, 3, 3, 3, 3]
    assert path.report.smooth_contacts[-1] == 5 and path.report.contacts[-1] == 1
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
    _, other = rollout(model, state, stepper, 1000, every=1000)
    # Of the hard ball projection undoes what the other leaves.
    np.testing.assert_allclose(other.state.position[0, 2:], path.state.position[0, 2:], atol=1e-9)


def test_a_hard_scene_knows_nothing_of_smooth_contact() -> None:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=HARD)
    builder.add_solid(Sphere(0.1), 1.0, HARD, position=(0, 0, 0.1))
    builder.add_solid(Sphere(0.1), 1.0, surface(), position=(9, 0, 0.1))
    builder.collide_only([(0, 1)])
    model, state = builder.build()
    stepper = EulerImplicitLinearized()
    carry, report = stepper.advance(model, stepper.init(model, state))
    found = model.smooth, model.topology.smooth, carry.smooth, report.smooth_contacts
    assert found == (None,) * 4


def on_slope(tangential: str, tilt: float) -> tuple[Model, State]:
    """A box of 1 kg that rests on a slope, springs and dashpots given, μ = 0.5."""
    builder = ModelBuilder(
        (9.81 * np.sin(tilt), 0, -9.81 * np.cos(tilt)),
        smooth_laws=SmoothLaws("hooke", tangential),  # type: ignore[arg-type]
    )
    builder.add_shape(0, Plane(), material=HARD)
    springy = Material(0.5, 0.0, smooth=SmoothCoefficients(1e4, 50.0, 5e3, 50.0))
    sunk = 9.81 * np.cos(tilt) / 4e4
    builder.add_solid(Box((0.1, 0.1, 0.05)), 1.0, springy, position=(0, 0, 0.05 - sunk))
    return builder.build()


def test_a_stretched_spring_holds_a_box_on_a_slope() -> None:
    """By k_t s: four springs of 5e3 N/m carry 9.81 sin 20° N. What has no memory creeps at
    9.81 sin 20° / (4 (g_t + k_t h)), and a slope of 30° is too steep."""
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
    model, state = on_slope("multi-step", np.radians(30))
    end, _ = rollout(model, state, EulerImplicitLinearized(h), 1000, every=1000)
    sliding = 9.81 * (np.sin(np.radians(30)) - 0.5 * np.cos(np.radians(30)))
    assert end.velocity[1, 0] == pytest.approx(sliding * 1.0, rel=2e-2)


def lean(state: State, at: int) -> float:
    """Half the sine of the angle by which the first body is turned about y."""
    return float(state.quaternion[at, 1, 2])


def forces_of(model: Model, state: State) -> SmoothForces:
    stepper = EulerImplicitLinearized(1e-3)
    memory = stepper.init(model, state).smooth
    return smooth_forces(model, state, smooth_contacts(model, state), memory, 1e-3)


def test_a_stretch_turns_with_the_surfaces() -> None:
    """Two balls that spin together about their normal, or swing round together: what pulls one
    sideways stays where it is on the other."""
    builder = ModelBuilder((0, 0, 0), smooth_laws=SmoothLaws("hooke"))
    own = surface(friction=10.0)
    builder.add_solid(Sphere(0.1), 1.0, own, position=(0, 0, 0))
    builder.add_solid(Sphere(0.1), 1.0, own, position=(0.19, 0, 0), velocity=(0, 0.3, 0))
    model, state = builder.build()
    before = forces_of(model, state)
    assert before.memory is not None
    stretch = before.memory.values[0, :3]
    np.testing.assert_allclose(stretch, (0, 3e-4, 0), atol=1e-15)
    for axis in np.eye(3):
        vector, h = 0.02 * axis, 0.01
        turned = quaternion.rotate(quaternion.exp(jnp.asarray(vector))[None], state.position)
        spin = jnp.broadcast_to(vector / h, (3, 3))
        swung = jnp.cross(spin, turned)
        after = replace(state, position=turned, velocity=swung, angular_velocity=spin)
        contacts = smooth_contacts(model, after)
        found = smooth_forces(model, after, contacts, before.memory, h)
        assert found.memory is not None
        expected = quaternion.rotate(quaternion.exp(jnp.asarray(vector)), stretch)
        np.testing.assert_allclose(found.memory.values[0, :3], expected, atol=1e-3 * 3e-4)


def test_joints_carry_what_smooth_contacts_leave_them() -> None:
    """A bar with one end in a hinge and the other on a smooth floor: each carries half of it."""
    builder = ModelBuilder(smooth_laws=SmoothLaws("hooke"))
    builder.add_shape(0, Plane(), material=HARD)
    bar = builder.add_body(2.0, (0.01, 0.2, 0.2), (0.5, 0, 0.1))
    springy = Material(0.5, 0.0, smooth=SmoothCoefficients(2e4, 200.0))
    builder.add_shape(bar, Sphere(0.1), (0.5, 0, 0), material=springy)
    builder.add_joint(Revolute((0, 1, 0)), 0, bar, (0, 0, 0.1))
    model, state = builder.build()
    _, path = rollout(model, state, EulerImplicitLinearized(5e-4), 4000, every=4000)
    assert path.report.reactions[-1, 0, 2] == pytest.approx(9.81, rel=1e-3)
    assert path.report.contact_wrenches[-1, bar, 2] == pytest.approx(9.81, rel=1e-3)


def test_a_family_lies_on_a_smooth_floor() -> None:
    """Point masses of a chain: each sinks in as far as its own weight says, and a light one does
    not ring, since its dashpot is made for its mass."""
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
    """A run that finds its room, one with room for all, one with as little as it needs, and one
    that searches for near pairs; too little is said."""
    builder = {}
    for method in ("all-pairs", "sweep"):
        builder[method] = ModelBuilder(broad_phase=method)
        builder[method].add_shape(0, Plane(), material=surface(0.4, 0.5))
        for i in range(9):
            at = (0.11 * (i % 3), 0.12 * (i // 3), 0.1 + 0.02 * i)
            builder[method].add_solid(Sphere(0.06), 1.0, surface(0.4, 0.5), position=at)
    stepper, steps = EulerImplicitLinearized(2e-4), 2000
    model, state = builder["all-pairs"].build()
    wanted, path = rollout(model, state, stepper, steps, every=steps)
    most = int(path.report.smooth_contacts.max())
    assert 9 < most < 45 and not path.report.overflow.any()
    searched, _ = builder["sweep"].build()
    assert searched.topology.smooth is not None and searched.topology.searched
    for other in (with_capacity(model, 45), with_capacity(model, most), searched):
        end, path = rollout(other, state, stepper, steps, every=steps)
        np.testing.assert_allclose(end.position, wanted.position, atol=1e-9)
        assert not path.report.overflow.any()
    with pytest.raises(OverflowError, match="smooth contacts at once.*room for 4"):
        rollout(with_capacity(model, 4), state, stepper, steps, every=steps, check=True)


def test_a_rollout_goes_on_from_its_carry() -> None:
    """Stretches are in it: half and half is the whole."""
    model, state = on_slope("multi-step", np.radians(20))
    stepper = EulerImplicitLinearized(1e-3)
    whole, _ = rollout(model, state, stepper, 200, every=200)
    carry, _ = rollout(model, stepper.init(model, state), stepper, 100, every=100)
    carry, _ = rollout(model, stepper.init(model, carry), stepper, 100, every=100)
    np.testing.assert_allclose(carry.state.position, whole.position, atol=1e-15)


def test_batches_and_single_precision() -> None:
    """Copies are what they are alone; and a ball rebounds in float32 as in float64."""
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
        end, path = rollout(model, state, EulerImplicitLinearized(2e-5), 2000, every=2000)
        assert end.velocity.dtype == jnp.float32
        assert end.velocity[1, 2] == pytest.approx(0.5, abs=2e-3)
        # Sliding all through, friction takes μ (1 + e) v from the speed along the floor.
        assert end.velocity[1, 0] == pytest.approx(0.5 * 5 / 7, abs=1e-1)
