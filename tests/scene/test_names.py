"""Test that names may stand for indices of bodies, shapes, joints and axes.

Misspelt names are refused with the one that was meant.
"""

from collections.abc import Callable

import jax
import numpy as np
import pytest

from jaxccp.model import Box, Coupling, Model, Plane, Revolute, Sphere, TendonPath, motor
from jaxccp.scene import ModelBuilder

HINGE = Revolute((0, 1, 0))


def scene() -> ModelBuilder:
    builder = ModelBuilder()
    builder.add_shape("world", Plane(), name="floor")
    builder.add_solid(Sphere(0.1), 1.0, position=(0, 0, 1), name="ball")
    builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(1, 0, 1), name="crate")
    builder.add_shape("crate", Sphere(0.1), (0.2, 0, 0), name="knob")
    return builder


def both(builder: ModelBuilder, named: bool) -> Model:
    """Return a model that is built by names or by indices."""
    world, ball, crate = ("world", "ball", "crate") if named else (0, 1, 2)
    floor, sphere, knob = ("floor", "ball", "knob") if named else (0, 1, 3)
    builder.add_shape(ball, Box((0.1, 0.1, 0.1)))
    builder.add_joint(HINGE, world, crate, name="hinge")
    builder.add_tendon(TendonPath([(ball, (0, 0, 0)), (crate, (0, 0, 0.1))], stiffness=1.0))
    builder.add_actuator(motor(), "hinge" if named else 0)
    builder.exclude(ball, crate)
    builder.set_pair_friction(floor, sphere, 0.3, 0.0, 0.01)
    builder.set_pair_friction(knob, floor, 0.2, 0.0, 0.0)
    return builder.build()[0]


def test_by_name_as_by_index() -> None:
    by_name, by_index = (both(scene(), named) for named in (True, False))
    for a, b in zip(jax.tree.leaves(by_name), jax.tree.leaves(by_index), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(by_name.topology.pairs, by_index.topology.pairs, strict=True):
        for field in ("first", "second", "pair_friction"):
            np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    a, b = (model.topology.linkage.routing.bodies for model in (by_name, by_index))
    np.testing.assert_array_equal(a, b)
    assert (
        list(by_name.topology.linkage.actuated) == list(by_index.topology.linkage.actuated) == [0]
    )
    assert by_name.topology.shape_names == ("floor", "ball", "crate", "knob", "shape4")
    assert by_name.topology.shape("knob") == 3 and by_name.topology.linkage.joint("hinge") == 0


def test_collide_only_by_name() -> None:
    builder = scene()
    builder.collide_only([("floor", "knob")])
    (group,) = builder.build()[0].topology.pairs
    assert {*group.first, *group.second} == {0, 3}


MISSPELT: dict[str, tuple[Callable[[ModelBuilder], object], str]] = {
    "shape's body": (lambda b: b.add_shape("bal", Sphere(0.1)), "body 'bal'.*'ball'"),
    "joint's body": (lambda b: b.add_joint(HINGE, "wrld", "ball"), "body 'wrld'.*'world'"),
    "exclude": (lambda b: b.exclude("ball", "crat"), "body 'crat'.*'crate'"),
    "collide_only": (lambda b: b.collide_only([("flor", "ball")]), "shape 'flor'.*'floor'"),
    "set_pair_friction": (
        lambda b: b.set_pair_friction("floor", "nob", 0.1, 0, 0),
        "shape 'nob'.*'knob'",
    ),
    "cable": (
        lambda b: b.add_tendon(TendonPath([("balll", (0, 0, 0)), (0, (0, 0, 0))])),
        "body 'balll'.*'ball'",
    ),
    "coupling": (lambda b: b.add_tendon(Coupling({"hnge": 1.0})), "axis 'hnge'.*'hinge'"),
    "actuator": (lambda b: b.add_actuator(motor(), "hing"), "axis 'hing'.*'hinge'"),
    "body of the model": (lambda b: b.build()[0].topology.body("bll"), "body 'bll'.*'ball'"),
    "shape of the model": (lambda b: b.build()[0].topology.shape("flr"), "shape 'flr'.*'floor'"),
    "joint of the model": (
        lambda b: b.build()[0].topology.linkage.joint("hine"),
        "joint 'hine'.*'hinge'",
    ),
}


@pytest.mark.parametrize(("ask", "message"), MISSPELT.values(), ids=MISSPELT)
def test_misspelt(ask: Callable[[ModelBuilder], object], message: str) -> None:
    builder = scene()
    builder.add_joint(HINGE, 0, 2, name="hinge")
    what, _, meant = message.partition(".*")
    with pytest.raises(
        ValueError, match=rf"there is no {what}; there are .*did you mean {meant}\?"
    ):
        ask(builder)


@pytest.mark.parametrize(
    "ask",
    [
        lambda b: b.exclude(1, 7),
        lambda b: b.collide_only([(0, 9)]),
        lambda b: b.set_pair_friction(0, -1, 0.1, 0, 0),
        lambda b: b.add_tendon(TendonPath([(5, (0, 0, 0)), (0, (0, 0, 0))])),
        lambda b: b.add_actuator(motor(), 0),
    ],
)
def test_index_that_is_not_there(ask: Callable[[ModelBuilder], object]) -> None:
    with pytest.raises(ValueError, match=r"there is no \w+ -?\d; add it first"):
        ask(scene())


def test_name_of_a_shape_is_its_own() -> None:
    with pytest.raises(
        ValueError, match="shape 'knob': the name is taken; give each shape its own"
    ):
        scene().add_shape(0, Sphere(0.1), name="knob")
