"""Test points of flexible bodies between their nodes: places, motion and contacts."""

from dataclasses import replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from jaxccp import (
    Capsule,
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Sphere,
    State,
    Stop,
    box_of_tetrahedra,
    rollout,
)
from jaxccp.collision.detect import detect
from jaxccp.flexible.nodal import NodalFamily
from jaxccp.flexible.solids.tetrahedra import Tetrahedra
from tests.flexible.families import only

STOP = Stop(1e-11)
HALF = 0.025
NODES = np.array([[0, 0, 0], [0.3, 0, 0], [0.5, 0.2, 0.1], [0.5, 0.6, 0.1]], float)


def cable(between: int) -> tuple[NodalFamily, Model, State]:
    builder = ModelBuilder()
    builder.add_cable(NODES, 0.01, 1e6, 1000.0, clamped=(0,), pinned=(2,), between=between)
    model, state = builder.build()
    return only(model), model, state


def test_points_of_a_cable_are_on_the_cubics_of_its_elements() -> None:
    family, _, state = cable(between=2)
    q = state.families[0].q
    random = np.random.default_rng(0)
    q = q + 0.05 * random.standard_normal(q.shape)
    x = np.asarray(family.coordinates(q)).reshape(-1, 2, 3)
    at = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(NODES, axis=0), axis=1))])
    curve = CubicHermiteSpline(at, x[:, 0], x[:, 1])
    expected = [a + (b - a) * part for a, b in pairwise(at) for part in (1 / 3, 2 / 3)]
    position, orientation = family.poses(q)
    np.testing.assert_allclose(position[: len(NODES)], x[:, 0], rtol=1e-14)
    np.testing.assert_allclose(position[len(NODES) :], curve(np.array(expected)), atol=1e-14)
    np.testing.assert_array_equal(orientation[len(NODES) :], np.tile([1.0, 0, 0, 0], (6, 1)))


@pytest.mark.parametrize("between", [0, 3])
def test_velocities_of_points_are_the_rates_of_their_positions(between: int) -> None:
    family, _, state = cable(between)
    q = state.families[0].q + 0.02 * np.random.default_rng(1).standard_normal(
        state.families[0].q.shape
    )
    v = jnp.asarray(np.random.default_rng(2).standard_normal(q.shape))
    _, rate = jax.jvp(lambda q: family.poses(q)[0], (q,), (v,))
    twist = family.map(q, np.arange(family.frames) + 1, family.frames + 1).twists(v)
    np.testing.assert_allclose(twist[1:, :3], rate, atol=1e-14)
    np.testing.assert_array_equal(twist[1 + len(NODES) :, 3:], 0.0)
    columns = family.jacobian(q)
    np.testing.assert_allclose(jnp.einsum("fvi,v->fi", columns, v), twist[1:], atol=1e-13)


def cable_above_thin_peg(between: int) -> tuple[Model, State, list[int]]:
    """Return a cable of four long elements above a peg in the middle of the second one."""
    builder = ModelBuilder()
    builder.add_shape(
        builder.add_fixed((-0.1, 0, 0)), Capsule(0.01, 0.1), quaternion=(0.5**0.5, 0.5**0.5, 0, 0)
    )
    nodes = np.linspace([-0.4, 0, 0.03], [0.4, 0, 0.03], 5)
    bodies = builder.add_cable(nodes, 0.005, 2e6, 1100.0, 0.1, between=between)
    for body in bodies:
        builder.add_shape(body, Sphere(0.005), material=Material(0.6))
    return *builder.build(max_contacts=6), bodies


def fallen(model: Model, state: State, steps: int) -> tuple[State, float]:
    """Return all states of a rollout, and the largest penetration [m], -1 without contact.

    Args:
        model: the model.
        state: state at the start.
        steps: number of steps.
    """
    stepper = EulerImplicitLinearized(1e-3, stop=STOP)
    _, path = rollout(model, state, stepper, steps)
    assert not np.asarray(path.report.solver.status).any()
    if not np.asarray(path.report.contacts).any():
        return path.state, -1.0
    contacts = jax.jit(jax.vmap(lambda state: detect(model, state)))(path.state)
    return path.state, -float(np.asarray(contacts.gap)[np.asarray(contacts.live)].min())


def test_a_peg_thinner_than_an_element_holds_the_cable_by_its_points() -> None:
    model, state, bodies = cable_above_thin_peg(between=0)
    path, deepest = fallen(model, state, 200)
    assert deepest < 0
    assert path.position[-1, bodies, 2].max() < -0.1

    model, state, bodies = cable_above_thin_peg(between=3)
    path, deepest = fallen(model, state, 200)
    assert 0 <= deepest < 1e-6
    last = np.asarray(path.position)[-1, bodies]
    assert last[np.abs(last[:, 0] + 0.1) < 0.03, 2].max() > 0.01


def block_on_a_knob(edges: bool) -> tuple[Model, State]:
    """Return a block of one cell above a knob that is under the middle of its lower face."""
    builder = ModelBuilder()
    builder.add_shape(builder.add_fixed((0, 0, -0.004)), Sphere(0.004))
    builder.add_soft_solid(
        *box_of_tetrahedra((HALF, HALF, HALF), (1, 1, 1)),
        young=2e4,
        poisson=0.3,
        density=1000.0,
        damping=0.01,
        position=(0, 0, HALF + 0.003),
        radius=1e-3,
        edges=edges,
    )
    return builder.build(max_contacts=4)


def test_edges_of_a_solid_meet_what_its_nodes_pass() -> None:
    path, deepest = fallen(*block_on_a_knob(edges=False), 60)
    assert deepest < 0
    fell = path.position[-1, 2:10, 2].mean()
    path, deepest = fallen(*block_on_a_knob(edges=True), 60)
    assert 0 <= deepest < 1e-6
    assert path.position[-1, 2:10, 2].mean() > fell + 0.005


def test_a_blow_between_nodes_keeps_momentum() -> None:
    """A ball that hits the middle of an edge of a floating block keeps their momentum."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    ball = builder.add_solid(Sphere(0.01), 0.02, position=(0, 0, -0.0135), velocity=(0.05, 0, 0.5))
    builder.add_soft_solid(
        *box_of_tetrahedra((HALF, HALF, HALF), (1, 1, 1)),
        young=2e4,
        poisson=0.3,
        density=1000.0,
        position=(0, 0, HALF + 0.001),
        radius=1e-3,
        edges=True,
    )
    model, state = builder.build(max_contacts=4)
    family = only(model)
    path, _ = fallen(model, state, 30)

    def momentum(velocity: np.ndarray, v: np.ndarray) -> np.ndarray:
        of_block = np.asarray(family.apply_mass(jnp.asarray(v))).reshape(-1, 3).sum(axis=0)
        return 0.02 * velocity + of_block

    before = momentum(np.asarray(state.velocity[ball]), np.asarray(state.families[0].v))
    after = momentum(np.asarray(path.velocity[-1, ball]), np.asarray(path.families[0].v[-1]))
    assert path.velocity[-1, ball, 2] < 0.3, "the ball was to hit the block"
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_derivative_by_stiffness_through_a_point_between_nodes() -> None:
    model, state = block_on_a_knob(edges=True)

    def height(scale: float) -> jax.Array:
        family = only(model)
        assert isinstance(family.elements, Tetrahedra)
        elements = replace(family.elements, young=scale * family.elements.young)
        stiffer = replace(model, families=(replace(family, elements=elements),))
        stepper = EulerImplicitLinearized(1e-3, stop=Stop(1e-12))
        end, _ = rollout(stiffer, state, stepper, 45)
        return end.position[2:10, 2].mean()

    run = jax.jit(jax.value_and_grad(height))
    _, slope = run(1.0)
    across = (run(1 + 1e-5)[0] - run(1 - 1e-5)[0]) / 2e-5
    assert abs(across) > 1e-6
    np.testing.assert_allclose(slope, across, rtol=1e-5)


def test_a_number_of_points_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="between must be a number of points, not -1"):
        cable(between=-1)
