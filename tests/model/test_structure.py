"""Test that a model given structure for further numbers is one built with these numbers."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import jaxccp
from jaxccp import Actuator, Ball, Compound, Hinge, Material, Model, ModelBuilder, Slide
from jaxccp.model import effective_entries, with_structure

FORCES = {
    "stiffness": 2.0,
    "damping": 0.3,
    "armature": 0.1,
    "friction": 0.4,
    "stribeck_friction": 0.2,
    "damping_polynomial": (0.1, 0.2),
    "power_damping": 0.7,
}


def built(full: bool) -> Model:
    """Return a box on a hinge and a slide, a ball and a tendon, over the ground.

    A ``full`` model has all that can act along and between them.
    """
    builder = ModelBuilder(impact_times="all" if full else "bounces")
    forces = FORCES if full else {}
    limited = {"limits": (-1.0, 2.0)} if full else {}
    rough = Material(0.5, rolling=0.01, restitution=0.3) if full else Material(0.5)
    ground = builder.add_shape(0, jaxccp.Plane(), material=rough)
    box = builder.add_solid(jaxccp.Box((0.1, 0.1, 0.1)), 1.0, rough, position=(0, 0, 1))
    two = builder.add_solid(jaxccp.Sphere(0.1), 1.0, rough, position=(1, 0, 1))
    builder.add_solid(jaxccp.Sphere(0.1), 1.0, rough, position=(3, 0, 1))
    axes = Hinge((0, 1, 0), **limited, **forces), Slide((1, 0, 0), **limited, **forces)
    builder.add_joint(Compound(axes), 0, box, anchor=(0, 0, 1), name="arm")
    settings = {"limits": (0.0, 2.0)} if full else {}
    builder.add_joint(
        Compound((Ball(**settings, **forces),)), 0, two, anchor=(1, 0, 1), name="ball"
    )
    tendon = jaxccp.Coupling({"arm.0": 1.0, "arm.1": 2.0}, **limited, **forces)
    builder.add_tendon(tendon, "both")
    for axis in ("arm.0", "arm.1"):
        limits = (-3.0, 5.0) if full and axis == "arm.1" else (-np.inf, np.inf)
        gains = (4.0, 0.5) if full else (0.0, 0.0)
        builder.add_actuator(Actuator(1.0, 0.0, *gains, force_limits=limits), axis)
    builder.set_pair_friction(ground, "body3", 0.5, 0.02 * full, 0.01 * full)
    return builder.build()[0]


def test_as_if_built_so() -> None:
    """The topology is that of a model built with all numbers, and leaves have the same shapes."""
    bare, full = built(False), built(True)
    axes = {f"axes.{name}": None for name in (*FORCES, "lower", "upper")}
    surfaces = {"shapes.rolling": [1, 2], "shapes.restitution": None}
    model = with_structure(
        bare,
        axes
        | surfaces
        | {
            "actuators.stiffness": None,
            "actuators.damping": None,
            "actuators.force_limits": [1],
        },
    )
    assert model.topology != bare.topology
    assert model.topology == full.topology
    shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(variant)] for variant in (model, full)]
    assert shapes[0] == shapes[1]
    for kept, had in zip(jax.tree.leaves(model), jax.tree.leaves(bare), strict=True):
        np.testing.assert_array_equal(kept, had)
    assert with_structure(full, axes | surfaces).topology == full.topology


@pytest.mark.parametrize(
    ("path", "entries", "field", "expected"),
    [
        ("axes.damping", [1], "compliant", [1]),
        ("axes.friction", [5, 0], "dry_friction", [0, 5]),
        ("axes.stribeck_velocity", [5], "stribeck", True),
        ("axes.damping_power", [2], "rate_damping", True),
        ("axes.upper", [0, 2], "balls", [2]),
        ("axes.upper", [0, 2], "upper", [0]),
        ("actuators.damping", [1], "servos", [1]),
    ],
)
def test_only_what_is_asked_for(path: str, entries: list, field: str, expected: object) -> None:
    linkage = with_structure(built(False), {path: entries}).topology.linkage
    np.testing.assert_array_equal(getattr(linkage, field), expected)


def test_pair_friction_rolls() -> None:
    assert with_structure(built(False), {"shapes.pair_friction": None}).topology.rolls


def test_restitution_above_zero_keeps_the_times_of_impacts() -> None:
    bare = built(False)
    surfaces = replace(bare.shapes, restitution=bare.shapes.restitution + 0.5)
    bouncy = with_structure(replace(bare, shapes=surfaces), {"shapes.restitution": None})
    assert bouncy.topology.rebounds
    assert bouncy.topology.impact_times == "bounces"


@pytest.mark.parametrize(
    ("path", "entries", "message"),
    [
        ("axes.dampin", None, "is no number of the model"),
        ("axes", None, "is no number of the model"),
        ("axes.damping", [6], "has entries 0 to 5"),
        ("axes.lower", [2], "upper limit only"),
        ("axes.upper", [3], "first of its three axes"),
        ("bodies.mass", [0, 1], r"fixed, or of a frame; leave out \[0\]"),
        ("tendons.length", [0], "build it with length="),
        ("activations.time_constant", None, "no actuator has an activation"),
        ("fluid.density", None, "there is no fluid"),
        ("smooth.young_modulus", None, "no surface is smooth"),
    ],
)
def test_errors(path: str, entries: list | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        with_structure(built(False), {path: entries})


@pytest.mark.parametrize("along", ["rope", "rail"])
def test_motors_that_share_a_limit_stay_motors(along: str) -> None:
    """No servo escapes the limit of the sum of two motors on a coupling, along it or its axis."""
    builder = ModelBuilder()
    cart = builder.add_body(1.0, (0.1, 0.1, 0.1))
    builder.add_joint(Compound((Slide((1, 0, 0)),)), 0, cart, name="rail")
    builder.add_tendon(jaxccp.Coupling({"rail": 1.0}), "rope")
    for _ in range(2):
        builder.add_actuator(jaxccp.motor(), "rope")
    builder.limit_actuators(along, (-1.0, 1.0))
    model, _ = builder.build()
    with pytest.raises(ValueError, match="limit of its sum with others"):
        with_structure(model, {"actuators.damping": [0]})
    assert with_structure(model, {"actuators.damping": None}).topology == model.topology


def test_effective_entries() -> None:
    model = built(False)
    np.testing.assert_array_equal(effective_entries(model, "bodies.mass"), model.topology.free)
    np.testing.assert_array_equal(effective_entries(model, "axes.upper"), [1, 1, 1, 0, 0, 1])
    assert effective_entries(model, "gravity").all()
