"""Keep a ball up with a paddle: stroke and tilts of every bounce, by derivatives of impacts.

The paddle is a heavy plate on three servos (height, tilts about x and y). At each apex of the ball,
which a gust then pushes aside, Gauss–Newton finds the stroke and the tilts from which it comes back
to the desired height and lands in the middle of the paddle next time. This needs the derivative of
the motion after the bounce with respect to that of the paddle before it. Draws juggle.png.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Hinge,
    Material,
    ModelBuilder,
    Prismatic,
    Sphere,
    State,
    Universal,
    position_servo,
    rollout,
)

HEIGHT = 0.5
"""Height of the ball's centre at the apex, above where it touches the resting paddle [m]."""
BOUNCES, ITERATIONS = 20, 2
GUST = 0.15
"""Standard deviation of the velocity that the ball gains at every apex, along x and y [m/s]."""
LIMITS = jnp.array([2.0, 0.3, 0.3])
"""Limits of the stroke [m/s] and the tilts [rad]."""
SEED = 0
H, G, RADIUS, HALF = 4e-3, 9.81, 0.03, 0.25
FALL = round((2 * HEIGHT / G) ** 0.5 / H)
"""Number of steps from an apex to the paddle."""

builder, rubber = ModelBuilder(gravity=(0, 0, -G)), Material(friction=0.3, restitution=0.8)
carriage = builder.add_body(5.0, (0.1, 0.1, 0.1))
paddle = builder.add_body(5.0, (0.1, 0.1, 0.2))
builder.add_shape(paddle, Box((HALF, HALF, 0.01)), (0, 0, -0.01), material=rubber)
ball = builder.add_solid(Sphere(RADIUS), 0.05, rubber, position=(0, 0, RADIUS + HEIGHT))
builder.add_joint(Prismatic((0, 0, 1)), 0, carriage, name="height")
builder.add_joint(Universal(Hinge((1, 0, 0)), Hinge((0, 1, 0))), carriage, paddle, name="tilt")
builder.add_actuator(position_servo(stiffness=4e5, damping=4e3), "height")
builder.add_actuator(position_servo(stiffness=2e3, damping=40.0), "tilt.0")
builder.add_actuator(position_servo(stiffness=2e3, damping=40.0), "tilt.1")
model, start = builder.build(max_contacts=1)
stepper = EulerImplicitLinearized(H, law="ncp")


def bounced(state: State, move: jax.Array) -> tuple[State, jax.Array]:
    """Return the state at the next apex, and the path of the ball since the last one.

    Args:
        state: state at an apex.
        move: speed of the stroke [m/s], with which the paddle comes through height 0 when the ball
            should, and the two tilts [rad].
    """
    time = H * (jnp.arange(2 * FALL) - FALL)
    tilts = jnp.broadcast_to(move[1:], (2 * FALL, 2))
    controls = jnp.concatenate([(move[0] * time)[:, None], tilts], axis=1)
    state, path = rollout(model, state, stepper, 2 * FALL, controls=controls)
    return state, path.state.position[:, ball]


@jax.jit
def planned(state: State, move: jax.Array) -> jax.Array:
    """Return the move after a Gauss–Newton step towards a bounce after which the ball is at HEIGHT,
    2 FALL steps from now, and falls into the middle from there."""

    def off(move: jax.Array) -> tuple[jax.Array, jax.Array]:
        after, _ = bounced(state, move)
        place, velocity = after.position[ball], after.velocity[ball]
        landing = place[:2] + velocity[:2] * FALL * H
        amiss = jnp.append(landing, place[2] - RADIUS - HEIGHT)
        return amiss, amiss

    slope, amiss = jax.jacfwd(off, has_aux=True)(move)
    return jnp.clip(move - jnp.linalg.pinv(slope) @ amiss, -LIMITS, LIMITS)


@jax.jit
def played(state: State, move: jax.Array, gust: jax.Array) -> tuple[State, jax.Array]:
    state, path = bounced(state, move)
    return replace(state, velocity=state.velocity.at[ball, :2].add(gust)), path


def juggled(bounces: int, iterations: int) -> np.ndarray:
    """Return the path of the ball, for no iterations without any control of the paddle."""
    state, move, paths = start, jnp.array([0.35, 0.0, 0.0]), []
    gusts = GUST * np.random.default_rng(SEED).standard_normal((bounces, 2))
    for gust in gusts:
        for _ in range(iterations):
            move = planned(state, move)
        state, path = played(state, move, jnp.asarray(gust, move.dtype))
        paths.append(np.asarray(path))
        x, y, z = paths[-1][-1]
        if z < -HALF:
            break
        if iterations:
            tilts = np.degrees(move[1:]).round(1)
            print(f"{len(paths):3d}  stroke {move[0]:5.2f} m/s  tilts {tilts}°", end="  ")
            print(f"apex at {z - RADIUS:.3f} m, {np.hypot(x, y):.3f} m from the middle")
    return np.concatenate(paths)


def main() -> None:
    kept, lost = juggled(BOUNCES, ITERATIONS), juggled(BOUNCES, 0)
    print(f"without it the ball is lost after {len(lost) * H:.1f} s, of {len(kept) * H:.1f} s")
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    for axes, axis in zip(figure.subplots(2, 1, sharex=True), (2, 0), strict=True):
        axes.plot(H * np.arange(len(lost)), lost[:, axis], "--", label="a level paddle")
        axes.plot(H * np.arange(len(kept)), kept[:, axis], label="optimised")
        axes.set(ylabel=f"{'xyz'[axis]} [m]", ylim=(-0.3, 0.7))
    axes.set_xlabel("time [s]")
    axes.legend(frameon=False, ncols=2)
    figure.savefig("juggle.png")


if __name__ == "__main__":
    main()
