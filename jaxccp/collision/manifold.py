"""What every collision kernel takes and gives: placed shapes in, contact points out."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.core import Core
from jaxccp.model.model import HeightGrid, Hull

NO_CONTACT = 1e6
"""Distance [m] of an empty slot: finite, so that nothing downstream meets an infinity."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Geometry:
    """One shape placed in the world: a core (point, segment, box, …) and a ball."""

    position: Float[Array, "3"]
    """Origin of the shape's frame [m, world]."""
    rotation: Float[Array, "3 3"]
    """World from local."""
    size: Float[Array, "3"]
    """Meaning by kind, as the shapes in ``jaxccp.model.shapes`` have it."""
    radius: Float[Array, ""]
    """Radius of the ball swept over the core (a box's core is ``size - radius``; a cylinder's
    is swept by a disc) [m]."""
    hull: Hull | None = None
    """Of a convex mesh."""
    grid: HeightGrid | None = None
    """Of a height field."""
    core: Core | None = None
    """In the shape's own frame, for the kernels that serve all convex shapes."""

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
    """Midway between the two surface points [m, world]."""
    normal: Float[Array, "k 3"]
    """Unit, from a to b [world]."""
    feature: Int[Array, " k"]
    """Names the touching vertices, edges or faces: unique among the live slots of a pair."""


def direction(v: Float[Array, "*k 3"], fallback: Float[Array, "3"]) -> Float[Array, "*k 3"]:
    """Unit vectors along ``v``, or ``fallback`` where ``v`` is shorter than arithmetic resolves.

    Cutting off at machine epsilon [m], not at zero, keeps second derivatives (∝ ‖v‖⁻²) finite in
    float32 too.
    """
    epsilon = jnp.finfo(v.dtype).eps
    long = jnp.sum(v * v, axis=-1, keepdims=True) > epsilon**2
    stand_in = jnp.where(long, v, 1.0)
    unit: Array = stand_in / jnp.linalg.norm(stand_in, axis=-1, keepdims=True)
    return jnp.where(long, unit, fallback)


def between(
    core_a: Float[Array, "k 3"],
    core_b: Float[Array, "k 3"],
    normal: Float[Array, "k 3"],
    radius_a: Float[Array, ""],
    radius_b: Float[Array, ""],
    feature: Int[Array, " k"],
) -> Manifold:
    """Contacts between balls around given core points, measured along given normals."""
    distance = jnp.einsum("ki,ki->k", core_b - core_a, normal) - radius_a - radius_b
    position = (core_a + core_b + (radius_a - radius_b) * normal) / 2
    return Manifold(distance, position, normal, feature)


def to_world(
    manifold: Manifold, position: Float[Array, "3"], rotation: Float[Array, "3 3"]
) -> Manifold:
    """A manifold given in a frame, in the world."""
    return Manifold(
        manifold.distance,
        position + jnp.einsum("ij,kj->ki", rotation, manifold.position),
        jnp.einsum("ij,kj->ki", rotation, manifold.normal),
        manifold.feature,
    )


def keep(manifold: Manifold, live: Bool[Array, " k"]) -> Manifold:
    """Empty the slots that are not ``live``; what stays in them is finite and has derivative 0."""
    frozen = jax.lax.stop_gradient(manifold)
    return Manifold(
        jnp.where(live, manifold.distance, NO_CONTACT),
        jnp.where(live[:, None], manifold.position, frozen.position),
        jnp.where(live[:, None], manifold.normal, frozen.normal),
        manifold.feature,
    )
