"""The table of bodies and the initial state, from the bodies that were added to a builder."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.model.model import Bodies, Topology
from jaxccp.model.state import Rotors, State


@dataclass
class BodySpec:
    """A body as it was added; the mass and inertia of a fixed one are placeholders."""

    name: str
    free: bool
    mass: float
    inertia: np.ndarray
    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray


def body_table(bodies: Sequence[BodySpec]) -> Bodies:
    """The table of bodies, in JAX's current default precision."""
    return Bodies(_stack(bodies, "mass"), _stack(bodies, "inertia"))


def initial_state(bodies: Sequence[BodySpec], topology: Topology) -> State:
    """The state at time 0: joints' coordinates and rates of rotors are 0."""
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
    )


def _stack(bodies: Sequence[BodySpec], name: str) -> Array:
    return jnp.asarray(np.stack([getattr(body, name) for body in bodies]), float)
