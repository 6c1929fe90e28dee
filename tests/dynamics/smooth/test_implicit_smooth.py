"""Test steps that are implicit in smooth contact.

They are stable and exact at rest, of first order, and have the derivatives of differences.
"""

from dataclasses import replace
from typing import cast

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
    Prismatic,
    SmoothCoefficients,
    SmoothLaws,
    SmoothMaterial,
    Sphere,
    Stop,
    box_of_tetrahedra,
    rollout,
)
from jaxccp.dynamics.steppers.settings import SmoothStepping

G, K, YOUNG, RADIUS = 9.81, 1e6, 1e8, 0.1
H = 1e-2
"""Time step [s]: some 7 radians of a ball's vibration on a spring of stiffness K/2."""


def surface(normal: str, friction: float = 0.5) -> Material:
    surfaces = {
        "hooke": SmoothCoefficients(K, 20.0, K, 20.0),
        "hertz": SmoothMaterial(young_modulus=YOUNG, poisson_ratio=0.3),
    }
    # Dashpots that are given take no restitution.
    restitution = 0.0 if normal == "hooke" else 0.5
    return Material(friction=friction, restitution=restitution, smooth=surfaces[normal])


def balls(normal: str, count: int = 1, slope: float = 0.0, **options):
    """Build balls on top of each other, the lowest 5 cm above a plane.

    Args:
        normal: law of the normal force, ``hooke`` or ``hertz``
        count: number of balls
        slope: angle of the plane to the horizontal [rad]
        **options: further arguments of ``add_solid``
    """
    gravity = [G * np.sin(slope), 0.0, -G * np.cos(slope)]
    builder = ModelBuilder(gravity=gravity, smooth_laws=SmoothLaws(normal))
    material = surface(normal)
    builder.add_shape(0, Plane(), material=material)
    for i in range(count):
        high = (0, 0, RADIUS * (1 + 2 * i) + 0.05)
        builder.add_solid(Sphere(RADIUS), 1.0, material, position=high, **options)
    return builder.build()


def depth(normal: str, weight: float, radius: float) -> float:
    """Return the overlap of two surfaces under a weight, in closed form [m].

    Args:
        normal: law of the normal force, ``hooke`` or ``hertz``
        weight: normal force [N]
        radius: effective radius of the contact [m]
    """
    if normal == "hooke":
        return weight / (K / 2)
    return (weight / (4 / 3 * YOUNG / (2 * (1 - 0.3**2)) * np.sqrt(radius))) ** (2 / 3)


def run(model, state, steps: int, mode: SmoothStepping = "implicit", h: float = H):
    stepper = EulerImplicitLinearized(h, smooth_contact=mode, stop=Stop(1e-10))
    return jax.jit(lambda state: rollout(model, state, stepper, steps))(state)


@pytest.mark.parametrize("normal", ["hooke", "hertz"])
def test_a_stiff_ball_comes_to_rest_where_the_law_says(normal):
    model, state = balls(normal)
    final, path = run(model, state, 200)
    height = np.asarray(path.state.position[:, 1, 2])
    expected = RADIUS - depth(normal, G, RADIUS)
    np.testing.assert_allclose(height[-1], expected, atol=1e-12)
    assert height.max() < 0.15 and np.abs(final.velocity).max() < 1e-12
    # What the report says pushes is what has acted.
    np.testing.assert_allclose(path.report.contact_wrenches[-1, 1, 2], G, atol=1e-9)
    _, path = run(model, state, 200, "explicit")
    assert np.asarray(path.state.position[:, 1, 2]).max() > 1.0


def test_balls_on_balls_are_coupled():
    model, state = balls("hertz", 3)
    final, _ = run(model, state, 400)
    weights = G * np.array([3.0, 2.0, 1.0])
    radii = np.array([RADIUS, RADIUS / 2, RADIUS / 2])
    sunk = np.cumsum([depth("hertz", *pair) for pair in zip(weights, radii, strict=True)])
    expected = RADIUS * np.array([1.0, 3.0, 5.0]) - sunk
    np.testing.assert_allclose(final.position[1:, 2], expected, atol=1e-10)


def test_friction_holds_and_slides():
    """A ball that cannot turn stays at rest on a slope of 0.3 rad; on one of 0.7 rad it
    accelerates by (tan θ − μ) g cos θ."""
    for slope in (0.3, 0.7):
        gravity = [G * np.sin(slope), 0.0, -G * np.cos(slope)]
        builder = ModelBuilder(gravity=gravity, smooth_laws=SmoothLaws("hooke"))
        material = surface("hooke")
        builder.add_shape(0, Plane(), material=material)
        weight = G * np.cos(slope)
        low = RADIUS - depth("hooke", weight, RADIUS)
        body = builder.add_solid(Sphere(RADIUS), 1.0, material, position=(0, 0, low))
        slider = builder.add_body(1e-3, (1e-3,) * 3, (0, 0, low))
        builder.add_joint(Prismatic((0, 0, 1)), 0, slider, (0, 0, low))
        builder.add_joint(Prismatic((1, 0, 0)), slider, body, (0, 0, low))
        model, state = builder.build()
        _, path = run(model, state, 100)
        speed = np.asarray(path.state.velocity[:, body, 0])
        if slope == 0.3:
            assert np.abs(speed[-20:]).max() < 1e-9
        else:
            # The slider's mass weighs on the contact, too.
            pull = (np.sin(slope) - 0.5 * 1.001 * np.cos(slope)) * G
            np.testing.assert_allclose((speed[-1] - speed[-51]) / (50 * H), pull, rtol=1e-6)


def test_both_ways_agree_to_first_order():
    model, state = balls("hertz", angular_velocity=(0, 20.0, 0))
    differences = []
    for h in (2e-5, 1e-5):
        ends = [run(model, state, round(0.12 / h), mode, h)[0] for mode in ("explicit", "implicit")]
        differences.append(np.abs(ends[0].twist - ends[1].twist).max())
    assert differences[0] < 0.05 * np.abs(ends[0].twist).max()
    assert 1.5 < differences[0] / differences[1] < 2.6


def test_a_soft_block_on_smooth_contact_rests():
    """A soft block and a rigid ball, whose degrees of freedom share one matrix, come to rest."""
    builder = ModelBuilder(smooth_laws=SmoothLaws("hooke"))
    material = surface("hooke")
    builder.add_shape(0, Plane(), material=material)
    mesh = box_of_tetrahedra((0.05, 0.05, 0.05), (1, 1, 1))
    nodes = builder.add_soft_solid(
        *mesh, 1e5, 0.3, 1e3, 0.01, position=(0, 0, 0.06), material=material, radius=0.01
    )
    builder.add_solid(Sphere(0.05), 0.1, material, position=(0.3, 0, 0.06))
    model, state = builder.build()
    final, path = run(model, state, 300)
    forces = np.asarray(path.report.contact_wrenches[-1, :, 2])
    np.testing.assert_allclose(forces[np.array(nodes)].sum(), 1.0 * G, rtol=1e-6)
    assert np.abs(final.families[0].v).max() < 1e-6


@pytest.mark.parametrize("normal", ["hooke", "hertz"])
def test_derivatives_are_those_of_differences(normal):
    model, state = balls(normal)

    @jax.jit
    def end(numbers):
        speed, mass = numbers
        moving = replace(state, velocity=state.velocity.at[1, 0].set(speed))
        varied = replace(
            model, bodies=replace(model.bodies, mass=model.bodies.mass.at[1].set(mass))
        )
        stepper = EulerImplicitLinearized(2e-3, smooth_contact="implicit", stop=Stop(1e-12))
        final, _ = rollout(varied, moving, stepper, 80)
        return jnp.concatenate([final.position[1], final.angular_velocity[1]])

    at, step = jnp.array([0.7, 1.1]), 1e-6
    central = np.stack(
        [
            (end(at + step * direction) - end(at - step * direction)) / (2 * step)
            for direction in np.eye(2)
        ],
        axis=1,
    )
    for jacobian in (jax.jacfwd(end)(at), jax.jacrev(end)(at)):
        np.testing.assert_allclose(jacobian, central, atol=1e-6 * np.abs(central).max())


def test_models_without_smooth_contact_run_the_same_program():
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    builder.add_solid(Sphere(RADIUS), 1.0, position=(0, 0, 0.2))
    model, state = builder.build()
    texts = [
        jax.jit(EulerImplicitLinearized(H, smooth_contact=mode).step).lower(model, state).as_text()
        for mode in ("explicit", "implicit")
    ]
    assert texts[0] == texts[1]


def test_fifty_balls_rest_on_each_other():
    """Columns of three balls of different weights, pressed together as deep as the law demands,
    stay so."""
    builder, material = ModelBuilder(smooth_laws=SmoothLaws("hooke")), surface("hooke")
    builder.add_shape(0, Plane(), material=material)
    for column in range(17):
        height, mass = 0.0, 1.0 + 0.5 * column
        for i in range(3):
            height += (1 if i == 0 else 2) * RADIUS - depth("hooke", (3 - i) * mass * G, RADIUS)
            builder.add_solid(Sphere(RADIUS), mass, material, position=(column, 0, height))
    model, state = builder.build()
    final, path = run(model, state, 20)
    np.testing.assert_allclose(final.position, state.position, atol=1e-11)
    weights = 3 * G * (1.0 + 0.5 * np.arange(17))
    np.testing.assert_allclose(-path.report.contact_wrenches[-1, 0, 2], weights.sum(), rtol=1e-9)


def test_other_ways_of_smooth_contact_are_refused():
    with pytest.raises(ValueError, match="smooth_contact must be"):
        EulerImplicitLinearized(H, smooth_contact=cast("SmoothStepping", "both"))


def test_a_shape_on_a_pinned_node_is_pushed_out() -> None:
    """A capsule on a pinned node of a cable, which can only turn, is pressed out of a smooth floor:
    the node turns up, and nothing else moves at first."""
    builder = ModelBuilder((0, 0, 0))
    builder.add_shape(0, Plane(), material=surface("hertz"))
    nodes = [(0, 0, 0.1), (0.3, 0, 0.1), (0.6, 0, 0.1)]
    first, *_ = builder.add_cable(nodes, 0.01, 1e6, 1e3, pinned=0)
    along = (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
    builder.add_shape(
        first, Capsule(0.1005, 0.05), (0.05, 0, 0), quaternion=along, material=surface("hertz")
    )
    model, state = builder.build()
    assert model.smooth is not None and np.isinf(model.smooth.frame_mass[first])
    after, _ = EulerImplicitLinearized(1e-4).step(model, state)
    assert np.isfinite(after.families[0].v).all()
    assert after.angular_velocity[first, 1] < -1e-3
    np.testing.assert_allclose(after.velocity[first], 0.0, atol=1e-12)
