"""Test cables, beams and shells of the builder: their places, and what is refused."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    EulerImplicitLinearized,
    Fixed,
    ModelBuilder,
    Prismatic,
    Revolute,
    Spherical,
    box_of_tetrahedra,
    rollout,
)
from jaxccp.flexible import NodalFamily
from jaxccp.flexible.ancf import rope
from jaxccp.flexible.loads import with_load, with_point_load, with_surface_load
from jaxccp.model.joints.joint import Joint

CABLE: dict[str, Any] = {
    "nodes": [(0, 0, 0), (0.1, 0, 0), (0.2, 0, 0)],
    "radius": 0.01,
    "young": 1e6,
}
CABLE |= {"density": 1000.0}
SOLID: dict[str, Any] = {"young": 1e6, "poisson": 0.3, "density": 1000.0, "damping": 0.01}


def family(builder: ModelBuilder) -> NodalFamily:
    model, _state = builder.build()
    made = model.families[0]
    assert isinstance(made, NodalFamily)
    return made


@pytest.mark.parametrize("element", ["beam_3243", "beam_3333"])
def test_a_beam_is_placed_turned_and_held(element):
    """The beam reaches 0.3 m along the world's y axis, unstrained, with the mass of its volume."""
    builder, rotation = ModelBuilder(), (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    pose: dict[str, Any] = {"position": (1, 2, 3), "quaternion": rotation, "clamped": ["x0"]}
    nodes = builder.add_beam((0.3, 0.02, 0.01), 3, **SOLID, **pose, element=element, name="arm")
    model, state = builder.build()
    assert model.topology.bodies[nodes[0]] == "arm.0"
    np.testing.assert_allclose(state.position[nodes[0]], (1, 2, 3), atol=1e-12)
    np.testing.assert_allclose(state.position[nodes[-1]], (1, 2.3, 3), atol=1e-12)
    np.testing.assert_allclose(np.abs(state.quaternion[nodes[1]] @ np.array(rotation)), 1.0)
    made = family(builder)
    q = made.start().q
    assert made.elastic_energy(q) < 1e-12
    per_node = 12 if element == "beam_3243" else 9
    assert len(q) == per_node * (len(nodes) - 1)
    up = jnp.where(made.layout.positions, 1.0, 0.0)[made.layout.rows]
    mass = jnp.einsum("ek,ekl,el->", up, made.elements.masses(), up)
    np.testing.assert_allclose(mass, 1000.0 * 0.3 * 0.02 * 0.01)


def test_a_curved_shell_has_the_area_of_a_cylinder():
    """A quarter of a cylinder of radius 1 is its own reference."""

    def quarter(point):
        x, y, z = point
        angle, radius = x, 1.0 - z
        return jnp.stack([radius * jnp.sin(angle), y, 1.0 - radius * jnp.cos(angle)])

    builder, size = ModelBuilder(), (np.pi / 2, 0.5, 0.02)
    edge = builder.add_shell(size, (4, 1), **SOLID, clamped=["x0"], curve=quarter)
    made = family(builder)
    assert made.elastic_energy(made.start().q) < 1e-9
    np.testing.assert_allclose(made.elements.points().weights.sum(), np.prod(size), rtol=1e-3)
    np.testing.assert_allclose(made.position[made.layout.frames[-1]], (1, 0.5, 1), atol=1e-12)
    assert len(edge) == 23


def test_an_element_that_is_inside_out_is_reported():
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.add_beam((0.1, 0.02, 0.02), 1, **SOLID, element="beam_3243")
    model, state = builder.build()
    flipped = state.families[0].q.at[12].set(-0.05)
    start = replace(state, families=(replace(state.families[0], q=flipped),))
    stepper = EulerImplicitLinearized(1e-6)
    for at, expected in ((state, 0), (start, 1)):
        _final, path = rollout(model, at, stepper, 2)
        np.testing.assert_array_equal(path.report.inverted, expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"radius": 0.0}, r"cable 'rope': radius \[m\] must be positive"),
        ({"young": -1e6}, r"cable 'rope': Young's modulus \[Pa\] must be positive"),
        ({"density": np.nan}, "cable 'rope': density"),
        ({"damping": -1.0}, r"cable 'rope': damping \[s\]"),
        ({"nodes": [(0, 0, 0)]}, "cable 'rope': nodes must be two or more"),
        (
            {"nodes": [(0, 0, 0), (1, 0, 0), (1, 0, 0)]},
            "cable 'rope': element 1 has no length: nodes 1 and 2 are the same",
        ),
        ({"nodes": [(0, 0, 0), (1, 0, 0), (0, 0, 0)]}, "elements 0 and 1 turn back at node 1"),
        ({"pinned": [3]}, "cable 'rope': pinned: there is no node 3, but 3, from 0"),
        ({"clamped": [0.5]}, r"clamped: nodes must be whole numbers, or a mask, not \[0.5\]"),
        ({"clamped": "0"}, r"clamped: nodes must be whole numbers, or a mask, not \['0'\]"),
        ({"pinned": None}, r"pinned: nodes must be whole numbers, or a mask, not \[None\]"),
        ({"pinned": [[0, 1]]}, r"pinned: nodes must be whole numbers, or a mask, not \[\[0, 1\]\]"),
        ({"clamped": True}, r"clamped: a mask must have 3 entries, not shape \(1,\)"),
        ({"clamped": [True]}, r"clamped: a mask must have 3 entries, not shape \(1,\)"),
        ({"clamped": (0, 1, 2)}, "family 'rope': nothing in it can move"),
    ],
)
def test_a_cable_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ModelBuilder().add_cable(**{**CABLE, **changes}, name="rope")


def test_a_rope_needs_elements_with_a_length_and_a_direction():
    for nodes, message in (
        ([(0, 0, 0), (1, 0, 0), (1, 0, 0)], "rope: element 1 has no length"),
        ([(0, 0, 0), (1, 0, 0), (0, 0, 0)], "rope: elements 0 and 1 turn back at node 1"),
    ):
        with pytest.raises(ValueError, match=message):
            rope(jnp.asarray(nodes, float), 1e-4, 1e-9, 1e6, 1e3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": (1.0, 0.1, 0.0)}, r"shell 'wing': thickness \[m\] must be positive"),
        ({"young": -1.0}, "shell 'wing': Young's modulus"),
        ({"poisson": 0.5}, "shell 'wing': Poisson's ratio must be above −1 and below 0.5, not 0.5"),
        ({"elements": (0, 1)}, "shell 'wing': there must be 1 element or more, not 0"),
        ({"elements": (2,)}, r"shell 'wing': elements must be two numbers.*, not \(2,\)"),
        ({"elements": 4}, "shell 'wing': elements must be two numbers, along x and y, not 4"),
        ({"elements": (2, 1.5)}, "shell 'wing': there must be 1 element or more, not 1.5"),
        ({"elements": "21"}, "shell 'wing': elements must be two numbers, .* not '21'"),
        ({"clamped": ["left"]}, "shell 'wing': clamped: 'left' is not one of x0"),
        ({"clamped": "left"}, "shell 'wing': clamped: 'left' is not one of x0"),
        ({"pinned": 0}, "shell 'wing': pinned: 0 is not one of x0"),
        ({"element": "shell_3432"}, "element 'shell_3432' is not one of .*; did you mean"),
        (
            {"curve": lambda point: point * jnp.array([1.0, -1.0, 1.0])},
            "shell 'wing': element 0 is inverted in the reference",
        ),
    ],
)
def test_a_shell_that_cannot_be_is_refused(changes, message):
    arguments = {"size": (1.0, 0.1, 0.01), "elements": (2, 1), **SOLID, **changes}
    with pytest.raises(ValueError, match=message):
        ModelBuilder().add_shell(**arguments, name="wing")


@pytest.mark.parametrize("elements", [(2,), (2, 1), "2", None])
def test_elements_of_a_beam_are_one_number(elements):
    arguments: dict[str, Any] = {"size": (1.0, 0.1, 0.01), "elements": elements, **SOLID}
    with pytest.raises(ValueError, match="beam 'arm': elements must be one number, not "):
        ModelBuilder().add_beam(**arguments, name="arm")


def fixed_nodes(builder: ModelBuilder) -> set[int]:
    """Return the frames with a fixed position."""
    layout = family(builder).layout
    return {*np.flatnonzero(layout.fixed[layout.frames].all(axis=1)).tolist()}


@pytest.mark.parametrize("held", ["clamped", "pinned"])
def test_one_name_or_index_holds_one_end(held):
    """A face's name is not read as the names of its letters, and an index is a node."""
    for end in ("x1", iter(["x1"])):
        builder, arguments = ModelBuilder(), {**SOLID, held: end, "element": "beam_3243"}
        nodes = builder.add_beam((0.3, 0.02, 0.01), 1, **arguments)
        assert fixed_nodes(builder) == {len(nodes) - 1}
    for node in (2, np.int64(2), np.array(2)):
        builder, arguments = ModelBuilder(), {**CABLE, held: node}
        builder.add_cable(**arguments)
        assert fixed_nodes(builder) == {2}


def test_one_name_holds_one_edge():
    """The edge y0 of 2 × 1 elements with nodes at their corners holds the three nodes with y =
    0."""
    builder = ModelBuilder()
    builder.add_shell((1.0, 0.1, 0.01), (2, 1), **SOLID, clamped="y0", element="shell_3423")
    made = family(builder)
    assert len(made.layout.frames) == 6
    at = np.asarray(made.position)[made.layout.frames]
    assert fixed_nodes(builder) == {*np.flatnonzero(at[:, 1] == 0).tolist()}
    assert len(fixed_nodes(builder)) == 3


def test_a_curve_is_evaluated_for_every_body():
    """A curve that reads a number has its present value, not that of the first body."""
    radius = [0.5]

    def bend(point):
        angle = point[0] / radius[0]
        along, up = jnp.sin(angle), 1 - jnp.cos(angle)
        return jnp.stack([along, 0.0, up]) * radius[0] + jnp.array([0.0, 1.0, 1.0]) * point

    heights = []
    for radius[0] in (0.5, 1.0):
        builder = ModelBuilder()
        nodes = builder.add_beam((0.3, 0.01, 0.01), 2, **SOLID, curve=bend)
        heights.append(builder.build()[1].position[nodes[-1], 2])
    np.testing.assert_allclose(heights, [r * (1 - np.cos(0.3 / r)) for r in (0.5, 1.0)], rtol=1e-6)


@pytest.mark.parametrize("joint", [Fixed(), Revolute((0, 0, 1)), Prismatic((0, 0, 1))])
def test_a_frame_that_does_not_turn_holds_no_orientation(joint: Joint):
    """A joint at a node of a solid or between nodes of a cable would hold a body's orientation
    against the world; what cannot turn may be guided, and nodes of cables turn."""
    builder = ModelBuilder()
    points, tetrahedra = box_of_tetrahedra((0.05, 0.05, 0.05), (1, 1, 1))
    nodes = builder.add_soft_solid(points, tetrahedra, **SOLID, fixed=0, name="solid")
    cable = builder.add_cable(**CABLE, between=1, name="cable")
    body = builder.add_body(1.0, (0.1, 0.1, 0.1), points[-1], name="body")
    for frame, name in ((nodes[-1], "solid.7"), (cable[-1], "cable.4")):
        with pytest.raises(ValueError, match=f"'body' against the world.*'{name}'.*Spherical"):
            builder.add_joint(joint, frame, body)
        with pytest.raises(ValueError, match="'body' against the world"):
            builder.add_joint(joint, body, frame)
        builder.add_joint(joint, 0, frame)
        builder.add_joint(Spherical(), frame, body)
    builder.add_joint(joint, cable[0], body)
    builder.add_joint(joint, nodes[0], body)


def test_loads_are_vectors_on_points_of_elements():
    """Numbers without a direction, and points outside of an element, are refused."""
    builder = ModelBuilder()
    builder.add_beam((0.3, 0.01, 0.01), 1, **SOLID)
    beam = family(builder)
    elements = np.array([0])
    with pytest.raises(ValueError, match=r"traction \[N/m²\] must have shape \(3,\)"):
        with_surface_load(beam, elements, 2, 1, jnp.asarray(-5.0))
    with pytest.raises(ValueError, match=r"force \[N\] must have shape \(3,\)"):
        with_point_load(beam, 0, (1, 0, 0), jnp.asarray(-5.0))
    with pytest.raises(ValueError, match=r"force \[N\] must be finite"):
        with_point_load(beam, 0, (1, 0, 0), jnp.array([0, 0, np.nan]))
    with pytest.raises(ValueError, match="place must be 3 numbers from −1 to 1"):
        with_point_load(beam, 0, (0.3, 0, 2), jnp.ones(3))
    with pytest.raises(ValueError, match=r"with_load: force must have shape \(..., 3\)"):
        with_load(beam, elements, jnp.asarray(1.0))
    for row in (-1, 99):
        with pytest.raises(ValueError, match=f"with_load: there is no row {row}, but"):
            with_load(beam, np.array([0, row]), jnp.ones(3))
