"""Test points of shells between their nodes: places, motion and contacts."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Sphere,
    State,
    Stop,
    rollout,
)
from jaxccp.collision.detect import detect
from jaxccp.flexible.ancf.continuum import ContinuumElements
from jaxccp.flexible.nodal import NodalFamily
from tests.flexible.families import only

SIZE = (0.3, 0.2, 0.01)
POWERS = {
    "shell_3423": [(0, 0), (1, 0), (0, 1), (1, 1)],
    "shell_3833": [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 1), (1, 2)],
    "shell_3443": [(i, j) for i in range(4) for j in range(4) if i + j < 4 or i * j == 3],
}
"""Powers of x and y in the polynomials that any number of the elements interpolate exactly."""


def shell(element: str, between: int = 2) -> tuple[NodalFamily, State]:
    builder = ModelBuilder()
    builder.add_shell(SIZE, (2, 1), 1e6, 0.3, 1000.0, element=element, between=between)
    model, state = builder.build()
    return only(model), state


@pytest.mark.parametrize("element", POWERS)
def test_points_are_where_the_elements_are(element: str) -> None:
    """Points lie on a random polynomial, as the nodes and slopes do."""
    family, state = shell(element)
    flat, _ = family.poses(state.families[0].q)
    nodes, points = np.split(np.asarray(flat), [len(family.layout.frames)])
    steps = 6 if element == "shell_3833" else 3
    at = np.arange(2 * steps + 1), np.arange(steps + 1)
    lattice = np.stack(np.meshgrid(*at, indexing="ij"), axis=-1).reshape(-1, 2) / steps
    lattice = lattice * [SIZE[0] / 2, SIZE[1]]
    assert len(nodes) + len(points) == len(lattice)
    every = np.concatenate([nodes, points])
    order = np.lexsort(every[:, 1::-1].round(9).T)
    np.testing.assert_allclose(every[order], np.pad(lattice, ((0, 0), (0, 1))), atol=1e-15)

    random = np.random.default_rng(0)
    table = np.zeros((4, 4, 3))
    for power in POWERS[element]:
        table[power] = random.standard_normal(3)
    value = np.polynomial.polynomial.polyval2d

    def surface(x: np.ndarray, which: np.ndarray = table) -> np.ndarray:
        return value(10 * x[:, 0], 10 * x[:, 1], which).T

    x = random.standard_normal(family.position.shape)
    frames = family.layout.frames
    x[frames] = surface(nodes)
    if element == "shell_3443":
        for axis in range(2):
            slope = np.polynomial.polynomial.polyder(table, axis=axis)
            x[frames + 1 + axis] = 10 * surface(nodes, slope)
    position, orientation = family.poses(jnp.asarray(x.reshape(-1)[family.layout.free]))
    np.testing.assert_allclose(position[len(nodes) :], surface(points), atol=1e-12)
    np.testing.assert_array_equal(orientation[len(nodes) :, 0], 1.0)

    q = jnp.asarray(x.reshape(-1)[family.layout.free])
    v = jnp.asarray(random.standard_normal(q.shape))
    _, rate = jax.jvp(lambda q: family.poses(q)[0], (q,), (v,))
    move = family.map(q, np.arange(family.frames), family.frames)
    np.testing.assert_allclose(move.twists(v)[:, :3], rate, atol=1e-13)
    wrench = jnp.asarray(random.standard_normal((family.frames, 6)))
    power = jnp.sum(wrench * move.twists(v))
    np.testing.assert_allclose(move.pull(wrench) @ v, power, rtol=1e-12)


def ball_above_sheet(between: int, gravity: float, high: float, speed: float):
    """Return a ball above the middle of the first of two elements.

    Their far edges are pinned where there is gravity.

    Args:
        between: number of points between nodes.
        gravity: gravity, downwards [m/s²].
        high: height of the ball's centre [m].
        speed: speed of the ball, downwards [m/s].
    """
    builder = ModelBuilder(gravity=(0, 0, -gravity))
    edges = ("x0", "x1") if gravity else ()
    frames = builder.add_shell(
        (0.2, 0.1, 0.004),
        *((2, 1), 1e6, 0.3, 500.0, 0.02),
        pinned=edges,
        element="shell_3423",
        between=between,
    )
    for frame in frames:
        builder.add_shape(frame, Sphere(0.002), material=Material(0.5))
    place = (0.05, 0.05, high)
    ball = builder.add_solid(Sphere(0.03), 0.02, position=place, velocity=(0, 0, -speed))
    return *builder.build(max_contacts=5), ball


def fallen(model: Model, state: State, steps: int) -> tuple[State, float]:
    """Return all states of a rollout, and the largest penetration [m], -1 without contact.

    Args:
        model: the model.
        state: state at the start.
        steps: number of steps.
    """
    stepper = EulerImplicitLinearized(1e-3, stop=Stop(1e-9))
    _, path = rollout(model, state, stepper, steps)
    assert not np.asarray(path.report.solver.status).any()
    contacts = jax.jit(jax.vmap(lambda state: detect(model, state)))(path.state)
    live = np.asarray(contacts.live)
    return path.state, -float(np.asarray(contacts.gap)[live].min()) if live.any() else -1.0


def test_a_ball_rests_between_the_nodes_of_a_shell() -> None:
    model, state, ball = ball_above_sheet(between=0, gravity=9.81, high=0.022, speed=0.0)
    path, _ = fallen(model, state, 200)
    assert path.position[-1, ball, 2] < -0.1

    model, state, ball = ball_above_sheet(between=2, gravity=9.81, high=0.022, speed=0.0)
    path, deepest = fallen(model, state, 200)
    assert 0 <= deepest < 1e-6
    assert path.position[-1, ball, 2] > 0.01
    assert np.abs(path.velocity[-1, ball]).max() < 0.02


def test_a_blow_between_the_nodes_of_a_shell_keeps_momentum() -> None:
    model, state, ball = ball_above_sheet(between=1, gravity=0.0, high=0.033, speed=0.5)
    family = only(model)
    path, _ = fallen(model, state, 20)

    def momentum(velocity: np.ndarray, v: np.ndarray) -> np.ndarray:
        pull = family.rates(family.apply_mass(jnp.asarray(v)))
        return 0.02 * velocity + np.asarray(pull)[family.layout.positions].sum(axis=0)

    before = momentum(np.asarray(state.velocity[ball]), np.asarray(state.families[0].v))
    after = momentum(np.asarray(path.velocity[-1, ball]), np.asarray(path.families[0].v[-1]))
    assert path.velocity[-1, ball, 2] > -0.4, "the ball was to hit the shell"
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_derivative_by_stiffness_through_a_point_of_a_shell() -> None:
    model, state, ball = ball_above_sheet(between=1, gravity=9.81, high=0.033, speed=0.5)

    def height(scale: float) -> jax.Array:
        family = only(model)
        assert isinstance(family.elements, ContinuumElements)
        elements = replace(family.elements, moduli=scale * family.elements.moduli)
        stiffer = replace(model, families=(replace(family, elements=elements),))
        end, _ = rollout(stiffer, state, EulerImplicitLinearized(1e-3, stop=Stop(1e-12)), 25)
        return end.position[ball, 2]

    both = jax.jit(lambda scale: jax.jvp(height, (scale,), (1.0,)))
    across = (both(1 + 1e-5)[0] - both(1 - 1e-5)[0]) / 2e-5
    assert abs(across) > 1e-6
    np.testing.assert_allclose(both(1.0)[1], across, rtol=1e-5)


def test_a_number_of_points_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="shell 'shell0': between must be a number of points"):
        shell("shell_3423", between=-1)


def test_a_whole_number_of_points_may_be_a_float() -> None:
    """A shell and a cable have as many bodies with 2.0 points between nodes as with 2."""
    counts = []
    for between in (2, 2.0):
        builder = ModelBuilder()
        builder.add_shell(SIZE, (2, 1), 1e6, 0.3, 1000.0, element="shell_3423", between=between)  # type: ignore[arg-type]
        builder.add_cable([(0, 0, 0), (1, 0, 0), (2, 0, 0)], 0.01, 1e6, 1000.0, between=between)  # type: ignore[arg-type]
        counts.append(len(builder.build()[0].topology.bodies))
    assert counts[0] == counts[1]
