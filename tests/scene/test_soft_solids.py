"""Test soft solids in the builder: their places and motion, and what is refused."""

from typing import Any

import numpy as np
import pytest

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    ModelBuilder,
    Plane,
    Sphere,
    Status,
    box_of_tetrahedra,
)

MESH = box_of_tetrahedra((0.1, 0.1, 0.1), (2, 2, 2))
NUMBERS: dict[str, Any] = {"young": 1e5, "poisson": 0.4, "density": 1e3}


def test_a_solid_stands_and_moves_as_it_is_told():
    builder = ModelBuilder()
    builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0)
    rotation = np.sqrt([0.5, 0, 0, 0.5])
    frames = builder.add_soft_solid(
        *MESH,
        **NUMBERS,
        position=(1, 2, 3),
        quaternion=rotation,
        velocity=(0.1, 0.2, 0.3),
        angular_velocity=(0, 0, 2),
        fixed=[0],
        name="jelly",
    )
    assert len(frames) == 26
    model, state = builder.build()
    outer = np.flatnonzero(np.any(np.abs(MESH[0]) > 0.05, axis=1))
    arm = MESH[0][outer][:, [1, 0, 2]] * [-1, 1, 1]
    np.testing.assert_allclose(state.position[np.array(frames)], np.add(arm, [1, 2, 3]), atol=1e-7)
    moving = np.array([0.1, 0.2, 0.3]) + np.cross([0, 0, 2], arm)
    moving[0] = 0.0
    np.testing.assert_allclose(state.velocity[np.array(frames)], moving, atol=1e-6)
    assert model.topology.body("jelly.0") == frames[0]
    spheres = np.isin(model.topology.shape_body, frames)
    assert {*np.array(model.topology.shapes)[spheres]} == {Sphere(1.0).kind}
    np.testing.assert_allclose(model.shapes.radius[spheres], 1e-3, rtol=1e-6)
    # Nodes of a solid do not touch each other.
    for group in model.topology.pairs:
        bodies = model.topology.shape_body[np.stack([group.first, group.second])]
        assert not np.isin(bodies, frames).all(axis=0).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"poisson": 0.5}, "poisson"),
        ({"position": (0, 0)}, "position"),
        ({"quaternion": (1, 1, 0, 0)}, "quaternion"),
        ({"angular_velocity": (0, np.inf, 0)}, "angular_velocity"),
        ({"radius": 0.0}, "radius"),
        ({"tetrahedra": MESH[1][:, [1, 0, 2, 3]]}, "element 0 .* is inverted"),
        ({"points": MESH[0][:, :2]}, "points must be n × 3"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    arguments = {"points": MESH[0], "tetrahedra": MESH[1], "name": "jelly"} | NUMBERS | change
    with pytest.raises(ValueError, match=f"^soft solid 'jelly': .*{message}"):
        ModelBuilder().add_soft_solid(**arguments)


def test_nodes_chosen_by_place_are_fixed():
    """A mask fixes the nodes on the floor, and no others: a foot stands, and its top falls."""
    builder = ModelBuilder()
    points = MESH[0]
    floor = points[:, 2] < -0.09
    frames = builder.add_soft_solid(*MESH, **NUMBERS, velocity=(0, 0, -1), fixed=floor)
    _, state = builder.build()
    outer = np.flatnonzero(np.any(np.abs(points) > 0.05, axis=1))
    expected = np.where(floor[outer], 0.0, -1.0)
    np.testing.assert_array_equal(state.velocity[np.array(frames), 2], expected)


def test_a_fixed_node_meets_nothing_that_is_fixed():
    """A block with its lowest nodes fixed, on a floor, meets it with the others only, and all its
    nodes meet a ball; a step has no contact that nothing can part."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    floor = MESH[0][:, 2] < -0.09
    builder.add_soft_solid(*MESH, **NUMBERS, position=(0, 0, 0.1), fixed=floor, edges=True)
    frames = 26 + 72
    builder.add_solid(Sphere(0.1), 1.0, position=(0, 0, 1))
    model, state = builder.build()
    pairs = {group.kinds: len(group.first) for group in model.topology.pairs}
    # 9 nodes and the 16 edges between them are fixed.
    held = 9 + 16
    assert pairs["plane", "sphere"] == frames - held + 1
    assert pairs["sphere", "sphere"] == frames
    _, report = EulerImplicitLinearized(2e-3).step(model, state)
    assert report.solver.status == Status.CONVERGED


def test_an_index_fixes_one_node():
    builder = ModelBuilder()
    frames = builder.add_soft_solid(*MESH, **NUMBERS, velocity=(0, 0, -1), fixed=0)
    _, state = builder.build()
    speed = np.asarray(state.velocity)[np.array(frames), 2]
    np.testing.assert_array_equal(speed, [0.0] + [-1.0] * 25)


def test_a_solid_of_fixed_nodes_is_refused():
    with pytest.raises(ValueError, match="family 'jelly': nothing in it can move"):
        ModelBuilder().add_soft_solid(*MESH, **NUMBERS, fixed=range(len(MESH[0])), name="jelly")
