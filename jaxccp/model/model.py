"""The mechanical model: its numbers are leaves of a pytree, its topology is static."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.content import ByContent, cached_table
from jaxccp.model.actuators.activation import Activations
from jaxccp.model.family import Family
from jaxccp.model.fluid import Fluid
from jaxccp.model.kinematics.dofs import Dofs, dofs
from jaxccp.model.linkage import Actuators, Axes, Joints, Linkage
from jaxccp.model.material import Combination
from jaxccp.model.sites import Sites
from jaxccp.model.smooth import SmoothSurfaces, SmoothTopology
from jaxccp.model.tendons.routing import Tendons
from jaxccp.names import index

ImpactTimes = Literal["bounces", "all"]
"""Which impacts act at their time of impact within a step: those with restitution, or all."""

DENSE = 100
"""Largest number of degrees of freedom for which a model has a single dense mass matrix."""
MAX_DENSE = 300
"""Largest number of degrees of freedom of rigid bodies that share one mass matrix where a method
couples all velocities. With more of them bodies without joints are a part of their own."""


@dataclass(frozen=True, eq=False)
class PairGroup(ByContent):
    """The pairs of shapes that one collision kernel handles."""

    kinds: tuple[str, str]
    """The kinds of the first pair's shapes, by which the kernel is looked up. If the kernel handles
    several kinds, other pairs of the group may have other kinds."""
    first: np.ndarray
    """Index of the first shape of each pair."""
    second: np.ndarray
    """Index of the second shape of each pair."""
    pair_friction: np.ndarray
    """Row of each pair in ``Shapes.pair_friction``, -1 if it has none."""
    broad: str = "all-pairs"
    """Name of the broad phase, one of :data:`jaxccp.collision.broad.BROAD`."""
    room: tuple[int, int] | None = None
    """Capacity for pairs that the broad phase tests, and for pairs that it passes to the kernel.
    None: every pair is passed to the kernel, without a search."""


@dataclass(frozen=True, eq=False)
class Topology(ByContent):
    """The static data of a model, which can be neither differentiated nor batched.

    Topologies compare by content, so that a model built again is not compiled again.
    """

    bodies: tuple[str, ...]
    """Name of each body; body 0 is the fixed world."""
    free: np.ndarray
    """Mask of the rigid bodies that move [nb]."""
    family: np.ndarray
    """Index in ``Model.families`` of the family whose frame the body is, else -1 [nb]."""
    shape_names: tuple[str, ...]
    """Name of each shape."""
    shapes: tuple[str, ...]
    """Kind of each shape."""
    shape_body: np.ndarray
    """Body of each shape [ng]."""
    row: np.ndarray
    """Row of each shape in the table of its kind, such as ``Shapes.hulls``; 0 for kinds that have
    no table [ng]."""
    pairs: tuple[PairGroup, ...]
    """The pairs of hard shapes that may touch, grouped by kernel."""
    combination: Combination
    """Rules that combine the coefficients of two surfaces."""
    rolls: bool
    """Whether hard contacts resist spinning and rolling; if so they have six rows."""
    rebounds: bool
    """Whether impulses may act at their time of impact: some surface had restitution when the model
    was built, or ``impact_times`` is "all"."""
    impact_times: ImpactTimes
    """Which impacts act at their time; all others act at the start of their step."""
    max_contacts: int | None
    """Capacity for contacts in a step; None: for all candidates of all pairs."""
    linkage: Linkage
    """Joints, tendons and actuators."""
    smooth: SmoothTopology | None = None
    """The pairs of shapes with penalty forces between them, if any."""
    dense: int = DENSE
    """Largest number of degrees of freedom for which all rigid bodies share one mass matrix."""
    block_diagonal_mass: bool = False
    """Whether the mass matrix has a block of its own for every rigid body; all joints are rows
    then."""

    @property
    def movable(self) -> np.ndarray:
        """Mask of the bodies that move, rigid ones and frames of families [nb]."""
        return self.free | self.family_frames

    @property
    def family_frames(self) -> np.ndarray:
        """Mask of the bodies that are frames of a family [nb]."""
        return self.family >= 0

    @property
    def searched(self) -> tuple[PairGroup, ...]:
        """The groups of pairs that have a broad phase, those of hard contacts first."""
        pairs = (*self.pairs, *(self.smooth.pairs if self.smooth else ()))
        return tuple(group for group in pairs if group.broad != "all-pairs")

    @cached_table
    def dofs(self) -> Dofs:
        """Degrees of freedom in reduced coordinates."""
        linkage = self.linkage
        ball = np.array(linkage.motions, str) == "ball"
        tree = (np.zeros(0, int), np.zeros(0, bool)) if self.block_diagonal_mass else linkage.tree
        return dofs(linkage.bodies, linkage.owner, ball, tree, self.free & ~self.standalone)

    @cached_table
    def unjointed(self) -> np.ndarray:
        """Mask of the movable rigid bodies without any joint or tendon [nb]."""
        jointed = np.zeros(len(self.bodies), bool)
        jointed[self.linkage.bodies] = jointed[self.linkage.routing.bodies] = True
        return self.free & ~jointed

    @cached_table
    def standalone(self) -> np.ndarray:
        """Mask of the movable rigid bodies that are not part of the dense mass matrix [nb]: all if
        :attr:`block_diagonal_mass`, else the unjointed ones if :attr:`has_many_dofs`."""
        if self.block_diagonal_mass:
            return self.free
        return self.unjointed if self.has_many_dofs else np.zeros_like(self.unjointed)

    @property
    def has_many_dofs(self) -> bool:
        """Tell whether all rigid bodies together have more than :attr:`dense` degrees of freedom in
        reduced coordinates."""
        axes = int(np.isin(self.linkage.owner, self.linkage.tree[0]).sum())
        placed = len(self.linkage.tree[0])
        return 6 * (int(self.free.sum()) - placed) + axes > self.dense

    @cached_property
    def first_bodies_fixed(self) -> bool:
        """Tell whether the first body of every hard contact is fixed, as where planes and height
        fields alone are touched."""
        first = [self.movable[self.shape_body[group.first]].any() for group in self.pairs]
        return bool(first) and not any(first)

    @cached_property
    def with_block_diagonal_mass(self) -> "Topology":
        """Return the topology with :attr:`block_diagonal_mass`; it is made once, and so are its
        tables."""
        return replace(self, block_diagonal_mass=True)

    def body(self, name: str) -> int:
        """Return the index of a body by name."""
        return index("the model", "body", self.bodies, name)

    def shape(self, name: str) -> int:
        """Return the index of a shape by name."""
        return index("the model", "shape", self.shape_names, name)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bodies:
    """Inertial properties of the bodies; the numbers of fixed bodies have no effect."""

    mass: Float[Array, " nb"]
    """Mass [kg]."""
    inertia: Float[Array, "nb 3 3"]
    """Inertia about the centre of mass, in body axes [kg m²]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Hull:
    """Convex polyhedra, one per row of the leading axes, padded to the size of the largest."""

    vertices: Float[Array, "*n v 3"]
    """Vertices, before they are scaled by the shape's size [m]; padded with the first vertex."""
    faces: Int[Array, "*n f m"]
    """Vertices of each face, counter-clockwise seen from outside. A face is padded with its last
    vertex, a polyhedron with its first face."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HeightGrid:
    """Height fields, one per row of the leading axes, padded to the size of the largest."""

    heights: Float[Array, "*n r c"]
    """Heights, before they are scaled by the shape's size [m]."""
    rows: Int[Array, "*n"]
    """The number of rows of the height field, without padding."""
    columns: Int[Array, "*n"]
    """The number of columns of the height field, without padding."""
    window: int = field(metadata={"static": True})
    """The largest number of cells along each axis that one shape may touch at once."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Shapes:
    """Collision geometry and surface properties, one row per shape."""

    position: Float[Array, "ng 3"]
    """Origin of the shape's frame in its body's frame [m]."""
    quaternion: Float[Array, "ng 4"]
    """Orientation of the shape's frame in its body's frame, (w, x, y, z)."""
    size: Float[Array, "ng 3"]
    """Dimensions of the shape, with a meaning that depends on its kind [m]."""
    radius: Float[Array, " ng"]
    """Radius of the ball that is swept over the shape's core [m]; the core has the dimensions
    ``size``."""
    friction: Float[Array, " ng"]
    """Coulomb coefficient."""
    restitution: Float[Array, " ng"]
    """Ratio of separation to approach speed."""
    impact_friction: Float[Array, " ng"]
    """Coulomb coefficient in an impact, divided by ``friction``."""
    compliance: Float[Array, " ng"]
    """Normal displacement per force [m/N]."""
    damping: Float[Array, " ng"]
    """Relaxation time of a compliant contact [s]."""
    rolling: Float[Array, "ng 2"]
    """Coefficients of spinning and rolling friction [m]."""
    pair_friction: Float[Array, "k 3"]
    """Coefficients of friction, and of spinning and rolling friction [m], of the k pairs with their
    own values. All other pairs combine the values of their shapes."""
    hulls: Hull
    """The distinct convex meshes; ``Topology.row`` gives the row of each shape."""
    grids: HeightGrid
    """The distinct height fields; ``Topology.row`` gives the row of each shape."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactSettings:
    """Settings of contact that all steppers share."""

    margin: Float[Array, ""]
    """Gap below which a contact enters the problem [m]."""
    recovery_speed: Float[Array, ""]
    """Largest speed at which ``EulerImplicitLinearized`` removes penetration [m/s]."""
    min_bounce_speed: Float[Array, ""]
    """Approach speed below which restitution is 0 [m/s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Model:
    """Bodies, shapes, joints and settings; built by :class:`jaxccp.scene.ModelBuilder`."""

    bodies: Bodies
    """Masses and inertias."""
    shapes: Shapes
    """Collision geometry and surfaces."""
    joints: Joints
    """Frames of the joints."""
    axes: Axes
    """Geometry of the joints' axes, and forces along axes and tendons."""
    tendons: Tendons
    """Geometry and force laws of the tendons."""
    actuators: Actuators
    """Numbers of the actuators."""
    gravity: Float[Array, "3"]
    """Acceleration by gravity [m/s²]."""
    contact: ContactSettings
    """Settings of contact."""
    sites: Sites
    """Named frames on the bodies."""
    topology: Topology = field(metadata={"static": True})
    """The static data."""
    fluid: Fluid | None = None
    """A fluid around the bodies, if any."""
    families: tuple[Family, ...] = ()
    """Flexible bodies and other velocities that belong neither to a rigid body nor to a joint."""
    smooth: SmoothSurfaces | None = None
    """Numbers of smooth contacts, in a model with ``topology.smooth``."""
    activations: Activations | None = None
    """Activations of the actuators that have one, if any."""

    def with_dense(self, dense: int) -> "Model":
        """Return the model with another :attr:`Topology.dense`; 0 keeps all bodies without joints
        and tendons out of the mass matrix."""
        return replace(self, topology=replace(self.topology, dense=dense))

    def with_recovery_speed(self, speed: float) -> "Model":
        """Return the model with another recovery speed.

        Args:
            speed: largest speed at which penetration is removed [m/s]; 0 leaves it, infinity
                removes it within a step.
        """
        value = jnp.full_like(self.contact.recovery_speed, speed)
        return replace(self, contact=replace(self.contact, recovery_speed=value))
