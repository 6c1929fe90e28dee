"""The mechanical model: every number a leaf, every fact of topology static."""

from dataclasses import dataclass, field

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxccp.model.linkage import Actuators, Axes, Joints, Linkage
from jaxccp.model.material import Combination
from jaxccp.model.routing import Tendons


@dataclass(frozen=True, eq=False)
class PairGroup:
    """All pairs of shapes of two kinds that may touch; shape indices into the model's shapes."""

    kinds: tuple[str, str]
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True, eq=False)
class Topology:
    """What cannot be differentiated or batched. Compared by identity: build a model once."""

    bodies: tuple[str, ...]
    """Names; body 0 is the fixed world."""
    free: np.ndarray
    """Mask [nb] of the bodies that move."""
    shapes: tuple[str, ...]
    """Kind of each shape."""
    shape_body: np.ndarray
    """Body of each shape [ng]."""
    pairs: tuple[PairGroup, ...]
    combination: Combination
    max_contacts: int | None
    """Capacity for contacts; None keeps every candidate of every pair."""
    linkage: Linkage

    def body(self, name: str) -> int:
        """Index of a body by name."""
        if name not in self.bodies:
            raise ValueError(f"no body named {name!r}; the model has {', '.join(self.bodies)}")
        return self.bodies.index(name)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bodies:
    """Inertial properties; those of fixed bodies are placeholders."""

    mass: Float[Array, " nb"]
    """[kg]"""
    inertia: Float[Array, "nb 3 3"]
    """About the centre of mass, in body axes [kg m²]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Shapes:
    """Collision geometry and surfaces, one row per shape."""

    position: Float[Array, "ng 3"]
    """Of the shape's frame in its body's [m]."""
    quaternion: Float[Array, "ng 4"]
    size: Float[Array, "ng 3"]
    radius: Float[Array, " ng"]
    friction: Float[Array, " ng"]
    restitution: Float[Array, " ng"]
    impact_friction: Float[Array, " ng"]
    """Relative to ``friction``."""
    compliance: Float[Array, " ng"]
    damping: Float[Array, " ng"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactSettings:
    """Numbers that govern contact in every stepper."""

    margin: Float[Array, ""]
    """Gap below which a contact enters the problem [m]."""
    recovery_speed: Float[Array, ""]
    """Largest speed at which penetration is undone [m/s]."""
    min_bounce_speed: Float[Array, ""]
    """Approach speed below which restitution is 0 [m/s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Model:
    """Bodies, shapes, joints and settings; made by :class:`jaxccp.scene.ModelBuilder`."""

    bodies: Bodies
    shapes: Shapes
    joints: Joints
    axes: Axes
    tendons: Tendons
    actuators: Actuators
    gravity: Float[Array, "3"]
    """[m/s²]"""
    contact: ContactSettings
    topology: Topology = field(metadata={"static": True})
