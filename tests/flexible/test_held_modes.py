"""Test modes of flexible bodies with joints on their nodes against beams and pendulums."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import ModelBuilder, Spherical, modes
from jaxccp.flexible.nodal import NodalFamily

YOUNG, RADIUS, DENSITY, GRAVITY = 2e9, 0.01, 1500.0, 9.81


def test_a_cable_hinged_at_its_ends_is_a_beam_on_two_supports() -> None:
    """Frequencies are ω = (n π / L)² √(E I / ρ A) in each of two planes."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    nodes = builder.add_cable(np.linspace([0, 0, 0], [1, 0, 0], 6), RADIUS, YOUNG, DENSITY)
    for node, x in ((nodes[0], 0.0), (nodes[-1], 1.0)):
        builder.add_joint(Spherical(), 0, node, anchor=(x, 0, 0))
    model, state = builder.build()
    (family,) = model.families
    assert isinstance(family, NodalFamily)
    result = modes(model, state)
    square, shape, fixed = result.square, result.shape, 6
    assert np.isinf(square[-fixed:]).all() and np.isfinite(square[:-fixed]).all()
    wave = np.pi * np.repeat([1, 2], 2)
    expected = wave**4 * YOUNG * RADIUS**2 / 4 / DENSITY
    # What cubics add where there are five to the length.
    expected = expected * (1 + (wave / 5) ** 4 / 720)
    np.testing.assert_allclose(square[:4], expected, rtol=5e-4)
    mass = family.inertia()
    np.testing.assert_allclose(
        shape @ mass @ shape.T, np.diag(np.isfinite(square).astype(float)), atol=1e-9
    )
    ends = np.array([0, 1, 2, -6, -5, -4])
    np.testing.assert_allclose(shape[:, ends], 0.0, atol=1e-9)


def stretched_cable(family: NodalFamily, weight: float) -> np.ndarray:
    """Return coordinates of a cable with a weight at its last node, by Newton's method."""
    q, pull = np.asarray(family.start().q), np.zeros(len(family.layout.free))
    # Of the last node the position, then the slope.
    pull[-4] = -weight
    down = jnp.asarray([0, 0, -GRAVITY])
    for _ in range(6):
        residual = np.asarray(family.force(jnp.asarray(q), down)) + pull
        q = q + np.linalg.solve(np.asarray(family.stiffness(jnp.asarray(q))), residual)
    return q


@pytest.mark.slow
def test_rods_on_a_node_swing_as_a_double_pendulum() -> None:
    """Two rods, the first on the node of a stiff cable, swing as a double pendulum.

    Only the forces of the joints give them stiffness.
    """
    length, first, second, inertia = 0.4, 0.3, 0.2, (2e-3, 2e-3, 1e-3)
    builder = ModelBuilder(gravity=(0, 0, -GRAVITY))
    nodes = builder.add_cable([(0, 0, 0.1), (0, 0, 0)], 0.02, 1e10, DENSITY, clamped=(0,))
    (cable,) = builder.build()[0].families
    assert isinstance(cable, NodalFamily)
    q = stretched_cable(cable, (first + second) * GRAVITY)
    top = q[2]
    rods = [
        builder.add_body(mass, inertia, (0, 0, top - (i + 0.5) * length))
        for i, mass in enumerate((first, second))
    ]
    builder.add_joint(Spherical(), nodes[-1], rods[0], anchor=(0, 0, top))
    builder.add_joint(Spherical(), rods[0], rods[1], anchor=(0, 0, top - length))
    model, state = builder.build()
    state = replace(state, families=(replace(state.families[0], q=jnp.asarray(q)),))

    def squares(mass: jax.Array) -> jax.Array:
        masses = model.bodies.mass.at[rods[1]].set(mass)
        heavier = replace(model, bodies=replace(model.bodies, mass=masses))
        return modes(heavier, state).square[:6]

    program = jax.jit(lambda mass: jax.jvp(squares, (mass,), (1.0,)))
    square, change = program(second)
    np.testing.assert_allclose(square[:2], 0.0, atol=1e-3)

    arm = length / 2
    inertia_about_top = inertia[0] + first * arm**2 + second * length**2
    mass = np.array(
        [
            [inertia_about_top, second * length * arm],
            [second * length * arm, inertia[0] + second * arm**2],
        ]
    )
    stiffness = GRAVITY * np.diag([first * arm + second * length, second * arm])
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(mass, stiffness)))
    np.testing.assert_allclose(square[2:], np.repeat(expected, 2), rtol=1e-4)

    # The stiff cable leaves rounding errors of 1e-5 in the squares: the difference is a wide one.
    across = (program(second + 1e-3)[0] - program(second - 1e-3)[0]) / 2e-3
    np.testing.assert_allclose(change[2::2] + change[3::2], across[2::2] + across[3::2], rtol=1e-3)
