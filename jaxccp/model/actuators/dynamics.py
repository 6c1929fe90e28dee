"""Differential equations of activations, by name."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

Solution = Callable[
    [Float[Array, " ma"], Float[Array, " ma"], Float[Array, ""] | float, Float[Array, " ma"]],
    Float[Array, " ma"],
]
"""A function of the activation a, the control u, a time t [s] and the time constant T [s] that
returns the activation after t, while u is constant."""


@dataclass(frozen=True)
class Dynamics:
    """The differential equation of an activation."""

    euler: Solution
    """What an Euler stepper takes, as MuJoCo's does: a step of Euler's method, or the exact
    solution for ``"filterexact"``."""
    exact: Solution
    """The exact solution, which steppers of second order take."""
    has_time_constant: bool = True
    """Whether the equation depends on T."""


def _integrate(a: Array, u: Array, t: Array | float, _: Array) -> Array:
    """Return the solution of ȧ = u."""
    return a + t * u


def _filter_by_euler(a: Array, u: Array, t: Array | float, constant: Array) -> Array:
    """Return Euler's step of ȧ = (u − a)/T."""
    return a + t / constant * (u - a)


def _filter(a: Array, u: Array, t: Array | float, constant: Array) -> Array:
    """Return the solution of ȧ = (u − a)/T."""
    return a - jnp.expm1(-t / constant) * (u - a)


DYNAMICS: dict[str, Dynamics] = {
    "integrator": Dynamics(_integrate, _integrate, has_time_constant=False),
    "filter": Dynamics(_filter_by_euler, _filter),
    "filterexact": Dynamics(_filter, _filter),
}
"""All by name, as in MuJoCo's ``dyntype``. To add one, write its functions and a line here."""
