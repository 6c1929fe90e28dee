"""Check explanations of a step's derivative where they can be derived by hand."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Material,
    ModelBuilder,
    Plane,
    RungeKutta4,
    SmoothMaterial,
    Sphere,
    Stop,
)
from jaxccp.dynamics import Mode
from jaxccp.testing import GradientExplanation, explain_gradient

H, G, MU = 2e-3, 9.81, 0.3


@cache
def explained(speed: float, friction: float = MU) -> GradientExplanation:
    """Return the explanation for a box of half sides 0.1, 0.15, 0.05 m that slides on the
    ground.

    Args:
        speed: speed of the box [m/s].
        friction: coefficient of friction.
    """
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    builder.add_solid(
        Box((0.1, 0.15, 0.05)),
        2.0,
        Material(friction=friction),
        position=(0, 0, 0.05),
        velocity=(speed, 0, 0),
        name="box",
    )
    model, state = builder.build(max_contacts=4)
    stepper = EulerImplicitLinearized(H, "ncp", "newton", stop=Stop(1e-12))
    return explain_gradient(model, state, stepper, 4)


def test_a_box_at_rest() -> None:
    """The four contacts of a box at rest have three rows each and hold six degrees of freedom, so
    that six directions are undetermined."""
    explanation = explained(0.0)
    data = explanation.report.contact_data
    assert data is not None
    assert np.all(data.mode == Mode.STICKING)
    assert np.all(np.asarray(explanation.undetermined) == 6)
    assert np.all(np.asarray(explanation.adjoint_residual) < 1e-9)
    assert np.all(np.asarray(explanation.condition) >= 1)
    assert np.all(np.asarray(explanation.contact_margin) > 0)


def test_a_box_that_slides() -> None:
    """A sliding box slows by μ g h in every step, and its remaining speed is its distance from
    sticking."""
    explanation = explained(0.01)
    data = explanation.report.contact_data
    assert data is not None
    assert np.asarray(data.mode[0] == Mode.SLIDING).all()
    margin = np.asarray(explanation.contact_margin).min(axis=1)
    modes = np.asarray(data.mode).max(axis=1)
    # 0.01 m/s less 0.0059 m/s in each step: it sticks from the second on.
    assert list(modes) == [Mode.SLIDING, *[Mode.STICKING] * 3]
    left = 0.01 - MU * G * H
    # λ − ρ ũ, with De Saxcé's shift in ũ, is ρ ‖u_t‖ √(1 + μ²) away from the cone.
    np.testing.assert_allclose(margin[0], left * np.sqrt(1 + MU**2), rtol=1e-6)


def test_without_friction_only_lift_is_another_mode() -> None:
    """Contacts of a box at rest are as far from another mode as its weight presses them: in sum
    λ / ρ, ρ = 3 / trace N being m / 4 at each corner of a solid box."""
    margin = np.asarray(explained(0.0, 0.0).contact_margin)
    np.testing.assert_allclose(margin.sum(axis=1), 4 * G * H, rtol=1e-6)


def test_lines() -> None:
    lines = explained(0.01).lines(("world", "box"))
    assert len(lines) == 4
    assert lines[0].startswith(
        "step 0: 0 open, 0 sticking, 4 sliding; nearest to switching world–box"
    )
    assert "converged, derivative valid" in lines[0]
    assert jnp.isfinite(explained(0.01).condition).all()


def test_what_cannot_be_explained_is_refused() -> None:
    builder = ModelBuilder()
    builder.add_solid(Sphere(0.1), 1.0)
    model, state = builder.build()
    stepper = EulerImplicitLinearized(H)
    with pytest.raises(TypeError, match="model must be"):
        explain_gradient((model, state), state, stepper, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"stepper must be .* not 'euler'"):
        explain_gradient(model, state, "euler", 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a step of RungeKutta4 is no single cone problem"):
        explain_gradient(model, state, RungeKutta4(H), 1)  # type: ignore[arg-type]


def test_smooth_contacts_have_no_mode_that_changes() -> None:
    surface = Material(smooth=SmoothMaterial())
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=surface)
    builder.add_solid(Sphere(0.1), 1.0, surface, position=(0, 0, 0.0999))
    model, state = builder.build()
    explanation = explain_gradient(model, state, EulerImplicitLinearized(1e-4), 2)
    lines = explanation.lines(model.topology.bodies)
    assert len(lines) == 2 and "nearest" not in lines[0]
