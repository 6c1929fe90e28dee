"""Test that the builder refuses an argument of another kind where it is given, with an example."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jaxccp import (
    Box,
    Capsule,
    Combination,
    Coupling,
    Family,
    Hinge,
    Material,
    ModelBuilder,
    Revolute,
    SmoothCoefficients,
    SmoothLaws,
    Sphere,
    Spherical,
    TendonPath,
    add_shaft,
    box_of_tetrahedra,
    motor,
    position_servo,
)

MESH = box_of_tetrahedra((0.1, 0.1, 0.1), (1, 1, 1))
NUMBERS: dict[str, Any] = {"young": 1e5, "poisson": 0.3, "density": 1e3}
AXIS: Any = (0, 0, 1)
BALL, BOX = Sphere(0.1), Box((0.1, 0.1, 0.1))


def arm() -> Any:
    """Return a builder with the body "arm" on the hinge "elbow".

    Its type is left open: the tests give it arguments that a type checker refuses.
    """
    builder = ModelBuilder()
    builder.add_body(1.0, (1, 1, 1), name="arm")
    builder.add_joint(Revolute(), 0, "arm", name="elbow")
    return builder


def made(**settings: Any) -> ModelBuilder:
    return ModelBuilder(**settings)


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "friction": (
        lambda b: b.add_solid(BOX, 1.0, 0.3),
        r"add_solid: material .*\(friction.* not 0.3",
    ),
    "no material": (lambda b: b.add_solid(BOX, 1.0, 0), "add_solid: material .*, not 0"),
    "class of a solid": (
        lambda b: b.add_solid(Sphere, 1.0),
        "add_solid: shape .*, not the class Sp",
    ),
    "mass for a shape": (lambda b: b.add_solid(1.0, BALL), "add_solid: shape must be .*, not 1.0"),
    "shape's material": (lambda b: b.add_shape(1, BALL, material=0.5), "'shape0': material must"),
    "class of a material": (
        lambda b: b.add_shape(1, BALL, material=Material),
        "material must be a Material, such as .*, not the class Material",
    ),
    "class of a shape": (
        lambda b: b.add_shape(1, Sphere),
        r"shape 'shape0': shape must be a shape, such as Sphere\(0.1\), not the class Sphere",
    ),
    "shape before body": (
        lambda b: b.add_shape(BALL, 1),
        "shape 'shape0': shape must be .*, not 1",
    ),
    "soft material": (
        lambda b: b.add_soft_solid(*MESH, **NUMBERS, material=0.5, name="jelly"),
        "soft solid 'jelly': material must be a Material, such as .*, not 0.5",
    ),
    "family": (lambda b: b.add_family(BALL), "family 'family0': family must be a Family"),
    "class of a family": (lambda b: b.add_family(Family), "not the class Family"),
    "class of a joint": (
        lambda b: b.add_joint(Revolute, 0, 1, name="j"),
        r"joint 'j': joint must be a joint, such as Revolute\(…\), .*, not the class Revolute",
    ),
    "name of a joint": (lambda b: b.add_joint("revolute", 0, 1), "must be a joint.*not 'revolute'"),
    "joint after bodies": (lambda b: b.add_joint(0, 1, Revolute()), "must be a joint, .*, not 0"),
    "axis for a joint": (lambda b: b.add_joint(Hinge(), 0, 1), "must be a joint, .*, not Hinge"),
    "tendon's terms": (
        lambda b: b.add_tendon({"elbow": 1.0}),
        "'tendon0': tendon .*, not {'elbow'",
    ),
    "class of a tendon": (lambda b: b.add_tendon(TendonPath), "not the class TendonPath"),
    "constructor": (
        lambda b: b.add_actuator(motor, "elbow"),
        r"actuator 'actuator0': actuator must be an Actuator, such as motor\(\) or .*, not <func",
    ),
    "axis before actuator": (lambda b: b.add_actuator("elbow", motor()), "Actuator.*, not 'elbow'"),
    "rule": (lambda b: made(combination="max"), r"combination .*Combination\(friction=.*not 'max'"),
    "law": (lambda b: made(smooth_laws="hertz"), "smooth_laws must be SmoothLaws, .*, not 'hertz'"),
    "class of laws": (lambda b: made(smooth_laws=SmoothLaws), "not the class SmoothLaws"),
    "shaft's hinge": (
        lambda b: add_shaft(b, 1.0, "s", hinge=AXIS),
        r"shaft 's': hinge must be a Revolute, .*, not \(0, 0, 1\)",
    ),
    "half a body": (
        lambda b: b.add_shape(0.5, BALL),
        "give the name or the index of the body, not 0",
    ),
    "no body": (lambda b: b.add_site(None), "give the name or the index of the body, not None"),
    "number as a smooth surface": (
        lambda b: Material(smooth=1e6),  # pyright: ignore[reportArgumentType]
        r"Material: smooth must be .*\(young_modulus=1e6\), or None, not 1000000",
    ),
    "class of a smooth surface": (
        lambda b: Material(smooth=SmoothCoefficients),  # pyright: ignore[reportArgumentType]
        "Material: smooth must be .*, not the class SmoothCoefficients",
    ),
    "body's name": (lambda b: b.add_body(1.0, (1, 1, 1), name=0), "body 0: a name .* as 'body0'"),
    "shape's name": (lambda b: b.add_shape(1, BALL, name=0), "shape 0: a name must be a string"),
    "family's name": (
        lambda b: b.add_family(BALL, name=0),
        "family 0: a name must be a string",
    ),
    "joint's name": (lambda b: b.add_joint(Revolute(), 0, 1, name=7), "joint 7: a name must be"),
    "axis's name": (lambda b: b.add_joint(Revolute(), 0, 1, axes=[0]), "axis 0: a name must be"),
    "group": (lambda b: b.add_shape(1, BALL, group=1.0), "sphere on body 'arm': group .* not 1.0"),
    "masks": (lambda b: b.add_shape(1, BALL, mask=[1, 2]), r"mask must be .* 0b101, not \[1, 2"),
    "axis by number": (lambda b: b.add_actuator(motor(), 0.0), "the index of the axis, not 0.0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_of_another_kind_is_refused(name: str) -> None:
    make, message = WRONG[name]
    with pytest.raises(TypeError, match=message):
        make(arm())


@pytest.mark.parametrize("mass", ["1", [1.0, 2.0], None])
def test_a_mass_is_one_number(mass: Any) -> None:
    with pytest.raises(ValueError, match=r"body 'ball': mass \[kg\] must be positive and finite"):
        ModelBuilder().add_body(mass, (1, 1, 1), name="ball")
    with pytest.raises(ValueError, match=r"body 'ball': mass \[kg\] must be positive and finite"):
        ModelBuilder().add_solid(BALL, mass, name="ball")


@pytest.mark.parametrize("length", ["0.1", None, np.array([0.1])])
def test_a_length_of_a_shape_is_one_number(length: Any) -> None:
    for make, what in (
        (lambda: Sphere(length), "Sphere: radius must be a positive length"),
        (lambda: Capsule(0.1, length), "Capsule: half_length must be a positive length"),
        (lambda: Box((0.1, 0.1, 0.1), length), "Box: rounding must lie in"),
    ):
        with pytest.raises(ValueError, match=what):
            make()


@pytest.mark.parametrize(
    ("make", "field", "value", "message"),
    [
        (Material, "friction", (1, 0.005, 0.0001), "one number, .*; spinning= and rolling="),
        (Material, "friction", "0.3", "Material: friction must be finite and .*, not '0.3'"),
        (Material, "rolling", None, "Material: rolling must be finite and .*, not None"),
        (motor, "gear", (50, 0, 0, 0, 0, 0), r"Actuator: gear must be one finite .*\(50, 0"),
        (position_servo, "stiffness", "10", "gain must be one finite number, not '10'"),
        (position_servo, "stiffness", -1.0, "stiffness must be ≥ 0, not -1.0: with the other"),
    ],
)
def test_a_coefficient_is_one_number(make: Any, field: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**{field: value})


@pytest.mark.parametrize("capacity", [4.5, 4.0, True, "4"])
def test_capacity_is_a_whole_number(capacity: Any) -> None:
    with pytest.raises(ValueError, match=f"max_contacts must be a whole .*, not {capacity!r}"):
        arm().build(max_contacts=capacity)
    assert arm().build(max_contacts=np.int64(4))[0].topology.max_contacts == 4


def test_one_name_is_that_of_the_only_axis() -> None:
    """It is not read as the names of its letters."""
    builder = arm()
    for index, joint in ((2, Revolute((0, 1, 0))), (3, Spherical())):
        assert builder.add_body(1.0, (1, 1, 1)) == index
        if index == 3:
            with pytest.raises(ValueError, match="1 names are given for 3 axes"):
                builder.add_joint(joint, index - 1, index, axes="abc")
        else:
            builder.add_joint(joint, index - 1, index, axes="knee")
    assert builder.build()[0].topology.linkage.axes == ("elbow", "knee")


def test_what_is_of_the_right_kind_is_taken() -> None:
    index: Any = np.int32
    builder = ModelBuilder(combination=Combination("max"), smooth_laws=SmoothLaws("hooke"))
    body = builder.add_solid(BOX, 1.0, Material(friction=0.2))
    group: Any = np.uint32(1)  # & ~0 overflows
    builder.add_shape(index(body), BALL, (0, 0, 0.2), group=group)
    builder.add_shape(0, BALL, (0, 0, 9.0))
    builder.add_joint(Revolute(), 0, body, name="elbow")
    builder.add_tendon(Coupling({"elbow": 1.0}))
    builder.add_actuator(motor(), index(0))
    model, _ = builder.build()
    assert model.topology.combination == Combination("max")
    np.testing.assert_allclose(model.shapes.friction, [0.2, *2 * (Material().friction,)])
