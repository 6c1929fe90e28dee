"""Test a body of elements as a family: masses, forces, frames, and fixed coordinates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.flexible import Layout, NodalFamily
from jaxccp.flexible.ancf import CableElements
from jaxccp.math import quaternion
from jaxccp.model import Family

LENGTH, AREA, MOMENT, YOUNG, DENSITY, RETARDATION = 0.4, 2e-4, 3e-9, 5e6, 900.0, 0.02
GRAVITY = jnp.array([1.0, -2.0, -9.0])


def cable(count: int = 2, clamped: bool = True) -> NodalFamily:
    """Return a cable along a skew line, its first node clamped."""
    axis = np.array([2.0, -1.0, 2.0]) / 3
    nodes = np.arange(count + 1)
    rows = 2 * nodes[:-1, None] + np.arange(4)
    fixed = np.zeros((2 * count + 2, 3), bool)
    fixed[:2] = clamped
    position = np.zeros((2 * count + 2, 3))
    position[::2] = nodes[:, None] * LENGTH / count * axis
    position[1::2] = axis
    layout = Layout(rows, fixed, np.arange(len(fixed)) % 2 == 0, 2 * nodes, ((0, 2 * nodes + 1),))
    numbers = map(jnp.asarray, (AREA, MOMENT, YOUNG, DENSITY, RETARDATION))
    elements = CableElements(jnp.full(count, LENGTH / count), *numbers)
    start = jnp.asarray(position)
    return NodalFamily(elements, start, jnp.zeros_like(start), jnp.zeros_like(start), layout)


@pytest.fixture(scope="module")
def deformed():
    """Return a cable that is bent and stretched, with coordinates and velocities."""
    family = cable()
    displacement, velocity = jax.random.normal(jax.random.key(0), (2, len(family.start().q)))
    return family, family.start().q + 0.03 * displacement, velocity


def test_forces_are_the_slopes_of_energies(deformed):
    family, q, v = deformed

    @jax.jit
    def by_family(q):
        (kinetic, _), force = family.energy(q, v, GRAVITY), family.force(q, GRAVITY)
        return kinetic, force, family.stiffness(q), 0.5 * v @ family.inertia() @ v

    @jax.jit
    def by_slopes(q):
        potential = jax.grad(lambda at: family.energy(at, v, GRAVITY)[1])(q)
        return -potential, jax.jacfwd(lambda at: -family.force(at, GRAVITY))(q)

    kinetic, force, stiffness, by_mass = by_family(q)
    expected, expected_stiffness = by_slopes(q)
    np.testing.assert_allclose(force, expected, atol=1e-9)
    np.testing.assert_allclose(
        stiffness, expected_stiffness, atol=1e-9 * np.abs(expected_stiffness).max()
    )
    np.testing.assert_allclose(by_mass, kinetic, rtol=1e-12)


def test_a_step_loses_what_it_dissipates_and_conserves_the_rest(deformed):
    """The energy of the free motion changes at minus the dissipated power."""
    family, q, v = deformed
    h = 1e-9

    @jax.jit
    def losses(q):
        matrix = family.mass_matrix(q, h)
        after = jnp.linalg.solve(matrix, family.momentum(q, v, GRAVITY, h))
        before = sum(family.energy(q, v, GRAVITY))
        lost = before - sum(family.energy(family.advance(q, after, h), after, GRAVITY))
        return family.dissipated_power(q, v), lost

    power, lost = losses(q)
    assert power > 1.0
    np.testing.assert_allclose(lost / h, power, rtol=1e-3)


def test_mass_and_weight_are_those_of_the_rod():
    family = cable(clamped=False)
    mass = DENSITY * AREA * LENGTH
    inertia, force = jax.jit(lambda q: (family.inertia(), family.force(q, GRAVITY)))(
        family.start().q
    )
    still = jnp.zeros((6, 3)).at[::2].set(jnp.array([0.3, 0.2, 0.1])).reshape(-1)
    np.testing.assert_allclose(still @ inertia @ still, mass * 0.14, rtol=1e-12)
    np.testing.assert_allclose(still @ force, mass * (0.3 - 0.4 - 0.9))
    # A rod about its end has m L²/3.
    spin = jnp.cross(jnp.array([1.0, 2.0, 0.0]) / np.sqrt(5), family.position).reshape(-1)
    np.testing.assert_allclose(spin @ inertia @ spin, mass * LENGTH**2 / 3, rtol=1e-12)


def test_a_column_that_buckles_within_a_step_keeps_a_definite_mass():
    family = cable()
    q = family.start().q * 0.7

    @jax.jit
    def matrices(h):
        viscous = family.mass_matrix(q, 1e-9) - family.inertia()
        plain = family.inertia() + h * viscous / 1e-9 + h * h * family.stiffness(q)
        return family.mass_matrix(q, h), plain

    for h, exact in ((1e-4, True), (0.3, False)):
        matrix, plain = jax.device_get(matrices(h))
        assert np.linalg.eigvalsh(matrix)[0] > 0
        assert np.allclose(matrix, plain, rtol=1e-4, atol=1e-5 * np.abs(plain).max()) == exact


def test_frames_turn_with_their_slopes(deformed):
    """Twists agree with finite differences of the poses, without spin about the gradient."""
    family, q, v = deformed
    step, frames = 1e-6, np.array([4, 1, 3])
    twists = jax.jit(lambda q: family.map(q, frames, 6).twists(v))(q)
    np.testing.assert_array_equal(twists[np.array([0, 2, 5])], 0.0)

    @jax.jit
    def placed(q):
        place, orientation = family.poses(q)
        return place, quaternion.to_matrix(orientation)[:, :, 0]

    (a, axis_a), (b, axis_b) = placed(q - step * v), placed(q + step * v)
    np.testing.assert_allclose(twists[frames, :3], (b - a) / (2 * step), atol=1e-8)
    _, axis = placed(q)
    spin = np.cross(axis, (axis_b - axis_a) / (2 * step))
    np.testing.assert_allclose(twists[frames, 3:], spin, atol=1e-7)


def test_rows_and_wrenches_on_frames_are_those_of_the_dense_jacobian(deformed):
    family, q, v = deformed
    frames, bodies = np.array([4, 1, 3]), 6
    rows, wrench = jax.random.normal(jax.random.key(1), (2, 4, 2, 3, 6))[0], jnp.ones((6, 6))
    pairs = np.array([[0, 4], [1, 3], [3, 5], [4, 1]])

    @jax.jit
    def both(q):
        maps = family.map(q, frames, bodies), Family.map(family, q, frames, bodies)
        return [(m.project_rows(rows, pairs), m.pull(wrench), m.twists(v)) for m in maps]

    for sparse, dense in zip(*both(q), strict=True):
        np.testing.assert_allclose(sparse, dense, atol=1e-12)


def test_an_inverted_element_is_told(deformed):
    family, q, _v = deformed
    assert not family.inverted(q).any()
    assert family.inverted(q.at[0].set(jnp.nan)).any()


@pytest.mark.parametrize("count", [2, 9])
def test_the_root_is_that_of_the_mass_matrix(count):
    """The root and its derivatives are the dense ones', as one tile and as a band of several."""
    family = cable(count)
    q = family.start().q * 1.02
    rows = jax.random.normal(jax.random.key(2), (3, len(q)))
    h = 2e-3

    def band(q):
        root = family.root(q, h)
        return root.whiten(rows), jax.vmap(root.unwhiten)(root.whiten(rows))

    white, solved = jax.jit(band)(q)
    tiles = jax.eval_shape(lambda q: family.root(q, h).inverse, q).shape[0]
    assert tiles == (1 if count == 2 else 5)

    def dense(q):
        return jnp.linalg.solve(family.mass_matrix(q, h), rows.T).T

    expected = jax.jit(dense)(q)
    np.testing.assert_allclose(solved, expected, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(white @ white.T, rows @ expected.T, rtol=1e-9)
    slope = jax.jit(jax.jacfwd(lambda at: band(at)[1]))(q)
    plain = jax.jit(jax.jacfwd(dense))(q)
    np.testing.assert_allclose(slope, plain, atol=1e-8 * np.abs(plain).max())
