"""Test cylinders, ellipsoids and convex meshes at rest and rolling, each carrying its weight."""

from functools import cache

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.dynamics import EulerImplicitLinearized, Trajectory, rollout
from jaxccp.dynamics.steppers.settings import ImpulseCarry
from jaxccp.model import Box, ConvexMesh, Cylinder, Ellipsoid, Material, Model, Plane, State
from jaxccp.scene import ModelBuilder

G = 9.81
H = 2e-3
STEPS = 250
MASS = 0.7
SPEED, RADIUS = 0.5, 0.1
ROUGH = Material(friction=0.8)
TETRAHEDRON = ConvexMesh(0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 1.2, 0], [0.2, 0.3, 1.5]]))
CUBE = ConvexMesh(np.array(np.meshgrid(*[[-0.1, 0.1]] * 3)).reshape(3, -1).T)
AT_REST = ("upright", "ellipsoid", "cube", "table", "tetrahedron")


@cache
def scene() -> tuple[Model, State]:
    """Build bodies far apart on one plane; only the tetrahedron stands on the table, which is a
    box."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=ROUGH)
    lying = Rotation.from_rotvec([np.pi / 2, 0, 0]).as_quat(scalar_first=True)

    def add(shape, position, name: str, **options) -> int:
        return builder.add_solid(shape, MASS, ROUGH, position=position, name=name, **options)

    first = [
        add(Cylinder(RADIUS, 0.15), (0, 0, 0.15), "upright"),
        add(
            Cylinder(RADIUS, 0.15),
            (0, 1, RADIUS),
            "rolling",
            quaternion=lying,
            velocity=(SPEED, 0, 0),
            angular_velocity=(0, SPEED / RADIUS, 0),
        ),
        add(Ellipsoid((0.1, 0.15, 0.08)), (0, 2, 0.08), "ellipsoid"),
        add(CUBE, (0, 3, 0.1), "cube"),
    ]
    table = add(Box((0.2, 0.2, 0.05)), (0, 4, 0.05), "table")
    top = add(TETRAHEDRON, np.array([0, 4, 0.1]) + TETRAHEDRON.centre, "tetrahedron")
    bodies = [*first, table, top]
    for i, body in enumerate(bodies):
        for earlier in bodies[:i]:
            if {body, earlier} != {table, top}:
                builder.exclude(body, earlier)
    builder.exclude(0, top)
    return builder.build()


@cache
def trajectory() -> tuple[ImpulseCarry, Trajectory]:
    stepper = EulerImplicitLinearized(H, "ncp")

    def run(model: Model, state: State) -> tuple[ImpulseCarry, Trajectory]:
        return rollout(model, stepper.init(model, state), stepper, STEPS, every=25)

    return jax.device_get(jax.jit(run)(*scene()))


@pytest.mark.parametrize("name", AT_REST)
def test_stays_where_it_rests(name: str) -> None:
    model, start = scene()
    body = model.topology.body(name)
    _, path = trajectory()
    np.testing.assert_allclose(
        path.state.position[:, body], np.tile(start.position[body], (10, 1)), atol=1e-6
    )
    np.testing.assert_allclose(path.state.angular_velocity[:, body], 0, atol=1e-5)


def test_a_cylinder_rolls_on_without_slipping() -> None:
    """A rolling cylinder on contact points along two lines keeps its speed and spin, since
    nothing resists."""
    model, start = scene()
    body = model.topology.body("rolling")
    final = trajectory()[0].state
    travelled = final.position[body] - start.position[body]
    time = STEPS * H
    np.testing.assert_allclose(travelled, [SPEED * time, 0, 0], atol=2e-3 * SPEED * time)
    slip = final.velocity[body, 0] - RADIUS * final.angular_velocity[body, 1]
    assert abs(slip) < 1e-6


def test_contacts_carry_the_weights() -> None:
    model, _ = scene()
    carry, _ = trajectory()
    carried: dict[tuple[str, ...], np.ndarray] = {}
    warm_start, topology = carry.warm_start, model.topology
    contacts = warm_start.contacts
    for shapes, impulse in zip(contacts.shapes, warm_start.impulses, strict=True):
        names = tuple(topology.bodies[topology.shape_body[i]] for i in shapes)
        if shapes[0] >= 0:
            carried[names] = carried.get(names, 0.0) + impulse / H
    weight = np.array([0, 0, MASS * G])
    for names, share in carried.items():
        expected = 2 * weight if names == ("world", "table") else weight
        np.testing.assert_allclose(share, expected, atol=1e-3 * MASS * G, err_msg=str(names))
    assert set(carried) == {
        *(("world", n) for n in ("upright", "rolling", "ellipsoid", "cube", "table")),
        ("table", "tetrahedron"),
    }
