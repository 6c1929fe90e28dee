"""Contacts of a whole scene: frames, surfaces and capacity."""

from dataclasses import replace
from functools import cache
from itertools import combinations

import jax
import numpy as np
from scipy.spatial.transform import Rotation

from jaxccp.collision.contact_cache import empty_warm_start, recall
from jaxccp.collision.detect import Contacts, detect
from jaxccp.math import quaternion
from jaxccp.model import (
    Box,
    Capsule,
    Combination,
    Cylinder,
    Ellipsoid,
    Material,
    Model,
    Plane,
    Sphere,
    State,
)
from jaxccp.scene import ModelBuilder
from tests.collision.shape_pairs import MESHES, geometry, in_numpy, pick, reach

MARGIN = 0.05


@cache
def scene(capacity: int | None = None) -> tuple[Model, State]:
    """Three balls and a box over a floor; heights differ by ball."""
    builder = ModelBuilder(
        margin=MARGIN, combination=Combination(friction="mean", restitution="max")
    )
    builder.add_shape(0, Plane(), material=Material(0.2, 0.1, 1e-4, 0.01))
    for i, gap in enumerate((-0.002, 0.01, 0.2)):
        ball = Material(0.4, 0.3, 2e-4, 0.02)
        builder.add_solid(Sphere(0.1), 1.0, ball, position=(i, 0, 0.1 + gap))
    builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(0, 5, 0.099))
    return builder.build(capacity)


@cache
def contacts(capacity: int | None = None) -> Contacts:
    return jax.device_get(jax.jit(detect)(*scene(capacity)))


def test_live_contacts_are_those_within_the_margin() -> None:
    found = contacts()
    assert found.total == 2 + 4
    np.testing.assert_allclose(np.sort(found.gap[found.live]), [-0.002, *[-0.001] * 4, 0.01])


def test_frames_are_right_handed_and_lead_from_the_first_body_to_the_second() -> None:
    _, state = scene()
    found = contacts()
    frame = found.frame[found.live]
    np.testing.assert_allclose(frame @ np.swapaxes(frame, 1, 2), np.eye(3)[None] + 0 * frame)
    np.testing.assert_allclose(np.linalg.det(frame), 1.0)
    first, second = found.bodies[found.live].T
    assert np.all(first == 0)
    upwards = np.asarray(state.position)[second] - found.position[found.live]
    assert np.all(np.einsum("ci,ci->c", frame[:, 0], upwards) > 0)


def test_surfaces_combine() -> None:
    found = contacts()
    ball = found.live & (found.bodies[:, 1] == 1)
    for name, expected in (
        *(("friction", 0.3), ("restitution", 0.3)),
        *(("compliance", 3e-4), ("damping", 0.03)),
    ):
        np.testing.assert_allclose(getattr(found, name)[ball], expected, rtol=1e-12)


def test_capacity_keeps_the_deepest() -> None:
    found = contacts(5)
    assert found.gap.shape == (5,) and found.total == 6 and found.live.all()
    np.testing.assert_allclose(np.sort(found.gap), [-0.002, *[-0.001] * 4], atol=1e-15)
    every = contacts()
    at = {
        (*shapes, feature): position
        for shapes, feature, position in zip(
            every.shapes.tolist(), every.feature.tolist(), every.position, strict=True
        )
    }
    for shapes, feature, position in zip(
        found.shapes.tolist(), found.feature.tolist(), found.position, strict=True
    ):
        np.testing.assert_array_equal(position, at[(*shapes, feature)])


def test_every_kind_of_convex_shape_finds_its_own() -> None:
    """One program for many kinds: the least gap of each pair is that between its two shapes."""
    rng = np.random.default_rng(0)
    each = [
        *(Sphere(0.1), Capsule(0.1, 0.15), Box((0.1, 0.2, 0.15)), Cylinder(0.15, 0.2)),
        *(Ellipsoid((0.1, 0.2, 0.15)), MESHES[1], Cylinder(0.1, 0.1), MESHES[2]),
    ]
    builder = ModelBuilder(margin=9.0)
    for shape in [each[i] for i in rng.permutation(len(each))]:
        facing = Rotation.random(None, rng).as_quat(scalar_first=True)
        builder.add_solid(shape, 1.0, position=rng.normal(size=3), quaternion=facing)
    model, state = builder.build()
    found = jax.device_get(jax.jit(detect)(model, state))
    kinds, hulls = model.topology.shapes, model.shapes.hulls
    placed = [
        geometry(state.position[i + 1], model.shapes.size[i], model.shapes.radius[i], turn)
        for i, turn in enumerate(np.asarray(quaternion.to_matrix(state.quaternion))[1:])
    ]
    placed = [
        replace(
            p,
            position=p.position + p.rotation @ model.shapes.position[i],
            hull=pick(hulls, int(model.topology.row[i])) if kinds[i] == "convex" else None,
        )
        for i, p in enumerate(placed)
    ]
    (placed,) = in_numpy(placed)
    for a, b in combinations(range(len(each)), 2):
        of_pair = found.live & (np.sort(found.bodies, axis=1) == (a + 1, b + 1)).all(axis=1)
        assert of_pair.any(), (kinds[a], kinds[b])
        k = np.flatnonzero(of_pair)[np.argmin(found.gap[of_pair])]
        i, j = found.bodies[k] - 1
        normal = found.frame[k, 0]
        apart = -reach(kinds[i], placed[i], normal) - reach(kinds[j], placed[j], -normal)
        assert abs(apart - found.gap[k]) < 5e-3 * (1 + abs(apart)), (kinds[i], kinds[j])


def test_nothing_to_touch() -> None:
    builder = ModelBuilder()
    builder.add_body(1.0, (1, 1, 1))
    model, state = builder.build()
    found = detect(model, state)
    assert found.gap.shape == (0,) and found.total == 0
    warm_start = empty_warm_start(model.topology, state.position.dtype)
    assert warm_start.contacts.feature.shape == (0,)
    assert recall(warm_start, found).impulses.shape == (0, 3)
