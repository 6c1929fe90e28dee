"""Elements of one kind: their points of integration, masses and law."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.law import Law


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Points:
    """Points say where integrals over the elements are taken: p points of each of e elements."""

    gradients: Float[Array, "e p m k"]
    """G: y = G x are the m gradients of the position, from the k vector coordinates of the element.
    All that an element stores is a function of them."""
    weights: Float[Array, "e p"]
    """Volume of each point in the reference [m³]; or its length or area, where the law's densities
    are per length or area."""
    law: Law
    """Its numbers have the leading axes e, p."""


class Elements:
    """A frozen dataclass registered with JAX, whose numbers (lengths, moduli, …) are leaves.

    Points and masses are computed from them in every step, so that whatever is replaced, or
    differentiated with respect to, has its full effect.
    """

    def points(self) -> Points:
        """Points of integration and the laws there."""
        raise NotImplementedError

    def masses(self) -> Float[Array, "e k k"]:
        """Mass matrices, one number for each block of 3 × 3, which is it times identity [kg]."""
        raise NotImplementedError


def gradients(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, "e p m 3"]:
    """y of all points, or its rate from the rate of x."""
    return jnp.einsum("epmk,ekc->epmc", points.gradients, x)


def energies(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, " e"]:
    """Elastic energy of each element [J]."""
    y = gradients(points, x)
    return jnp.einsum("ep,ep->e", points.weights, points.law.at(y, "density"))


def dissipations(
    points: Points, x: Float[Array, "e k 3"], v: Float[Array, "e k 3"]
) -> Float[Array, " e"]:
    """Power that each element dissipates [W]."""
    y, rate = gradients(points, x), gradients(points, v)
    return 2.0 * jnp.einsum("ep,ep->e", points.weights, points.law.at(y, "dissipation", rate))


def elastic_forces(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, "e k 3"]:
    """f = −∂U/∂x on the vector coordinates."""
    return -_gathered(points, points.law.slopes(gradients(points, x)))


def damping_forces(
    points: Points, x: Float[Array, "e k 3"], v: Float[Array, "e k 3"]
) -> Float[Array, "e k 3"]:
    """−∂R/∂v, R being Rayleigh's function."""
    y, rate = gradients(points, x), gradients(points, v)
    return -_gathered(points, points.law.at(y, "viscous_slope", rate))


def _gathered(points: Points, slope: Float[Array, "e p m 3"]) -> Float[Array, "e k 3"]:
    """∫ Gᵀ s."""
    return jnp.einsum("epmk,ep,epmc->ekc", points.gradients, points.weights, slope)


def quadratic(points: Points, density: Float[Array, "e p m 3 m 3"]) -> Float[Array, "e k 3 k 3"]:
    """∫ Gᵀ H G, from the matrices H of the points."""
    g, w = points.gradients, points.weights
    half = jnp.einsum("ep,epmcnd,epnl->epmcld", w, density, g)
    return jnp.einsum("epmk,epmcld->ekcld", g, half)


def smallest_ratios(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, " e"]:
    """Smallest volume over that of the reference among the points of each element."""
    return jnp.min(points.law.at(gradients(points, x), "ratio"), axis=1)
