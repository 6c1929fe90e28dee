"""The ANCF cable: a thin rod that stretches and bends, and neither shears nor resists twisting.

Two nodes with the vector coordinates r and r_x; Gerstmayr & Shabana, Nonlinear Dynamics 45 (2006).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.elements import Elements, Points
from jaxccp.flexible.law import StrainLaw
from jaxccp.math import safe
from jaxccp.math.linear3 import cross

STRETCHING, BENDING = (np.polynomial.legendre.leggauss(count) for count in (5, 3))
"""Gauss points and weights for the energies of stretching and of bending."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CableLaw(StrainLaw):
    """The elastic law of a cable: the energy per length is ½ E A ε² + ½ E I κ².

    y = (r_x, r_xx) are the first and second derivatives of the position along the cable, ε = ½
    (r_x² − 1) and κ = r_x × r_xx / |r_x|³.
    """

    moduli: Float[Array, "4 4"]
    """Diagonal matrix of E A [N], then E I [N m²] three times."""
    retardation: Float[Array, ""]
    """α of Kelvin and Voigt's damping [s]."""

    def strain(self, y: Float[Array, "2 3"]) -> Float[Array, "4"]:
        slope, second = y
        square = slope @ slope
        curvature = safe.divide(cross(slope, second), square**1.5)
        return jnp.concatenate([0.5 * (square - 1.0)[None], curvature])

    def ratio(self, y: Float[Array, "2 3"]) -> Float[Array, ""]:
        return y[0] @ y[0]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CableElements(Elements):
    """Elements of a thin cable (ANCF) whose unstrained shape is straight."""

    length: Float[Array, " e"]
    """Length of each element [m]."""
    area: Float[Array, ""]
    """Area of the section [m²]."""
    second_moment: Float[Array, ""]
    """Second moment of the section's area [m⁴]."""
    young: Float[Array, ""]
    """Young's modulus [Pa]."""
    density: Float[Array, ""]
    """Mass per volume [kg/m³]."""
    retardation: Float[Array, ""]
    """α of Kelvin and Voigt's damping [s]."""

    def points(self) -> Points:
        abscissae, weights = np.concatenate([STRETCHING, BENDING], axis=1)
        stretches = np.arange(len(abscissae)) < len(STRETCHING[0])
        _values, first, second = hermite(abscissae)
        half = 0.5 * self.length[:, None, None]
        # The two functions of slopes on (−1, 1) are in units of half the length.
        scale = jnp.where(np.array([0, 1, 0, 1]), half, 1.0)
        gradients = jnp.stack([first * scale / half, second * scale / half**2], axis=2)
        rigidity = jnp.stack([self.young * self.area, *3 * [self.young * self.second_moment]])
        active = np.where(stretches[:, None], [1.0, 0, 0, 0], [0, 1.0, 1.0, 1.0])
        shape = gradients.shape[:2]
        moduli = jnp.broadcast_to(jax.vmap(jnp.diag)(active * rigidity), (*shape, 4, 4))
        law = CableLaw(moduli, jnp.broadcast_to(self.retardation, shape))
        return Points(gradients, half[:, :, 0] * weights, law)

    def masses(self) -> Float[Array, "e 4 4"]:
        abscissae, weights = np.polynomial.legendre.leggauss(4)
        values, _first, _second = hermite(abscissae)
        half = 0.5 * self.length[:, None]
        scale = jnp.where(np.array([0, 1, 0, 1]), half, 1.0)
        unit = np.einsum("p,pk,pl->kl", weights, values, values)
        mass = half[:, :, None] * scale[:, :, None] * scale[:, None, :] * unit
        return self.density * self.area * mass


def hermite(s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Hermite's cubic polynomials and their first and second derivatives at points s, each
    [p 4].

    The four polynomials belong to the value and slope at −1, and the value and slope at 1.
    """
    ends = np.array([-1.0, 1.0])
    powers = np.arange(4)
    values = ends[:, None] ** powers
    slopes = powers * ends[:, None] ** np.maximum(powers - 1, 0)
    basis = np.linalg.inv(np.stack([values, slopes], axis=1).reshape(4, 4))
    monomials = [s[:, None] ** powers]
    for order in (1, 2):
        factor = np.prod([powers - i for i in range(order)], axis=0)
        monomials.append(factor * s[:, None] ** np.maximum(powers - order, 0))
    values, slopes, seconds = (part @ basis for part in monomials)
    return values, slopes, seconds
