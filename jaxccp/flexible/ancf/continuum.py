"""Beams, shells and bricks with gradients at their nodes: one class for elements of many shapes."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.ancf.enhanced import (
    EnhancedLaw,
    condensed,
    enhanced_modes,
    products_of,
    strain_sampling,
    strain_transformation,
)
from jaxccp.flexible.ancf.shape import Shape, gauss_rule
from jaxccp.flexible.elements import Elements, Points
from jaxccp.flexible.green import GreenLaw
from jaxccp.flexible.nodal import NodalFamily
from jaxccp.math import linear3
from jaxccp.math.linear3 import cross


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContinuumElements(Elements):
    """ANCF elements of beams, shells and solids, with Green's strains in all three directions."""

    reference: Float[Array, "e k 3"]
    """Vector coordinates of the unstrained (reference) configuration: positions [m] and their
    derivatives."""
    size: Float[Array, "e 3"]
    """Length, width and thickness of each element in the reference configuration [m]. The
    derivatives at the nodes are taken along these lengths."""
    moduli: Float[Array, "s 6 6"]
    """Moduli C of each layer from below [Pa]; for beams, those of
    :func:`jaxccp.flexible.moduli.of_section`. Their axes are the element's: x along its first
    direction, y in its plane. In a curved reference configuration they follow the element's
    curve."""
    density: Float[Array, ""]
    """Mass per volume of the reference configuration [kg/m³]."""
    retardation: Float[Array, ""]
    """α of Kelvin and Voigt's damping [s]."""
    shape: Shape = field(metadata={"static": True})
    """Shape functions of the elements."""
    layers: tuple[float, ...] = field(metadata={"static": True}, default=(1.0,))
    """Thickness of each layer as a fraction of the whole, from below."""

    def points(self) -> Points:
        if self.shape.enhanced:
            return self._single_point()
        cube_points, weights, which = self._rule()
        slopes, jacobian = self._slopes(cube_points)
        volume = weights * jnp.linalg.det(jacobian)
        inverse = _axis_derivatives(jacobian)
        gradients = jnp.einsum("epkj,epjm->epmk", slopes, inverse)
        moduli = jnp.broadcast_to(self.moduli[which], (len(self.size), *which.shape, 6, 6))
        law = GreenLaw(moduli, jnp.broadcast_to(self.retardation, moduli.shape[:2]))
        return Points(gradients, volume, law)

    def volumes(self) -> Float[Array, "e p"]:
        """Return the reference volume of each integration point [m³]; it is not positive if the
        reference configuration is inside out."""
        cube_points, weights, _which = self._rule()
        return weights * jnp.linalg.det(self._slopes(cube_points)[1])

    def masses(self) -> Float[Array, "e k k"]:
        cube_points, weights = self.shape.mass_rule()
        _slopes, jacobian = self._slopes(cube_points)
        values = self._scale()[:, None] * self.shape.values(cube_points)
        volume = weights * jnp.linalg.det(jacobian)
        return self.density * jnp.einsum("ep,epk,epl->ekl", volume, values, values)

    def weights(self, point: Float[np.ndarray, "3"]) -> Float[Array, "e k"]:
        """Return the weight of each vector coordinate in the position of a point of the element.

        These are the shape functions. A force [N] at the point, times the weights, gives its
        generalised forces.

        Args:
            point: the point, in the parent element (−1, 1)³.
        """
        return self._scale() * self.shape.values(np.asarray(point)[None])

    def face_weights(self, axis: int, side: int) -> Float[Array, "e k"]:
        """Return the integral of the weight of each vector coordinate over a face of the element.

        A traction [N/m²] on the face, times the integrals, gives its generalised forces. The
        integrals have the unit m² for positions, m³ for first derivatives.

        Args:
            axis: axis across the face: 0, 1, 2.
            side: end of the axis: −1 or 1.
        """
        degrees = self.shape.exponents.max(0) * (np.arange(3) != axis)
        cube_points, weights = gauss_rule(degrees + 2 * (np.arange(3) != axis))
        cube_points, weights = np.where(np.arange(3) == axis, side, cube_points), 0.5 * weights
        _slopes, jacobian = self._slopes(cube_points)
        first, second = (jacobian[..., i] for i in range(3) if i != axis)
        area = weights * jnp.linalg.norm(cross(first, second), axis=-1)
        return self._scale() * jnp.einsum("ep,pk->ek", area, self.shape.values(cube_points))

    def _rule(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the integration points in the parent element, their weights, and the index of each
        point's moduli."""
        rules = self.shape.rules(self.layers)
        cube_points, weights = (np.concatenate(part) for part in zip(*rules, strict=True))
        return (
            cube_points,
            weights,
            np.repeat(
                np.arange(len(rules)), [len(weights_of_rule) for _, weights_of_rule in rules]
            ),
        )

    def _single_point(self) -> Points:
        """Return each element as a single integration point, with a law of all its vector
        coordinates.

        Each layer has enhanced strains of its own, as in Chrono. Those across the shell are linear
        over the whole thickness, so that they soften several layers against stretch across it.
        """
        points, weights, which = self._rule()
        count = len(points)
        samples, interpolation = strain_sampling(self.shape, points)
        used = np.flatnonzero(interpolation.any(axis=0))
        interpolation = interpolation[:, used].reshape(count, 6, -1)
        slopes, jacobian = self._slopes(samples)
        volume = self.volumes()
        strains = strain_transformation(_axis_derivatives(jacobian[:, :count])) @ interpolation
        # Uses the geometry in the middle, so that uniform strains have no enhanced part.
        middle = self._slopes(np.zeros((1, 3)))[1]
        axes = jnp.einsum("eqjm,epmn->epjn", linear3.inverse(middle), _axes(jacobian[:, :count]))
        added = strain_transformation(axes) @ enhanced_modes(self.shape, points)
        # Modes may have any magnitude; equal magnitudes give well-conditioned equations.
        added = added / jnp.max(jnp.abs(added), axis=(1, 2), keepdims=True)
        added = added * (weights / volume)[..., None, None]
        moduli = sum(
            jax.vmap(condensed, (0, 0, None, 0))(
                strains[:, which == layer],
                added[:, which == layer],
                self.moduli[layer],
                volume[:, which == layer],
            )
            for layer in range(len(self.layers))
        )
        number, k = self.reference.shape[:2]
        weight = jnp.sum(volume, axis=1)
        law = EnhancedLaw(
            (moduli / weight[:, None, None])[:, None],
            jnp.broadcast_to(self.retardation, (number, 1)),
            slopes.transpose(0, 1, 3, 2)[:, None],
            products_of(jacobian.transpose(0, 1, 3, 2))[:, None],
            tuple(used.tolist()),
        )
        identity = jnp.broadcast_to(jnp.eye(k, dtype=weight.dtype), (number, 1, k, k))
        return Points(identity, weight[:, None], law)

    def _scale(self) -> Float[Array, "e k"]:
        """Return factors on the shape functions, from derivatives in the parent element to
        derivatives along lengths."""
        return jnp.prod((0.5 * self.size[:, None, :]) ** self.shape.orders, axis=2)

    def _slopes(
        self, cube_points: np.ndarray
    ) -> tuple[Float[Array, "e p k 3"], Float[Array, "e p 3 3"]]:
        """Return derivatives with respect to the parent element's coordinates: of the shape
        functions, and of the reference positions."""
        slopes = self._scale()[:, None, :, None] * self.shape.slopes(cube_points)
        return slopes, jnp.einsum("epkj,ekc->epcj", slopes, self.reference)


def _axis_derivatives(jacobian: Float[Array, "e p 3 3"]) -> Float[Array, "e p 3 3"]:
    """Return the derivatives of the parent element's coordinates along each axis of the element, as
    columns [1/m]."""
    return jnp.einsum("epjm,epmn->epjn", linear3.inverse(jacobian), _axes(jacobian))


def _axes(jacobian: Float[Array, "e p 3 3"]) -> Float[Array, "e p 3 3"]:
    """Return the axes of the element in the reference configuration, as columns: x along it, z
    normal to its plane."""
    first_tangent, second_tangent = jacobian[..., 0], jacobian[..., 1]
    x = first_tangent / jnp.linalg.norm(first_tangent, axis=-1, keepdims=True)
    z = cross(first_tangent, second_tangent)
    z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)
    return jnp.stack([x, cross(z, x), z], axis=-1)


def continuum_elements(family: NodalFamily) -> ContinuumElements:
    """Return the elements of a body of continuum elements.

    Args:
        family: the body.

    Raises:
        TypeError: it has elements of another class.
    """
    if not isinstance(family.elements, ContinuumElements):
        kind = type(family.elements).__name__
        raise TypeError(
            f"the body must have ContinuumElements (jaxccp.flexible.ancf.box), not {kind}"
        )
    return family.elements
