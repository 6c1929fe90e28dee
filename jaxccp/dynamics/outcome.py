"""Outcome of the impulses of a step."""

from dataclasses import dataclass

import jax
from jaxtyping import Array, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Outcome:
    """Velocities and impulses of a step.

    The twist and the transport velocity differ if a bouncing contact acts late in the step: the
    body keeps its old velocity until then.
    """

    twist: Float[Array, "nb 6"]
    """Twists of the bodies after the impulses [m/s, rad/s]."""
    transport_velocity: Float[Array, " nv"]
    """Generalised velocities that move the poses over the step."""
    scalars: Float[Array, " s"]
    """Impulses of all scalar rows, the eliminated ones included [N s, N m s]."""
    contacts: Float[Array, "c w"]
    """Impulses of the contacts in world axes [N s]; if contacts roll, then the angular ones [N m
    s]."""
    lever_velocity: Float[Array, " nv"] | None = None
    """Transport velocity if the impulse of each contact acted after ``Action.delay``, the time at
    which its lever is taken, and not after the mean delay of the impacts that it answers; None if
    all impulses act at the start."""
    families: tuple[Float[Array, " nv"], ...] = ()
    """Velocities of the model's families after the impulses."""
    late_momentum_change: Float[Array, "nb 6"] | None = None
    """Momentum of jointed bodies after late impulses, less M V of ``twist`` with mass and axes at
    the start of the step [N s, N m s]; both change until the impact. None if no impulse is late, if
    rows of loops or tendons are eliminated, and if the mass matrix is block diagonal."""
