"""Test second-order steps of a long chain: its Jacobian is a band, beside joints and bodies."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import Model, ModelBuilder, State, Trajectory, rollout
from jaxccp.dynamics import HHT
from jaxccp.dynamics.second_order.applied_forces import applied_forces
from jaxccp.dynamics.second_order.newton_variables import NewtonVariables
from jaxccp.dynamics.second_order.smooth_motion import smooth_motion
from jaxccp.model import Family
from jaxccp.model.joints import Fixed, Spherical
from jaxccp.model.kinematics.configuration import integrate_configuration
from tests.flexible.families import only

STEPS, H = 2, 2e-3


@pytest.fixture(scope="module")
def hanging_cable() -> tuple[Model, State]:
    """Return a cable of 16 elements with a fixed joint at either end, and a body at the second."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    ends = np.zeros(3), np.array([1.0, 0.2, 0])
    nodes = np.linspace(ends[0], ends[1], 17)
    cable = builder.add_cable(nodes, 5e-3, 1e7, 1000.0, damping=0.01)
    bob = builder.add_body(0.05, 3 * [2e-5], position=ends[1])
    builder.add_joint(Fixed(), 0, cable[0], anchor=ends[0])
    builder.add_joint(Fixed(), cable[-1], bob, anchor=ends[1])
    return builder.build()


def swung(model: Model, state: State, across: jax.Array | float) -> State:
    """Return the state after some steps in which gravity acts sideways, too.

    Args:
        model: the model.
        state: state at the start.
        across: acceleration of gravity along y [m/s²].
    """
    model = replace(model, gravity=model.gravity.at[1].set(across))
    return rollout(model, state, HHT(H), STEPS)[0]


def test_its_equations_are_those_of_the_whole_and_near_the_diagonal(hanging_cable) -> None:
    """Newton's equations of a chain form a band, also where joints fix the twist of its ends."""
    model, state = hanging_cable
    sought = NewtonVariables.of(model, state)
    arrow = sought.band
    assert arrow is not None and sought.multipliers == 12
    noise = jax.random.normal(jax.random.key(2), (arrow.border - 12 + arrow.chain,))

    @jax.jit
    def equations(tangent: jax.Array) -> tuple[jax.Array, jax.Array]:
        def residual_at(x: jax.Array) -> jax.Array:
            displaced = integrate_configuration(model, state, tangent + 1e-6 * x[12:], tangent)
            return sought.residual(x, applied_forces(model, displaced, None, None))

        end = smooth_motion(
            model, integrate_configuration(model, state, tangent, tangent), None, None
        )
        x = sought.start(end)
        residual = sought.residual(x, applied_forces(model, end.at.state, None, None))
        return residual / jnp.max(jnp.abs(x)), jax.jacfwd(residual_at)(x)

    residual, matrix = jax.device_get(equations(1e-3 * noise))
    np.testing.assert_allclose(residual, 0, atol=1e-9)
    corner, place = arrow.border, np.arange(arrow.chain)
    assert not matrix[corner:, corner:][np.abs(place[:, None] - place) > arrow.reach].any()
    assert not matrix[:corner, corner:][:, ~np.isin(place, arrow.coupled)].any()


def test_its_derivative_is_that_of_differences() -> None:
    """The derivative of a motion agrees with differences, in a batch."""
    builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
    nodes = np.linspace(np.zeros(3), np.array([1.0, 0.2, 0]), 18)
    builder.add_cable(nodes, 5e-3, 1e7, 1000.0, damping=0.01, pinned=[0])
    model, state = builder.build()
    assert NewtonVariables.of(model, state).band is not None

    def measured(across: jax.Array) -> jax.Array:
        end = swung(model, state, across)
        return jnp.sum(end.velocity[:, 1] + end.position[:, 2])

    points = jnp.array([1.0, 1.01, 0.99])
    value, slope = jax.jit(jax.vmap(jax.value_and_grad(measured)))(points)
    np.testing.assert_allclose(slope[0], (value[1] - value[2]) / 0.02, rtol=1e-6)


def test_its_forces_are_those_of_a_short_step(hanging_cable) -> None:
    """Forces, of damping too, f = f₀ − D v, are derivatives of what a step solves."""
    family = only(hanging_cable[0])
    q, v = family.start().q, jax.random.normal(jax.random.key(1), family.start().v.shape)
    gravity = jnp.array([1.0, -2.0, -9.0])
    q = q + 0.01 * jnp.roll(v, 1)
    actual, expected = family.forces(q, v, gravity), Family.forces(family, q, v, gravity)
    np.testing.assert_allclose(actual, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("young", [1e6, 1e8, 1e10])
def test_in_float32_stiff_cables_end_at_what_it_resolves(young: float) -> None:
    """Newton's method ends at the rounding of coordinates, and the cable moves as in float64."""

    def hanging(dtype: type) -> Trajectory:
        builder = ModelBuilder(gravity=(0.0, 0.0, -9.81))
        cable = builder.add_cable(np.linspace([0, 0, 0], [1, 0, 0], 11), 5e-3, young, 1100.0)
        builder.add_joint(Spherical(), 0, cable[0], anchor=(0, 0, 0))
        start = jax.tree.map(
            lambda x: x.astype(dtype) if x.dtype == jnp.float64 else x, builder.build()
        )
        model, state = start
        return rollout(model, state, HHT(1e-3), 50)[1]

    exact, rounded = hanging(np.float64), hanging(np.float32)
    newton = rounded.report.newton
    assert newton is not None and not np.any(newton.status) and newton.iterations.max() < 15
    assert rounded.state.families[0].q.dtype == jnp.float32
    np.testing.assert_allclose(rounded.state.families[0].q, exact.state.families[0].q, atol=2e-5)
