"""Test soft solids without contact: patch test, tension, momentum, energy, inversion."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.flexible.band_root import BandRoot
from jaxccp.flexible.solids import SoftSolid, box_of_tetrahedra, soft_solid
from jaxccp.flexible.solids.laws import LAWS
from jaxccp.flexible.solids.mesh import boundary, volumes
from tests.flexible.solids.published import stress

HALF, CELLS = np.array([0.1, 0.05, 0.05]), (4, 2, 2)
YOUNG, POISSON, DENSITY = 2e4, 0.3, 900.0
GRAVITY = jnp.array([0.0, 0.0, -9.81])


def block(law: str = "neo-hookean", cells=CELLS, **options) -> SoftSolid:
    """Return a block that is irregular inside; rigid motions and linear fields must not show it."""
    points, tetrahedra = box_of_tetrahedra(HALF, cells)
    inner = np.all(np.abs(points) < 0.99 * HALF, axis=1)
    points[inner] += 0.1 * HALF / cells * np.random.default_rng(0).normal(size=(inner.sum(), 3))
    return soft_solid(points, tetrahedra, YOUNG, POISSON, DENSITY, law=law, **options)


@pytest.fixture(params=LAWS)
def law(request):
    return request.param


def packed(solid: SoftSolid, x: np.ndarray) -> jax.Array:
    """Return the free coordinates, or velocities, of positions or velocities of all nodes [n 3]."""
    return jnp.asarray(x.reshape(-1)[solid.layout.free])


def surface(solid: SoftSolid) -> tuple[np.ndarray, np.ndarray]:
    """Return the triangles of the surface, and their areas times outward normals."""
    rest = np.asarray(solid.position)
    faces = boundary("block", solid.layout.rows)
    sides = rest[faces[:, 1:]] - rest[faces[:, :1]]
    return faces, 0.5 * np.cross(sides[:, 0], sides[:, 1])


def test_patch_test(law):
    """A linear field of displacement has the same stress P everywhere.

    No force acts on inner nodes, and on each triangle of the surface −P n A, a third of it on each
    corner.
    """
    solid = block(law)
    gradient = np.eye(3) + 0.3 * np.random.default_rng(1).normal(size=(3, 3))
    assert np.linalg.det(gradient) > 0
    rest = np.asarray(solid.position)
    q = packed(solid, rest @ gradient.T + [1.0, 2.0, 3.0])
    force = np.asarray(solid.rates(jax.jit(solid.force)(q, jnp.zeros(3))))
    mu = 0.5 * YOUNG / (1 + POISSON)
    piola = stress(law, gradient, mu, 2 * mu * POISSON / (1 - 2 * POISSON))
    faces, areas = surface(solid)
    want = np.zeros_like(rest)
    np.add.at(want, faces, -(areas @ piola.T / 3)[:, None])
    inner = np.all(np.abs(rest) < 0.99 * HALF, axis=1)
    assert inner.sum() == 3 and not want[inner].any()
    np.testing.assert_allclose(force, want, atol=1e-13 * np.abs(want).max())


def test_a_bar_in_tension_stretches_by_hookes_law(law):
    """A bar on rollers with a load on its end stretches by u = F L/(E A), and by −ν u/L across."""
    solid = block(law)
    rest = np.asarray(solid.position)
    root, tip = (np.isclose(rest[:, 0], side) for side in (-HALF[0], HALF[0]))
    fixed = np.stack(
        [root, np.isclose(rest[:, 1], 0.0) & root, np.isclose(rest[:, 2], 0.0) & root], 1
    )
    faces, areas = surface(solid)
    ends = tip[faces].all(axis=1)
    np.testing.assert_allclose(areas[ends].sum(axis=0), [4 * HALF[1] * HALF[2], 0, 0], atol=1e-17)
    traction, load = 10.0, np.zeros_like(rest)
    np.add.at(load, faces[ends], (traction / 3 * areas[ends])[:, None])
    solid = replace(solid, load=jnp.asarray(load), layout=replace(solid.layout, fixed=fixed))
    q = solid.start().q
    away = jax.jit(lambda q: jnp.linalg.solve(solid.stiffness(q), solid.force(q, jnp.zeros(3))))(q)
    displacement = np.asarray(solid.rates(away))
    strain = traction / YOUNG
    np.testing.assert_allclose(
        displacement[:, 0], strain * (rest[:, 0] + HALF[0]), rtol=1e-10, atol=1e-15
    )
    np.testing.assert_allclose(displacement[:, 1:], -POISSON * strain * rest[:, 1:], atol=1e-15)


def test_a_cantilever_sags_as_a_beam_the_better_the_finer_it_is():
    """A cantilever of weight w per length sags by w L⁴/(8 E I) + w L²/(2 k G A).

    Linear tetrahedra are stiffer in bending, to second order in their size.
    """
    edge, length, young = 0.04, 0.2, 1e6
    gravity, h = jnp.array([0.0, 0.0, -0.1]), 1e4  # so long a step that M̂ is h² K
    weight, shear = DENSITY * 0.1 * edge**2, 5 / 6 * young / (2 * (1 + POISSON)) * edge**2
    beam = weight * length**4 / (8 * young * edge**4 / 12) + weight * length**2 / (2 * shear)
    errors = []
    for fine in (1, 2):
        half = np.array([length, edge, edge]) / 2
        points, cells = box_of_tetrahedra(half, (10 * fine, 2 * fine, 2 * fine))
        root, tip = (np.flatnonzero(np.isclose(points[:, 0], x)) for x in (-half[0], half[0]))
        solid = soft_solid(points, cells, young, POISSON, DENSITY, fixed=root)

        def static(solid: SoftSolid):
            q = solid.start().q
            root = solid.root(q, h)
            force = root.whiten(solid.force(q, gravity)[None])[0]
            return solid.rates(h * h * root.unwhiten(force))

        errors.append(1 + float(jax.jit(static)(solid)[tip, 2].mean()) / beam)
    assert 0 < errors[1] < 0.15 and 2.2 < errors[0] / errors[1] < 4.5


def test_a_free_step_conserves_momentum_and_little_energy_is_lost(law):
    """A strained block that spins and moves keeps momenta to rounding, energy to first order."""
    solid = block(law, velocity=(0.3, -0.2, 0.1))
    start = solid.start()
    x = np.asarray(solid.position)
    stretch = np.diag([1.1, 0.95, 1.02])
    spin = np.array([3.0, -4.0, 5.0])
    mass = np.asarray(solid.rates(jnp.diagonal(solid.inertia())))[:, :1]
    np.testing.assert_allclose(mass.sum(), DENSITY * 8 * HALF.prod(), rtol=1e-12)

    first = packed(solid, x @ stretch), start.v + packed(solid, np.cross(spin, x))

    @jax.jit
    def run(h, steps):
        def step(_, at):
            q, v = at
            root = solid.root(q, h)
            v = root.unwhiten(root.whiten(solid.momentum(q, v, jnp.zeros(3), h)[None])[0])
            return solid.advance(q, v, h), v

        q, v = jax.lax.fori_loop(0, steps, step, first)
        return (q, v), sum(solid.energy(q, v, jnp.zeros(3)))

    lost = []
    for h in (2e-4, 1e-4):
        steps, before, energies = round(0.02 / h), None, []
        for count in (0, 1, steps // 2, steps):
            (at, moving), energy = run(h, count)
            p = mass * np.asarray(solid.rates(moving))
            r = np.asarray(solid.coordinates(at))
            both = np.concatenate([p.sum(0), np.cross(r, p).sum(0)])
            before = both if before is None else before
            np.testing.assert_allclose(both, before, atol=1e-12)
            energies.append(float(energy))
        lost.append(energies[0] - energies[-1])
    elastic = float(solid.elastic_energy(first[0]))
    assert 0 < lost[1] < lost[0] < 0.25 * elastic
    assert 1.7 < lost[0] / lost[1] < 2.2


def test_a_banded_root_is_that_of_the_whole_matrix():
    """The banded root is the matrix's, also with fixed nodes, which have no velocities."""
    fixed = (0, 5, 17)
    solid = block(cells=(10, 2, 2), damping=0.01, fixed=fixed)
    assert solid.layout.tiles[0] > 3 and block(cells=(2, 2, 2)).layout.tiles[0] == 1
    q = solid.start().q + 0.002 * np.random.default_rng(2).normal(size=len(solid.start().q))
    root = jax.jit(lambda q: solid.root(q, 2e-3))(q)
    matrix = np.asarray(solid.mass_matrix(q, 2e-3))
    assert isinstance(root, BandRoot) and len(matrix) == 3 * (11 * 9 - len(fixed))
    rows = np.random.default_rng(3).normal(size=(4, len(q)))
    white = root.whiten(jnp.asarray(rows))
    want = rows @ np.linalg.solve(matrix, rows.T)
    np.testing.assert_allclose(white @ white.T, want, atol=1e-11 * np.abs(want).max())
    np.testing.assert_allclose(rows @ root.unwhiten(white[0]), want[0], rtol=1e-9)
    np.testing.assert_array_equal(root.whiten(jnp.zeros((0, len(q)))).shape, (0, len(q)))


@pytest.mark.parametrize("law", ["corotational", "neo-hookean"])
def test_an_inverted_element_is_told_and_recovers(law):
    """Elements that one node, pushed through the block, turned inside out are reported and recover.

    Saint-Venant and Kirchhoff's law does not distinguish these from others, so that they stay so.
    """
    solid = block(law, damping=0.02)
    x = np.array(solid.position)
    corner = np.argmax(x.sum(axis=1))
    x[corner] -= 0.06
    expected = volumes(x, solid.layout.rows) <= 0
    assert expected.any()
    start = packed(solid, x)
    np.testing.assert_array_equal(solid.inverted(start), expected)

    def step(at, _):
        q, v = at
        root = solid.root(q, 1e-3)
        v = root.unwhiten(root.whiten(solid.momentum(q, v, jnp.zeros(3), 1e-3)[None])[0])
        return (solid.advance(q, v, 1e-3), v), solid.inverted(q)

    end, inverted = jax.jit(
        lambda: jax.lax.scan(step, (start, jnp.zeros_like(start)), length=300)
    )()
    assert np.isfinite(end[0]).all()
    assert inverted[0].any() and not inverted[-1].any()
