"""Test rows along one coordinate (limits, friction, servos of two carriages) against matrices."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import EulerImplicitLinearized, ModelBuilder, Sphere, Stop
from jaxccp.ccp import RepeatedDelassus
from jaxccp.dynamics.steppers.parts import assemble_step
from jaxccp.model import Prismatic, position_servo
from jaxccp.scene import WORLD

H = 2e-3
MASSES = 3.0, 2.0
FRICTION = 0.4
GEAR, STIFFNESS, DAMPING = 5.0, 40.0, 0.3


def carriages() -> tuple:
    """Build two carriages on one rail, the second on the first: limits at both ends, of which
    one is made infinite after the build, dry friction on the first, and a bounded servo with a
    gear on the second."""
    builder = ModelBuilder()
    x = (1.0, 0.0, 0.0)
    first = builder.add_solid(Sphere(0.1), MASSES[0])
    second = builder.add_solid(Sphere(0.1), MASSES[1], position=(1.0, 0.0, 0.0))
    first_limits, second_limits = (-1.0, 0.006), (-0.2, 0.001)
    builder.add_joint(Prismatic(x, (0, 0, 0), limits=first_limits, friction=FRICTION), WORLD, first)
    builder.add_joint(Prismatic(x, (1, 0, 0), limits=second_limits), first, second, name="upper")
    servo = position_servo(STIFFNESS, damping=DAMPING, force_limits=(-1.0, 1.0))
    builder.add_actuator(replace(servo, gear=GEAR), "upper")
    model, state = builder.build()
    return replace(model, axes=replace(model.axes, lower=jnp.array([-jnp.inf, -0.2]))), state


def test_n_of_two_carriages() -> None:
    model, state = carriages()
    stepper = EulerImplicitLinearized(H)

    @jax.jit
    def matrix() -> jax.Array:
        step = assemble_step(stepper, model, stepper.init(model, state), None, None, H)
        delassus = step.system.problem.delassus
        assert isinstance(delassus, RepeatedDelassus) and delassus.distinct.rows == 2
        return delassus.dense()

    inverse = np.linalg.inv([[sum(MASSES), MASSES[1]], [MASSES[1], MASSES[1]]])
    # Lower limits, of which the first is infinite, upper ones, dry friction, the servo.
    rows = np.array([[0, 0], [0, 1], [-1, 0], [0, -1], [1, 0], [0, GEAR]])
    compliance = np.zeros(6)
    compliance[5] = 1 / (H * DAMPING + H * H * STIFFNESS)
    expected = rows @ inverse @ rows.T + np.diag(compliance)
    np.testing.assert_allclose(matrix(), expected, rtol=1e-12, atol=1e-12)


def test_both_carriages_run_to_a_limit() -> None:
    """Two carriages end the step at their limits, 6 mm and 1 mm away, at h = 2 ms."""
    model, state = carriages()
    moving = replace(state, velocity=state.velocity.at[1:, 0].set([4.0, 5.0]))
    stepper = EulerImplicitLinearized(H, stop=Stop(1e-11))
    after, _ = stepper.step(model, moving, control=jnp.array([2.0]))
    np.testing.assert_allclose(after.velocity[1:, 0], [3.0, 3.5], rtol=1e-9)
