"""Elements whose strains are not only those of their shape functions: some are interpolated
between few places (assumed), others are added where they lower the energy (enhanced)."""

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
"""Of strains, in their order; shears are doubled."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnhancedLaw(StrainLaw):
    """The energy of a whole element is ½ sᵀ Ĉ s, y being its k vector coordinates and s Green's
    strains by the cube's coordinates at some places. Ĉ interpolates what is assumed and has the
    enhanced strains where the energy is least."""

    moduli: Float[Array, "s s"]
    retardation: Float[Array, ""]
    gradients: Float[Array, "p 3 k"]
    """Of the shape functions by the cube's coordinates, at the places."""
    metric: Float[Array, "p 6"]
    """Products of the reference's gradients there."""
    which: tuple[int, ...] = field(metadata={"static": True})
    """The strains s among all six at all places."""

    def strain(self, y: Float[Array, "k 3"]) -> Float[Array, " s"]:
        slope = jnp.einsum("pik,kc->pic", self.gradients, y)
        products = products_of(slope) - self.metric
        scale = jnp.asarray([0.5, 0.5, 0.5, 1.0, 1.0, 1.0], y.dtype)
        return (products * scale).reshape(-1)[np.array(self.which)]

    def stiffness(self, y: Float[Array, "k 3"]) -> Float[Array, "k 3 k 3"]:
        stress = self.moduli @ self.strain(y)
        whole = jnp.zeros(self.metric.size, y.dtype).at[np.array(self.which)].set(stress)
        i, j = PAIRS.T
        tensor = jnp.zeros((len(self.metric), 3, 3), y.dtype)
        own = whole.reshape(-1, 6)
        tensor = tensor.at[:, i, j].set(own).at[:, j, i].set(own)
        bends = jnp.einsum("pik,pij,pjl->kl", self.gradients, tensor, self.gradients)
        return self.convex(y) + jnp.einsum("kl,cd->kcld", bends, jnp.eye(3, dtype=y.dtype))

    def ratio(self, y: Float[Array, "k 3"]) -> Float[Array, ""]:
        """The smallest of the places, times the cube of a length."""
        slope = jnp.einsum("pik,kc->pic", self.gradients, y)
        volume = jnp.einsum("pc,pc->p", slope[:, 0], cross(slope[:, 1], slope[:, 2]))
        return jnp.min(volume)


def products_of(slope: Float[Array, "*p 3 c"]) -> Float[Array, "*p 6"]:
    """Return the products of the gradients along the three axes with one another."""
    return jnp.einsum("...ic,...ic->...i", slope[..., PAIRS[:, 0], :], slope[..., PAIRS[:, 1], :])


def sampled(shape: Shape, points: Float[np.ndarray, "p 3"]) -> tuple[np.ndarray, np.ndarray]:
    """The places at which strains are taken [q 3], the points of integration before those of what
    is assumed, and each strain of the points by all strains of the places [6p 6q]."""
    assumed = {part: np.array(places, float) for part, places in shape.assumed}
    places = np.concatenate([points, *assumed.values()])
    count, begin = len(points), len(points)
    whole = np.zeros((count, 6, len(places), 6))
    for i, component in enumerate(COMPONENTS):
        if component not in assumed:
            whole[np.arange(count), i, np.arange(count), i] = 1.0
            continue
        knots = assumed[component]
        # Linear along the axes along which the knots lie apart from one another.
        own = np.where(knots == 0, 1.0, 0.5 * (1.0 + points[:, None] * knots)).prod(axis=2)
        whole[:, i, begin : begin + len(knots), i] = own
        begin += len(knots)
    return places, whole.reshape(6 * count, -1)


def enhanced_modes(shape: Shape, points: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, "p 6 m"]:
    """Strains by the cube's coordinates that are added, each linear along an axis."""
    whole = np.zeros((len(points), 6, len(shape.enhanced)))
    for mode, (component, axis) in enumerate(shape.enhanced):
        whole[:, COMPONENTS.index(component), mode] = points[:, "xyz".index(axis)]
    return whole


def condensed(
    strains: Float[Array, "p 6 s"],
    added: Float[Array, "p 6 m"],
    moduli: Float[Array, "6 6"],
    volume: Float[Array, " p"],
) -> Float[Array, "s s"]:
    """∫ Sᵀ C S − Lᵀ A⁻¹ L with A = ∫ Gᵀ C G and L = ∫ Gᵀ C S: the energy of strains S s + G a where
    a makes it least (Simo & Rifai, IJNME 29, 1990). It is quadratic in a, so that this is exact."""
    stress = jnp.einsum("p,ab,pbs->pas", volume, moduli, strains)
    own = jnp.einsum("par,pas->rs", strains, stress)
    cross = jnp.einsum("pam,pas->ms", added, stress)
    square = jnp.einsum("p,pam,ab,pbn->mn", volume, added, moduli, added)
    return own - cross.T @ jnp.linalg.solve(square, cross)


def turning(axes: Float[Array, "*p 3 3"]) -> Float[Array, "*p 6 6"]:
    """Strains along an element's own axes from those by the cube's coordinates, whose slopes along
    the axes are the columns of ``axes``."""
    flat = axes.reshape(-1, 3, 3)
    return jax.vmap(lambda own: strain_matrix(own.T))(flat).reshape(*axes.shape[:-2], 6, 6)
