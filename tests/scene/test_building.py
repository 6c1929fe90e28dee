"""Test that a builder copies what it is given, keeps nothing of what it refuses, and builds within
a program."""

from typing import Any

import jax
import numpy as np
import pytest

from jaxccp import Coupling, ModelBuilder, Revolute, Sphere, TendonPath, gear
from jaxccp.model import Model, State

BALL = Sphere(0.1)


def test_arrays_may_change_once_they_are_given() -> None:
    builder, terms = ModelBuilder(), {}
    factors, at = np.array([0.0, 1.0]), np.zeros(3)
    axis: Any = np.array([0.0, 0.0, 1.0])
    point: Any = at
    for i in range(2):
        body = builder.add_solid(BALL, 1.0, position=at, velocity=at, angular_velocity=at)
        builder.add_shape(body, BALL, at)
        builder.add_site(body, at)
        hinge, path = Revolute(axis, point=point), TendonPath([(0, at), (body, at)])
        terms["joint0"] = factors
        line = Coupling(terms)
        at += 1.0
        axis *= -1.0
        factors *= 2.0
        builder.add_joint(hinge, 0, body)
        builder.add_tendon(path)
        builder.add_tendon(line)
        terms.clear()
        assert hinge.axis == (0.0, 0.0, (-1.0) ** i) and hinge.point == (i, i, i)
    model, state = builder.build()
    each = [[0.0] * 3, [1.0] * 3]
    for array in (state.position, state.velocity, state.angular_velocity):
        np.testing.assert_array_equal(array[1:], each)
    np.testing.assert_array_equal(model.shapes.position[1::2], each)
    np.testing.assert_array_equal(model.sites.position, each)
    np.testing.assert_array_equal(model.tendons.point, np.repeat(each, 2, axis=0))
    np.testing.assert_array_equal(model.tendons.polynomial, [[0, 1], [0, 2]])


def test_a_body_whose_shape_is_refused_is_not_kept() -> None:
    builder = ModelBuilder()
    builder.add_shape(0, BALL, name="ball")
    cable = builder.add_cable([(0, 0, 1), (1, 0, 1)], radius=0.01, young=1e6, density=1e3)
    (family,) = builder._families
    builder.add_fixed(name="rope.1")
    for add in (
        lambda: builder.add_solid(BALL, 1.0, name="ball"),
        lambda: builder.add_family(family, name="rope"),
    ):
        with pytest.raises(ValueError, match="the name is taken"):
            add()
    assert builder.add_fixed() == cable[-1] + 2


def test_a_mechanism_is_built_within_a_program() -> None:
    """A gear, whose axes are given by their indices, is checked against the poses there too."""

    def built(names: bool) -> tuple[Model, State]:
        builder = ModelBuilder()
        for name in "ab":
            body = builder.add_body(1.0, (1, 1, 1))
            builder.add_joint(Revolute(), 0, body, name=name)
        builder.add_tendon(gear("b", "a", 2.0) if names else gear(1, 0, 2.0))
        return builder.build()

    outside = jax.tree.leaves(built(names=True))
    within = jax.jit(lambda: jax.tree.leaves(built(names=False)))()
    for leaf, other in zip(outside, within, strict=True):
        np.testing.assert_array_equal(leaf, other)
