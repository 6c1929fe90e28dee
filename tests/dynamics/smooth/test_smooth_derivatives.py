"""Test derivatives of smooth contact: against central differences, and finite at every border."""

from dataclasses import replace
from functools import partial
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.dynamics.smooth import smooth_contacts, smooth_forces
from jaxccp.model import Model, Plane, SmoothLaws, Sphere, State
from jaxccp.model.smooth import NORMAL
from jaxccp.model.smooth.laws import Tangential
from jaxccp.scene import ModelBuilder
from tests.dynamics.smooth.smooth_surfaces import YOUNG, surface

H, STEPS = 1e-4, 200
START = jnp.array([0.6, YOUNG, 0.3, -1.0, 0.8, 0.4])
"""Restitution, modulus, friction, velocity down and along, Poisson ratio."""


def bounce(law: str, tangential: Tangential = "multi-step") -> tuple[Model, State]:
    """Build a ball above a floor, both smooth."""
    builder = ModelBuilder(smooth_laws=SmoothLaws(law, tangential))
    material = surface(0.3, 0.6, rolling=1e-3)
    builder.add_shape(0, Plane(), material=material)
    spin = {"angular_velocity": (1.0, -5.0, 2.0)}
    builder.add_solid(Sphere(0.1), 0.5, material, position=(0, 0, 0.1005), **spin)
    return builder.build()


def rebound(
    model: Model, state: State, x: jax.Array, h: float = H, steps: int = STEPS
) -> jax.Array:
    """Return position, velocity and spin of the ball after a bounce [9].

    Args:
        model: the model of ``bounce``
        state: its state
        x: numbers that :data:`START` describes
        h: length of the steps [s]
        steps: number of steps
    """
    e, young, friction, down, tangential, poisson = x
    assert model.smooth is not None
    model = replace(
        model,
        shapes=replace(model.shapes, restitution=jnp.full(2, e), friction=jnp.full(2, friction)),
        smooth=replace(
            model.smooth, young_modulus=jnp.full(2, young), poisson_ratio=jnp.full(2, poisson)
        ),
    )
    thrown = (
        jnp.zeros_like(state.velocity).at[1].set(jnp.stack([tangential, 0.1 * tangential, down]))
    )
    stepper = EulerImplicitLinearized(h)
    end, _ = rollout(model, replace(state, velocity=thrown), stepper, steps, every=steps)
    return jnp.concatenate([end.position[1], end.twist[1]])


@pytest.mark.parametrize("law", NORMAL)
def test_a_bounce_has_the_derivative_of_its_motion(law: str) -> None:
    """Derivatives in restitution, moduli, friction and velocity, each relative to its number,
    agree with central differences."""
    motion = partial(rebound, *bounce(law))

    step = 1e-5
    offsets = np.concatenate([np.zeros((6, 6)), np.eye(6), -np.eye(6)])
    tangents = jnp.tile(jnp.diag(START), (3, 1))
    points = START * (1 + step * offsets)
    ends, slopes = jax.lax.map(lambda at: jax.jvp(motion, at[:1], at[1:]), (points, tangents))
    assert ends[0, 2] > 0.1 and ends[0, 5] > 0.3, "it has not left the floor again"
    jacobian = slopes[:6].T
    central = (ends[6:12] - ends[12:]).T / (2 * step)
    np.testing.assert_allclose(jacobian, central, rtol=1e-6, atol=1e-7)
    largest = np.abs(jacobian).max(axis=0)
    assert np.all(np.delete(largest, 5) > 1e-3), "everything matters"


@pytest.mark.parametrize("law", ["hooke", "hertz"])
def test_a_bounce_has_the_derivative_that_mechanics_gives_it(law: str) -> None:
    """A ball without weight leaves with e v, from wherever it came: ∂/∂e is v, ∂/∂v is e, and
    moduli and height change nothing. Reverse mode agrees with forward mode."""
    model, state = bounce(law)
    free = replace(model, gravity=jnp.zeros(3))

    def upwards(x: jax.Array, height: jax.Array) -> jax.Array:
        lifted = replace(state, position=state.position.at[1, 2].add(height))
        return rebound(free, lifted, x, H / 4, 4 * STEPS)[5]

    slopes, by_height = jax.jit(jax.grad(upwards, argnums=(0, 1)))(START, jnp.zeros(()))
    if law == "hooke":
        forward = jax.jit(jax.jacfwd(upwards))(START, jnp.zeros(()))
        np.testing.assert_allclose(slopes, forward, rtol=1e-9, atol=1e-12)
    # Hertz's dashpot begins with δ^¼, which no sum over steps follows well.
    within = {"hooke": 4e-3, "hertz": 1.2e-2}[law]
    np.testing.assert_allclose(slopes * START, [0.6, 0, 0, 0.6, 0, 0], atol=within)
    # A linear dashpot that acted for whole steps would have 0.95 by e and -0.25 by the modulus.
    assert abs(by_height) < {"hooke": 0.5, "hertz": 5.0}[law]


CASES = [(law, "multi-step") for law in NORMAL]
CASES += [("hertz", scheme) for scheme in get_args(Tangential) if scheme != "multi-step"]


# Double precision is farther from every border; one law shows that it has the same ones.
BORDERS = [(*case, 32) for case in CASES] + [
    pytest.param(*case, 64, marks=() if case == CASES[0] else pytest.mark.long) for case in CASES
]


@pytest.mark.parametrize(("law", "tangential", "bits"), BORDERS)
def test_derivatives_are_finite_at_every_border(
    law: str, tangential: Tangential, bits: int
) -> None:
    """Derivatives are finite where the ball just touches, or not quite; at rest on the floor;
    without slip; with its centre on the floor; without restitution, without loss, without friction.

    Args:
        law: normal law
        tangential: tangential law
        bits: precision of the numbers, 32 or 64
    """
    with jax.enable_x64(bits == 64):
        model, state = bounce(law, tangential)
        stepper = EulerImplicitLinearized(H)
        memory = stepper.init(model, state).smooth
        eps = float(jnp.finfo(state.position.dtype).eps)

        @jax.jit
        def all_finite(e: jax.Array, friction: jax.Array, height: jax.Array, speed: jax.Array):
            shapes = replace(
                model.shapes, restitution=jnp.full(2, e), friction=jnp.full(2, friction)
            )
            placed = replace(
                state,
                position=state.position.at[1, 2].set(height),
                velocity=state.velocity.at[1].set(speed * jnp.array([1.0, 0.0, -1.0])),
                angular_velocity=jnp.zeros_like(state.angular_velocity),
            )

            def forces(table, shapes, placed, memory):
                varied = replace(model, smooth=table, shapes=shapes)
                result = smooth_forces(varied, placed, smooth_contacts(varied, placed), memory, H)
                return result.wrenches, result.memory and result.memory.values

            value, back = jax.vjp(forces, model.smooth, shapes, placed, memory)
            pulled = back(jax.tree.map(jnp.ones_like, value))
            leaves = [leaf for leaf in jax.tree.leaves((value, pulled)) if leaf.dtype != "float0"]
            return jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in leaves]).all()

        lowest = 1e-3 if NORMAL[law].by_approach else 0.0
        grid = np.meshgrid(
            [lowest, 0.5, 1.0],
            [0.0, 0.5],
            [0.1, 0.1 - eps, 0.1 + eps, 0.099, 1e-30, 0.0],
            [0.0, 1e-20, 1.0],
        )
        columns = [jnp.asarray(column.reshape(-1), float) for column in grid]
        assert jax.vmap(all_finite)(*columns).all()


def test_a_long_gradient_in_single_precision_is_finite() -> None:
    with jax.enable_x64(False):
        motion = partial(rebound, *bounce("hertz"))
        gradient = jax.jit(jax.grad(lambda x: motion(x) @ motion(x)))(jnp.asarray(START, float))
        assert gradient.dtype == jnp.float32 and np.isfinite(gradient).all()
