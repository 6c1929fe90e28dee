"""Test relaxed derivatives of steps: motion stays the same, and contacts ahead have an effect."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    HHT,
    Box,
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Material,
    ModelBuilder,
    Plane,
    Relaxed,
    Sphere,
    State,
    rollout,
)
from jaxccp.dynamics.steppers import SolvedStepper

H, GAP, W = 2e-3, 0.3, 0.5


def two_balls() -> tuple:
    """Build two balls of which one flies towards the other, which is far out of the margin."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    slick = Material(friction=0.0)
    builder.add_solid(Sphere(0.1), 1.0, slick, velocity=(2, 0, 0))
    builder.add_solid(Sphere(0.1), 3.0, slick, position=(0.2 + GAP, 0, 0))
    return builder.build()


def test_one_step_feels_what_is_ahead() -> None:
    """One relaxed step has the derivative of one row, λ u = w² / N, at u = gap/h + u_n: dλ/dr =
    −J / N, J = (1 − u/√(u² + 4w²)) / 2."""
    model, state = two_balls()

    def after(x: jax.Array, gradient) -> jax.Array:
        start = replace(state, position=state.position.at[1, 0].add(x))
        stepper = EulerImplicitLinearized(H, law="ncp", gradient=gradient)
        return stepper.step(model, start)[0].velocity[1:, 0]

    default = Relaxed(W)

    @jax.jit
    def derivatives(x: jax.Array):
        kinds = (
            "always",
            default,
            replace(default, distance=0.5 * GAP),
            replace(default, distance=1.0),
        )
        return [(after(x, g), *jax.jvp(partial(after, gradient=g), (x,), (1.0,))) for g in kinds]

    plain, *blind, relaxed = derivatives(jnp.zeros(()))
    for value, again, _ in (*blind, relaxed):
        np.testing.assert_array_equal(value, plain[0])
        np.testing.assert_array_equal(again, plain[0])
    for _, _, slope in (plain, *blind):
        np.testing.assert_array_equal(slope, 0.0)

    masses, u = np.array([1.0, 3.0]), GAP / H - 2.0
    impulse = 0.5 * (1.0 - u / np.sqrt(u * u + 4 * W * W)) / np.sum(1 / masses) / H
    np.testing.assert_allclose(relaxed[2], impulse * np.array([-1, 1]) / masses, rtol=1e-9)


def test_many_steps_feel_a_potential() -> None:
    """Many relaxed steps have the derivative of a potential with the repulsive force m w² / gap,
    whatever the step. For a gap s that closes at v, the change δ of the gap by that at the start
    obeys v² δ'' = −w² δ / s², so that δ = A s^p + B s^q, p, q = 1/2 ± √(1/4 − w²/v²). The second
    ball, of mass m₂, gains m/m₂ of the gap's change of velocity."""
    model, state = two_balls()
    v, time, relaxed = 2.0, 0.1, Relaxed(W, distance=1.0)

    def puck(x: jax.Array, steps: int) -> jax.Array:
        start = replace(state, position=state.position.at[2, 0].add(x))
        stepper = EulerImplicitLinearized(time / steps, law="ncp", gradient=relaxed)
        return rollout(model, start, stepper, steps, every=steps)[0].velocity[2, 0]

    counts = (50, 100)
    derivatives = jax.jit(lambda x: [jax.jvp(partial(puck, steps=n), (x,), (1.0,)) for n in counts])
    (still, coarse), (_, fine) = derivatives(jnp.zeros(()))

    p, q = 0.5 + np.sqrt(0.25 - W**2 / v**2) * np.array([1.0, -1.0])
    gap_before, gap_after = GAP, GAP - v * time
    a, b = np.linalg.solve(
        [[gap_before**p, gap_before**q], [p * gap_before ** (p - 1), q * gap_before ** (q - 1)]],
        [1.0, 0.0],
    )
    slope = -v * (a * p * gap_after ** (p - 1) + b * q * gap_after ** (q - 1))
    expected = slope / (1.0 + 1.0 / 3.0) / 3.0
    assert still == 0.0
    np.testing.assert_allclose(fine, expected, rtol=0.05)
    np.testing.assert_allclose(2 * fine - coarse, expected, rtol=5e-3)


@pytest.mark.parametrize(
    "stepper",
    [
        EulerImplicitLinearized(H, law="ncp"),
        pytest.param(EulerImplicitProjected(H), marks=pytest.mark.long),
        HHT(H),
        pytest.param(EulerImplicitLinearized(H, coordinates="maximal"), marks=pytest.mark.long),
    ],
    ids=lambda stepper: type(stepper).__name__,
)
def test_values_are_the_same_to_the_last_bit(stepper: SolvedStepper) -> None:
    """Relaxation leaves values as they are to the last bit: a box slides and turns on the ground
    towards a ball, with many near pairs. A second ball gets within the margin and through the
    surface of the box in one step."""
    builder = ModelBuilder(impact_times="all")
    builder.add_shape(0, Plane(), material=Material(friction=0.4))
    rough = Material(friction=0.4, restitution=0.3)
    builder.add_solid(
        Box((0.1, 0.1, 0.05)), 1.0, rough, position=(0, 0, 0.05), velocity=(1, 0.2, 0)
    )
    builder.add_solid(Sphere(0.1), 0.5, rough, position=(0.5, 0, 0.1 + 2e-3), velocity=(0, 0, -0.5))
    builder.add_solid(Sphere(0.05), 0.1, rough, position=(0, 0, 0.175), velocity=(0, 0, -20))
    model, state = builder.build(max_contacts=10)

    def end(state: State, gradient) -> State:
        return rollout(model, state, replace(stepper, gradient=gradient), 4)[0]

    @jax.jit
    def both(state: State) -> tuple[State, State]:
        return end(state, "always"), end(state, Relaxed(0.3, distance=1.0))

    plain, relaxed = both(state)
    jax.tree.map(np.testing.assert_array_equal, plain, relaxed)
    assert np.abs(plain.position[1:3, 2] - state.position[1:3, 2]).max() > 1e-3
