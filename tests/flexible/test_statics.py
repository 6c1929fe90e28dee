"""Test equilibrium and modes of flexible and jointed bodies against mechanics."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp import (
    ModelBuilder,
    Revolute,
    Spherical,
    equilibrium,
    forward_kinematics,
    modes,
    motor,
)
from jaxccp.ccp.solution import Status
from jaxccp.flexible.ancf import SHAPES, box
from jaxccp.flexible.loads import with_point_load, with_surface_load
from jaxccp.flexible.moduli import isotropic, of_section, rectangle_shear_factor

LENGTH, WIDTH, HEIGHT, YOUNG, POISSON, DENSITY = 1.0, 0.02, 0.01, 2e9, 0.3, 1500.0


def beam(young, tip=(0.0, 0.0, 0.0), length: Array | float = LENGTH, count=12):
    """Return a cantilever of BEAM_3333 with a force at its tip.

    Args:
        young: Young's modulus [Pa].
        tip: force at the tip [N].
        length: length [m].
        count: number of elements.
    """
    section = of_section(young, POISSON, jnp.full(2, rectangle_shear_factor(POISSON)))
    size = jnp.stack([jnp.asarray(length, float), jnp.array(WIDTH), jnp.array(HEIGHT)])
    made = box(SHAPES["beam_3333"], size, (count, 1, 1), section, DENSITY, clamped=("x0",))
    return with_point_load(made, count - 1, (1, 0, 0), jnp.asarray(tip, float))


@pytest.fixture(scope="module")
def cantilever():
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.add_family(beam(YOUNG))
    return builder.build()


def test_the_princeton_beam():
    """The Princeton beam has the deflections of ANSYS's solids, after Dowell & Traybar 1975.

    They are quoted from EXUDYN's geometricallyExactBeamTest.
    """
    length, thick, wide, young = 0.508, 0.0123777, 0.0032024, 71.7e9
    moduli = of_section(young, 0.31, jnp.full(2, rectangle_shear_factor(0.31)))
    for load, deflection in ((8.896, 0.14625), (13.345, 0.20068)):
        size = jnp.array([length, thick, wide])
        made = box(SHAPES["beam_3333"], size, (24, 1, 1), moduli, 2700.0, clamped=("x0",))
        made = with_point_load(made, 23, (1, 0, 0), jnp.array([0.0, 0.0, load]))
        builder = ModelBuilder(gravity=(0, 0, 0))
        builder.add_family(made)
        model, state = builder.build()
        rest = equilibrium(model, state)
        assert rest.status == Status.CONVERGED
        np.testing.assert_allclose(rest.state.position[-1, 2], deflection, rtol=3e-3)


def test_it_is_differentiated_by_the_equilibrium(cantilever):
    """Derivatives of the tip in modulus, load and length are right at large displacements."""
    model, state = cantilever

    def tip(inputs):
        young, load, length = inputs
        family = beam(young, (0.0, 0.0, load), length)
        start = replace(state, families=(family.start(),))
        rest = equilibrium(replace(model, families=(family,)), start)
        place = rest.state.position[-1]
        return place, (place, rest.status, rest.state)

    inputs = jnp.array([YOUNG, 4.0, 1.1])
    differentiated = jax.jit(jax.jacfwd(tip, has_aux=True))
    slope, (place, status, rest) = differentiated(inputs)
    assert status == Status.CONVERGED and place[2] > 0.3
    step = 1e-5
    for i, column in enumerate(slope.T):
        change = step * inputs[i]
        ahead, behind = (
            differentiated(inputs.at[i].add(offset))[1][0] for offset in (change, -change)
        )
        central = (ahead - behind) / (2 * change)
        np.testing.assert_allclose(column, central, atol=1e-6 * np.abs(central).max())
    force = beam(inputs[0], (0.0, 0.0, inputs[1]), inputs[2]).force(
        rest.families[0].q, jnp.zeros(3)
    )
    assert np.abs(force).max() < 1e-7


def test_a_surface_load_is_that_of_a_plate_strip():
    """A uniform load q bends SHELL_3833 without Poisson's ratio by q L⁴ / (8 E I)."""
    size, pressure = jnp.array([0.5, 0.1, 0.01]), 20.0
    made = box(
        SHAPES["shell_3833"], size, (6, 1, 1), isotropic(YOUNG, 0.0)[None], 1.0, clamped=("x0",)
    )
    made = with_surface_load(made, np.arange(6), 2, 1, jnp.array([0.0, 0.0, -pressure]))
    np.testing.assert_allclose(made.load[made.layout.positions].sum(0), (0, 0, -pressure * 0.05))
    q = made.start().q
    change = jnp.linalg.solve(made.stiffness(q), made.force(q, jnp.zeros(3)))
    displacement = made.rates(change)[made.layout.frames]
    bent = pressure * 0.1 * 0.5**4 / (8 * YOUNG * 0.1 * 0.01**3 / 12)
    np.testing.assert_allclose(displacement[-1, 2], -bent, rtol=1e-2)


def test_modes_of_a_cantilever_are_those_of_a_beam(cantilever):
    """Frequencies are Euler and Bernoulli's ω = β² √(E I / ρ A) / L², β = 1.8751, 4.6941."""
    model, state = cantilever
    result = modes(model, state, 4)
    slow, fast = (np.sqrt(YOUNG * side**2 / (12 * DENSITY)) / LENGTH**2 for side in (HEIGHT, WIDTH))
    expected = np.array([3.51602 * slow, 3.51602 * fast, 22.0345 * slow, 22.0345 * fast])
    np.testing.assert_allclose(result.frequency, expected / (2 * np.pi), rtol=8e-3)
    assert result.rounding_error < 1e-3 * result.square[0]
    mass = model.families[0].inertia()
    np.testing.assert_allclose(result.shape @ mass @ result.shape.T, np.eye(4), atol=1e-9)


def test_a_pendulum_comes_to_hang_and_swings_as_it_should():
    """A bar on a hinge, which starts from 1 rad, comes to hang and has ω² = m g l / J."""
    builder = ModelBuilder()
    bar = builder.add_body(0.7, (0.02, 0.02, 0.001), (0, 0, -0.3))
    builder.add_joint(Revolute((0, 1, 0)), 0, bar, anchor=(0, 0, 0), name="hinge")
    model, state = builder.build()
    start = forward_kinematics(model, state, jnp.array([1.0]))
    rest, unfinished = equilibrium(model, start), equilibrium(model, start, max_iterations=0)
    assert (rest.status, unfinished.status) == (Status.CONVERGED, Status.MAX_ITERATIONS)
    assert unfinished.state.joint_positions == 1.0
    np.testing.assert_allclose(rest.state.joint_positions, 0.0, atol=1e-9)
    hanging = modes(model, rest.state)
    square = 0.7 * 9.81 * 0.3 / (0.02 + 0.7 * 0.3**2)
    np.testing.assert_allclose(hanging.frequency, [np.sqrt(square) / (2 * np.pi)], rtol=1e-9)
    upright = modes(model, forward_kinematics(model, state, jnp.array([np.pi])))
    np.testing.assert_allclose(upright.square, [-square], rtol=1e-9)


def test_derivatives_of_both_orders_of_a_bar_on_a_spring():
    """A bar rests at the angle k q = G cos q, so q' = −q / D, D = k + G sin q, and
    q'' = (2 q − q² G cos q / D) / D²."""
    builder = ModelBuilder()
    bar = builder.add_body(0.7, (0.02, 0.02, 0.001), (0.3, 0, 0))
    builder.add_joint(Revolute((0, 1, 0), stiffness=2.0), 0, bar, anchor=(0, 0, 0), name="hinge")
    model, state = builder.build()

    def angle(k: Array) -> Array:
        softened = replace(model, axes=replace(model.axes, stiffness=k[None]))
        return equilibrium(softened, state).state.joint_positions[0]

    def slope_of(k: Array) -> tuple[Array, Array]:
        return jax.jvp(angle, (k,), (jnp.ones(()),))[::-1]

    k, torque = jnp.array(2.0), 0.7 * 9.81 * 0.3
    (slope, q), (second, _) = jax.jit(lambda k: jax.jvp(slope_of, (k,), (jnp.ones(()),)))(k)
    np.testing.assert_allclose(k * q, torque * np.cos(q), rtol=1e-12)
    resistance = k + torque * np.sin(q)
    np.testing.assert_allclose(slope, -q / resistance, rtol=1e-10)
    bend = 2.0 * q - q**2 * torque * np.cos(q) / resistance
    np.testing.assert_allclose(second, bend / resistance**2, rtol=1e-10)


def test_single_precision_ends_where_rounding_allows():
    """The Princeton beam converges in single precision, which resolves its energy to 1e-4 J."""
    with jax.enable_x64(False):
        moduli = of_section(71.7e9, 0.31, jnp.full(2, rectangle_shear_factor(0.31)))
        size = jnp.array([0.508, 0.0123777, 0.0032024])
        made = box(SHAPES["beam_3333"], size, (24, 1, 1), moduli, 2700.0, clamped=("x0",))
        builder = ModelBuilder(gravity=(0, 0, 0))
        builder.add_family(with_point_load(made, 23, (1, 0, 0), jnp.array([0.0, 0.0, 8.896])))
        rest = equilibrium(*builder.build())
        assert rest.state.position.dtype == jnp.float32
        assert rest.status == Status.CONVERGED
        np.testing.assert_allclose(rest.state.position[-1, 2], 0.14605, rtol=1e-2)


def test_single_precision_ends_where_a_chain_is_free_to_turn():
    """Two links on balls hang with their centre of mass below the anchor, however they are turned
    about the vertical, and follow gravity as it tilts."""
    with jax.enable_x64(False):
        builder = ModelBuilder()
        upper = builder.add_body(0.7, (0.02, 0.02, 0.001), (0.05, 0.02, -0.3))
        builder.add_joint(Spherical(), 0, upper, (0, 0, 0))
        lower = builder.add_body(0.5, (0.01, 0.012, 0.003), (0.1, 0.1, -0.7))
        builder.add_joint(Spherical(), upper, lower, (0.1, 0.03, -0.6))
        model, state = builder.build()

        @jax.jit
        def hang(angles):
            start = forward_kinematics(model, state, angles)

            def centre(aside):
                gravity = model.gravity + aside * jnp.array([1.0, 0.0, 0.0])
                rest = equilibrium(replace(model, gravity=gravity), start)
                mass = model.bodies.mass[1:]
                return mass @ rest.state.position[1:] / jnp.sum(mass), rest.status

            return jax.jvp(centre, (0.0,), (1.0,), has_aux=True)

        for angles in 0.7 * np.random.default_rng(0).normal(size=(4, 6)):
            place, slope, status = hang(jnp.asarray(angles))
            assert place.dtype == jnp.float32 and status == Status.CONVERGED
            np.testing.assert_allclose(place[:2], 0.0, atol=1e-4)
            np.testing.assert_allclose(slope[0], -place[2] / 9.81, rtol=5e-2)


@pytest.mark.slow
def test_single_precision_ends_with_joints_too():
    """A rod that hangs from the tip of a beam converges in single precision.

    The reference bears its weight at the tip, in double precision.
    """
    arm, mass = 0.1, 0.4
    builder = ModelBuilder()
    builder.add_family(beam(YOUNG, (0.0, 0.0, -9.81 * mass), count=2))
    tip = equilibrium(*builder.build()).state.position[-1]
    with jax.enable_x64(False):
        builder = ModelBuilder()
        node = builder.add_family(beam(YOUNG, count=2))[-1]
        bob = builder.add_body(mass, (1e-3, 1e-3, 1e-4), (LENGTH + arm, 0, 0))
        builder.add_joint(Spherical(), node, bob, anchor=(LENGTH, 0, 0))
        rest = equilibrium(*builder.build())
        assert rest.state.position.dtype == jnp.float32
        assert rest.status == Status.CONVERGED
        place = np.asarray(rest.state.position)
    np.testing.assert_allclose(place[node], tip, atol=1e-3)
    np.testing.assert_allclose(place[bob], place[node] - [0, 0, arm], atol=1e-3)


@pytest.mark.slow
def test_a_bob_on_a_node_bends_a_beam_as_its_weight_does():
    """A rod that hangs by a ball joint from the tip bends the beam as its weight does.

    It starts beside where it comes to hang.
    """
    arm, gravity, mass = 0.1, 9.81, 0.4
    builder = ModelBuilder(gravity=(0, 0, -gravity))
    nodes = builder.add_family(beam(YOUNG, count=4))
    bob = builder.add_body(mass, (1e-3, 1e-3, 1e-4), (LENGTH + arm, 0, 0))
    builder.add_joint(Spherical(), nodes[-1], bob, anchor=(LENGTH, 0, 0))
    model, state = builder.build()

    def tip_under_weight(mass):
        bodies = replace(model.bodies, mass=model.bodies.mass.at[bob].set(mass))
        rest = equilibrium(replace(model, bodies=bodies), state)
        return (rest.state.families[0].q, rest.state.position), rest.status

    differentiated = jax.jit(lambda mass: jax.jvp(tip_under_weight, (mass,), (1.0,), has_aux=True))
    (q, place), (slope, _), status = differentiated(mass)
    assert status == Status.CONVERGED and place[nodes[-1], 2] < -0.1
    np.testing.assert_allclose(place[bob], place[nodes[-1]] - np.array([0, 0, arm]), atol=1e-9)
    loaded, unit = (beam(YOUNG, (0.0, 0.0, -gravity * m), count=4) for m in (mass, 1.0))
    np.testing.assert_allclose(loaded.force(q, model.gravity), 0.0, atol=1e-7)
    by = np.linalg.solve(loaded.stiffness(q), unit.load.reshape(-1)[unit.layout.free])
    np.testing.assert_allclose(slope, by, atol=1e-7 * np.abs(by).max())


def test_what_has_no_potential_is_refused():
    builder = ModelBuilder()
    bar = builder.add_body(0.7, (0.02, 0.02, 0.001), (0.3, 0, 0))
    builder.add_joint(Revolute((0, 1, 0)), 0, bar, anchor=(0.1, 0, 0), name="hinge")
    builder.add_actuator(motor(), "hinge")
    model, state = builder.build()
    for name, function in (("equilibrium", equilibrium), ("modes", modes)):
        with pytest.raises(ValueError, match=f"{name} knows no model with actuators"):
            function(model, state)
