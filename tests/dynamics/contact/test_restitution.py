"""Test bounces and compliant contacts on a plane against analytic mechanics, both laws."""

from dataclasses import replace

import numpy as np
import pytest

from jaxccp.ccp import Law
from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.model import Material, Sphere
from jaxccp.scene import ModelBuilder
from tests.dynamics.playground import (
    BOUNCES,
    BOX,
    CAPSULE,
    DROP,
    HALF,
    LANES,
    MASS,
    RADIUS,
    SPHERE,
    G,
    H,
    records,
)

pytestmark = pytest.mark.xdist_group("playground")  # its records, computed once
BOTH_LAWS = pytest.mark.parametrize("law", ["ccp", "ncp"])
REST = {BOX: HALF, SPHERE: RADIUS, CAPSULE: RADIUS}


@BOTH_LAWS
@pytest.mark.parametrize("name", [*BOUNCES, "soft bounce"])
@pytest.mark.parametrize("body", list(REST))
def test_bounce_height(law: Law, name: str, body: int) -> None:
    """A bounce reaches e² of the drop height, with an error of first order in the step at most.

    Args:
        law: contact law
        name: name of the lane
        body: index of the body
    """
    lane, record = LANES[name], records(law)[name]
    fall = np.sqrt(2 * DROP / lane.gravity)
    rising = np.searchsorted(record.time, fall * (1 + 0.5 * lane.restitution))
    z = record.position[rising, body, 2] - REST[body]
    v = record.velocity[rising, body, 2]
    # What semi-implicit Euler conserves in flight: its peak is where v vanishes.
    peak = z + v * v / (2 * lane.gravity) - H * v / 2
    expected = lane.restitution**2 * DROP
    # A bounce returns the speed at the start of the step, up to g h short of that at impact.
    assert expected - 2 * DROP * H / fall <= peak <= expected


@BOTH_LAWS
@pytest.mark.parametrize("name", ["soft", "soft bounce"])
@pytest.mark.parametrize(("body", "points"), [(BOX, 4), (SPHERE, 1), (CAPSULE, 2)])
def test_static_deflection_is_compliance_times_force(
    law: Law, name: str, body: int, points: int
) -> None:
    lane, record = LANES[name], records(law)[name]
    deflection = REST[body] - record.position[-1, body, 2]
    np.testing.assert_allclose(deflection, lane.compliance * MASS * G / points, rtol=1e-4)


@pytest.mark.parametrize(("restitution", "after"), [(1.0, (-1, 2, 2)), (0.0, (1, 1, 1))])
def test_touching_cradle(restitution: float, after: tuple[int, int, int]) -> None:
    """A ball hits two that touch. Newton's law holds for the pair that meets at speed, and the
    other contact stays closed, so that both struck balls move as one."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    ball = Material(restitution=restitution)
    for x in (-0.2, 0.0, 0.2):
        builder.add_solid(Sphere(0.1), 1.0, ball, position=(x, 0, 0))
    model, state = builder.build(max_contacts=2)
    state = replace(state, velocity=state.velocity.at[1, 0].set(1.0))
    final, _ = EulerImplicitLinearized(H, "ncp", "apgd").step(model, state)
    np.testing.assert_allclose(3 * final.velocity[1:, 0], after, atol=1e-7)
