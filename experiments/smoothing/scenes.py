"""Define losses of one number whose gradients are known to be difficult, each the outcome of a
rollout of a small scene."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Relaxed,
    Revolute,
    Sphere,
    State,
    rollout,
)
from jaxccp.ccp import Gradient

Loss = Callable[[jax.Array, Gradient], jax.Array]


@dataclass(frozen=True)
class Example:
    """A loss, the point and the noise at which its gradients are estimated, and the settings."""

    title: str
    source: str
    number: str
    """Name and unit of the loss's argument."""
    loss: Loss
    x: float
    sigma: float
    relaxed: Relaxed | None
    """Settings of relaxed derivatives; None where there is no contact."""
    accuracy: float
    """γ of the mixed estimator."""
    span: tuple[float, float]
    """Range of arguments of the picture."""


def _end(model: Model, state: State, h: float, steps: int, gradient: Gradient) -> State:
    stepper = EulerImplicitLinearized(h, law="ncp", gradient=gradient)
    return rollout(model, state, stepper, steps, every=steps)[0]


def _pushing() -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, 0))
    slick = Material(friction=0.0)
    builder.add_solid(Sphere(0.05), 1.0, slick, name="finger")
    builder.add_solid(Sphere(0.05), 1.0, slick, position=(0.5, 0, 0), name="puck")
    return builder.build()


def pushing(speed: jax.Array, gradient: Gradient) -> jax.Array:
    """Return (distance of the puck to a goal [m])² after 0.5 s, by the speed of a finger whose
    surface starts 0.4 m before it."""
    model, state = _pushing()
    state = replace(state, velocity=state.velocity.at[1, 0].set(speed))
    end = _end(model, state, 5e-3, 100, gradient)
    return (end.position[2, 0] - 0.7) ** 2


def _throwing() -> tuple[Model, State]:
    builder = ModelBuilder()
    sticky = Material(friction=1.0, restitution=0.2)
    builder.add_shape(0, Plane(), material=sticky)
    builder.add_shape(0, Box((0.05, 0.5, 0.25)), position=(1.0, 0, 0.25), material=sticky)
    builder.add_solid(Sphere(0.05), 0.2, sticky, position=(0, 0, 0.2), velocity=(2.5, 0, 0))
    return builder.build()


def throwing(upward: jax.Array, gradient: Gradient) -> jax.Array:
    """Return (distance of a ball to a goal behind a wall [m])² after 1 s, by its upward speed."""
    model, state = _throwing()
    state = replace(state, velocity=state.velocity.at[1, 2].set(upward))
    end = _end(model, state, 5e-3, 200, gradient)
    return (end.position[1, 0] - 2.2) ** 2


def _sliding() -> tuple[Model, State]:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    rough = Material(friction=0.5)
    builder.add_solid(Box((0.1, 0.1, 0.05)), 1.0, rough, position=(0, 0, 0.05))
    return builder.build(max_contacts=4)


def sliding(force: jax.Array, gradient: Gradient) -> jax.Array:
    """Return (distance of a box to a goal [m])² after 0.5 s, by the force that pulls it against
    friction; it slides from 4.9 N on."""
    model, state = _sliding()
    pulled = jnp.zeros((100, 2, 6)).at[:, 1, 0].set(force)
    stepper = EulerImplicitLinearized(5e-3, law="ncp", gradient=gradient)
    end, _ = rollout(model, state, stepper, 100, forces=pulled, every=100)
    return (end.position[1, 0] - 0.3) ** 2


def _pendulum() -> tuple[Model, State]:
    builder = ModelBuilder()
    above = 0
    for index in range(2):
        x = 0.5 * index
        below = builder.add_body(1.0, (1e-3, 0.02, 0.02), position=(x + 0.25, 0, 0))
        builder.add_joint(Revolute((0, 1, 0)), above, below, anchor=(x, 0, 0))
        above = below
    return builder.build()


def pendulum(rate: jax.Array, gradient: Gradient) -> jax.Array:
    """Return (height of the lower rod of a double pendulum [m])² after 4 s, by its initial rate.

    There is no contact at all, but the motion is chaotic.
    """
    model, state = _pendulum()
    spin = state.angular_velocity.at[2, 1].set(rate)
    arm = jnp.array([0.25, 0.0, 0.0])
    velocity = state.velocity.at[2].set(jnp.cross(spin[2], arm))
    state = replace(state, angular_velocity=spin, velocity=velocity)
    end = _end(model, state, 5e-3, 800, gradient)
    return end.position[2, 2] ** 2


EXAMPLES = {
    "pushing": Example(
        "Pushing, not yet touched",
        "Suh et al. 2022, ex. 3.8; contacts from a distance, Paulus et al. 2025",
        "speed of the finger [m/s]",
        pushing,
        x=0.65,
        sigma=0.25,
        relaxed=Relaxed(0.3, distance=1.0),
        accuracy=0.1,
        span=(0.0, 1.6),
    ),
    "throwing": Example(
        "Throwing over a wall",
        "Suh et al. 2022, fig. 1B and ex. 3.7",
        "speed upward [m/s]",
        throwing,
        x=2.4,
        sigma=0.3,
        relaxed=Relaxed(0.3, distance=1.0),
        accuracy=1.0,
        span=(1.5, 4.0),
    ),
    "sliding": Example(
        "Pulling against friction",
        "Suh et al. 2022, ex. 3.6",
        "force [N]",
        sliding,
        x=6.0,
        sigma=0.5,
        relaxed=Relaxed(0.02, distance=1.0),
        accuracy=0.02,
        span=(3.5, 8.0),
    ),
    "pendulum": Example(
        "Double pendulum",
        "Suh et al. 2022, ex. 3.9",
        "rate of the lower rod at first [rad/s]",
        pendulum,
        x=2.4,
        sigma=0.2,
        relaxed=None,
        accuracy=1.0,
        span=(1.5, 3.0),
    ),
}
