"""Test that the builder refuses what is unphysical by name, and passes on what it accepts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jaxccp.collision.contact_cache import contact_capacity
from jaxccp.model import (
    Box,
    Capsule,
    Combination,
    ConvexMesh,
    Coupling,
    Cylinder,
    Ellipsoid,
    HeightField,
    Material,
    Plane,
    Revolute,
    Sphere,
    Spherical,
)
from jaxccp.model.shapes import Shape
from jaxccp.scene import ModelBuilder

BALL = Sphere(0.1)
NAN, INF = float("nan"), float("inf")
FLAT = np.array([[0, 0, 1.0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0.3, 0.2, 1]])


def body(**changes) -> Callable[[], object]:
    arguments = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0), "name": "ball", **changes}
    return lambda: ModelBuilder().add_body(**arguments)


def built(**settings) -> Callable[[], object]:
    def build() -> object:
        builder = ModelBuilder(**settings)
        builder.add_solid(BALL, 1.0)
        return builder.build()

    return build


def attached(shape: Shape = BALL, body: int = 1, **changes) -> Callable[[], object]:
    def attach() -> object:
        builder = ModelBuilder()
        builder.add_body(1.0, (1, 1, 1), name="ball")
        return builder.add_shape(body, shape, **changes)

    return attach


BAD = {
    "negative mass": (body(mass=-1.0), r"'ball': mass \[kg\] must be positive .*-1.0"),
    "zero mass": (body(mass=0.0), "'ball': mass"),
    "infinite mass": (body(mass=INF), "'ball': mass"),
    "NaN mass": (body(mass=NAN), "'ball': mass .* nan"),
    "negative moment": (body(inertia=(1, 1, -1)), "'ball': inertia must be positive definite"),
    "zero moment": (body(inertia=(0, 1, 1)), "'ball': inertia must be positive definite"),
    "indefinite inertia": (
        body(inertia=[[1, 2, 0], [2, 1, 0], [0, 0, 1]]),
        "'ball': inertia must be positive definite",
    ),
    "asymmetric inertia": (
        body(inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
        "'ball': inertia must be symmetric",
    ),
    "triangle inequality": (body(inertia=(1, 1, 2.1)), "'ball': .*triangle inequality"),
    "NaN inertia": (body(inertia=(1, NAN, 1)), "'ball': inertia must be three finite"),
    "shape of the inertia": (body(inertia=(1, 1)), "'ball': inertia must be three finite"),
    "NaN position": (body(position=(0, NAN, 0)), r"'ball': position \[m\] must be 3 finite"),
    "short position": (body(position=(0, 0)), "'ball': position"),
    "infinite velocity": (body(velocity=(INF, 0, 0)), r"'ball': velocity \[m/s\]"),
    "NaN spin": (body(angular_velocity=(0, 0, NAN)), r"'ball': angular_velocity \[rad/s\]"),
    "long quaternion": (
        body(quaternion=(1, 1, 0, 0)),
        r"'ball': quaternion must be a unit .* length 1\.41421: divide",
    ),
    "zero quaternion": (body(quaternion=(0, 0, 0, 0)), "'ball': quaternion must be a unit"),
    "NaN quaternion": (body(quaternion=(NAN, 0, 0, 0)), "'ball': quaternion must be 4 finite"),
    "world's name": (body(name="world"), "'world': the name is taken"),
    "zero radius": (lambda: Sphere(0.0), "Sphere: radius must be a positive length"),
    "negative radius": (lambda: Capsule(-0.1, 0.2), "Capsule: radius must be a positive"),
    "zero length": (lambda: Capsule(0.1, 0.0), "Capsule: half_length must be a positive"),
    "flat box": (lambda: Box((0.1, 0.0, 0.1)), "Box: half extent along y must be a positive"),
    "two extents": (lambda: Box((0.1, 0.1)), "Box: half_extents must be three"),  # pyright: ignore
    "too round": (lambda: Box((0.1, 0.2, 0.3), 0.1), "Box: rounding must lie in"),
    "NaN box": (lambda: Box((NAN, 0.1, 0.1)), "Box: half extent along x"),
    "thin cylinder": (lambda: Cylinder(0.1, 0.0), "Cylinder: half_length must be a positive"),
    "two axes": (lambda: Ellipsoid((0.1, 0.1)), "Ellipsoid: semi_axes must be three"),  # pyright: ignore
    "no axis": (lambda: Ellipsoid((0.1, 0.1, NAN)), "Ellipsoid: semi-axis along z"),
    "three points": (lambda: ConvexMesh(np.eye(3)), "ConvexMesh: a solid needs at least 4"),
    "flat mesh": (lambda: ConvexMesh(FLAT), "ConvexMesh: the points lie in a plane"),
    "NaN mesh": (lambda: ConvexMesh(FLAT * NAN), "ConvexMesh: points must be finite"),
    "one row": (lambda: HeightField([[1, 2]], (1, 1)), "HeightField: heights must be finite"),
    "one extent": (lambda: HeightField(FLAT, (1,)), "half_extents must be two"),  # pyright: ignore
    "moving field": (attached(HeightField(FLAT, (1, 1))), "'ball': a height field must be on a"),
    "solid field": (lambda: HeightField(FLAT, (1, 1)).inertia(1.0), "it has no inertia"),
    "solid plane": (lambda: Plane().inertia(1.0), "Plane: a half-space has no inertia"),
    "mu below 0": (lambda: Material(friction=-0.1), "Material: friction must be finite and"),
    "NaN mu": (lambda: Material(friction=NAN), "Material: friction"),
    "e below 0": (lambda: Material(restitution=-0.1), "Material: restitution must be finite"),
    "e above 1": (lambda: Material(restitution=1.1), r"Material: restitution must lie in \[0, 1\]"),
    "compliance": (lambda: Material(compliance=-1e-6), "Material: compliance"),
    "damping": (lambda: Material(damping=INF), "Material: damping"),
    "rule": (lambda: Combination(friction="sum"), "Combination: friction must be one of min"),  # pyright: ignore
    "no such body": (attached(body=5), "there is no body 5; add it first"),
    "moving plane": (attached(Plane()), "'ball': a plane must be on a fixed body"),
    "shape's pose": (attached(position=(0, 0, NAN)), "sphere on body 'ball': position"),
    "shape's turn": (attached(quaternion=(2, 0, 0, 0)), "sphere on body 'ball': quaternion"),
    "gravity": (built(gravity=(0, 0, NAN)), r"gravity \[m/s²\] must be 3 finite"),
    "margin": (built(margin=-0.1), r"margin \[m\] must be finite and not negative"),
    "recovery": (built(recovery_speed=INF), "recovery_speed"),
    "bounce": (built(min_bounce_speed=NAN), "min_bounce_speed"),
    "empty": (lambda: ModelBuilder().build(), "no body besides the world; add one"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_the_unphysical_is_refused_by_name(name: str) -> None:
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_two_bodies_of_one_name() -> None:
    builder = ModelBuilder()
    builder.add_solid(BALL, 1.0, name="ball")
    with pytest.raises(ValueError, match="'ball': the name is taken"):
        builder.add_fixed(name="ball")


@pytest.mark.parametrize("capacity", [0, -3])
def test_capacity_must_be_positive(capacity: int) -> None:
    builder = ModelBuilder()
    builder.add_solid(BALL, 1.0)
    with pytest.raises(ValueError, match=f"max_contacts must .* at least 1, not {capacity}"):
        builder.build(max_contacts=capacity)


def test_unknown_body_lists_the_known() -> None:
    builder = ModelBuilder()
    builder.add_solid(BALL, 1.0, name="ball")
    model, _ = builder.build()
    assert model.topology.body("ball") == 1
    with pytest.raises(ValueError, match="no body 'cube'; there are world, ball"):
        model.topology.body("cube")


def test_a_nearly_unit_quaternion_is_normalised() -> None:
    builder = ModelBuilder()
    builder.add_solid(BALL, 1.0, quaternion=np.array([0.6, 0.8, 0, 0]) * 1.0009)
    _, state = builder.build()
    np.testing.assert_allclose(state.quaternion[1], [0.6, 0.8, 0, 0], atol=1e-15)


def test_what_is_given_arrives() -> None:
    tensor = np.array([[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 4.0]])
    builder = ModelBuilder(gravity=(0, 1, 2), margin=0.03)
    material = Material(0.3, 0.4, 1e-5, 0.01)
    index = builder.add_body(
        2.5, tensor, (1, 2, 3), (0, 1, 0, 0), (4, 5, 6), (7, 8, 9), name="thing"
    )
    builder.add_shape(index, Capsule(0.1, 0.2), (0.1, 0, 0), material=material)
    builder.add_shape(0, Plane())
    model, state = builder.build()
    assert model.topology.bodies == ("world", "thing")
    assert model.topology.free.tolist() == [False, True]
    assert model.topology.shapes == ("capsule", "plane")
    np.testing.assert_array_equal(model.bodies.inertia[1], tensor)
    assert model.bodies.mass[1] == 2.5
    np.testing.assert_array_equal(state.position[1], [1, 2, 3])
    np.testing.assert_array_equal(state.velocity[1], [4, 5, 6])
    np.testing.assert_array_equal(state.angular_velocity[1], [7, 8, 9])
    np.testing.assert_array_equal(model.shapes.size[0], [0, 0, 0.2])
    shapes = model.shapes
    surface = [
        x[0] for x in (shapes.friction, shapes.restitution, shapes.compliance, shapes.damping)
    ]
    np.testing.assert_allclose(surface, [0.3, 0.4, 1e-5, 0.01])
    np.testing.assert_array_equal(model.gravity, [0, 1, 2])
    assert model.contact.margin == 0.03


def test_filters_decide_which_shapes_may_touch() -> None:
    """Pairs are not of one body nor of two fixed ones, not excluded, and allowed by group and
    mask."""
    builder = ModelBuilder()
    wall = builder.add_fixed(name="wall")
    builder.add_shape(0, Plane())  # 0
    builder.add_shape(wall, Sphere(1.0))  # 1
    a, b, c = (builder.add_body(1.0, (1, 1, 1)) for _ in range(3))
    builder.add_shape(a, BALL)  # 2
    builder.add_shape(a, BALL)  # 3
    builder.add_shape(b, BALL, group=2, mask=1)  # 4
    builder.add_shape(c, BALL, group=4, mask=~2)  # 5
    builder.exclude(a, wall)
    with pytest.raises(ValueError, match="exclude: 2 is one body"):
        builder.exclude(a, a)
    builder.set_pair_friction(1, 2, 0.5, 0.1, 0.1)  # of an excluded pair
    model, _ = builder.build()
    assert not model.topology.rolls
    pairs = {
        frozenset((int(i), int(j)))
        for group in model.topology.pairs
        for i, j in zip(group.first, group.second, strict=True)
    }
    expected = [(0, 2), (0, 3), (0, 4), (0, 5), (1, 4), (1, 5), (2, 4), (3, 4), (2, 5), (3, 5)]
    assert pairs == {frozenset(pair) for pair in expected}


@pytest.mark.parametrize(
    "pair", [("floor", "wall"), ("ball", "knob"), ("bead", "end"), ("ball", "ball")]
)
def test_pairs_that_can_never_touch_are_refused(pair: tuple[str, str]) -> None:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), name="floor")
    builder.add_shape(builder.add_fixed(), BALL, name="wall")
    builder.add_solid(BALL, 1.0, name="ball")
    builder.add_shape("ball", BALL, (0.2, 0, 0), name="knob")
    nodes = builder.add_cable([(0, 0, 1), (1, 0, 1)], radius=0.01, young=1e6, density=1e3)
    for node, name in ((nodes[0], "bead"), (nodes[-1], "end")):
        builder.add_shape(node, BALL, name=name)
    with pytest.raises(ValueError, match=f"shapes '{pair[0]}' and '{pair[1]}' cannot collide"):
        builder.collide_only([("floor", "knob"), pair])
    with pytest.raises(ValueError, match=f"set_pair_friction: .* '{pair[0]}' and '{pair[1]}'"):
        builder.set_pair_friction(*pair, 0.5, 0.0, 0.0)
    builder.collide_only([("floor", "knob"), ("wall", "ball"), ("knob", "bead")])


def test_capacity() -> None:
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0)
    builder.add_solid(BALL, 1.0)
    every = 4 + 1 + 1  # plane–box, plane–sphere, sphere–box
    assert [contact_capacity(builder.build(n)[0]) for n in (None, 4, 99)] == [every, 4, every]


def test_dimensions_may_be_lists_and_arrays() -> None:
    """And radii are no part of the topology: models that differ in them share a program."""
    models = []
    for radii in ((0.1, 0.1), (0.1, 0.2)):
        builder = ModelBuilder()
        builder.add_solid(Box(np.array([0.1, 0.2, 0.3])), 1.0)  # pyright: ignore[reportArgumentType]
        builder.add_solid(Box([0.1, 0.2, 0.3]), 1.0)  # pyright: ignore[reportArgumentType]
        for radius in radii:
            builder.add_solid(Sphere(radius), 1.0)
        models.append(builder.build()[0])
    assert models[0].topology == models[1].topology
    factor: Any = np.float32(2.0)
    assert Coupling({"a": factor}).polynomial("a").tolist() == [0.0, 2.0]


def test_limits_and_stiffnesses_may_be_arrays() -> None:
    builder = ModelBuilder()
    arm, bob = (builder.add_body(1.0, (1, 1, 1)) for _ in range(2))
    limits: Any = np.array([-0.5, 0.5])
    stiffnesses: Any = np.array([1.0, 2.0, 3.0])
    builder.add_joint(Revolute((0, 0, 1), limits=limits), 0, arm)
    builder.add_joint(Spherical(stiffnesses=stiffnesses), arm, bob)
    axes = builder.build()[0].axes
    np.testing.assert_allclose([axes.lower[0], axes.upper[0]], limits)
    np.testing.assert_allclose(axes.stiffness, [0, 1, 2, 3])


@pytest.mark.parametrize("speed", [-1.0, float("nan")])
def test_penetration_does_not_grow(speed: float) -> None:
    builder = ModelBuilder()
    builder.add_body(1.0, (1, 1, 1))
    with pytest.raises(ValueError, match="speed must be ≥ 0"):
        builder.build()[0].with_recovery_speed(speed)
