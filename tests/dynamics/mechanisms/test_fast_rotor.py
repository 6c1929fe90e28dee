"""Test a rotor that turns by more than half a radian in a step."""

import numpy as np
from scipy.integrate import solve_ivp

from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.model import Hinge, Model, Revolute, State, Universal
from jaxccp.scene import ModelBuilder

MASS, ARM, G = 1.0, 0.1, 9.81
ALONG, ACROSS = 0.005, 0.003
"""Inertia of the rotor about its axis and across it [kg m²]."""
SPIN, SPAN, H = 600.0, 0.5, 1e-3


def gimbal(inertia: tuple[float, float, float] = (ALONG, ACROSS, ACROSS)) -> tuple[Model, State]:
    """Return a rotor along x at the end of an arm on a cardan joint, horizontal at the start."""
    builder = ModelBuilder()
    arm = builder.add_body(1e-6, (1e-9,) * 3, (ARM / 2, 0, 0))
    builder.add_joint(Universal(Hinge((0, 0, 1)), Hinge((0, 1, 0))), 0, arm, (0, 0, 0))
    rotor = builder.add_body(MASS, inertia, (ARM, 0, 0), angular_velocity=(SPIN, 0, 0))
    builder.add_joint(Revolute((1, 0, 0)), arm, rotor, (ARM, 0, 0), name="shaft")
    return builder.build()


def gyroscope(_: float, y: np.ndarray) -> list[float]:
    """Return the rates of azimuth and elevation of the arm and of their rates, by Lagrange's
    equations with a constant spin momentum."""
    _, low, turning, falling = y
    across = ACROSS + MASS * ARM**2
    momentum = ALONG * SPIN
    # The angle low counts from horizontal, positive downwards.
    cos, sin = np.cos(low), np.sin(low)
    fall = (
        MASS * G * ARM * cos - across * turning**2 * sin * cos - momentum * turning * cos
    ) / across
    turn = (2 * across * turning * falling * sin * cos + momentum * falling * cos) / (
        across * cos**2
    )
    return [turning, falling, turn, fall]


def test_a_rotor_precesses_and_keeps_its_spin() -> None:
    model, state = gimbal()
    final, _ = rollout(model, state, EulerImplicitLinearized(H), round(SPAN / H))
    path = solve_ivp(gyroscope, (0, SPAN), [0.0] * 4, rtol=1e-10, atol=1e-12)
    azimuth, low = path.y[:2, -1]
    expected = ARM * np.array(
        [np.cos(low) * np.cos(azimuth), np.cos(low) * np.sin(azimuth), -np.sin(low)]
    )
    np.testing.assert_allclose(final.position[2], expected, atol=0.02 * ARM * abs(azimuth))
    spin = np.linalg.norm(final.angular_velocity[2])
    np.testing.assert_allclose(spin, SPIN, rtol=1e-5)


def test_only_symmetric_bodies_on_one_hinge_are_rotors() -> None:
    assert gimbal()[0].topology.axisymmetric.tolist() == [False, False, True]
    assert not gimbal((ALONG, ACROSS, 1.1 * ACROSS))[0].topology.axisymmetric.any()
