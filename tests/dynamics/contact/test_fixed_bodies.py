"""Test that contacts with fixed bodies alone have rows of one body only, and the same motion."""

from dataclasses import replace
from itertools import combinations

import jax
import numpy as np
import pytest

from jaxccp import (
    HHT,
    EulerImplicitLinearized,
    Material,
    ModelBuilder,
    Plane,
    Revolute,
    Sphere,
    Stop,
    rollout,
)
from jaxccp.dynamics import Stepper
from jaxccp.model.model import Bodies

STOP = Stop(1e-12, max_iterations=5000)


def path(stepper: Stepper, restitution: float, with_pair: bool) -> np.ndarray:
    """Return the motion of a floating arm of three links, with balls at their ends, that falls on a
    plane: position, velocity and angular velocity of each link [steps, 3, 9].

    Args:
        stepper: time stepper
        restitution: coefficient of restitution of plane and arm
        with_pair: whether two more balls are there, which could touch each other
    """
    builder = ModelBuilder()
    surface = Material(friction=0.5, restitution=restitution)
    builder.add_shape(0, Plane(), material=surface)
    links = [builder.add_body(1.0, (0.01,) * 3, (x, 0, 0.2 + 0.1 * x)) for x in (0, 0.5, 1)]
    for x, link in zip((0, 0.5, 1), links, strict=True):
        builder.add_shape(link, Sphere(0.05), (0.2, 0, 0), material=surface)
        if x:
            builder.add_joint(Revolute((0, 1, 0.2)), link - 1, link, (x - 0.25, 0, 0.15 + 0.1 * x))
    if with_pair:
        links += [builder.add_solid(Sphere(0.1), 1.0, position=(x, 5, 90)) for x in (0, 9)]
    for second, first in combinations(links, 2):
        if first <= 3 or second <= 3:
            builder.exclude(first, second)
    model, state = builder.build()
    assert model.topology.first_bodies_fixed != with_pair
    if with_pair:  # the mass that MuJoCo gives the world is as good as the builder's
        mass, inertia = model.bodies.mass.at[0].set(0), model.bodies.inertia.at[0].set(0)
        model = replace(model, bodies=Bodies(mass, inertia))
    steps = jax.jit(lambda state: rollout(model, state, stepper, 150)[1])(state)
    assert steps.report.contacts.sum() > 20, "it hardly touches the plane"
    states = steps.state
    return np.concatenate([states.position, states.velocity, states.angular_velocity], -1)[:, 1:4]


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_the_motion_is_the_same_as_beside_bodies_that_could_touch(restitution: float) -> None:
    stepper = EulerImplicitLinearized(2e-3, stop=STOP)
    alone, accompanied = (path(stepper, restitution, with_pair) for with_pair in (False, True))
    np.testing.assert_allclose(alone, accompanied, atol=1e-9)


def test_so_is_that_of_second_order() -> None:
    stepper = HHT(4e-3, stop=STOP)
    alone, accompanied = (path(stepper, 0.0, with_pair) for with_pair in (False, True))
    np.testing.assert_allclose(alone, accompanied, atol=1e-7)
