"""Contacts from a model and a state: broad phase, kernels of its candidates, capacity."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.broad import BROAD, Candidates
from jaxccp.collision.cores import CORES
from jaxccp.collision.manifold import Geometry, Manifold, keep
from jaxccp.collision.pairs import PAIRS
from jaxccp.collision.shape_placement import place_shapes, shapes_of_kind, take_shapes
from jaxccp.execution.jitted import jitted
from jaxccp.math import quaternion
from jaxccp.math.contact_frame import contact_frame
from jaxccp.model.material import combine
from jaxccp.model.model import Model
from jaxccp.model.pair_group import PairGroup
from jaxccp.model.smooth import SmoothTopology
from jaxccp.model.state import State
from jaxccp.model.topology import Topology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Contacts:
    """The c contact slots of a step; slots that are not ``live`` are padding."""

    live: Bool[Array, " c"]
    """Mask of the slots with a contact."""
    gap: Float[Array, " c"]
    """Signed distance [m], negative when penetrating."""
    position: Float[Array, "c 3"]
    """Point midway between the two surfaces, world [m]."""
    frame: Float[Array, "c 3 3"]
    """Rows: unit normal from the first body to the second, and two tangents (world)."""
    shapes: Int[Array, "c 2"]
    """First and second shape of each contact; with the feature they identify it."""
    bodies: Int[Array, "c 2"]
    """Bodies of the two shapes."""
    friction: Float[Array, " c"]
    """Coulomb coefficient in lasting contact."""
    impact_friction: Float[Array, " c"]
    """Coulomb coefficient in an impact, not the ratio ``Material.impact_friction``."""
    restitution: Float[Array, " c"]
    """Ratio of separation to approach speed."""
    rolling: Float[Array, "c 2"]
    """Coefficients of spinning and rolling friction [m]."""
    compliance: Float[Array, " c"]
    """Normal displacement per force [m/N]."""
    damping: Float[Array, " c"]
    """Relaxation time of a compliant contact [s]."""
    feature: Int[Array, " c"]
    """Number of the touching feature (vertex, edge or face); it distinguishes the contacts of two
    shapes."""
    total: Int[Array, ""]
    """Number of live contacts before the capacity was applied; more than c means overflow."""
    candidates: Int[Array, "g 2"]
    """Number of pairs that each broad phase needed room for, to test and to pass on to kernels; one
    with room for all pairs does not search, and has 0 and the number of all pairs."""
    position_rate: Float[Array, "c 3"]
    """Velocity of ``position`` at the present velocities of the bodies [m/s]; zero in a model
    without rebounds."""
    normal_rate: Float[Array, "c 3"]
    """Rate of the normal at the present velocities of the bodies [1/s]; zero in a model without
    rebounds."""
    position_acceleration: Float[Array, "c 3"]
    """Second derivative of ``position`` at constant velocities of the bodies [m/s²]; zero in a
    model without rebounds, and for pairs with a shared kernel (``Pair.shared``)."""
    normal_acceleration: Float[Array, "c 3"]
    """Second derivative of the normal at constant velocities of the bodies [1/s²]; zero there
    too."""

    def mean_point_velocity(self, time: Float[Array, " c"]) -> Float[Array, "c 3"]:
        """Return the mean velocity of ``position`` over the next ``time`` seconds [m/s].

        Args:
            time: length of the interval of each contact [s].
        """
        return self.position_rate + 0.5 * time[:, None] * self.position_acceleration


def slots(topology: Topology | SmoothTopology) -> int:
    """Return the number of candidate contact points of all hard pairs, or of all smooth pairs."""
    return sum(len(group.first) * PAIRS[group.kinds].points for group in topology.pairs)


def count_stackable_bodies(topology: Topology) -> int:
    """Return the number of free bodies that can be part of a stack: their contacts with other free
    bodies have several points."""
    stackable: set[int] = set()
    for group in topology.pairs:
        bodies = topology.shape_body[np.stack([group.first, group.second])]
        faces = PAIRS[group.kinds].points > 1
        stackable.update(bodies[:, faces & topology.free[bodies].all(axis=0)].ravel().tolist())
    return len(stackable)


@jitted
def detect(model: Model, state: State) -> Contacts:
    """Return all contacts with a gap below the margin.

    If there are more contact slots than the capacity, the deepest contacts are kept, deepest first.

    Args:
        model: the shapes.
        state: poses and velocities of the bodies.
    """
    topology = model.topology
    placed = place_shapes(model, jax.lax.stop_gradient(state))
    candidates = [BROAD[group.broad](model, placed, group) for group in topology.pairs]
    manifold, drift = _moving(model, state, candidates)
    columns = [
        _columns(group, pairs) for group, pairs in zip(topology.pairs, candidates, strict=True)
    ]
    pairs = jnp.concatenate([jnp.zeros((0, 3), jnp.int32), *columns])
    live = manifold.distance < model.contact.margin
    total = jnp.sum(live, dtype=jnp.int32)

    capacity = topology.max_contacts
    if capacity is not None and capacity < len(live):
        depth = jnp.where(live, -manifold.distance, -jnp.inf)
        _, deepest = jax.lax.top_k(jax.lax.stop_gradient(depth), capacity)
        manifold = jax.tree.map(lambda leaf: leaf[deepest], manifold)
        pairs, live = pairs[deepest], live[deepest]
        drift = drift[deepest]
    needed = [pairs.needed for pairs in candidates if pairs.needed is not None]
    room_needed = jnp.stack(needed) if needed else jnp.zeros((0, 2), jnp.int32)
    return _contacts(model, manifold, pairs, live, total, room_needed, drift)


def _moving(
    model: Model, state: State, candidates: Sequence[Candidates]
) -> tuple[Manifold, Float[Array, "k 12"]]:
    """Return every candidate point, and the first two time derivatives of its position and normal.

    The derivatives (position', normal', position'', normal'') are those at constant velocities of
    the bodies. Only rebounds need them; they are zero in a model without rebounds. The second ones
    of shared kernels, which have no second derivatives, are zero.
    """
    if not model.topology.rebounds:
        manifold = _manifold(model, state, candidates)
        return manifold, jnp.zeros((len(manifold.distance), 12), manifold.distance.dtype)
    movable = jnp.asarray(model.topology.movable)[:, None]
    velocity = jnp.where(movable, state.velocity, 0.0)
    spin = jnp.where(movable, state.angular_velocity, 0.0)
    turning = 0.5 * quaternion.multiply(jnp.pad(spin, ((0, 0), (1, 0))), state.quaternion)
    slowing = -0.25 * jnp.sum(spin * spin, axis=1, keepdims=True) * state.quaternion

    def at(time: Array) -> tuple[Array, Manifold]:
        position = state.position + time * velocity
        # A steady rotation to second order: the derivatives are those of unit quaternions.
        orientation = state.quaternion + time * (turning + 0.5 * time * slowing)
        shifted = _manifold(
            model, replace(state, position=position, quaternion=orientation), candidates
        )
        return jnp.concatenate([shifted.position, shifted.normal], axis=1), shifted

    start = jnp.zeros((), velocity.dtype)
    unit = jnp.ones_like(start)

    def rate(time: Array) -> tuple[Array, tuple[Array, Manifold]]:
        _, first, shifted = jax.jvp(at, (time,), (unit,), has_aux=True)
        return first, (first, shifted)

    _, second, (first, manifold) = jax.jvp(rate, (start,), (unit,), has_aux=True)
    groups = zip(model.topology.pairs, candidates, strict=True)
    own = [np.full(len(_columns(g, c)), not PAIRS[g.kinds].shared) for g, c in groups]
    own = np.concatenate([np.zeros(0, bool), *own])[:, None]
    return manifold, jnp.concatenate([first, jnp.where(own, jnp.asarray(second), 0.0)], axis=1)


def _manifold(model: Model, state: State, candidates: Sequence[Candidates]) -> Manifold:
    """Return every candidate point of every pair, group by group."""
    placed = place_shapes(model, state)
    groups = [
        _narrow(model, placed, group, pairs)
        for group, pairs in zip(model.topology.pairs, candidates, strict=True)
    ]
    if not groups:
        return _no_manifold(state.position.dtype)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *groups)


def _contacts(
    model: Model,
    manifold: Manifold,
    pairs: Array,
    live: Array,
    total: Array,
    room_needed: Array,
    drift: Array,
) -> Contacts:
    """Return the contacts of candidate points.

    Args:
        model: the surfaces.
        manifold: gaps, points and normals.
        pairs: both shapes of each point, and the row in ``Shapes.pair_friction`` or -1.
        live: whether each point counts.
        total: number of live points before the capacity was applied.
        room_needed: capacities that the broad phases needed.
        drift: derivatives of position and normal, as :func:`_moving` returns them.
    """
    table, rules = model.shapes, model.topology.combination
    a, b = pairs[:, 0], pairs[:, 1]
    impact = table.friction * table.impact_friction
    friction = combine(rules.friction, table.friction[a], table.friction[b])
    in_impact = combine(rules.friction, impact[a], impact[b])
    rolling = combine(rules.friction, table.rolling[a], table.rolling[b])
    if len(table.pair_friction):
        has_pair_friction, pair_friction = pairs[:, 2] >= 0, table.pair_friction[pairs[:, 2]]
        friction = jnp.where(has_pair_friction, pair_friction[:, 0], friction)
        in_impact = jnp.where(has_pair_friction, pair_friction[:, 0], in_impact)
        rolling = jnp.where(has_pair_friction[:, None], pair_friction[:, 1:], rolling)
    return Contacts(
        live,
        manifold.distance,
        manifold.position,
        contact_frame(manifold.normal),
        pairs[:, :2],
        jnp.asarray(model.topology.shape_body, jnp.int32)[pairs[:, :2]],
        friction,
        in_impact,
        combine(rules.restitution, table.restitution[a], table.restitution[b]),
        rolling,
        table.compliance[a] + table.compliance[b],
        table.damping[a] + table.damping[b],
        manifold.feature,
        total,
        room_needed,
        *jnp.split(drift, 4, axis=1),
    )


def _narrow(model: Model, placed: Geometry, group: PairGroup, candidates: Candidates) -> Manifold:
    """Return every candidate point of a group's pairs, pair by pair."""
    pair = PAIRS[group.kinds]

    def side(kind: str, table: np.ndarray) -> Geometry:
        index = _table_rows(table, candidates)
        plain = pair.shared and kind in CORES  # and perhaps not all of this kind
        return take_shapes(placed, index) if plain else shapes_of_kind(model, kind, placed, index)

    a, b = side(group.kinds[0], group.first), side(group.kinds[1], group.second)
    # Traced once for all groups and models.
    manifold = jax.vmap(jax.jit(pair.kernel))(a, b)
    if candidates.real is not None:
        manifold = jax.vmap(keep)(
            manifold, jnp.repeat(candidates.real[:, None], pair.points, axis=1)
        )
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), manifold)


def _columns(group: PairGroup, candidates: Candidates) -> Int[Array, "c 3"]:
    """Return the two shapes of every candidate point, and its row in ``Shapes.pair_friction`` (-1
    if none)."""
    columns = np.stack([group.first, group.second, group.pair_friction], axis=1).astype(np.int32)
    rows, points = _table_rows(columns, candidates), PAIRS[group.kinds].points
    repeat = np.repeat if isinstance(rows, np.ndarray) else jnp.repeat
    return jnp.asarray(repeat(rows, points, axis=0))


def _table_rows(table: np.ndarray, candidates: Candidates) -> Array | np.ndarray:
    """Return the candidates' rows of a table of the group; as a NumPy array if the candidates are
    constant."""
    return (
        table[candidates.row]
        if isinstance(candidates.row, np.ndarray)
        else jnp.asarray(table)[candidates.row]
    )


def _no_manifold(dtype: jnp.dtype) -> Manifold:
    """Return a manifold without slots."""
    point = jnp.zeros((0, 3), dtype)
    return Manifold(jnp.zeros(0, dtype), point, point, jnp.zeros(0, jnp.int32))
