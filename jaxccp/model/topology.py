"""The static data of a model: what exists, how it is connected, and which pairs may touch."""

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Literal

import numpy as np

from jaxccp.content import ByContent, cached_table
from jaxccp.model.kinematics.dofs import Dofs, dofs
from jaxccp.model.linkage import Linkage
from jaxccp.model.material import Combination
from jaxccp.model.pair_group import PairGroup
from jaxccp.model.smooth import SmoothTopology
from jaxccp.names import index

ImpactTimes = Literal["bounces", "all"]
"""Which impacts act at their time of impact within a step: those with restitution, or all."""

WORLD = 0
"""Index of the world, the fixed body that every model begins with."""
DENSE = 100
"""Largest number of degrees of freedom for which a model has a single dense mass matrix."""
MAX_DENSE = 300
"""Value of :attr:`Topology.dense` where velocities are coupled anyway: in steps that are implicit
in the forces of smooth contacts, and in those of second order with flexible bodies whose equations
are a band."""


@dataclass(frozen=True, eq=False)
class Topology(ByContent):
    """The static data of a model, which can be neither differentiated nor batched.

    Topologies compare by content, so that a model built again is not compiled again.
    """

    bodies: tuple[str, ...]
    """Name of each body; body 0 is the fixed world."""
    free: np.ndarray
    """Mask of the rigid bodies that move, jointed or not [nb]. The “free bodies” of
    :mod:`jaxccp.dynamics.free_bodies` are those in :attr:`standalone`."""
    family: np.ndarray
    """Index in ``Model.families`` of the family whose frame the body is, else -1 [nb]."""
    shape_names: tuple[str, ...]
    """Name of each shape."""
    shapes: tuple[str, ...]
    """Kind of each shape."""
    shape_body: np.ndarray
    """Body of each shape [ng]."""
    row: np.ndarray
    """Row of each shape in the table of its kind, such as ``Shapes.hulls`` [ng]. It has no meaning
    for kinds without a table."""
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
    axisymmetric: np.ndarray
    """Mask of the bodies on one joint, a hinge, whose mass was symmetric about its axis when the
    model was built [nb]."""
    smooth: SmoothTopology | None = None
    """The pairs of shapes with penalty forces between them, if any."""
    dense: int = DENSE
    """Largest number of degrees of freedom for which all rigid bodies share one mass matrix."""
    block_diagonal_mass: bool = False
    """Whether the mass matrix has a block of its own for every rigid body; all joints are rows
    then."""

    def __post_init__(self) -> None:
        super().__post_init__()
        room = self.max_contacts
        whole = isinstance(room, Integral) and not isinstance(room, bool)
        if room is not None and not (whole and room >= 1):
            raise ValueError(f"max_contacts must be a whole number and at least 1, not {room!r}")

    @property
    def movable(self) -> np.ndarray:
        """Mask of the bodies that move, rigid ones and frames of families [nb]."""
        return self.free | self.family_frames

    @property
    def family_frames(self) -> np.ndarray:
        """Mask of the bodies that are frames of a family [nb]."""
        return self.family >= 0

    @property
    def touchable(self) -> tuple[PairGroup, ...]:
        """The groups of pairs that can touch, those of hard contacts first."""
        return (*self.pairs, *(self.smooth.pairs if self.smooth else ()))

    @property
    def searched(self) -> tuple[PairGroup, ...]:
        """The groups of pairs that have a broad phase, those of hard contacts first."""
        return tuple(group for group in self.touchable if group.broad != "all-pairs")

    @cached_table
    def dofs(self) -> Dofs:
        """Degrees of freedom in reduced coordinates."""
        linkage = self.linkage
        ball = np.array(linkage.motions, str) == "ball"
        tree = (np.zeros(0, int), np.zeros(0, bool)) if self.block_diagonal_mass else linkage.tree
        free = self.free & ~self.standalone
        return dofs(linkage.bodies, linkage.owner, ball, tree, free, self.axisymmetric)

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
        """Return the index of a body by name; ``ValueError`` if there is none."""
        return index("the model", "body", self.bodies, name)

    def shape(self, name: str) -> int:
        """Return the index of a shape by name; ``ValueError`` if there is none."""
        return index("the model", "shape", self.shape_names, name)
