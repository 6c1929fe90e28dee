"""Define motions with impacts whose derivatives are known.

They are known in closed form, by an accurate integration of the equations of motion between
impacts, or as the slope of the simulated values.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from experiments.impact_derivatives import corners
from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Sphere,
    State,
    Stop,
)
from jaxccp.dynamics.steppers.settings import Coordinates, ImpulseCarry
from jaxccp.model.topology import ImpactTimes

G, R = 9.81, 0.1


def end(
    model: Model, state: State, h: Array, span: Array | float, coordinates: Coordinates = "reduced"
) -> State:
    """Simulate and return the final state.

    Args:
        model: the model.
        state: initial state.
        h: length of a step [s]; it may be traced.
        span: duration [s].
        coordinates: coordinates of the stepper.
    """
    stepper = EulerImplicitLinearized(law="ncp", stop=Stop(1e-12), coordinates=coordinates)

    def step(_: int, carry: ImpulseCarry) -> ImpulseCarry:
        return stepper.advance(model, carry, h=h)[0]

    count = jnp.round(span / h).astype(int)
    return lax.fori_loop(0, count, step, stepper.init(model, state)).state


@dataclass(frozen=True)
class Motion:
    """A motion whose outcomes, simulated and exact, are functions of a few numbers."""

    cases: dict[str, tuple[float, ...]]
    """The numbers of each case, by its name in the table."""
    inputs: dict[str, int]
    """Names and indices of the numbers by which outcomes are differentiated."""
    outcomes: tuple[str, ...]
    simulated: Callable[[Array, Array], Array]
    """Function from the numbers and the length of a step to the outcomes."""
    exact: Callable[[np.ndarray], np.ndarray] | None = None
    """Function from the numbers to the exact outcomes. With None they are unknown, and derivatives
    are compared with the slope of the simulated values."""
    range: float = 0.0
    """Half-width of an interval of the input. If it is not 0, the mean of the derivatives over the
    interval is compared with the slope between its ends."""


def dropped() -> Motion:
    """Return a ball dropped without spin at some horizontal speed.

    Slip ends in the impact; the upward velocity after it is e times the speed of approach. Among
    the numbers, ``lead`` is how many steps the velocities precede the poses; with a half, as in the
    scheme, the flight is exact. The time of impact of the simulation is the time at which the final
    flight, continued backwards, leaves the ground.
    """
    builder = ModelBuilder(gravity=(0, 0, -G))
    surface = Material(friction=0.3, restitution=1.0)
    builder.add_shape(0, Plane(), material=surface)
    builder.add_solid(Sphere(R), 1.0, surface, position=(0, 0, 1))
    model, state = builder.build(max_contacts=1)

    def simulated(numbers: Array, h: Array) -> Array:
        height, speed, e, span, lead = numbers
        bouncy = replace(model, shapes=replace(model.shapes, restitution=jnp.full(2, e)))
        start = replace(
            state,
            position=state.position.at[1, 2].set(height),
            velocity=state.velocity.at[1].set(jnp.stack([speed, 0.0 * h, lead * h * G])),
        )
        after = end(bouncy, start, h, lax.stop_gradient(span))
        (x, _, z), v = after.position[1], after.velocity[1]
        up = v[2] - lead * h * G
        flown = (jnp.sqrt(up**2 + 2 * G * (z - R)) - up) / G
        return jnp.stack([z, up, x, v[0], span - flown])

    def exact(numbers: np.ndarray) -> np.ndarray:
        height, speed, e, span, _ = numbers
        falls = np.sqrt(2 * (height - R) / G)
        left, leaves = span - falls, e * G * falls
        z = R + leaves * left - 0.5 * G * left**2
        slow = 5 / 7 * speed
        return np.array([z, leaves - G * left, speed * falls + slow * left, slow, falls])

    cases = {
        "ball from 1.0 m, e = 1": (1.0, 0.0, 1.0, 1.0, 0.0),
        "ball from 1.0 m, e = 0.8": (1.0, 0.0, 0.8, 1.0, 0.0),
        "ball from 0.5 m, e = 0.8, 4 m/s across": (0.5, 4.0, 0.8, 0.6, 0.0),
        FLIGHT: (0.5, 4.0, 0.8, 0.6, 0.5),
    }
    return Motion(cases, {"h₀": 0}, ("z", "v_z", "x", "v_x", "t"), simulated, exact)


FLIGHT = "the same, velocities half a step before poses"


def balls(places: list[tuple[float, float]], cases: dict, span: float) -> Motion:
    """Return balls without friction and gravity, e = 1, each of which strikes the next.

    The first ball starts at (x, −y) with a speed along x; the outcome is the final velocity of the
    last ball.

    Args:
        places: initial positions (x, y) of the balls [m].
        cases: y [m] and speed [m/s] of the first ball, by name.
        span: duration [s].
    """
    builder = ModelBuilder(gravity=(0, 0, 0))
    smooth = Material(friction=0.0, restitution=1.0)
    for x, y in places:
        builder.add_solid(Sphere(R), 1.0, smooth, position=(x, y, 0))
    model, state = builder.build(max_contacts=len(places) - 1)

    def simulated(numbers: Array, h: Array) -> Array:
        y, v = numbers
        start = replace(
            state,
            position=state.position.at[1, 1].set(-y),
            velocity=state.velocity.at[1, 0].set(v),
        )
        return end(model, start, h, span).velocity[-1, :2]

    def exact(numbers: np.ndarray) -> np.ndarray:
        at, velocity = np.array([places[0][0], -numbers[0]]), np.array([numbers[1], 0.0])
        for target in np.array(places[1:]):
            offset, square = target - at, velocity @ velocity
            nearest = offset @ velocity / square
            chord = np.sqrt((4 * R**2 - offset @ offset + nearest**2 * square) / square)
            normal = (offset - (nearest - chord) * velocity) / (2 * R)
            at, velocity = target, (velocity @ normal) * normal
        return velocity

    return Motion(cases, {"y": 0, "v": 1}, ("v_x", "v_y"), simulated, exact)


def struck() -> Motion:
    """Return a ball that strikes another, off centre by 2R sin φ."""
    cases = {f"ball on ball, sin φ = {s}": (2 * R * s, 3.0) for s in (0.0, 0.5, 0.8)}
    return balls([(-0.5, 0), (0, 0)], cases, 0.4)


def three() -> Motion:
    """Return a ball that strikes a second, which strikes a third."""
    return balls([(0, 0), (0.5, 0.02), (1, 0.1)], {"three balls": (0.0, 3.0)}, 0.6)


def cube(name: str, e: float, spin: tuple[float, float, float], times: ImpactTimes) -> Motion:
    """Return a tilted cube that falls on a corner, with friction.

    Without restitution it tumbles on over other corners, and an integration from event to event
    gives the exact outcome.

    Args:
        name: name of the case.
        e: coefficient of restitution.
        spin: initial angular velocity [rad/s].
        times: which impacts are timed.
    """
    axis, span = np.array([0.2, 1, 0]) / np.linalg.norm([0.2, 1, 0]), 0.075
    orientation, velocity = (np.cos(0.25), *(np.sin(0.25) * axis)), (1, 0, -1)
    builder = ModelBuilder(impact_times=times)
    surface = Material(friction=corners.FRICTION, restitution=e)
    builder.add_shape(0, Plane(), material=surface)
    builder.add_solid(
        Box((corners.HALF, corners.HALF, corners.HALF)),
        corners.MASS,
        surface,
        position=(0, 0, 0.2),
        quaternion=orientation,
        velocity=velocity,
        angular_velocity=spin,
    )
    model, state = builder.build(max_contacts=8)

    def simulated(numbers: Array, h: Array) -> Array:
        start = replace(state, position=state.position.at[1, 2].set(numbers[0]))
        return end(model, start, h, span).angular_velocity[1]

    def exact(numbers: np.ndarray) -> np.ndarray:
        start = np.array([0, 0, numbers[0], *orientation, *velocity, *spin])
        return corners.lands(start, span)[10:]

    outcomes = ("ω_x", "ω_y", "ω_z")
    reference = None if e else exact
    return Motion({name: (0.2,)}, {"h₀": 0}, outcomes, simulated, reference, range=0.004)
