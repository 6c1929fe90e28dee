"""Check domain randomisation: a model of its own for each copy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import ModelBuilder, Plane, Revolute, Sphere
from jaxccp.envs import Env, EnvState, make, randomisation, randomised

COPIES = 4
KEYS = jax.random.split(jax.random.key(7), COPIES)


def test_each_copy_has_its_own_model() -> None:
    env = make("cartpole", auto_reset=False, start_noise=0.3)
    ranges = {"mass": (0.5, 0.9), "strength": (1.5, 3.0), "gravity": (0.9, 0.9)}
    many, axes = randomised(env, randomisation(**ranges), KEYS)
    model, nominal = many.model, env.model
    factors = model.bodies.mass[:, 1:] / nominal.bodies.mass[1:]
    assert model.bodies.mass.dtype == nominal.bodies.mass.dtype
    assert len(np.unique(factors)) == 2 * COPIES and 0.5 <= factors.min() <= factors.max() < 0.9
    inertia = model.bodies.inertia[:, 1:] / nominal.bodies.inertia[1:]
    np.testing.assert_allclose(jnp.einsum("cbii->cbi", inertia), factors[..., None] + jnp.zeros(3))
    strength = model.actuators.gain / nominal.actuators.gain
    assert strength.shape == (COPIES, 1) and 1.5 <= strength.min() <= strength.max() < 3
    np.testing.assert_allclose(model.gravity[:, 2], 0.9 * -9.81)
    # What is left alone has no axis of copies.
    assert model.shapes.friction.shape == nominal.shapes.friction.shape
    # Newton's law: along the rail only the push acts on both bodies.
    reset = jax.vmap(lambda env, key: env.reset(key), in_axes=(axes, 0))
    step = jax.vmap(lambda env, state, action: env.step(state, action), in_axes=(axes, 0, 0))

    @jax.jit
    def stepped(many: Env) -> tuple[EnvState, EnvState]:
        state = reset(many, KEYS)
        return state, step(many, state, jnp.full((COPIES, 1), 0.1))

    state, after = stepped(many)
    x = after.physics.state.velocity - state.physics.state.velocity
    momentum = jnp.sum(model.bodies.mass[:, 1:] * x[:, 1:, 0], axis=1)
    np.testing.assert_allclose(momentum, strength[:, 0] * 0.1 * 10 * 0.02, rtol=2e-3)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"fricton": 1.5}, "did you mean 'friction'"),
        ({"mass": (0.0, 1.0)}, "0 < low <= high"),
        ({"mass": 1.5}, r"mass must be \(lower, upper\) .* not 1.5"),
    ],
)
def test_bad_ranges_are_refused(ranges: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        randomisation(**ranges)


def test_masses_of_flexible_bodies_are_not_scaled_and_it_says_so() -> None:
    builder = ModelBuilder()
    builder.add_cable([(0, 0, 0), (1, 0, 0)], radius=0.01, young=1e6, density=1000.0)
    model, _ = builder.build()
    with pytest.raises(ValueError, match="mass: the model has flexible bodies"):
        randomisation(mass=(2.0, 2.0))(jax.random.key(0), model)


def test_friction_of_pairs_is_scaled_with_that_of_shapes() -> None:
    """Each coefficient has a factor of its own; spinning and rolling friction stay as they are."""
    builder = ModelBuilder()
    floor = builder.add_shape(0, Plane())
    for i in range(3):
        builder.add_solid(Sphere(0.1), 1.0, position=(i, 0, 0.1))
        builder.set_pair_friction(floor, floor + 1 + i, 0.5, 0.01, 0.02)
    model, _ = builder.build()
    nominal = model.shapes
    twice = randomisation(friction=(2.0, 2.0))(jax.random.key(0), model).shapes
    np.testing.assert_allclose(twice.friction, 2 * nominal.friction)
    np.testing.assert_allclose(twice.pair_friction, [[1.0, 0.01, 0.02]] * 3)
    some = randomisation(friction=(0.5, 2.0))(jax.random.key(0), model).shapes
    factors = [*(some.friction / nominal.friction), *(some.pair_friction[:, 0] / 0.5)]
    assert len(np.unique(np.round(factors, 6))) == 4 + 3


def test_all_damping_of_a_coordinate_is_scaled() -> None:
    """Damping by a power of the rate is scaled with the linear damping."""
    builder = ModelBuilder()
    link = builder.add_body(1.0, (0.1, 0.1, 0.1))
    joint = Revolute((0, 1, 0), damping=0.2, power_damping=0.4, damping_power=1.5)
    builder.add_joint(joint, 0, link)
    model, _ = builder.build()
    axes = randomisation(damping=(2.0, 2.0))(jax.random.key(0), model).axes
    np.testing.assert_allclose([axes.damping[0], axes.power_damping[0]], [0.4, 0.8])
