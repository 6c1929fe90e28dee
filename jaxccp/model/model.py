"""The mechanical model: its numbers are leaves of a pytree, its topology is static."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.execution import trees
from jaxccp.model.actuators.activation import Activations
from jaxccp.model.family import Family
from jaxccp.model.fluid import Fluid
from jaxccp.model.linkage import Actuators, Axes, Joints
from jaxccp.model.sites import Sites
from jaxccp.model.smooth import SmoothSurfaces
from jaxccp.model.tendons.routing import Tendons
from jaxccp.model.topology import Topology


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
    """Origin of the shape's frame, from its body's centre of mass, in body axes [m]."""
    quaternion: Float[Array, "ng 4"]
    """Orientation of the shape's frame in body axes, (w, x, y, z)."""
    size: Float[Array, "ng 3"]
    """Dimensions of the shape, with a meaning that depends on its kind [m]. Those of a convex mesh,
    and the third one of a height field, are factors."""
    radius: Float[Array, " ng"]
    """Radius of the ball that is swept over the shape's core [m]. The half extents of a box's core
    are ``size - radius``; a cylinder is a segment swept by a disc of this radius."""
    friction: Float[Array, " ng"]
    """Coulomb coefficient."""
    restitution: Float[Array, " ng"]
    """Ratio of separation to approach speed."""
    impact_friction: Float[Array, " ng"]
    """Ratio of the Coulomb coefficient in impacts to ``friction``."""
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

        Raises:
            ValueError: the speed is known and negative or not a number.
        """
        if not trees.is_traced(speed) and not np.all(np.asarray(speed) >= 0):
            raise ValueError(f"with_recovery_speed: speed must be ≥ 0 [m/s], not {speed!r}")
        value = jnp.full_like(self.contact.recovery_speed, speed)
        return replace(self, contact=replace(self.contact, recovery_speed=value))
