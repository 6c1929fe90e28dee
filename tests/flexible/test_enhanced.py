"""Test elements with assumed and enhanced strains against mechanics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.flexible.ancf import SHAPES, box
from jaxccp.flexible.ancf.continuum import ContinuumElements
from jaxccp.flexible.elements import elastic_forces, energies
from jaxccp.flexible.moduli import isotropic
from jaxccp.math import quaternion

ENHANCED = [name for name, shape in SHAPES.items() if shape.enhanced]
YOUNG, POISSON = 2e6, 0.3
MODULI = isotropic(YOUNG, POISSON)[None]


def crooked(name: str) -> ContinuumElements:
    """Return one element whose reference is no box."""
    shape = SHAPES[name]
    places = np.array(shape.nodes, float)
    displaced = 0.5 * places + 0.08 * np.sin(3 * np.arange(places.size).reshape(places.shape))
    reference = np.zeros((shape.count, 3))
    reference[:: len(shape.derivatives)] = displaced
    reference[shape.orders[:, 2] == 1] = [0.1, -0.1, 1.0]
    numbers = jnp.ones(()), jnp.zeros(())
    return ContinuumElements(
        jnp.asarray(reference)[None], jnp.ones((1, 3)), MODULI, *numbers, shape
    )


@pytest.mark.parametrize("name", ENHANCED)
def test_a_linear_field_stores_what_hookes_law_says(name: str) -> None:
    """A crooked element passes the patch test at Green's strains of any size, and at a rotation.

    Enhanced strains do no work against a stress that is the same everywhere.
    """
    elements = crooked(name)
    points = elements.points()
    gradient = jnp.eye(3) + 0.1 * jax.random.normal(jax.random.key(0), (3, 3))
    strain = 0.5 * (gradient.T @ gradient - jnp.eye(3))
    shear, lame = YOUNG / 2.6, YOUNG * POISSON / (1.3 * 0.4)
    density = shear * jnp.sum(strain**2) + 0.5 * lame * jnp.trace(strain) ** 2
    stored = jax.jit(energies)(points, elements.reference @ gradient.T)[0]
    np.testing.assert_allclose(stored, density * jnp.sum(elements.volumes()), rtol=1e-10)
    rotation = quaternion.to_matrix(quaternion.normalize(jnp.array([0.3, 0.5, -0.6, 0.2])))
    assert energies(points, elements.reference @ rotation.T)[0] < 1e-20 * stored


@pytest.mark.parametrize("name", ENHANCED)
def test_forces_and_stiffness_are_slopes_of_the_energy(name: str) -> None:
    """Forces and stiffness of a strained element agree with differences of energy and forces."""
    elements = crooked(name)
    points = elements.points()
    strain, direction = jax.random.normal(jax.random.key(1), (2, *elements.reference.shape))
    x, step = elements.reference + 0.05 * strain, 1e-6
    force = jax.jit(lambda x: elastic_forces(points, x))
    ahead, behind = x + step * direction, x - step * direction
    work = (energies(points, behind) - energies(points, ahead)) / (2 * step)
    np.testing.assert_allclose(jnp.sum(force(x) * direction), work[0], rtol=1e-7)
    stiffness = points.law.at(x[:, None], "stiffness")[0, 0] * points.weights[0, 0]
    expected = (force(behind) - force(ahead))[0] / (2 * step)
    product = jnp.einsum("kcld,ld->kc", stiffness, direction[0])
    np.testing.assert_allclose(product, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("name", ENHANCED)
def test_thin_cantilevers_bend_as_beams_do(name: str) -> None:
    """A cantilever bends by F L³ / (3 E I) within 2 % at a fiftieth of the elements' length thick.

    Without the enhanced strains bricks are four hundred times too stiff.
    """
    length, width, thick, force = 1.0, 0.1, 0.002, 1e-3
    made = box(
        SHAPES[name],
        jnp.array([length, width, thick]),
        (10, 1, 1),
        isotropic(YOUNG, 0.0)[None],
        1.0,
        clamped=("x0",),
    )
    tip = made.layout.frames[made.position[made.layout.frames, 0] > 0.999 * length]
    load = jnp.zeros_like(made.position).at[tip, 2].set(force / len(tip))
    q = made.start().q
    stiffness, flat = jax.jit(made.stiffness)(q), load.reshape(-1)[made.layout.free]
    deflection = made.rates(jnp.linalg.solve(stiffness, flat))[tip, 2]
    beam = force * length**3 / (3 * YOUNG * width * thick**3 / 12)
    np.testing.assert_allclose(deflection, beam, rtol=2e-2)


@pytest.mark.parametrize(
    ("name", "shares"), [("shell_3423", (1 / 4, 1 / 7)), ("shell_3833", (1, 1))]
)
def test_layers_of_one_material_across_a_shell(name: str, shares: tuple[float, float]) -> None:
    """Layers of one material are one layer, but in ``shell_3423`` each has a strain across of its
    own, linear in z over the whole thickness, and keeps 1 − (mean z)² / mean z² of its energy."""
    size, stretch = jnp.array([1.0, 1.0, 0.1]), 1.01
    exact = 0.5 * YOUNG * (0.5 * (stretch**2 - 1)) ** 2 * jnp.prod(size)
    for number, share in zip((2, 4), shares, strict=True):
        layers = (1 / number,) * number
        made = box(SHAPES[name], size, (1, 1, 1), isotropic(YOUNG, 0.0)[None], 1.0, layers=layers)
        x = made.position * jnp.array([1.0, 1.0, stretch])
        stored = made.elastic_energy(x.reshape(-1)[made.layout.free])
        np.testing.assert_allclose(stored, share * exact, rtol=1e-9)
