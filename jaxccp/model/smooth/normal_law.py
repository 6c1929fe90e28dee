"""The input and output of a law of normal force."""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothContacts:
    """The c overlapping smooth contacts, as input of a normal force law."""

    overlap: Float[Array, " c"]
    """δ > 0 [m]."""
    mass: Float[Array, " c"]
    """m* = m₁ m₂ / (m₁ + m₂) of the two bodies [kg]."""
    radius: Float[Array, " c"]
    """R*, 1/R* = 1/R₁ + 1/R₂ of the radii of curvature [m]."""
    restitution: Float[Array, " c"]
    """Coefficient of restitution e."""
    approach: Float[Array, " c"]
    """Speed at which the surfaces met [m/s]."""
    characteristic_speed: Float[Array, ""]
    """Speed of an impact to which a linear spring is fitted [m/s]."""
    young: Float[Array, " c"]
    """E*, 1/E* = Σ (1 − ν²) / E [Pa]."""
    shear: Float[Array, " c"]
    """G*, 1/G* = Σ 2 (2 − ν) (1 + ν) / E [Pa]."""
    coefficients: Float[Array, "c 4"] | None
    """k_n, g_n, k_t and g_t of surfaces that have these instead of moduli."""

    @property
    def damping_ratio(self) -> Float[Array, " c"]:
        """ζ = −ln e / √(ln² e + π²), the damping ratio of the linear oscillator with restitution
        e."""
        smallest = jnp.finfo(self.restitution.dtype).eps
        log = jnp.log(jnp.where(self.restitution > smallest, self.restitution, smallest))
        return -log / jnp.sqrt(log**2 + pi**2)


class Coefficients(NamedTuple):
    """Coefficients of springs and dashpots: f_n = k_n δ + g_n δ̇, and tangentially −k_t s − g_t
    v."""

    normal_stiffness: Float[Array, " c"]
    """k_n [N/m]."""
    normal_damping: Float[Array, " c"]
    """g_n [N s/m]."""
    tangential_stiffness: Float[Array, " c"]
    """k_t [N/m]."""
    tangential_damping: Float[Array, " c"]
    """g_t [N s/m]."""


class NormalLaw(NamedTuple):
    """A law that gives the normal force of an overlap."""

    coefficients: Callable[[SmoothContacts], Coefficients]
    """Returns the springs and dashpots of contacts."""
    linear: bool = False
    """Whether the law accepts surfaces with given coefficients
    (:class:`jaxccp.SmoothCoefficients`)."""
    by_speed: bool = False
    """Whether friction is a function of the slip speed alone, so that there is no tangential
    spring."""
    by_approach: bool = False
    """Whether the law depends on the speed at which surfaces met, and needs e > 0."""
