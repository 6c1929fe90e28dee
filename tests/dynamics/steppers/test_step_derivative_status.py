"""Test rollouts with steps that do not converge: derivatives report it, or are zero on request."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import DerivativeStatus, Gradient, Stop, raise_for_derivative
from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.model import Material, Plane, Sphere
from jaxccp.scene import ModelBuilder

STEPS = 12


def test_rollout_with_a_step_that_does_not_converge() -> None:
    """Balls fall and land as a stack: one iteration is too few for the stack, but not for their
    flight."""
    builder = ModelBuilder(margin=1e-3)
    builder.add_shape(0, Plane(), material=Material(friction=0.5))
    for i in range(3):
        builder.add_solid(
            Sphere(0.05), 10.0**i, Material(friction=0.5), position=(0, 0, 0.06 + i / 9)
        )
    model, state = builder.build()

    def height(speed: jax.Array, gradient: Gradient):
        stepper = EulerImplicitLinearized(5e-3, stop=Stop(max_iterations=1), gradient=gradient)
        start = replace(state, velocity=state.velocity.at[1:, 2].set(speed))
        final, path = rollout(model, start, stepper, STEPS)
        return final.position[3, 2], path.report.solver

    @jax.jit
    def run(speed: jax.Array):
        zero = jax.value_and_grad(height, has_aux=True)(speed, "converged")
        full = jax.value_and_grad(height, has_aux=True)(speed, "always")
        return zero, full

    ((value, zero), slope), ((same, full), untouched) = run(jnp.float64(-1.0))
    assert value == same
    bad = np.asarray(full.status) != 0
    assert bad.any() and not bad[0], bad
    np.testing.assert_array_equal(full.derivative, np.where(bad, DerivativeStatus.INVALID, 0))
    np.testing.assert_array_equal(zero.derivative, np.where(bad, DerivativeStatus.ZERO, 0))
    assert slope == 0 and untouched != 0
    with pytest.raises(
        FloatingPointError, match=f"step {np.argmax(bad)}, the first of {bad.sum()}"
    ):
        raise_for_derivative(full)

    # In free flight nothing is to be solved for, and h · steps is the answer.
    ((_, fine), slope), _ = run(jnp.float64(30.0))
    raise_for_derivative(fine)
    np.testing.assert_allclose(slope, 5e-3 * STEPS, rtol=1e-12)
