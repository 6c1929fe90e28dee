"""Test soft solids in hard contact: landing, sliding, sticking, lifting, derivatives, batches."""

from dataclasses import replace
from functools import partial
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    EulerImplicitLinearized,
    HeightField,
    Material,
    ModelBuilder,
    Plane,
    Prismatic,
    SoftSolid,
    Sphere,
    Stop,
    box_of_tetrahedra,
    motor,
    rollout,
    velocity_servo,
)
from jaxccp.collision.detect import detect

STOP = Stop(1e-11)
HALF, FRICTION = 0.025, 0.5
MESH = box_of_tetrahedra((HALF, HALF, HALF), (2, 2, 2))


WEIGHT = 9.81 * np.array([0.3, 0.0, -1.0]) / np.hypot(1.0, 0.3)
"""Gravity [m/s²] on a plane at 0.3 to the horizontal."""


@pytest.fixture(scope="module")
def sloping():
    """Build a block above a plane, and return the model, the state and the block's frames."""
    builder = ModelBuilder(gravity=WEIGHT, margin=0.004)
    rough = Material(FRICTION)
    builder.add_shape(0, Plane(), material=rough)
    frames = builder.add_soft_solid(
        *MESH,
        young=5e4,
        poisson=0.3,
        density=1000.0,
        damping=0.01,
        position=(0, 0, HALF + 0.002),
        velocity=(0.4, 0, 0),
        radius=1e-3,
        material=rough,
    )
    return *builder.build(max_contacts=9), np.array(frames)


def test_a_block_lands_slides_and_sticks(sloping):
    """A block lands, slides and sticks by Coulomb's law with μ = 0.5."""
    model, state, frames = sloping
    h, steps = 2e-3, 300
    stepper = EulerImplicitLinearized(h, stop=STOP, law="ncp")
    _, path = rollout(model, state, stepper, steps)
    assert path.report.contacts.max() == 9 and not path.report.solver.status.any()
    assert np.max(np.asarray(path.report.inverted)) == 0
    solid = cast(SoftSolid, model.families[0])
    mass = np.asarray(solid.rates(jnp.diagonal(solid.inertia())))
    moving = jax.vmap(solid.rates)(path.state.families[0].v)
    momentum = np.concatenate([np.sum(mass * [0.4, 0, 0], axis=0)[None], np.sum(mass * moving, 1)])
    forces = np.asarray(path.report.contact_wrenches[:, frames, :3])
    total = forces.sum(axis=1)
    np.testing.assert_allclose(
        np.diff(momentum, axis=0), h * (total + mass[:, 0].sum() * WEIGHT), atol=1e-12
    )
    where, speed = (
        path.state.position[:, np.array(frames)],
        path.state.velocity[:, np.array(frames)],
    )
    assert np.min(where[..., 2]) > 1e-3 - 1e-9
    # Every node obeys Coulomb's law, and all slide at first: the force is at the angle of friction.
    normal, tangential = forces[..., 2], np.linalg.norm(forces[..., :2], axis=2)
    assert np.all(tangential <= FRICTION * normal + 1e-9)
    np.testing.assert_allclose(-total[20:90, 0], FRICTION * total[20:90, 2], rtol=1e-5)
    # At last all stick, and none creeps.
    resting = normal[-1] > 0
    assert resting.sum() == 9
    assert np.abs(where[-1] - where[-50])[resting].max() < 1e-11
    assert np.abs(speed[-1]).max() < 1e-9
    np.testing.assert_allclose(total[-1], -mass[:, 0].sum() * WEIGHT, atol=1e-7)


def test_an_inverted_element_is_reported_and_no_harm(sloping):
    """A block with one node beyond its opposite side reports an inverted element and recovers."""
    model, state, _frames = sloping
    solid = cast(SoftSolid, model.families[0])
    x = np.array(solid.position)
    x[np.argmax(x.sum(axis=1))] -= 2 * HALF
    displaced = replace(state.families[0], q=jnp.asarray(x.reshape(-1)[solid.layout.free]))
    start = replace(state, families=(displaced,))
    stepper = EulerImplicitLinearized(2e-3, stop=STOP, law="ncp")
    _, path = rollout(model, start, stepper, 300)
    inverted = np.asarray(path.report.inverted)
    assert inverted[0] > 0 and inverted[-1] == 0
    assert not path.report.solver.status.any()
    assert np.isfinite(path.state.position).all()


def test_a_gripper_lifts_a_cube():
    """Two plates on slides, pressed on a cube from both sides, lift it without slipping as the
    hand that carries them rises."""
    builder, rough = ModelBuilder(margin=0.003), Material(FRICTION)
    builder.add_shape(0, Plane(), material=rough)
    inertia = (1e-3,) * 3
    hand = builder.add_body(0.5, inertia, (0, 0, 0.3), name="hand")
    builder.add_joint(Prismatic((0, 0, 1)), 0, hand, name="lift")
    for side in (-1, 1):
        at = (side * (HALF + 0.007), 0, 0.0305)
        finger = builder.add_body(0.1, inertia, at, name=f"finger{side}")
        builder.add_shape(finger, Box((0.005, 0.04, 0.03)), material=rough)
        builder.add_joint(Prismatic((-side, 0, 0)), hand, finger, anchor=at, name=f"press{side}")
        builder.add_actuator(motor(), f"press{side}")
    builder.add_actuator(velocity_servo(1e4), "lift")
    frames = builder.add_soft_solid(
        *MESH,
        young=5e4,
        poisson=0.3,
        density=1000.0,
        damping=0.01,
        position=(0, 0, HALF + 1e-3),
        radius=1e-3,
        material=rough,
        law="corotational",
        name="cube",
    )
    model, state = builder.build(max_contacts=35)
    h, steps, press, rate = 2e-3, 300, 3.0, 0.1
    start = np.arange(steps) >= 100
    controls = np.stack([np.full(steps, press), np.full(steps, press), rate * start], axis=1)
    stepper = EulerImplicitLinearized(h, stop=STOP, law="ncp")
    _, path = rollout(model, state, stepper, steps, controls=jnp.asarray(controls))
    assert not path.report.solver.status.any() and not path.report.overflow.any()
    where = np.asarray(path.state.position)
    cube = where[:, np.array(frames)]
    fingers = where[:, [model.topology.body(f"finger{side}") for side in (-1, 1)]]
    # Lifted as far as the plates, but for its sagging between them, and without slipping.
    risen = fingers[-1, 0, 2] - fingers[0, 0, 2]
    assert risen > 0.98 * rate * h * 200
    assert 0.95 * risen < cube[-1, :, 2].min() - 1e-3 < risen
    away = np.linalg.norm(cube[-50:] - fingers[-50:, :1], axis=2)
    np.testing.assert_allclose(away, np.broadcast_to(away[-1], away.shape), atol=1e-9)
    # Held as statics has it: each plate presses with its force and carries half the weight.
    forces = np.asarray(path.report.contact_wrenches)[-1, :, :3]
    weight = 1000.0 * (2 * HALF) ** 3 * 9.81
    np.testing.assert_allclose(forces[np.array(frames)].sum(axis=0), [0, 0, weight], atol=1e-6)
    for side in (-1, 1):
        finger = forces[model.topology.body(f"finger{side}")]
        np.testing.assert_allclose(finger, [side * press, 0, -weight / 2], atol=1e-6)
    # No node is in a plate.
    for side, finger in zip((-1, 1), np.moveaxis(fingers, 1, 0), strict=True):
        adjacent = side * np.asarray(MESH[0])[np.arange(27) != 13, 0] > 0.9 * HALF
        gap = side * (finger[:, None, 0] - cube[:, adjacent, 0]) - 0.005 - 1e-3
        assert adjacent.sum() == 9 and gap.min() > -1e-9


PARAMETERS = np.array([5e4, 0.3, 1000.0, 0.4])
"""Young's modulus [Pa], Poisson's ratio, density [kg/m³], velocity [m/s]."""


LAWS = ["neo-hookean", pytest.param("corotational", marks=pytest.mark.long)]


@pytest.fixture(params=LAWS)
def slide(request):
    """Return a function of the numbers in ``PARAMETERS`` that gives positions and velocities of
    a block that has landed and slid, and its numbers of contacts."""
    builder, rough = ModelBuilder(margin=0.004), Material(FRICTION)
    builder.add_shape(0, Plane(), material=rough)
    builder.add_soft_solid(
        *MESH,
        young=5e4,
        poisson=0.3,
        density=1000.0,
        damping=2e-3,
        position=(0, 0, HALF + 0.002),
        radius=1e-3,
        material=rough,
        law=request.param,
    )
    model, state = builder.build(max_contacts=9)
    stepper = EulerImplicitLinearized(2e-3, stop=STOP)

    def run(inputs):
        young, poisson, density, speed = inputs
        solid = cast(SoftSolid, model.families[0])
        elements = replace(solid.elements, young=young, poisson=poisson, density=density)
        changed = replace(model, families=(replace(solid, elements=elements),))
        coordinates = state.families[0]
        direction = np.zeros((27, 3))
        direction[:, 0] = 1.0
        moving = replace(coordinates, v=speed * direction.reshape(-1)[solid.layout.free])
        final, path = rollout(changed, replace(state, families=(moving,)), stepper, 40)
        end = final.families[0]
        return jnp.concatenate([end.q, end.v]), path.report.contacts

    return run


def test_derivatives_through_contact_are_those_of_differences_also_in_a_batch(slide):
    step, count = 1e-5, len(PARAMETERS)
    both = jax.jit(jax.vmap(partial(jax.jvp, slide, has_aux=True)))
    offsets = np.concatenate([np.zeros((count, count)), np.eye(count), -np.eye(count)])
    tangents = np.tile(np.eye(count) * PARAMETERS, (3, 1))
    ends, slopes, contacts = both((PARAMETERS * (1 + step * offsets),), (tangents,))
    assert contacts[:count].min() == 9
    slope, central = slopes[:count], (ends[count : 2 * count] - ends[2 * count :]) / (2 * step)

    @jax.jit
    def reverse(weights):
        end, back, _ = jax.vjp(slide, PARAMETERS, has_aux=True)
        return end, back(weights)[0]

    alone, _ = reverse(ends[0])
    np.testing.assert_allclose(ends[0], alone, atol=1e-10)
    size = np.abs(central).max(axis=1, keepdims=True)
    assert size.min() > 1e-3
    np.testing.assert_allclose(slope / size, central / size, atol=1e-6)
    _, back = reverse(alone)
    np.testing.assert_allclose(back * PARAMETERS, slope @ alone, rtol=1e-9)


@pytest.mark.long
def test_nodes_rest_on_every_kind_of_shape():
    """A long block rests on six shapes and a height field, each under a row of nodes across."""
    corners = 0.05 * np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)]) * 2 - 0.05
    radius, width = 5e-4, 0.02
    # A round one is lower under the two nodes than at its top.
    low = np.sqrt((0.05 + radius) ** 2 - width**2) - 0.05
    shapes = [
        (Box((0.05, 0.05, 0.05)), radius),
        (Sphere(0.05), low),
        (Capsule(0.05, 0.03), radius),
        (Cylinder(0.05, 0.05), radius),
        (Ellipsoid((0.04, 0.05, 0.05)), low),
        (ConvexMesh(corners), radius),
        (HeightField(np.zeros((3, 3)), (0.05, 0.05)), radius - 0.05),
    ]
    builder = ModelBuilder(margin=2e-3)
    fixed = []
    for i, (shape, depth) in enumerate(shapes):
        at = (0.2 * (i - 3), 0.0, -0.05 - depth)
        quaternion = (
            (np.sqrt(0.5), np.sqrt(0.5), 0, 0) if isinstance(shape, Capsule) else (1, 0, 0, 0)
        )
        fixed.append(builder.add_fixed(at, quaternion))
        builder.add_shape(fixed[-1], shape)
    points, tetrahedra = box_of_tetrahedra((0.6, width, width), (6, 1, 1))
    frames = builder.add_soft_solid(
        *(points, tetrahedra),
        young=2e4,
        poisson=0.3,
        density=1000.0,
        damping=0.05,
        position=(0, 0, width),
        radius=radius,
    )
    model, state = builder.build(max_contacts=40)
    _, path = rollout(model, state, EulerImplicitLinearized(2e-3, stop=STOP), 100)
    assert not path.report.solver.status.any() and not path.report.overflow.any()
    forces = np.asarray(path.report.contact_wrenches)[-1, :, 2]
    assert np.all(forces[np.array(fixed)] < -0.05)
    gaps = jax.jit(jax.vmap(lambda at: detect(model, at).gap))(path.state)
    assert gaps.min() > -1e-7
    assert forces[np.array(frames)].sum() > 0
