"""Elements of one kind: their integration points, masses and law."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.law import Law


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Points:
    """Integration points of the elements: p points of each of e elements."""

    gradients: Float[Array, "e p m k"]
    """G: y = G x are the m gradients of the position, from the k vector coordinates of the element.
    The energy of an element is a function of them alone."""
    weights: Float[Array, "e p"]
    """Volume of each point in the reference [m³]; or its length or area, where the law's densities
    are per length or area."""
    law: Law
    """The law at each point; its numbers have the leading axes e, p."""


class Elements:
    """Base class of elements: a frozen dataclass registered with JAX, whose numbers (lengths,
    moduli, …) are leaves.

    Points and masses are computed from them in every step, so that a number that is replaced, or
    differentiated with respect to, has its full effect.
    """

    def points(self) -> Points:
        """Return the integration points and the laws there."""
        raise NotImplementedError

    def masses(self) -> Float[Array, "e k k"]:
        """Return the mass matrices, one number for each block of 3 × 3, which is it times identity
        [kg]."""
        raise NotImplementedError


def gradients(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, "e p m 3"]:
    """Return the gradients y of all points, or their rates from the rate of x.

    Args:
        points: integration points.
        x: vector coordinates of each element.
    """
    return jnp.einsum("epmk,ekc->epmc", points.gradients, x)


def energies(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, " e"]:
    """Return the elastic energy of each element [J].

    Args:
        points: integration points.
        x: vector coordinates of each element.
    """
    y = gradients(points, x)
    return jnp.einsum("ep,ep->e", points.weights, points.law.at(y, "density"))


def dissipations(
    points: Points, x: Float[Array, "e k 3"], v: Float[Array, "e k 3"]
) -> Float[Array, " e"]:
    """Return the power that each element dissipates [W].

    Args:
        points: integration points.
        x: vector coordinates of each element.
        v: their rates.
    """
    y, rate = gradients(points, x), gradients(points, v)
    return 2.0 * jnp.einsum("ep,ep->e", points.weights, points.law.at(y, "dissipation", rate))


def elastic_forces(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, "e k 3"]:
    """Return the elastic forces f = −∂U/∂x on the vector coordinates.

    Args:
        points: integration points.
        x: vector coordinates of each element.
    """
    return -_gathered(points, points.law.slopes(gradients(points, x)))


def damping_forces(
    points: Points, x: Float[Array, "e k 3"], v: Float[Array, "e k 3"]
) -> Float[Array, "e k 3"]:
    """Return the damping forces −∂R/∂v on the vector coordinates, with Rayleigh's function R.

    Args:
        points: integration points.
        x: vector coordinates of each element.
        v: their rates.
    """
    y, rate = gradients(points, x), gradients(points, v)
    return -_gathered(points, points.law.at(y, "viscous_slope", rate))


def _gathered(points: Points, slope: Float[Array, "e p m 3"]) -> Float[Array, "e k 3"]:
    """Return ∫ Gᵀ s over each element."""
    return jnp.einsum("epmk,ep,epmc->ekc", points.gradients, points.weights, slope)


def quadratic(points: Points, density: Float[Array, "e p m 3 m 3"]) -> Float[Array, "e k 3 k 3"]:
    """Return ∫ Gᵀ H G over each element.

    Args:
        points: integration points.
        density: the matrices H of the points.
    """
    g, w = points.gradients, points.weights
    half = jnp.einsum("ep,epmcnd,epnl->epmcld", w, density, g)
    return jnp.einsum("epmk,epmcld->ekcld", g, half)


def smallest_ratios(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, " e"]:
    """Return the smallest ratio of volume to that of the reference among the points of each
    element.

    Args:
        points: integration points.
        x: vector coordinates of each element.
    """
    return jnp.min(points.law.at(gradients(points, x), "ratio"), axis=1)
