"""Test contacts of a whole scene: frames, surfaces and capacity."""

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
    """Return three balls and a box over a floor; heights differ by ball."""
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
    detected = contacts()
    assert detected.total == 2 + 4
    np.testing.assert_allclose(np.sort(detected.gap[detected.live]), [-0.002, *[-0.001] * 4, 0.01])


def test_frames_are_right_handed_and_lead_from_the_first_body_to_the_second() -> None:
    _, state = scene()
    detected = contacts()
    frame = detected.frame[detected.live]
    np.testing.assert_allclose(frame @ np.swapaxes(frame, 1, 2), np.eye(3)[None] + 0 * frame)
    np.testing.assert_allclose(np.linalg.det(frame), 1.0)
    first, second = detected.bodies[detected.live].T
    assert np.all(first == 0)
    upwards = np.asarray(state.position)[second] - detected.position[detected.live]
    assert np.all(np.einsum("ci,ci->c", frame[:, 0], upwards) > 0)


def test_surfaces_combine() -> None:
    detected = contacts()
    ball = detected.live & (detected.bodies[:, 1] == 1)
    for name, expected in (
        *(("friction", 0.3), ("restitution", 0.3)),
        *(("compliance", 3e-4), ("damping", 0.03)),
    ):
        np.testing.assert_allclose(getattr(detected, name)[ball], expected, rtol=1e-12)


def test_capacity_keeps_the_deepest() -> None:
    detected = contacts(5)
    assert detected.gap.shape == (5,) and detected.total == 6 and detected.live.all()
    np.testing.assert_allclose(np.sort(detected.gap), [-0.002, *[-0.001] * 4], atol=1e-15)
    every = contacts()
    at = {
        (*shapes, feature): position
        for shapes, feature, position in zip(
            every.shapes.tolist(), every.feature.tolist(), every.position, strict=True
        )
    }
    for shapes, feature, position in zip(
        detected.shapes.tolist(), detected.feature.tolist(), detected.position, strict=True
    ):
        np.testing.assert_array_equal(position, at[(*shapes, feature)])


def test_every_kind_of_convex_shape_finds_its_own() -> None:
    """The smallest gap of each pair is that of its two shapes, in one program for many kinds."""
    rng = np.random.default_rng(0)
    solids = [
        *(Sphere(0.1), Capsule(0.1, 0.15), Box((0.1, 0.2, 0.15)), Cylinder(0.15, 0.2)),
        *(Ellipsoid((0.1, 0.2, 0.15)), MESHES[1], Cylinder(0.1, 0.1), MESHES[2]),
    ]
    builder = ModelBuilder(margin=9.0)
    for shape in [solids[i] for i in rng.permutation(len(solids))]:
        orientation = Rotation.random(None, rng).as_quat(scalar_first=True)
        builder.add_solid(shape, 1.0, position=rng.normal(size=3), quaternion=orientation)
    model, state = builder.build()
    detected = jax.device_get(jax.jit(detect)(model, state))
    kinds, hulls = model.topology.shapes, model.shapes.hulls
    placed = [
        geometry(state.position[i + 1], model.shapes.size[i], model.shapes.radius[i], rotation)
        for i, rotation in enumerate(np.asarray(quaternion.to_matrix(state.quaternion))[1:])
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
    for a, b in combinations(range(len(solids)), 2):
        of_pair = detected.live & (np.sort(detected.bodies, axis=1) == (a + 1, b + 1)).all(axis=1)
        assert of_pair.any(), (kinds[a], kinds[b])
        k = np.flatnonzero(of_pair)[np.argmin(detected.gap[of_pair])]
        i, j = detected.bodies[k] - 1
        normal = detected.frame[k, 0]
        separation = -reach(kinds[i], placed[i], normal) - reach(kinds[j], placed[j], -normal)
        assert abs(separation - detected.gap[k]) < 5e-3 * (1 + abs(separation)), (
            kinds[i],
            kinds[j],
        )


def test_nothing_to_touch() -> None:
    builder = ModelBuilder()
    builder.add_body(1.0, (1, 1, 1))
    model, state = builder.build()
    detected = detect(model, state)
    assert detected.gap.shape == (0,) and detected.total == 0
    warm_start = empty_warm_start(model.topology, state.position.dtype)
    assert warm_start.contacts.feature.shape == (0,)
    assert recall(warm_start, detected).impulses.shape == (0, 3)
