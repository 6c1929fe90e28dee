"""Find a friction coefficient from where a sliding, spinning box came to rest, by gradients."""

from dataclasses import replace

import jax
import jax.numpy as jnp

from jaxccp import Box, EulerImplicitLinearized, Model, ModelBuilder, Plane, rollout

TRUTH, GUESS = 0.35, 0.1
TOLERANCE = 1e-5
"""Root of the mean squared distance from the measured path [m]."""

builder = ModelBuilder()
builder.add_shape(0, Plane())
builder.add_solid(
    Box((0.1, 0.1, 0.05)),
    mass=1.0,
    position=(0.0, 0.0, 0.05),
    velocity=(1.5, 0.5, 0.0),
    angular_velocity=(0.0, 0.0, 6.0),
)
model, state = builder.build()
stepper = EulerImplicitLinearized(h=5e-3, law="ncp")


def with_friction(mu: jax.Array) -> Model:
    return replace(
        model, shapes=replace(model.shapes, friction=model.shapes.friction.at[1].set(mu))
    )


def path(mu: jax.Array) -> jax.Array:
    _, trajectory = rollout(with_friction(mu), state, stepper, steps=150)
    return trajectory.state.position[:, 1]


measured = jax.jit(path)(jnp.asarray(TRUTH))


@jax.jit
def improved(logarithm: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A Gauss–Newton step in log μ, which keeps μ positive, and the error before it [m]."""
    moved, slope = jax.jvp(lambda x: path(jnp.exp(x)), (logarithm,), (jnp.ones(()),))
    error = moved - measured
    step = -jnp.sum(slope * error) / jnp.sum(slope * slope)
    return logarithm + jnp.clip(step, -1.0, 1.0), jnp.sqrt(jnp.mean(jnp.sum(error**2, axis=1)))


parameter, error, iteration = jnp.log(jnp.asarray(GUESS)), jnp.asarray(jnp.inf), 0
while error > TOLERANCE and iteration < 20:
    before = jnp.exp(parameter)
    parameter, error = improved(parameter)
    print(f"{iteration}  μ {before:.5f}  error {1e3 * error:9.4f} mm")
    iteration += 1
print(f"found μ = {before:.4f} with {iteration} gradients; it was {TRUTH}")
