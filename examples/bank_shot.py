"""Throw a ball so that it hits a target after two walls: Gauss–Newton through impacts.

Velocity and spin at the start are unknown, six numbers. A derivative that is wrong after an impact
(the sign of dx/dv changes at a wall, dz/dv does not; friction at the wall converts speed to spin)
leads away from the target. It contains nothing about a wall that the ball has not touched, though:
the first guess has to hit both. Draws bank_shot.png.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from jaxccp import EulerImplicitLinearized, Material, ModelBuilder, Plane, Sphere, State, rollout

TARGET = (0.2, 1.2, 0.5)
"""Position that the centre of the ball shall have after SECONDS [m]."""
GUESS = (4.0, 3.0, 3.5, 0.0, 0.0, 0.0)
"""Velocity [m/s] and spin [rad/s] at the start."""
H, SECONDS = 2.5e-3, 1.0
TOLERANCE = 1e-3
"""Largest distance from the target that is accepted [m]."""
SPIN_UNIT = 10.0
"""Change of the spin [rad/s] that counts as much as a change of the velocity by 1 m/s."""

builder = ModelBuilder()
surface = Material(friction=0.4, restitution=0.8)
half = 0.5**0.5
builder.add_shape(0, Plane(), material=surface, name="floor")
builder.add_shape(0, Plane(), (2, 0, 0), (half, 0, -half, 0), surface, name="right wall")
builder.add_shape(0, Plane(), (0, 2, 0), (half, half, 0, 0), surface, name="back wall")
ball = builder.add_solid(Sphere(0.05), 0.1, surface, position=(0, 0, 1.0), name="ball")
model, start = builder.build(max_contacts=3)
stepper = EulerImplicitLinearized(H, law="ncp")


def thrown(throw: jax.Array) -> tuple[State, State]:
    """Return the last state and the whole motion of a throw."""
    state = replace(
        start,
        velocity=start.velocity.at[ball].set(throw[:3]),
        angular_velocity=start.angular_velocity.at[ball].set(throw[3:]),
    )
    final, path = rollout(model, state, stepper, round(SECONDS / H))
    return final, path.state


@jax.jit
def improved(throw: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return the throw after the smallest change that the linear model asks for, the miss before it
    [m], and the path."""

    def miss(throw: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        final, path = thrown(throw)
        off = final.position[ball] - jnp.asarray(TARGET)
        return off, (off, path.position[:, ball])

    slope, (off, path) = jax.jacfwd(miss, has_aux=True)(throw)
    unit = jnp.array([1.0, 1.0, 1.0, SPIN_UNIT, SPIN_UNIT, SPIN_UNIT])
    change = -unit * (jnp.linalg.pinv(slope * unit) @ off)
    return throw + change, jnp.linalg.norm(off), path


def main() -> None:
    throw, paths = jnp.asarray(GUESS), []
    for iteration in range(20):
        better, miss, path = improved(throw)
        paths.append(path)
        print(f"{iteration}  misses by {1e3 * miss:7.2f} mm")
        if miss < TOLERANCE:
            break
        throw = better
    velocity, spin = np.split(np.asarray(throw), 2)
    print(f"velocity {velocity.round(3)} m/s, spin {spin.round(2)} rad/s")
    draw(paths)


def draw(paths: list[jax.Array]) -> None:
    """Draw the first path and the last one, from above and from the side."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, (across, up) in zip(figure.subplots(1, 2), [(0, 1), (0, 2)], strict=True):
        for path, style, label in [(paths[0], "--", "guess"), (paths[-1], "-", "found")]:
            axes.plot(path[:, across], path[:, up], style, label=label)
        axes.plot(TARGET[across], TARGET[up], "*", markersize=14, label="target")
        axes.axvline(2, color="grey")
        axes.axhline(2 if up == 1 else 0, color="grey")
        axes.set(xlabel="x [m]", ylabel=f"{'xyz'[up]} [m]", aspect="equal")
    axes.legend(frameon=False)
    figure.savefig("bank_shot.png")


if __name__ == "__main__":
    main()
