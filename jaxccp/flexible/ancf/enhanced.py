"""Elements with assumed strains, which are interpolated between few points, or enhanced strains,
which are added to minimise the energy."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.ancf.shape import Shape
from jaxccp.flexible.law import StrainLaw
from jaxccp.flexible.moduli import PAIRS, strain_matrix
from jaxccp.math.linear3 import cross

COMPONENTS = ("xx", "yy", "zz", "yz", "xz", "xy")
"""Names of the strains, in their order; shears are doubled."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnhancedLaw(StrainLaw):
    """The elastic law of a whole element with assumed or enhanced strains: the energy is ½ sᵀ Ĉ s.

    y are the k vector coordinates of the element, and s Green's strains in the parent element's
    coordinates, at several points. Ĉ contains the interpolation of assumed strains, and the
    enhanced strains at which the energy is least.
    """

    moduli: Float[Array, "s s"]
    """Ĉ, divided by the volume of the element."""
    retardation: Float[Array, ""]
    """α of Kelvin and Voigt's damping [s]."""
    gradients: Float[Array, "p 3 k"]
    """Derivatives of the shape functions with respect to the parent element's coordinates, at the
    points."""
    metric: Float[Array, "p 6"]
    """Inner products of the gradients in the reference configuration, at the points."""
    which: tuple[int, ...] = field(metadata={"static": True})
    """Indices of the strains s among the six strains of all points."""

    def strain(self, y: Float[Array, "k 3"]) -> Float[Array, " s"]:
        slope = jnp.einsum("pik,kc->pic", self.gradients, y)
        products = products_of(slope) - self.metric
        scale = jnp.asarray([0.5, 0.5, 0.5, 1.0, 1.0, 1.0], y.dtype)
        return (products * scale).reshape(-1)[np.array(self.which)]

    def stiffness(self, y: Float[Array, "k 3"]) -> Float[Array, "k 3 k 3"]:
        stress = self.moduli @ self.strain(y)
        full = jnp.zeros(self.metric.size, y.dtype).at[np.array(self.which)].set(stress)
        i, j = PAIRS.T
        tensor = jnp.zeros((len(self.metric), 3, 3), y.dtype)
        stresses = full.reshape(-1, 6)
        tensor = tensor.at[:, i, j].set(stresses).at[:, j, i].set(stresses)
        geometric = jnp.einsum("pik,pij,pjl->kl", self.gradients, tensor, self.gradients)
        return self.convex(y) + jnp.einsum("kl,cd->kcld", geometric, jnp.eye(3, dtype=y.dtype))

    def ratio(self, y: Float[Array, "k 3"]) -> Float[Array, ""]:
        """Return the smallest determinant of the position's derivatives in the parent element's
        coordinates, among the points: the volume ratio times the reference's, which is positive."""
        slope = jnp.einsum("pik,kc->pic", self.gradients, y)
        volume = jnp.einsum("pc,pc->p", slope[:, 0], cross(slope[:, 1], slope[:, 2]))
        return jnp.min(volume)


def products_of(slope: Float[Array, "*p 3 c"]) -> Float[Array, "*p 6"]:
    """Return the inner products of the gradients along the three axes, in the order of
    ``COMPONENTS``."""
    return jnp.einsum("...ic,...ic->...i", slope[..., PAIRS[:, 0], :], slope[..., PAIRS[:, 1], :])


def strain_sampling(
    shape: Shape, points: Float[np.ndarray, "p 3"]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points at which strains are evaluated [q 3], and the interpolation matrix [6p 6q].

    The points are the p integration points, then the points of the assumed strains. The matrix
    gives all strains at the integration points from all strains at these points.

    Args:
        shape: the type of the element.
        points: integration points.
    """
    assumed = {part: np.array(samples, float) for part, samples in shape.assumed}
    samples = np.concatenate([points, *assumed.values()])
    count, begin = len(points), len(points)
    full = np.zeros((count, 6, len(samples), 6))
    for i, component in enumerate(COMPONENTS):
        if component not in assumed:
            full[np.arange(count), i, np.arange(count), i] = 1.0
            continue
        knots = assumed[component]
        # Linear along the axes along which the points of the assumed strain differ.
        weights = np.where(knots == 0, 1.0, 0.5 * (1.0 + points[:, None] * knots)).prod(axis=2)
        full[:, i, begin : begin + len(knots), i] = weights
        begin += len(knots)
    return samples, full.reshape(6 * count, -1)


def enhanced_modes(shape: Shape, points: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, "p 6 m"]:
    """Return the m enhanced strains at the integration points, in the parent element's coordinates;
    each is linear along an axis.

    Args:
        shape: the type of the element.
        points: integration points.
    """
    full = np.zeros((len(points), 6, len(shape.enhanced)))
    for mode, (component, axis) in enumerate(shape.enhanced):
        full[:, COMPONENTS.index(component), mode] = points[:, "xyz".index(axis)]
    return full


def condensed(
    strains: Float[Array, "p 6 s"],
    added: Float[Array, "p 6 m"],
    moduli: Float[Array, "6 6"],
    volume: Float[Array, " p"],
) -> Float[Array, "s s"]:
    """Return the condensed stiffness ∫ Sᵀ C S − Lᵀ A⁻¹ L with A = ∫ Gᵀ C G and L = ∫ Gᵀ C S.

    It gives the energy of strains S s + G a for the a with the least energy (Simo & Rifai, IJNME
    29, 1990). This is exact, because the energy is quadratic in a.

    Args:
        strains: S at each point.
        added: G at each point.
        moduli: C.
        volume: volume of each point [m³].
    """
    stress = jnp.einsum("p,ab,pbs->pas", volume, moduli, strains)
    square_strains = jnp.einsum("par,pas->rs", strains, stress)
    cross = jnp.einsum("pam,pas->ms", added, stress)
    square = jnp.einsum("p,pam,ab,pbn->mn", volume, added, moduli, added)
    return square_strains - cross.T @ jnp.linalg.solve(square, cross)


def strain_transformation(axes: Float[Array, "*p 3 3"]) -> Float[Array, "*p 6 6"]:
    """Return the matrix from strains in the parent element's coordinates to strains along an
    element's axes.

    Args:
        axes: derivatives of the parent element's coordinates along the axes, as columns.
    """
    flat = axes.reshape(-1, 3, 3)
    return jax.vmap(lambda matrix: strain_matrix(matrix.T))(flat).reshape(*axes.shape[:-2], 6, 6)
