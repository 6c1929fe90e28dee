"""Test A and B of a step against closed forms and differences through the same retraction."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Prismatic,
    Revolute,
    State,
    Stop,
    difference,
    linearise,
    motor,
    retract,
    tangent_names,
)
from jaxccp.dynamics import Linearisation
from tests.dynamics.creature import CONTROL, creature

H, G = 5e-3, 9.81
STEPPER = EulerImplicitLinearized(H, "ncp", stop=Stop(1e-13))


def cart_pole() -> tuple[Model, State]:
    """Build a cart of 1.5 kg on a rail, with an upright pole of 0.4 kg, 0.6 m from hinge to
    centre."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    cart = builder.add_body(1.5, (0.1, 0.1, 0.1), name="cart")
    builder.add_joint(Prismatic((1, 0, 0)), 0, cart, name="rail")
    pole = builder.add_body(0.4, (0.05, 0.05, 0.01), (0, 0, 0.6), name="pole")
    builder.add_joint(Revolute((0, 1, 0)), cart, pole, anchor=(0, 0, 0), name="hinge")
    builder.add_actuator(motor(2.0), "rail")
    return builder.build()


@pytest.mark.parametrize(
    "stepper",
    [EulerImplicitLinearized, pytest.param(EulerImplicitProjected, marks=pytest.mark.long)],
)
def test_cart_pole(stepper: type) -> None:
    """A and B of a cart-pole are those of M q̈ = K q + F u about the upright pole, by
    semi-implicit steps: v⁺ = v + h M⁻¹ (K q + F u), q⁺ = q + h v⁺."""
    model, state = cart_pole()
    linearisation = linearise(model, state, stepper=stepper(H, "ncp", stop=Stop(1e-13)))
    assert tangent_names(model) == ("rail", "hinge")
    mass = np.array([[1.5 + 0.4, 0.4 * 0.6], [0.4 * 0.6, 0.05 + 0.4 * 0.6**2]])
    stiffness = np.linalg.solve(mass, np.diag([0.0, 0.4 * G * 0.6]))
    drive = np.linalg.solve(mass, np.array([[2.0], [0.0]]))
    identity = np.eye(2)
    a = np.block([[identity + H**2 * stiffness, H * identity], [H * stiffness, identity]])
    np.testing.assert_allclose(linearisation.A, a, atol=1e-11)
    np.testing.assert_allclose(
        linearisation.B, np.concatenate([H**2 * drive, H * drive]), atol=1e-11
    )


def test_a_regulator_balances_it() -> None:
    """An LQR from A and B, by iterating Riccati's equation, brings a pole at 0.2 rad upright."""
    model, state = cart_pole()
    linearisation = linearise(model, state, stepper=STEPPER)
    a, b = np.asarray(linearisation.A), np.asarray(linearisation.B)
    cost, value, gain = np.eye(4), np.eye(4), np.zeros((1, 4))
    for _ in range(2000):
        gain = np.linalg.solve(0.1 * np.eye(1) + b.T @ value @ b, b.T @ value @ a)
        value = cost + a.T @ value @ (a - b @ gain)
    start, feedback = retract(model, state, jnp.asarray([0.1, 0.2, 0, 0])), jnp.asarray(gain)

    @jax.jit
    def controlled(start: State) -> State:
        def step(_: int, current: State) -> State:
            return STEPPER.step(
                model, current, None, -feedback @ difference(model, state, current)
            )[0]

        return jax.lax.fori_loop(0, 3000, step, start)

    left = difference(model, state, controlled(start))
    assert np.abs(left).max() < 1e-2 * 0.2


def resting() -> tuple[Model, State, Array]:
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=0.5))
    builder.add_solid(Box((0.1, 0.15, 0.05)), 1.0, Material(friction=0.6), position=(0, 0, 0.05))
    model, state = builder.build(max_contacts=4)
    return model, state, jnp.zeros(0)


def moving() -> tuple[Model, State, Array]:
    return *creature(9.81), CONTROL


@pytest.mark.parametrize("build", [moving, pytest.param(resting, marks=pytest.mark.long)])
def test_central_differences(build) -> None:
    model, state, control = build()
    linearisation = linearise(model, state, control, stepper=STEPPER)
    assert int(linearisation.report.solver.derivative) == 0
    n, m = linearisation.B.shape
    assert linearisation.A.shape == (n, n) and n == 2 * len(tangent_names(model))

    @jax.jit
    @jax.vmap
    def ends(x: Array) -> Array:
        after, _ = STEPPER.step(model, retract(model, state, x[:n]), None, control + x[n:])
        return difference(model, linearisation.after, after)

    s = 2e-6
    rows = s * jnp.eye(n + m)
    central = (ends(rows) - ends(-rows)) / (2 * s)
    exact = jnp.concatenate([linearisation.A, linearisation.B], axis=1).T
    np.testing.assert_allclose(exact, central, atol=2e-6 * float(jnp.abs(exact).max()))


def test_a_box_at_rest_stays_there() -> None:
    """A box held by friction loses every velocity and stays where it is; a lifted one comes
    down."""
    model, state, control = resting()
    linearisation = linearise(model, state, control, stepper=STEPPER)
    velocities = np.asarray(linearisation.A)[6:]
    # A gap closes within the step; nothing else starts to move.
    np.testing.assert_allclose(velocities[:, 6:], 0, atol=1e-9)
    np.testing.assert_allclose(velocities[:, [0, 1, 5]], 0, atol=1e-9)
    np.testing.assert_allclose(velocities[2, 2], -1 / H, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(linearisation.A)[2, 2], 0, atol=1e-9)
    np.testing.assert_allclose(np.asarray(linearisation.A)[[0, 1], [0, 1]], 1, atol=1e-9)


def test_a_batch_has_those_of_its_ends() -> None:
    """One batch gives the linearisation at its first state, and central differences from the
    states around it."""
    model, state, control = resting()
    n, m = 2 * len(tangent_names(model)), len(control)

    @jax.jit
    def batch(changes: Array) -> tuple[Linearisation, Array]:
        states = jax.vmap(lambda x: retract(model, state, x[:n]))(changes)
        many = jax.vmap(lambda s, c: linearise(model, s, c, stepper=STEPPER))(
            states, control + changes[:, n:]
        )
        first = jax.tree.map(lambda leaf: leaf[0], many)
        return first, jax.vmap(lambda after: difference(model, first.after, after))(many.after)

    s = 2e-6
    rows = s * np.eye(n + m)
    linearisation, ends = batch(jnp.asarray(np.concatenate([np.zeros((1, n + m)), rows, -rows])))
    assert int(linearisation.report.solver.derivative) == 0
    assert linearisation.A.shape == (n, n) and linearisation.B.shape == (n, m)
    central = (ends[1 : n + m + 1] - ends[n + m + 1 :]) / (2 * s)
    exact = jnp.concatenate([linearisation.A, linearisation.B], axis=1).T
    np.testing.assert_allclose(exact, central, atol=2e-6 * float(jnp.abs(exact).max()))
