"""Test in which points capsules touch."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.collision import NO_CONTACT
from jaxccp.collision.kernels.capsule_contact import capsule_box, capsule_capsule
from tests.collision.shape_pairs import cast, euler_rotation, geometry

LENGTH = (0, 0, 0.3)
CUBE = (0.1, 0.1, 0.1)
GAP = 1e-3

on_capsule, on_box = jax.jit(capsule_capsule), jax.jit(capsule_box)


def touching(manifold, limit=0.01):
    close = np.asarray(manifold.distance) < limit
    order = np.argsort(np.asarray(manifold.position)[close, 0])
    return tuple(
        np.asarray(x)[close][order] for x in (manifold.distance, manifold.position, manifold.normal)
    )


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-6])
def test_parallel_capsules_touch_at_both_ends_of_the_overlap(noise):
    rng = np.random.default_rng(0)
    lying = euler_rotation("y", 90) @ euler_rotation("xyz", *np.degrees(noise * rng.normal(size=3)))
    a = geometry((0, 0, 0), LENGTH, 0.05, euler_rotation("y", 90))
    b = geometry((0.1, 0, 0.1 + GAP), LENGTH, 0.05, lying)
    distance, position, normal = touching(on_capsule(a, b))
    np.testing.assert_allclose(distance, GAP, atol=noise + 1e-12)
    np.testing.assert_allclose(position[:, 0], [-0.2, 0.3], atol=10 * noise + 1e-12)
    np.testing.assert_allclose(normal, [[0, 0, 1]] * 2, atol=20 * noise + 1e-12)


@pytest.mark.parametrize("angle", [1e-6, 3e-6, 1e-5, 1e-4, 1e-3])
def test_third_derivatives_of_nearly_parallel_capsules_are_finite_in_float32(angle):
    """A rebound takes two derivatives of the contact points, and its gradient one more."""

    a, b = (cast(geometry(x, LENGTH, 0.05), jnp.float32) for x in ((0, 0, 0), (0.3, 0.0, 0.9)))

    def numbers(orientation):
        axis = jnp.stack([jnp.sin(orientation), 0.3 * jnp.sin(orientation), jnp.cos(orientation)])
        manifold = capsule_capsule(a, replace(b, rotation=b.rotation.at[:, 2].set(axis)))
        return jnp.concatenate([manifold.position.ravel(), manifold.normal.ravel()])

    third = jax.jit(jax.jacrev(jax.jacfwd(jax.jacfwd(numbers))))
    assert np.isfinite(third(jnp.float32(angle))).all()


def test_crossed_capsules_touch_once():
    a = geometry((0, 0, 0), LENGTH, 0.05, euler_rotation("y", 90))
    b = geometry((0.1, 0.2, 0.1 + GAP), LENGTH, 0.05, euler_rotation("x", 90))
    distance, position, normal = touching(on_capsule(a, b), limit=NO_CONTACT)
    np.testing.assert_allclose(distance, [GAP], atol=1e-12)
    np.testing.assert_allclose(position, [[0.1, 0, 0.05 + GAP / 2]], atol=1e-12)
    np.testing.assert_allclose(normal, [[0, 0, 1]], atol=1e-12)


def test_turning_one_capsule_over_another_moves_the_points_without_jumps():
    a = geometry((0, 0, 0), LENGTH, 0.05, euler_rotation("y", 90))
    last = None
    for angle in np.linspace(0, 10, 2001):
        b = geometry((0, 0, 0.1 + GAP), LENGTH, 0.05, euler_rotation("yz", 90, angle))
        distance, position, _ = touching(on_capsule(a, b))
        np.testing.assert_allclose(distance, GAP, atol=1e-5)
        if last is not None and len(last) == len(position):
            assert np.abs(position - last).max() < 0.05
        last = position


@pytest.mark.parametrize("tilt", [0.0, 1e-7, -1e-7, 1e-4, -1e-4])
def test_capsule_lying_across_a_box_touches_at_both_borders(tilt):
    a = geometry((0.01, 0.02, 0.15 + GAP), LENGTH, 0.05, euler_rotation("y", 90 + np.degrees(tilt)))
    distance, position, normal = touching(on_box(a, geometry((0, 0, 0), CUBE)))
    np.testing.assert_allclose(distance, GAP, atol=0.2 * abs(tilt) + 1e-12)
    np.testing.assert_allclose(position[[0, -1], 0], [-0.1, 0.1], atol=abs(tilt) + 1e-12)
    np.testing.assert_allclose(normal, [[0, 0, -1]] * len(normal), atol=2 * abs(tilt) + 1e-12)


@pytest.mark.parametrize("tilt", [0.0, 1e-7, -1e-7])
def test_capsule_along_an_edge_touches_twice(tilt):
    a = geometry((0, 0.14, 0.14), LENGTH, 0.05, euler_rotation("y", 90 + np.degrees(tilt)))
    distance, position, normal = touching(on_box(a, geometry((0, 0, 0), CUBE)))
    gap = 0.04 * 2**0.5 - 0.05
    np.testing.assert_allclose(distance, [gap, gap], atol=1e-6)
    np.testing.assert_allclose(position[:, 0], [-0.1, 0.1], atol=1e-6)
    np.testing.assert_allclose(normal, [[0, -(0.5**0.5), -(0.5**0.5)]] * 2, atol=1e-5)


def test_capsule_across_an_edge_touches_there():
    a = geometry((0, 0.14, 0.14), LENGTH, 0.05, euler_rotation("x", 45))
    distance, position, _ = touching(on_box(a, geometry((0, 0, 0), CUBE)))
    gap = 0.04 * 2**0.5 - 0.05
    np.testing.assert_allclose(distance, [gap], atol=1e-12)
    np.testing.assert_allclose(position, [[0, *[0.1 + gap / 2 * 0.5**0.5] * 2]], atol=1e-12)


def test_capsule_pressed_through_a_face_leaves_by_it():
    a = geometry((0.01, 0.02, 0.09), LENGTH, 0.05, euler_rotation("y", 90))
    distance, position, normal = touching(on_box(a, geometry((0, 0, 0), CUBE)))
    np.testing.assert_allclose(distance, [-0.06, -0.06], atol=1e-12)
    np.testing.assert_allclose(position[:, 0], [-0.1, 0.1], atol=1e-12)
    np.testing.assert_allclose(normal, [[0, 0, -1]] * 2, atol=1e-12)
