"""Test that static tables compare by content: a model built again is the same to the compiler."""

import gc
import weakref
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.dynamics.free_bodies.partition import _partitions
from jaxccp.model import Box, ConvexMesh, HeightField, Model, Plane, Revolute, State
from jaxccp.scene import ModelBuilder
from jaxccp.sensors import SensorScope

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.1


def build(height: float = 0.0, friend: bool = True) -> tuple[Model, State]:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), position=(0, 0, height))
    arm = builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(0, 0, 1), name="arm")
    builder.add_joint(Revolute((0, 1, 0)), 0, arm, name="hinge")
    rock = builder.add_solid(ConvexMesh(CORNERS), 1.0, position=(1, 0, 1), name="rock")
    if not friend:
        builder.exclude(arm, rock)
    return builder.build()


def test_the_same_model_built_twice_is_compiled_once() -> None:
    stepper = EulerImplicitLinearized()
    traced = []

    @jax.jit
    def step(model: Model, state: State) -> State:
        traced.append(model.topology)
        return stepper.step(model, state)[0]

    for height in (0.0, -0.1, 0.2):
        step(*build(height))
    assert len(traced) == 1
    step(*build(friend=False))
    assert len(traced) == 2


def test_topologies_differ_by_what_is_in_them() -> None:
    a, b = build()[0].topology, build(0.5)[0].topology
    assert a == b and hash(a) == hash(b) and a is not b
    assert a != build(friend=False)[0].topology
    assert a != replace(b, free=~b.free) and a != replace(b, max_contacts=3) and a != "a"


def test_equal_meshes_share_a_row() -> None:
    builder = ModelBuilder()
    for _ in range(3):
        builder.add_solid(ConvexMesh(CORNERS.copy()), 1.0)
    model, _ = builder.build()
    assert len(model.shapes.hulls.vertices) == 1


def test_shapes_of_arrays_of_any_kind() -> None:
    """Arrays are copied, so that they may be used again; those of jax are the same as NumPy's."""
    heights, points = np.zeros((3, 3)), CORNERS.copy()
    shapes = HeightField(heights, (1.0, 1.0)), ConvexMesh(points)
    heights[:], points[:] = 1.0, 2 * CORNERS
    assert shapes[0] == HeightField(jnp.zeros((3, 3)), (1.0, 1.0)) != HeightField(heights, (1, 1))
    assert shapes[1] == ConvexMesh(jnp.asarray(CORNERS)) != ConvexMesh(points)
    masks: Any = np.ones(2, bool), jnp.ones(2, bool)
    sides: Any = (0.1, 0.1, 0.1), [0.1, 0.1, 0.1]
    assert len({*(SensorScope(m, m, Box(s)) for m, s in zip(masks, sides, strict=True))}) == 1


def test_no_table_outlives_its_model() -> None:
    model, state = build()
    before = len(_partitions)
    jax.jit(EulerImplicitLinearized(coordinates="maximal").step)(model, state)
    watched = weakref.ref(model.topology)
    del model, state
    jax.clear_caches()
    gc.collect()
    assert watched() is None and len(_partitions) <= before
