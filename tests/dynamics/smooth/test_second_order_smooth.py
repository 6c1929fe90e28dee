"""Test smooth contacts in steppers of higher order: springs and dashpots whose motion is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxccp.dynamics import HHT, STEPPERS, StepReport, accelerations, inverse_dynamics, rollout
from jaxccp.model import Material, Model, Plane, SmoothCoefficients, SmoothLaws, Sphere, State
from jaxccp.model.smooth.laws import Tangential
from jaxccp.scene import ModelBuilder
from tests.dynamics.smooth.smooth_surfaces import HARD, surface

MASS, NORMAL, DASHPOT, TANGENTIAL, SPAN = 2.0, 8e3, 12.0, 3e3, 0.08
DEPTH, TANGENTIAL_GRAVITY = 0.004, 1.5
"""Overlap at the start [m]; gravity along the floor [m/s²]."""


def pressed(tangential: Tangential = "multi-step") -> tuple[Model, State]:
    """Build a body that hardly turns, pressed into a floor on which a tangential spring holds it
    back."""
    springs = SmoothCoefficients(NORMAL, DASHPOT, TANGENTIAL, 0.0)
    material = Material(friction=10.0, smooth=springs)
    builder = ModelBuilder(
        (TANGENTIAL_GRAVITY, 0, -9.81), smooth_laws=SmoothLaws("hooke", tangential)
    )
    builder.add_shape(0, Plane(), material=Material(friction=10.0))
    ball = builder.add_body(MASS, (1e9, 1e9, 1e9), (0, 0, 0.1 - DEPTH))
    builder.add_shape(ball, Sphere(0.1), material=material)
    return builder.build()


def exact() -> tuple[float, float]:
    """Return x and z of the body after SPAN: x = g/ω² (1 − cos ω t), and a damped oscillation in
    z."""
    omega = np.sqrt(TANGENTIAL / MASS)
    x = TANGENTIAL_GRAVITY / omega**2 * (1 - np.cos(omega * SPAN))
    rest, decay = MASS * 9.81 / NORMAL, DASHPOT / (2 * MASS)
    damped = np.sqrt(NORMAL / MASS - decay**2)
    swing = np.cos(damped * SPAN) + decay / damped * np.sin(damped * SPAN)
    depth = rest + (DEPTH - rest) * np.exp(-decay * SPAN) * swing
    return float(x), float(0.1 - depth)


@pytest.mark.parametrize(("name", "order"), [("trapezoidal", 2), ("hht", 2), ("rk4", 4)])
def test_springs_of_contacts_to_the_order_of_the_stepper(name: str, order: int) -> None:
    """The normal spring with its dashpot is integrated to the order of the stepper, and the
    tangential spring, which has memory, to second order."""
    model, start = pressed()

    @jax.jit
    def run(h: jax.Array) -> tuple[State, StepReport]:
        """Run the largest number of steps, of a length given later: one program for both
        lengths."""
        stepper = STEPPERS[name](contact_data=True)

        def step(carry, _: None) -> tuple:
            carry, report = stepper.advance(model, carry, h=h)
            return carry, (carry.state, report)

        return lax.scan(step, stepper.init(model, start), None, length=80)[1]

    errors = []
    for steps in (40, 80):
        path, reports = run(SPAN / steps)
        end, report = jax.tree.map(lambda leaf, at=steps - 1: leaf[at], (path, reports))
        assert not np.any(reports.solver.status[:steps])
        np.testing.assert_allclose(end.time, SPAN)
        assert report.smooth_contacts is not None and int(report.smooth_contacts) == 1
        errors.append(np.abs(np.asarray(end.position)[1, [0, 2]] - exact()))
        data = report.contact_data
        assert data is not None and bool(data.live[-1])
    tangential, normal = errors[0] / errors[1]
    assert tangential > 0.85 * 4 and normal > 0.85 * 2**order, (errors, tangential, normal)
    assert np.all(errors[1] < 2e-5), errors
    # The reported forces are those of the end.
    x, z = np.asarray(end.position)[1, [0, 2]]
    rate = np.asarray(end.velocity)[1, 2]
    force = np.array([-TANGENTIAL * x, 0, NORMAL * (0.1 - z) - DASHPOT * rate])
    np.testing.assert_allclose(data.force[-1], force, rtol=0.02, atol=0.02)


def test_springs_of_one_step_are_refused() -> None:
    with pytest.raises(ValueError, match=r'HHT.*"one-step".*"multi-step"'):
        STEPPERS["hht"]().init(*pressed("one-step"))
    with pytest.raises(ValueError, match=r'inverse_dynamics.*"one-step".*"multi-step"'):
        inverse_dynamics(*pressed("one-step"), jnp.zeros(6))


def test_a_law_without_tangential_springs_may_have_them_of_one_step() -> None:
    force = []
    for tangential in ("one-step", "multi-step"):
        builder = ModelBuilder(smooth_laws=SmoothLaws("plain-coulomb", tangential))
        builder.add_shape(0, Plane(), material=HARD)
        start = {"position": (0, 0, 0.0999), "velocity": (1, 0, 0)}
        builder.add_solid(Sphere(0.1), 1.0, surface(friction=0.5), **start)
        force.append(accelerations(*builder.build()).body[1])
    np.testing.assert_array_equal(force[0], force[1])
    assert force[0][0] < -0.1


def test_forces_that_depend_on_the_speed_of_the_approach_are_not_those_of_a_state() -> None:
    builder = ModelBuilder(smooth_laws=SmoothLaws("flores"))
    builder.add_shape(0, Plane(), material=HARD)
    builder.add_solid(Sphere(0.1), 1.0, surface(), position=(0, 0, 0.0999))
    model, state = builder.build()
    for function, more in ((accelerations, ()), (inverse_dynamics, (jnp.zeros(6),))):
        with pytest.raises(ValueError, match=rf"{function.__name__} .*'flores'.* surfaces met"):
            function(model, state, *more)


def test_hard_and_smooth_balls_bounce_in_one_step_of_hht() -> None:
    """Balls side by side, two with e = 1 by impulses, of which one is compliant, and one on a
    spring without a dashpot, all come back up to where they were released."""
    builder = ModelBuilder((0, 0, -9.81), smooth_laws=SmoothLaws("hooke"))
    hard = Material(restitution=1.0)
    builder.add_shape(0, Plane(), material=hard)
    builder.add_solid(Sphere(0.1), 1.0, hard, position=(0, 0, 0.15))
    soft = Material(restitution=1.0, compliance=1e-3)
    builder.add_solid(Sphere(0.1), 1.0, soft, position=(2, 0, 0.15))
    spring = Material(smooth=SmoothCoefficients(2e5, 0.0, 0.0, 0.0))
    builder.add_solid(Sphere(0.1), 1.0, spring, position=(1, 0, 0.15))
    model, state = builder.build()
    stepper = HHT(2.5e-4, law="ncp", alpha=0.0)
    _, path = rollout(model, state, stepper, 1000, every=10)
    assert int(jnp.max(path.report.solver.status)) == 0
    height = np.asarray(path.state.position)[:, 1:, 2]
    low = height.argmin(axis=0)
    assert height[:, :2].min() > 0.1 - 1e-6 > height[:, 2].min()
    back = [height[i:, ball].max() for ball, i in enumerate(low)]
    np.testing.assert_allclose(back, 0.15, atol=2e-4)
