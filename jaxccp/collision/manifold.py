"""The arguments and results of collision kernels: shapes in the world, contact points."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.core import Core
from jaxccp.model.model import HeightGrid, Hull

NO_CONTACT = 1e6
"""Distance [m] of an empty slot. It is finite, so that later computations do not produce
infinities."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Geometry:
    """A shape placed in the world: a core (point, segment, box, …) and a ball."""

    position: Float[Array, "3"]
    """Origin of the shape's frame [m, world]."""
    rotation: Float[Array, "3 3"]
    """Rotation matrix, world from local."""
    size: Float[Array, "3"]
    """Dimensions, whose meaning depends on the kind of shape (``jaxccp.model.shapes``)."""
    radius: Float[Array, ""]
    """Radius of the ball swept over the core (a box's core is ``size - radius``; a cylinder's
    is swept by a disc) [m]."""
    hull: Hull | None = None
    """The polyhedron of a convex mesh."""
    grid: HeightGrid | None = None
    """The grid of a height field."""
    core: Core | None = None
    """The convex core in the shape's frame, for kernels that handle all convex shapes."""

    @property
    def axis(self) -> Float[Array, "3"]:
        """Local z in the world: a capsule's axis, a plane's normal."""
        return self.rotation[:, 2]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Manifold:
    """The k contact slots of one pair (a, b); an empty slot has distance ``NO_CONTACT``."""

    distance: Float[Array, " k"]
    """Signed gap [m]: positive apart, negative penetrating."""
    position: Float[Array, "k 3"]
    """Point midway between the two surface points [m, world]."""
    normal: Float[Array, "k 3"]
    """Unit normal from a to b [world]."""
    feature: Int[Array, " k"]
    """Number of the touching vertex, edge or face; unique among the used slots of a pair."""


def direction(v: Float[Array, "*k 3"], fallback: Float[Array, "3"]) -> Float[Array, "*k 3"]:
    """Return unit vectors along ``v``, or ``fallback`` if ``v`` is shorter than machine epsilon
    [m].

    This threshold, not zero, keeps second derivatives (∝ ‖v‖⁻²) finite in float32 too.
    """
    epsilon = jnp.finfo(v.dtype).eps
    long = jnp.sum(v * v, axis=-1, keepdims=True) > epsilon**2
    stand_in = jnp.where(long, v, 1.0)
    unit: Array = stand_in / jnp.linalg.norm(stand_in, axis=-1, keepdims=True)
    return jnp.where(long, unit, fallback)


def ball_contacts(
    core_a: Float[Array, "k 3"],
    core_b: Float[Array, "k 3"],
    normal: Float[Array, "k 3"],
    radius_a: Float[Array, ""],
    radius_b: Float[Array, ""],
    feature: Int[Array, " k"],
) -> Manifold:
    """Return the contacts between balls around pairs of core points, with distances along given
    normals.

    Args:
        core_a: points of the first core [m].
        core_b: points of the second core [m].
        normal: unit normals from the first to the second.
        radius_a: radius of the first balls [m].
        radius_b: radius of the second balls [m].
        feature: feature numbers of the contacts.
    """
    distance = jnp.einsum("ki,ki->k", core_b - core_a, normal) - radius_a - radius_b
    position = (core_a + core_b + (radius_a - radius_b) * normal) / 2
    return Manifold(distance, position, normal, feature)


def to_world(
    manifold: Manifold, position: Float[Array, "3"], rotation: Float[Array, "3 3"]
) -> Manifold:
    """Return a manifold in the world.

    Args:
        manifold: contacts in a frame.
        position: origin of the frame in the world [m].
        rotation: rotation matrix of the frame, world from local.
    """
    return Manifold(
        manifold.distance,
        position + jnp.einsum("ij,kj->ki", rotation, manifold.position),
        jnp.einsum("ij,kj->ki", rotation, manifold.normal),
        manifold.feature,
    )


def keep(manifold: Manifold, live: Bool[Array, " k"]) -> Manifold:
    """Return the manifold with only its ``live`` slots; the others become empty, with derivative 0.

    Args:
        manifold: contacts of a pair.
        live: slots that stay.
    """
    frozen = jax.lax.stop_gradient(manifold)
    return Manifold(
        jnp.where(live, manifold.distance, NO_CONTACT),
        jnp.where(live[:, None], manifold.position, frozen.position),
        jnp.where(live[:, None], manifold.normal, frozen.normal),
        manifold.feature,
    )
