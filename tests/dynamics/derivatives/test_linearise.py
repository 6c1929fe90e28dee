"""Test A and B of a step against closed forms and differences through the same retraction."""

from functools import cache

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
    Spherical,
    State,
    Stop,
    difference,
    forward_kinematics,
    joint_motion,
    linearise,
    motor,
    retract,
    tangent_names,
)
from jaxccp.dynamics import Linearisation
from jaxccp.model.kinematics.configuration import add_joint_coordinates
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


def test_a_state_of_a_motion_is_stepped_as_it_is() -> None:
    """A bead slides out along an arm that turns freely. Where it is on its way, A has the change
    of the turning by its speed: I ω is conserved, hence ω̇ = −2 r ṙ ω / I with I = 0.101 + r²."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    arm = builder.add_body(0.1, (0.1, 0.1, 0.1))
    builder.add_joint(Revolute((0, 0, 1)), 0, arm, (0, 0, 0), name="turn")
    bead = builder.add_body(1.0, (1e-3, 1e-3, 1e-3), (0.5, 0, 0))
    builder.add_joint(Prismatic((1, 0, 0)), arm, bead, (0.5, 0, 0), name="out")
    model, state = builder.build()
    state = forward_kinematics(model, state, jnp.zeros(2), jnp.array([5.0, 1.0]))

    @jax.jit
    def on_the_way(state: State) -> tuple[State, Linearisation, State]:
        state = jax.lax.fori_loop(0, 3, lambda _, s: STEPPER.step(model, s)[0], state)
        return state, linearise(model, state, stepper=STEPPER), STEPPER.step(model, state)[0]

    state, linearisation, after = on_the_way(state)
    np.testing.assert_allclose(linearisation.after.twist, after.twist, atol=1e-12)
    r, turn = 0.5 + state.joint_positions[1], joint_motion(model, state).rate[0]
    slope = -2 * r * turn / (0.101 + r**2)
    np.testing.assert_allclose(linearisation.A[2, 3], H * slope, rtol=0.05)


def test_products_of_a_are_the_derivative_of_the_motion() -> None:
    """The product of A along a motion of a hinge, a ball and a slide, with rotors, changes the
    coordinates at its end as central differences of the motion by initial velocities do, up to
    the error of steps."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    arm = builder.add_body(1.0, (0.02, 0.03, 0.04), (0.2, 0, 0))
    builder.add_joint(Revolute((0, 1, 0), armature=0.05), 0, arm, (0, 0, 0), name="hinge")
    top = builder.add_body(0.7, (0.01, 0.02, 0.015), (0.6, 0.1, 0))
    builder.add_joint(Spherical(), arm, top, (0.4, 0, 0), name="ball")
    bead = builder.add_body(0.5, (0.01, 0.01, 0.01), (0.8, 0.1, 0.1))
    builder.add_joint(Prismatic((1, 0, 0), armature=0.05), top, bead, (0.8, 0, 0), name="out")
    model, state = builder.build()
    rate, steps, count = jnp.array([3.0, 2.0, -3.0, 1.0, 0.5]), 20, len(tangent_names(model))

    @jax.jit
    def product(state: State) -> Array:
        def step(_: int, carry: tuple[State, Array]) -> tuple[State, Array]:
            state, product = carry
            linearisation = linearise(model, state, stepper=STEPPER)
            return linearisation.after, linearisation.A @ product

        return jax.lax.fori_loop(0, steps, step, (state, jnp.eye(2 * count)))[1]

    @jax.jit
    @jax.vmap
    def end(change: Array) -> Array:
        start = forward_kinematics(model, state, jnp.zeros(count), rate + change)
        step = lambda _, state: STEPPER.step(model, state)[0]  # noqa: E731
        return jax.lax.fori_loop(0, steps, step, start).joint_positions

    s = 1e-5
    ends = np.asarray(end(s * jnp.concatenate([jnp.eye(count), -jnp.eye(count)])))
    central = (ends[:count] - ends[count:]).T / (2 * s)
    start = forward_kinematics(model, state, jnp.zeros(count), rate)
    slopes = product(start)[:count, count:]
    ball = end(jnp.zeros((1, count)))[0]
    pushed = jax.jacfwd(lambda change: add_joint_coordinates(model, ball, change))(jnp.zeros(count))
    np.testing.assert_allclose(pushed @ slopes, central, atol=1e-3 * np.abs(central).max())


def test_a_turned_mechanism_moves_on_as_before() -> None:
    """Without gravity nothing depends on the angle of a first hinge, on the way too, where a ball
    is all that turns fast."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    arm = builder.add_body(1.0, (0.1, 0.1, 0.1))
    builder.add_joint(Revolute((1, 0, 0)), 0, arm, (0, 0, 0), name="hinge")
    top = builder.add_body(1.0, (0.1, 0.2, 0.25))
    builder.add_joint(Spherical(), arm, top, (0, 0, 0), name="ball")
    model, state = builder.build()
    state = forward_kinematics(model, state, jnp.zeros(4), jnp.array([0.0, 0.3, 5.0, 2.0]))
    state, _ = STEPPER.step(model, state)
    a = linearise(model, state, stepper=STEPPER).A
    np.testing.assert_allclose(a[:, 0], np.eye(8)[0], atol=1e-10)


STEP = 2e-6


@cache
def around_rest() -> tuple[Linearisation, Array]:
    """Return the linearisation of a box at rest, and the changes of ends by steps along each state
    and control, from one batch."""
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

    rows = STEP * np.eye(n + m)
    return batch(jnp.asarray(np.concatenate([np.zeros((1, n + m)), rows, -rows])))


def test_a_box_at_rest_stays_there() -> None:
    """A box held by friction loses every velocity and stays where it is; a lifted one comes
    down."""
    linearisation, _ = around_rest()
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
    model, _, control = resting()
    n, m = 2 * len(tangent_names(model)), len(control)
    linearisation, ends = around_rest()
    assert int(linearisation.report.solver.derivative) == 0
    assert linearisation.A.shape == (n, n) and linearisation.B.shape == (n, m)
    central = (ends[1 : n + m + 1] - ends[n + m + 1 :]) / (2 * STEP)
    exact = jnp.concatenate([linearisation.A, linearisation.B], axis=1).T
    np.testing.assert_allclose(exact, central, atol=2e-6 * float(jnp.abs(exact).max()))
