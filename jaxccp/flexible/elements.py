"""Elements of one kind: their integration points, masses and material law."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.law import Law


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Points:
    """Integration points of the elements: p points in each of e elements."""

    gradients: Float[Array, "e p m k"]
    """G of each point: y = G x are the m gradients of the position, from the k vector coordinates x
    of the element. The energy depends on x through y only."""
    weights: Float[Array, "e p"]
    """Reference volume of each point [m³]. It is a length or an area if the law's densities are per
    length or area."""
    law: Law
    """The material law at each point; its numbers have the leading axes e, p."""


class Elements:
    """Base class of elements: a frozen dataclass registered with JAX, whose numbers (lengths,
    moduli, …) are leaves.

    Every step computes points and masses anew from these numbers. So a changed number takes full
    effect, and derivatives with respect to it are complete.
    """

    def points(self) -> Points:
        """Return the integration points of the elements, with the material law at each."""
        raise NotImplementedError

    def masses(self) -> Float[Array, "e k k"]:
        """Return the mass matrices of the elements, [kg] between positions.

        Each first derivative among the vector coordinates adds a factor [m]. An entry stands for a
        block of 3 × 3, the entry times the identity.
        """
        raise NotImplementedError


def gradients(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, "e p m 3"]:
    """Return the gradients y at all points from vector coordinates, or the rates of y from their
    rates.

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
    """Return ∫ Gᵀ s over each element, a generalised force.

    Args:
        points: integration points.
        slope: the derivative s of a density with respect to y at each point.
    """
    return jnp.einsum("epmk,ep,epmc->ekc", points.gradients, points.weights, slope)


def quadratic(points: Points, density: Float[Array, "e p m 3 m 3"]) -> Float[Array, "e k 3 k 3"]:
    """Return ∫ Gᵀ H G over each element, a stiffness, damping or mass matrix.

    Args:
        points: integration points.
        density: the matrix H of each point.
    """
    g, w = points.gradients, points.weights
    half = jnp.einsum("ep,epmcnd,epnl->epmcld", w, density, g)
    return jnp.einsum("epmk,epmcld->ekcld", g, half)


def smallest_ratios(points: Points, x: Float[Array, "e k 3"]) -> Float[Array, " e"]:
    """Return the smallest value of :meth:`Law.ratio` among the points of each element.

    Args:
        points: integration points.
        x: vector coordinates of each element.
    """
    return jnp.min(points.law.at(gradients(points, x), "ratio"), axis=1)
