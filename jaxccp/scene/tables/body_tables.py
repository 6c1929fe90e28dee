"""The table of bodies and the initial state, made from the bodies added to a builder."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.model.kinematics.family_frames import with_frames
from jaxccp.model.model import Bodies, Model
from jaxccp.model.state import Rotors, State


@dataclass
class BodySpec:
    """A body that was added to a builder; the mass and inertia of a fixed one are placeholders."""

    name: str
    """Name of the body."""
    free: bool
    """Whether it is a rigid body that is not fixed."""
    mass: float
    """Mass [kg]."""
    inertia: np.ndarray
    """Inertia about the centre of mass, body axes [3 3] [kg m²]."""
    position: np.ndarray
    """Initial position of the centre of mass, world [3] [m]."""
    quaternion: np.ndarray
    """Initial orientation (w, x, y, z)."""
    velocity: np.ndarray
    """Initial velocity of the centre of mass, world [3] [m/s]."""
    angular_velocity: np.ndarray
    """Initial angular velocity, world axes [3] [rad/s]."""
    family: int = -1
    """Index of the family of which it is a frame; -1 for other bodies."""
    moves: bool = True
    """Whether its family lets its origin move."""
    turns: bool = True
    """Whether its family lets it turn."""

    @property
    def is_movable(self) -> bool:
        """Tell whether it is a rigid body that is not fixed, or a frame of a family."""
        return self.free or self.family >= 0


def body_table(bodies: Sequence[BodySpec]) -> Bodies:
    """Return the table of bodies, in JAX's current default precision."""
    return Bodies(_stack(bodies, "mass"), _stack(bodies, "inertia"))


def initial_state(model: Model, bodies: Sequence[BodySpec]) -> State:
    """Return the state at time 0; joint coordinates, rates of rotors and activations are 0.

    Args:
        model: the model.
        bodies: the bodies that were added.
    """
    position = _stack(bodies, "position")
    topology = model.topology
    linkage = topology.linkage
    axes, tendons = len(linkage.axes), len(linkage.routing.tendons)
    state = State(
        position=position,
        quaternion=_stack(bodies, "quaternion"),
        velocity=_stack(bodies, "velocity"),
        angular_velocity=_stack(bodies, "angular_velocity"),
        time=jnp.zeros((), position.dtype),
        joint_positions=jnp.zeros(axes, position.dtype),
        rotors=Rotors(
            jnp.zeros(axes + tendons, position.dtype),
            jnp.zeros((len(bodies), 6), position.dtype),
        ),
        families=tuple(family.start() for family in model.families),
        activation=None
        if model.activations is None
        else jnp.zeros_like(model.activations.time_constant),
    )
    return with_frames(model, state)


def _stack(bodies: Sequence[BodySpec], name: str) -> Array:
    return jnp.asarray(np.stack([getattr(body, name) for body in bodies]), float)
