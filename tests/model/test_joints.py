"""Test every kind of joint: freedoms, coordinates, rows, placing, and what the builder refuses."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.math import quaternion
from jaxccp.model import (
    JOINTS,
    Ball,
    Compound,
    Coupling,
    Cylindrical,
    Hinge,
    Joint,
    Model,
    Planar,
    Revolute,
    Slide,
    Sphere,
    Spherical,
    State,
    TendonPath,
    Universal,
    forward_kinematics,
    gear,
    joint_motion,
    motor,
)
from jaxccp.scene import ModelBuilder

FREEDOMS = {
    "fixed": 0,
    "revolute": 1,
    "prismatic": 1,
    "universal": 2,
    "cylindrical": 2,
    "spherical": 3,
    "planar": 3,
}
LIMB = Compound(
    (
        Slide((1, 0, 0)),
        Slide((0, 0, 1)),
        Hinge((0, 1, 0), point=(0.1, 0.2, 0.3)),
        Hinge((1, 0, 0), point=(0, 0.1, 0)),
    )
)
KINDS: Sequence[Joint] = [
    *(cast(Any, JOINTS[name])() for name in FREEDOMS),
    Revolute((0, 1, 2)),
    LIMB,
    Compound((Slide((1, 0, 0)), Ball())),
]


MOTION, PLACE = jax.jit(joint_motion), jax.jit(forward_kinematics)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


@cache
def tree(floating: bool) -> tuple[Model, State]:
    """Return a random tree with all kinds of joints, every third one with its bodies swapped."""
    rng, builder = np.random.default_rng(3), ModelBuilder()
    bodies = [0]
    if floating:
        root = builder.add_body(1, (1, 1, 1), (3, 3, 3), velocity=(1, 2, 3))
        bodies = [root]
    for i, kind in enumerate(KINDS):
        orientation = unit(rng.normal(size=4))
        body = builder.add_body(1, (0.1, 0.1, 0.1), rng.normal(size=3), orientation)
        pair = (bodies[rng.integers(len(bodies))], body)
        if i % 3 == 2:
            pair = (pair[1], pair[0])
        builder.add_joint(kind, *pair, rng.normal(size=3), unit(rng.normal(size=4)))
        bodies.append(body)
    return builder.build()


def test_every_kind_leaves_its_freedoms() -> None:
    linkage = tree(False)[0].topology.linkage
    left = np.bincount(linkage.owner, minlength=len(KINDS))
    rows = np.bincount(linkage.bilateral[0], minlength=len(KINDS))
    np.testing.assert_array_equal(left + rows, 6)
    for kind, count in zip(KINDS, left, strict=True):
        assert FREEDOMS.get(kind.kind, 4) == count
    assert set(JOINTS) == {kind.kind for kind in KINDS}


@pytest.mark.parametrize("floating", [False, True])
def test_placed_bodies_have_the_coordinates_and_rates(floating: bool) -> None:
    """Bodies placed by coordinates and rates have them, and joints' rows are their derivatives."""
    model, start = tree(floating)
    rng, count = np.random.default_rng(5), len(model.topology.linkage.axes)
    q, rate = (jnp.asarray(rng.uniform(-1, 1, count)) for _ in range(2))
    state = PLACE(model, start, q, rate)
    motion = MOTION(model, state)
    np.testing.assert_allclose(motion.coordinate, q, atol=1e-13)
    np.testing.assert_allclose(motion.rate, rate, atol=1e-13)
    np.testing.assert_allclose(motion.error, 0, atol=1e-13)
    twist = jnp.concatenate([state.velocity, state.angular_velocity], axis=1)
    linkage = model.topology.linkage
    constrained = jnp.einsum(
        "rbi,rbi->r", motion.bilateral, twist[linkage.bodies[linkage.bilateral[0]]]
    )
    np.testing.assert_allclose(constrained, 0, atol=1e-12)
    # From another guess, and with hinges that have gone round.
    period = np.where(np.array(linkage.motions) == "hinge", 2 * np.pi, 0.0)
    again = MOTION(
        model, replace(state, joint_positions=q + period + rng.uniform(-0.3, 0.3, count))
    )
    np.testing.assert_allclose(again.coordinate, q + period, atol=1e-12)
    np.testing.assert_allclose(again.error, 0, atol=1e-12)
    if floating:
        np.testing.assert_array_equal(state.position[1], start.position[1])
        np.testing.assert_array_equal(state.velocity[1], start.velocity[1])


def test_error_and_rates_are_derivatives_of_each_other() -> None:
    """The rows give the rate of change of coordinates and errors, for any motion of the bodies."""
    model, start = tree(False)
    rng, count = np.random.default_rng(7), len(model.topology.linkage.axes)
    state = PLACE(model, start, jnp.asarray(rng.uniform(-1, 1, count)), jnp.zeros(count))
    twist = jnp.asarray(rng.normal(size=(len(state.position), 6))).at[0].set(0)

    def displaced(t: jax.Array) -> tuple[jax.Array, jax.Array]:
        rotation = quaternion.exp(t * twist[:, 3:])
        after = replace(
            state,
            position=state.position + t * twist[:, :3],
            quaternion=quaternion.multiply(rotation, state.quaternion),
        )
        motion = joint_motion(model, after)
        return motion.coordinate, motion.error

    of = jax.jit(lambda t: jax.jvp(displaced, (t,), (jnp.ones(()),)))
    rate, drift = of(jnp.zeros(()))[1]
    e = 1e-6
    ends = [of(jnp.asarray(s * e))[0] for s in (-1, 1)]
    differences = [(b - a) / (2 * e) for a, b in zip(*ends, strict=True)]
    motion = MOTION(model, state)
    linkage = model.topology.linkage
    ball = np.array(linkage.motions) == "ball"
    rows = [
        jnp.einsum("rbi,rbi->r", jacobian, twist[linkage.bodies[joints]])
        for jacobian, joints in (
            (motion.axis, linkage.owner),
            (motion.bilateral, linkage.bilateral[0]),
        )
    ]
    # The rates of a ball are its angular velocity, not the derivative of its rotation vector.
    np.testing.assert_allclose(rate[~ball], rows[0][~ball], atol=1e-9)
    np.testing.assert_allclose(drift, rows[1], atol=1e-9)
    np.testing.assert_allclose(rate, differences[0], atol=1e-7)
    np.testing.assert_allclose(drift, differences[1], atol=1e-7)


SAME = (0, 0, 0), (1, 0, 0, 0)


def two() -> tuple[ModelBuilder, int]:
    builder = ModelBuilder()
    return builder, builder.add_body(1, (1, 1, 1), name="link")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda b, i: b.add_joint(Revolute(), i, i), "with itself"),
        (lambda b, i: b.add_joint(Revolute(), 0, 7), "no body 7"),
        (lambda b, i: b.add_joint(Revolute(), 0, b.add_fixed()), "neither body can move"),
        (lambda b, i: [b.add_joint(Revolute(), 0, i, name="a") for _ in "ab"], "name is taken"),
        (lambda b, i: Revolute((0, 0, 0)), "direction"),
        (lambda b, i: Revolute(limits=(1, -1)), "lower < upper"),
        (lambda b, i: Revolute(damping=-1), "damping must be finite and ≥ 0"),
        (lambda b, i: Spherical(damping=cast(Any, (1, 2, 3))), "one number.*three hinges"),
        (lambda b, i: Revolute(damping=cast(Any, (1, 0.5))), "one number.*damping_polynomial"),
        (lambda b, i: Spherical(stiffness=cast(Any, (1, 2, 3))), "one number.*stiffnesses"),
        (lambda b, i: Revolute(rest=cast(Any, [0.1])), r"rest must be one number, not \[0.1\]"),
        (lambda b, i: Revolute(rest=float("nan")), "rest must be finite, not nan"),
        (lambda b, i: Revolute(armature=cast(Any, "1")), "armature must be one number, not '1'"),
        (lambda b, i: Coupling({"a": 1.0}, friction=cast(Any, None)), "friction must be one"),
        (lambda b, i: Spherical(limits=(-1, 1)), "its largest angle.*three hinges"),
        (lambda b, i: Spherical(limits=(0, 45)), "at most π rad.*give radians"),
        (lambda b, i: Spherical(rest=0.2), "no rest angle"),
        (lambda b, i: Universal(Hinge((1, 0, 0)), Hinge((1, 1, 0))), "right angles"),
        (lambda b, i: Planar(hinge=Hinge((1, 0, 0))), "right angles"),
        (lambda b, i: Cylindrical(Slide((1, 0, 0))), "one axis"),
        (lambda b, i: b.add_joint(Compound((Hinge(), Hinge())), 0, i), "depend on each other"),
        (lambda b, i: b.add_joint(Compound((Ball(), Slide())), 0, i), "only slides"),
        (lambda b, i: b.add_actuator(motor(), "knee"), "no axis 'knee'"),
        (lambda b, i: b.add_tendon(gear("a", "b", 2.0)), "no axis 'a'"),
        (lambda b, i: gear("a", "a", 2.0), "gear: 'a' is one axis"),
        (
            lambda b, i: (
                b.add_joint(Revolute(), 0, i, name="hip"),
                b.add_tendon(Coupling({"hip": 1.0, 0: 2.0})),
            ),
            "axis 'hip' has two terms",
        ),
        (
            lambda b, i: b.add_joint(Revolute(), 0, i, (0, 0, 1), frames=2 * (SAME,)),
            "give frames, or anchor and quaternion, not both",
        ),
        (lambda b, i: Coupling({}), "one axis at least"),
        (lambda b, i: Coupling({"a": float("inf")}), "finite factor"),
        (lambda b, i: Coupling({"a": []}), "finite factor"),
        (
            lambda b, i: (
                b.add_joint(Spherical(), 0, i, name="hip"),
                b.add_tendon(Coupling({"hip.0": 1.0})),
            ),
            "of a ball",
        ),
        (lambda b, i: TendonPath([(i, (0, 0, 0))]), "two points"),
        (lambda b, i: TendonPath([(0, (0, 0, 0)), (i, (0, 0, 0))], length=0.0), "must be positive"),
        (lambda b, i: b.add_tendon(TendonPath([(0, (0, 0, 0)), (7, (0, 0, 0))])), "no body 7"),
        (
            lambda b, i: (
                b.add_tendon(TendonPath([(0, (0, 0, 0)), (i, (1, 0, 0))], length=0.4), "rod"),
                b.build(),
            ),
            "tendon 'rod'.*0.6",
        ),
        (
            lambda b, i: (
                b.add_joint(
                    Revolute(),
                    *(0, i),
                    frames=(((0, 0, 0), (1, 0, 0, 0)), ((0, 0, 0.5), (1, 0, 0, 0))),
                    name="hip",
                ),
                b.build(),
            ),
            "joint 'hip'.*0.5",
        ),
    ],
)
def test_what_is_no_mechanism_is_refused(wrong, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong(*two())


def test_jointed_bodies_do_not_collide_unless_told() -> None:
    for collide, pairs in ((False, 0), (True, 1)):
        builder = ModelBuilder()
        a, b = (builder.add_solid(Sphere(0.1), 1.0, position=(x, 0, 0)) for x in (0, 0.1))
        builder.add_joint(Revolute(), a, b, collide=collide)
        assert len(builder.build()[0].topology.pairs) == pairs
