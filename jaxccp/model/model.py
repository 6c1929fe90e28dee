"""The mechanical model: every number a leaf, every fact of topology static."""

from dataclasses import dataclass, field
from functools import cached_property

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.content import ByContent
from jaxccp.model.dofs import Dofs, dofs
from jaxccp.model.linkage import Actuators, Axes, Joints, Linkage
from jaxccp.model.material import Combination
from jaxccp.model.medium import Medium
from jaxccp.model.routing import Tendons
from jaxccp.names import index


@dataclass(frozen=True, eq=False)
class PairGroup(ByContent):
    """All pairs of shapes with one collision kernel; shape indices into the model's shapes."""

    kinds: tuple[str, str]
    """Of one pair, under which the kernel is found; only kernels of all kinds have others."""
    first: np.ndarray
    second: np.ndarray
    rubs: np.ndarray
    """Row in ``Shapes.rubs`` of each pair that has one, else -1."""
    broad: str = "all-pairs"
    """Name of the broad phase, that of :data:`jaxccp.collision.broad.BROAD`."""
    room: tuple[int, int] | None = None
    """How many pairs the broad phase has room to test, and how many of them for the kernel. None:
    for all, so that there is nothing to search."""


@dataclass(frozen=True, eq=False)
class Topology(ByContent):
    """What cannot be differentiated or batched. Compared by identity: build a model once."""

    bodies: tuple[str, ...]
    """Names; body 0 is the fixed world."""
    free: np.ndarray
    """Mask [nb] of the bodies that move."""
    shape_names: tuple[str, ...]
    shapes: tuple[str, ...]
    """Kind of each shape."""
    shape_body: np.ndarray
    """Body of each shape [ng]."""
    row: np.ndarray
    """Of each shape in the table of its kind, such as ``Shapes.hulls`` [ng]; else 0."""
    pairs: tuple[PairGroup, ...]
    combination: Combination
    rolls: bool
    """Whether contacts resist spinning and rolling: they then have six rows."""
    rebounds: bool
    """Whether any surface had restitution when the model was built: only then are impulses of
    bounces placed at their time of impact."""
    max_contacts: int | None
    """Capacity for contacts; None keeps every candidate of every pair."""
    linkage: Linkage

    @property
    def searched(self) -> tuple[PairGroup, ...]:
        """The groups of pairs that have a broad phase."""
        return tuple(group for group in self.pairs if group.broad != "all-pairs")

    @cached_property
    def dofs(self) -> Dofs:
        """Degrees of freedom in reduced coordinates."""
        linkage = self.linkage
        ball = np.array(linkage.motions, str) == "ball"
        return dofs(linkage.bodies, linkage.owner, ball, linkage.tree, self.free)

    def body(self, name: str) -> int:
        """Index of a body by name."""
        return index("the model", "body", self.bodies, name)

    def shape(self, name: str) -> int:
        """Index of a shape by name."""
        return index("the model", "shape", self.shape_names, name)


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
class Hull:
    """Convex polyhedra, one per row of the leading axes, padded to the size of the largest."""

    vertices: Float[Array, "*n v 3"]
    """Before they are scaled by the shape's size [m]; padded by repeating the first."""
    faces: Int[Array, "*n f m"]
    """Vertices of each face, counter-clockwise seen from outside; padded by repeating the last
    vertex, and the first face."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HeightGrid:
    """Height fields, one per row of the leading axes, padded to the size of the largest."""

    heights: Float[Array, "*n r c"]
    """Before they are scaled by the shape's size [m]."""
    rows: Int[Array, "*n"]
    columns: Int[Array, "*n"]
    window: int = field(metadata={"static": True})
    """Cells along each axis that a shape may touch at once."""


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
    rolling: Float[Array, "ng 2"]
    """Spinning and rolling friction [m]."""
    rubs: Float[Array, "k 3"]
    """Friction, spinning and rolling friction [m] of pairs that do not combine those of their
    shapes."""
    hulls: Hull
    """Of the convex meshes; ``Topology.row`` says whose is which."""
    grids: HeightGrid
    """Of the height fields, likewise."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactSettings:
    """Numbers that govern contact in every stepper."""

    margin: Float[Array, ""]
    """Gap below which a contact enters the problem [m]."""
    recovery_speed: Float[Array, ""]
    """Largest speed at which ``EulerImplicitLinearized`` undoes penetration [m/s]."""
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
    medium: Medium | None = None
    """A fluid around the bodies, if any."""
