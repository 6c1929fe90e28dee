"""Test membranes and nets of springs: stresses and forces in closed form, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, ModelBuilder, Stop, rollout
from jaxccp.flexible.membrane import membrane
from jaxccp.flexible.springs import spring_net

YOUNG, POISSON, THICKNESS = 3e5, 0.3, 0.002
STILL = jnp.zeros(3)


def sheet(**changed):
    """Return a square of four unequal triangles about a point, in a skew plane."""
    flat = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.4, 0.55]])
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    numbers = {
        "nodes": 0.2 * flat @ axes[:2],
        "triangles": np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]),
        "mass": np.full(5, 0.01),
        "young": YOUNG,
        "poisson": POISSON,
        "thickness": THICKNESS,
    }
    return membrane(**numbers | changed), axes


def test_a_sheet_in_even_strain():
    """Inner nodes are free of force; an edge has the force of plane stress times its section."""
    family, axes = sheet()
    a, b = 1.1, 1.05
    stretch = np.diag([a, b, 1.0])
    x = np.asarray(family.position) @ (axes.T @ stretch @ axes)
    q = jnp.asarray(x.reshape(-1)[family.layout.free])
    force = np.asarray(family.rates(jax.jit(family.force)(q, STILL)))
    np.testing.assert_allclose(force[4], 0.0, atol=1e-13 * np.abs(force).max())
    strain = 0.5 * (np.array([a, b]) ** 2 - 1)
    second = YOUNG / (1 - POISSON**2) * (strain + POISSON * strain[::-1])
    edge_forces = 0.2 * THICKNESS * np.array([a, b]) * second
    np.testing.assert_allclose((force[[0, 3]] @ axes.T).sum(axis=0)[0], edge_forces[0], rtol=1e-12)
    np.testing.assert_allclose((force[[0, 1]] @ axes.T).sum(axis=0)[1], edge_forces[1], rtol=1e-12)
    energy = 0.5 * THICKNESS * 0.04 * strain @ second
    np.testing.assert_allclose(family.elastic_energy(q), energy, rtol=1e-12)
    assert not np.asarray(family.inverted(q)).any()


def test_a_mass_on_a_spring_and_a_dashpot():
    nodes = np.array([[0.0, 0, 0], [0.3, 0, 0]])
    numbers = np.array([[0, 1]]), np.array([1.0, 2.0]), 500.0, 3.0
    family = spring_net(nodes, *numbers, fixed=(0,))
    q, v = jnp.array([0.0, 0.0, -0.4]), jnp.array([0.7, 0.0, 0.2])
    np.testing.assert_allclose(family.force(q, STILL), [0, 0, 50.0], atol=1e-12)
    np.testing.assert_allclose(family.dissipated_power(q, v), 3.0 * 0.2**2, rtol=1e-12)
    np.testing.assert_allclose(family.inertia(), 2.0 * np.eye(3))


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_they_hang_in_both_precisions(precision):
    with jax.enable_x64(precision is np.float64):
        builder = ModelBuilder()
        nodes = np.linspace([0.0, 0, 0], [0, 0, -0.4], 5)
        pairs = np.arange(4)[:, None] + np.arange(2)
        builder.add_family(spring_net(nodes, pairs, np.full(5, 0.1), 400.0, 2.0, fixed=(0,)))
        family, _axes = sheet(damping=0.05, fixed=(0, 1))
        builder.add_family(family)
        model, state = builder.build()
        stepper = EulerImplicitLinearized(0.01, stop=Stop(1e-5))
        final, _ = jax.jit(lambda state: rollout(model, state, stepper, 400))(state)
        assert final.position.dtype == precision
        low = final.position[model.topology.body("family0.4"), 2]
        # Springs carry 4, 3, 2 and 1 masses.
        np.testing.assert_allclose(low, -0.4 - 0.1 * 9.81 * 10 / 400, rtol=1e-4)
        assert np.isfinite(final.velocity).all()


def test_fixed_nodes_may_be_a_mask():
    mask = np.array([False, True, False, False, True])
    masked, indexed = (sheet(fixed=fixed)[0].layout.fixed for fixed in (mask, (1, 4)))
    np.testing.assert_array_equal(masked, indexed)
    assert masked.sum() == 6


BAD = {
    "no area": ({"triangles": np.array([[0, 1, 1], [2, 3, 4]])}, "element 0.*has no area"),
    "no mass": ({"mass": np.zeros(5)}, "masses of nodes .* must be positive"),
    "alone": ({"triangles": np.array([[0, 1, 2]])}, "node 3 is in no element"),
    "incompressible": ({"poisson": 1.0}, "Poisson's ratio must be"),
    "thin": ({"thickness": 0.0}, "thickness .* must be positive"),
    "no node": ({"fixed": (-1,)}, "fixed: there is no node -1, but 5"),
    "negative": ({"damping": -1.0}, "damping .* must not be negative"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_sheet_is_refused(case):
    changed, message = BAD[case]
    with pytest.raises(ValueError, match=f"membrane: .*{message}"):
        sheet(**changed)


def test_what_is_no_net_is_refused():
    nodes, mass = np.zeros((2, 3)), np.ones(2)
    with pytest.raises(ValueError, match=r"edge 0 \(nodes \[0, 1\]\) has no length"):
        spring_net(nodes, np.array([[0, 1]]), mass, 1.0)
    nodes[1] = 1.0
    with pytest.raises(ValueError, match=r"stiffness .* must be positive"):
        spring_net(nodes, np.array([[0, 1]]), mass, 0.0)
    with pytest.raises(ValueError, match=r"damping .* must not be negative"):
        spring_net(nodes, np.array([[0, 1]]), mass, 1.0, -1.0)
