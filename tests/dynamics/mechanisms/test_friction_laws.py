"""Test Stribeck friction, and damping that depends on the rate, by a slider's exact motion."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial
from jaxtyping import Array, Float

import jaxccp
from jaxccp import HHT, EulerImplicitLinearized, Model, State, with_structure
from jaxccp.dynamics.stepper import Stepper

MASS = 2.0


def slider(imposed: bool = False, **forces) -> tuple[Model, State]:
    """Build a mass on a slide without gravity; with ``imposed`` a tendon moves it at a constant
    rate."""
    builder = jaxccp.ModelBuilder(gravity=(0, 0, 0))
    body = builder.add_body(MASS, (0.1, 0.1, 0.1))
    builder.add_joint(jaxccp.Prismatic((1, 0, 0), **forces), 0, body, name="x")
    if imposed:
        length = Partial(lambda rate, time: rate * time, 1.0)
        builder.add_tendon(jaxccp.Coupling({"x": 1.0}, length=length))
    return builder.build()


def at_rate(state: State, rate: Array | float) -> State:
    return replace(state, velocity=state.velocity.at[1, 0].set(rate))


def test_stribeck_force_at_constant_rates() -> None:
    model, state = slider(True, friction=1.5, stribeck_friction=0.8, stribeck_velocity=0.05)
    rates = jnp.array([-0.3, -0.04, 1e-6, 0.01, 0.05, 0.1, 1.0])

    def force(rate: Array) -> Array:
        motions = replace(
            model.tendons.motions,
            groups=(jax.tree.map(lambda _: rate[None], model.tendons.motions.groups[0]),),
        )
        varied = replace(model, tendons=replace(model.tendons, motions=motions))
        stepper = EulerImplicitLinearized(0.01)
        _, path = jaxccp.rollout(varied, at_rate(state, rate), stepper, 3)
        return path.report.tendon_forces[-1, 0]

    actual = jax.jit(jax.vmap(force))(rates)
    expected = np.sign(rates) * (1.5 + 0.8 * np.exp(-((rates / 0.05) ** 2)))
    np.testing.assert_allclose(actual, expected, rtol=1e-8)


def test_breaks_away_at_static_friction() -> None:
    """A slider rests under forces up to friction + stribeck_friction, and slides on under less."""
    model, state = slider(friction=1.0, stribeck_friction=0.5, stribeck_velocity=0.01)
    stepper = EulerImplicitLinearized(0.001)

    def after(force: Array, rate: Array) -> Array:
        wrench = jnp.zeros((300, 2, 6)).at[:, 1, 0].set(force)
        final, _ = jaxccp.rollout(model, at_rate(state, rate), stepper, 300, forces=wrench)
        return final.velocity[1, 0]

    forces, rates = jnp.array([1.49, 1.6, 1.2, 1.2]), jnp.array([0.0, 0.0, 0.0, 0.1])
    actual = jax.jit(jax.vmap(after))(forces, rates)
    np.testing.assert_allclose(actual[np.array([0, 2])], 0.0, atol=1e-15)
    # Friction falls from that of rest to that of sliding.
    assert (1.6 - 1.5) * 0.3 / MASS < actual[1] < (1.6 - 1.0) * 0.3 / MASS
    np.testing.assert_allclose(actual[3], 0.1 + 0.3 * 0.2 / MASS, rtol=1e-6)


LAWS = {
    "quadratic": ({"damping_polynomial": (3.0, 0.0)}, lambda v, t: v / (1 + 3.0 * v * t / MASS)),
    "cubic": (
        {"damping_polynomial": (0.0, 2.0)},
        lambda v, t: v / np.sqrt(1 + 2 * 2.0 * v * v * t / MASS),
    ),
    "root": (
        {"power_damping": 1.0, "damping_power": 0.5},
        lambda v, t: (np.sqrt(v) - 1.0 * t / (2 * MASS)) ** 2,
    ),
    "power": (
        {"power_damping": 1.5, "damping_power": 2.5},
        lambda v, t: (v**-1.5 + 1.5 * 1.5 * t / MASS) ** (-1 / 1.5),
    ),
}
RATES = np.array([1.0, 2.0])


def decay(stepper: Stepper, steps: int) -> Float[Array, "laws rates"]:
    """Return the rates after some steps under each law; one program serves all of them."""
    bare, state = slider()
    paths = ("axes.damping_polynomial", "axes.power_damping", "axes.damping_power")
    model = with_structure(bare, dict.fromkeys(paths))
    axes = [slider(**forces)[0].axes for forces, _ in LAWS.values()]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *axes)

    def after(axes: object, rate: Array) -> Array:
        varied = replace(model, axes=axes)
        final, _ = jaxccp.rollout(varied, at_rate(state, rate), stepper, steps)
        return final.velocity[1, 0]

    of_rates = jax.vmap(after, (None, 0))
    return jax.jit(jax.vmap(of_rates, (0, None)))(stacked, jnp.asarray(RATES))


@pytest.mark.parametrize(
    ("stepper", "order"),
    [(EulerImplicitLinearized, 1), pytest.param(HHT, 2, marks=pytest.mark.slow)],
)
def test_decay(stepper: Callable[[float], Stepper], order: int) -> None:
    """The error of the exact decay falls with the order of the stepper."""
    exact = np.array([law(RATES, 0.4) for _, law in LAWS.values()])
    coarse, fine = (np.abs(decay(stepper(h), round(0.4 / h)) - exact) for h in (0.02, 0.01))
    assert (fine < 0.02**order * exact).all()
    np.testing.assert_allclose(coarse / fine, 2**order, rtol=0.1)


def test_long_steps_do_not_overshoot() -> None:
    """The implicit force stops the slider or leaves it some of its rate, and never reverses it."""
    actual = decay(EulerImplicitLinearized(1e4), 1)
    assert ((actual >= 0) & (actual < RATES)).all()


def test_acceleration() -> None:
    """The acceleration of forward dynamics is that of the sum of all laws of damping."""
    forces = {"damping": 0.5, "damping_polynomial": (3.0, 2.0)}
    model, state = slider(**forces, power_damping=1.5, damping_power=2.5)
    actual = jaxccp.accelerations(model, at_rate(state, -2.0)).axis[0]
    force = (0.5 + 3.0 * 2 + 2.0 * 4 + 1.5 * 2**1.5) * 2
    np.testing.assert_allclose(actual, force / MASS, rtol=1e-9)


@pytest.mark.parametrize(
    ("forces", "message"),
    [
        ({"stribeck_friction": -1.0}, "stribeck_friction must be finite and ≥ 0"),
        ({"stribeck_velocity": 0.0}, "stribeck_velocity must be positive"),
        ({"damping_power": 0.0}, "damping_power must be positive"),
        ({"damping_polynomial": (1.0, -2.0)}, "damping_polynomial must be finite and ≥ 0"),
        ({"damping_polynomial": (1.0,)}, "must be the two coefficients"),
    ],
)
def test_errors(forces: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jaxccp.Hinge(**forces)
