"""From bodies, as they were added, to their table and the initial state."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.collision.contact_cache import empty_memory
from jaxccp.model.model import Bodies, Topology
from jaxccp.model.state import Rotors, State


@dataclass
class Body:
    """A body in its place; a fixed one has mass and inertia as placeholders."""

    name: str
    free: bool
    mass: float
    inertia: np.ndarray
    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


def body_table(bodies: Sequence[Body]) -> Bodies:
    """In JAX's current default precision, as all that follows."""
    return Bodies(_stack(bodies, "mass"), _stack(bodies, "inertia"))


def initial_state(bodies: Sequence[Body], topology: Topology) -> State:
    """At time 0, with coordinates and rotors at 0 and nothing remembered."""
    position = _stack(bodies, "position")
    linkage = topology.linkage
    axes, tendons = len(linkage.axes), len(linkage.routing.tendons)
    return State(
        position,
        _stack(bodies, "quaternion"),
        _stack(bodies, "velocity"),
        _stack(bodies, "angular_velocity"),
        jnp.zeros((), position.dtype),
        jnp.zeros(axes, position.dtype),
        Rotors(
            jnp.zeros(axes + tendons, position.dtype),
            jnp.zeros((len(bodies), 6), position.dtype),
        ),
        empty_memory(topology, position.dtype),
    )


def _stack(bodies: Sequence[Body], name: str) -> Array:
    return jnp.asarray(np.stack([getattr(body, name) for body in bodies]), float)
