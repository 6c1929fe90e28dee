"""Solids' inertia against quadrature, and the rules that combine two surfaces."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.model import SHAPES, Box, Capsule, Material, Sphere
from jaxccp.model.material import combine
from jaxccp.model.shapes import Shape

MASS = 2.5


def inertia_by_quadrature(radius_at, bottom: float, top: float) -> np.ndarray:
    """Of a solid of revolution about z whose radius at height z is given."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    z = 0.5 * (top - bottom) * nodes + 0.5 * (top + bottom)
    square = radius_at(z) ** 2
    density = MASS / (weights @ square)
    axial = density * weights @ (square**2 / 2)
    across = axial / 2 + density * weights @ (square * z**2)
    return np.diag([across, across, axial])


@pytest.mark.parametrize(
    ("shape", "radius_at", "reach"),
    [
        (Sphere(0.3), lambda z: np.sqrt(0.09 - z**2), 0.3),
        (
            Capsule(0.2, 0.35),
            lambda z: np.sqrt(0.04 - np.maximum(np.abs(z) - 0.35, 0.0) ** 2),
            0.55,
        ),
    ],
)
def test_round_solids(shape: Shape, radius_at, reach: float) -> None:
    expected = inertia_by_quadrature(radius_at, -reach, reach)
    np.testing.assert_allclose(shape.inertia(MASS), expected, rtol=1e-5, atol=1e-12)


def test_box() -> None:
    """m/12 times the squares of the two sides across."""
    expected = MASS / 12 * np.diag([0.4**2 + 0.6**2, 0.2**2 + 0.6**2, 0.2**2 + 0.4**2])
    np.testing.assert_allclose(Box((0.1, 0.2, 0.3)).inertia(MASS), expected, rtol=1e-14)


def test_registry_knows_each_kind_by_its_name() -> None:
    assert all(shape.kind == kind for kind, shape in SHAPES.items())


@pytest.mark.parametrize(
    ("rule", "expected"), [("min", 0.2), ("max", 0.8), ("mean", 0.5), ("geometric", 0.4)]
)
def test_combination_rules(rule, expected: float) -> None:
    a, b = jnp.array([0.2, 0.8]), jnp.array([0.8, 0.2])
    np.testing.assert_allclose(combine(rule, a, b), expected, rtol=1e-12)


def test_defaults() -> None:
    assert Material() == Material(friction=0.6, restitution=0.0, compliance=0.0, damping=0.0)
