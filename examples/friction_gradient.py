"""Find friction from one slide: a recorded path with noise, whose start is not known exactly.

Gauss–Newton on the path of a sliding, spinning box: its friction, and the velocity and the spin
with which it started. The remaining error gives their standard errors. The slide ends within the
recording, so that the derivative has to be right through the change from sliding to sticking.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp

from jaxccp import Box, EulerImplicitLinearized, ModelBuilder, Plane, rollout

TRUTH, GUESS = (0.35, 1.5, 0.5, 6.0), (0.15, 1.0, 0.0, 4.0)
"""Friction, velocity along x and y [m/s], spin [rad/s]."""
NOISE = 1e-3
"""Standard deviation of the recorded positions along x and y, and of SIZE times cosine and sine of
half the recorded heading [m]."""
SIZE = 0.1
"""Half the side of the box [m]."""
SEED = 0

builder = ModelBuilder()
builder.add_shape(0, Plane())
builder.add_solid(Box((SIZE, SIZE, 0.05)), mass=1.0, position=(0.0, 0.0, 0.05))
model, start = builder.build(max_contacts=4)
stepper = EulerImplicitLinearized(h=5e-3, law="ncp")


def path(parameters: jax.Array) -> jax.Array:
    """Return the position [m] and SIZE times cosine and sine of half the heading, at 100 Hz for
    0.75 s."""
    friction, vx, vy, spin = parameters
    shapes = replace(model.shapes, friction=model.shapes.friction.at[1].set(friction))
    state = replace(
        start,
        velocity=start.velocity.at[1].set(jnp.stack([vx, vy, 0.0])),
        angular_velocity=start.angular_velocity.at[1, 2].set(spin),
    )
    _, record = rollout(replace(model, shapes=shapes), state, stepper, steps=150, every=2)
    place, orientation = record.state.position[:, 1, :2], record.state.quaternion[:, 1, ::3]
    return jnp.concatenate([place, SIZE * orientation], axis=1).ravel()


@jax.jit
def improved(parameters: jax.Array, recorded: jax.Array) -> tuple[jax.Array, ...]:
    """Return the parameters after a Gauss–Newton step, the error before it [m], and the standard
    errors there."""

    def error(parameters: jax.Array) -> tuple[jax.Array, jax.Array]:
        off = path(parameters) - recorded
        return off, off

    slope, off = jax.jacfwd(error, has_aux=True)(parameters)
    covariance = jnp.linalg.inv(slope.T @ slope)
    step = jnp.clip(-covariance @ slope.T @ off, -0.5 * parameters[0], 2.0)
    variance = jnp.sum(off**2) / (len(off) - len(parameters))
    root = jnp.sqrt(jnp.mean(off**2))
    return parameters + step, root, jnp.sqrt(variance * jnp.diagonal(covariance))


def main() -> None:
    clean = jax.jit(path)(jnp.array(TRUTH))
    recorded = clean + NOISE * jax.random.normal(jax.random.key(SEED), clean.shape)
    parameters, before = jnp.array(GUESS), jnp.inf
    for iteration in range(20):
        better, error, deviation = improved(parameters, recorded)
        print(f"{iteration}  μ {parameters[0]:.4f}  error {1e3 * error:8.3f} mm")
        if error > 0.999 * before:
            break
        parameters, before = better, error
    print(f"found μ = {parameters[0]:.4f} ± {deviation[0]:.4f}; it was {TRUTH[0]}")


if __name__ == "__main__":
    main()
