"""From a model and a state to contacts: broad phase, kernels of its candidates, capacity."""

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
from jaxccp.collision.placed import of_kind, place_shapes, some
from jaxccp.math import quaternion
from jaxccp.math.contact_frame import contact_frame
from jaxccp.math.jitted import jitted
from jaxccp.model.material import combine
from jaxccp.model.model import Model, PairGroup, Topology
from jaxccp.model.smooth import SmoothTopology
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Contacts:
    """The c contacts given to the solver; those not ``live`` are padding."""

    live: Bool[Array, " c"]
    gap: Float[Array, " c"]
    """Signed distance [m], negative when penetrating."""
    position: Float[Array, "c 3"]
    """Midway between the two surfaces, world [m]."""
    frame: Float[Array, "c 3 3"]
    """Rows: normal from the first body to the second, two tangents (world)."""
    shapes: Int[Array, "c 2"]
    """First and second shape, which with the feature say which contact this is."""
    bodies: Int[Array, "c 2"]
    friction: Float[Array, " c"]
    impact_friction: Float[Array, " c"]
    """Coulomb coefficient while the contact is an impact."""
    restitution: Float[Array, " c"]
    rolling: Float[Array, "c 2"]
    """Coefficients of spinning and rolling friction [m]."""
    compliance: Float[Array, " c"]
    damping: Float[Array, " c"]
    feature: Int[Array, " c"]
    """Geometric feature that touches, by which the contacts of two shapes are told apart."""
    found: Int[Array, ""]
    """Live contacts before the capacity was applied; more than c means overflow."""
    candidates: Int[Array, "g 2"]
    """Pairs that the broad phase of each group of ``Topology.searched`` needed room for, to test
    and to hand on; 0 where there is room for all."""
    position_rate: Float[Array, "c 3"]
    """Rate of ``position`` as the bodies move with their present velocities [m/s]; zero in a model
    without rebounds."""
    normal_rate: Float[Array, "c 3"]
    """Rate of the normal as the bodies move with their present velocities [1/s]; likewise."""


def slots(topology: Topology | SmoothTopology) -> int:
    """Number of candidate contact points over all pairs."""
    return sum(len(group.first) * PAIRS[group.kinds].points for group in topology.pairs)


@jitted
def detect(model: Model, state: State) -> Contacts:
    """All contacts closer than the margin, the deepest first where there is a capacity."""
    topology = model.topology
    placed = place_shapes(model, jax.lax.stop_gradient(state))
    near = [BROAD[group.broad](model, placed, group) for group in topology.pairs]
    manifold, position_rate, normal_rate = _moving(model, state, near)
    columns = [_columns(group, pairs) for group, pairs in zip(topology.pairs, near, strict=True)]
    pairs = jnp.concatenate([jnp.zeros((0, 3), jnp.int32), *columns])
    live = manifold.distance < model.contact.margin
    found = jnp.sum(live, dtype=jnp.int32)

    capacity = topology.max_contacts
    if capacity is not None and capacity < len(live):
        depth = jnp.where(live, -manifold.distance, -jnp.inf)
        _, deepest = jax.lax.top_k(jax.lax.stop_gradient(depth), capacity)
        manifold = jax.tree.map(lambda leaf: leaf[deepest], manifold)
        pairs, live = pairs[deepest], live[deepest]
        position_rate, normal_rate = position_rate[deepest], normal_rate[deepest]
    needed = [pairs.needed for pairs in near if pairs.needed is not None]
    candidates = jnp.stack(needed) if needed else jnp.zeros((0, 2), jnp.int32)
    return _contacts(model, manifold, pairs, live, found, candidates, position_rate, normal_rate)


def _moving(
    model: Model, state: State, near: Sequence[Candidates]
) -> tuple[Manifold, Array, Array]:
    """Every candidate point, and the rates of positions and normals along the velocities, which
    only rebounds need and which are zero in a model without."""
    if not model.topology.rebounds:
        manifold = _manifold(model, state, near)
        return manifold, jnp.zeros_like(manifold.position), jnp.zeros_like(manifold.normal)
    moves = jnp.asarray(model.topology.moves)[:, None]
    spin = jnp.pad(jnp.where(moves, state.angular_velocity, 0.0), ((0, 0), (1, 0)))
    turning = 0.5 * quaternion.multiply(spin, state.quaternion)

    def at(position: Array, orientation: Array) -> tuple[tuple[Array, Array], Manifold]:
        moved = replace(state, position=position, quaternion=orientation)
        found = _manifold(model, moved, near)
        return (found.position, found.normal), found

    poses = (state.position, state.quaternion)
    rates = (jnp.where(moves, state.velocity, 0.0), turning)
    _, (slide, tilt), manifold = jax.jvp(at, poses, rates, has_aux=True)
    return manifold, slide, tilt


def _manifold(model: Model, state: State, near: Sequence[Candidates]) -> Manifold:
    """Every candidate point of every pair, group by group."""
    placed = place_shapes(model, state)
    groups = [
        _narrow(model, placed, group, pairs)
        for group, pairs in zip(model.topology.pairs, near, strict=True)
    ]
    if not groups:
        return _no_manifold(state.position.dtype)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *groups)


def _contacts(
    model: Model,
    manifold: Manifold,
    pairs: Array,
    live: Array,
    found: Array,
    candidates: Array,
    position_rate: Array,
    normal_rate: Array,
) -> Contacts:
    """``pairs``: both shapes, and the row in ``Shapes.pair_friction`` or -1."""
    table, rules = model.shapes, model.topology.combination
    a, b = pairs[:, 0], pairs[:, 1]
    impact = table.friction * table.impact_friction
    friction = combine(rules.friction, table.friction[a], table.friction[b])
    in_impact = combine(rules.friction, impact[a], impact[b])
    rolling = combine(rules.friction, table.rolling[a], table.rolling[b])
    if len(table.pair_friction):
        own, given = pairs[:, 2] >= 0, table.pair_friction[pairs[:, 2]]
        friction = jnp.where(own, given[:, 0], friction)
        in_impact = jnp.where(own, given[:, 0], in_impact)
        rolling = jnp.where(own[:, None], given[:, 1:], rolling)
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
        found,
        candidates,
        position_rate,
        normal_rate,
    )


def _narrow(model: Model, placed: Geometry, group: PairGroup, near: Candidates) -> Manifold:
    """Every candidate point of the group's pairs, pair by pair."""
    pair = PAIRS[group.kinds]

    def side(kind: str, table: np.ndarray) -> Geometry:
        index = _taken(table, near)
        plain = pair.shared and kind in CORES  # and perhaps not all of this kind
        return some(placed, index) if plain else of_kind(model, kind, placed, index)

    a, b = side(group.kinds[0], group.first), side(group.kinds[1], group.second)
    # Traced once for all groups and models.
    manifold = jax.vmap(jax.jit(pair.kernel))(a, b)
    if near.real is not None:
        manifold = jax.vmap(keep)(manifold, jnp.repeat(near.real[:, None], pair.points, axis=1))
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), manifold)


def _columns(group: PairGroup, near: Candidates) -> Int[Array, "c 3"]:
    """Of every candidate point both shapes and the row in ``Shapes.pair_friction`` or -1."""
    columns = np.stack([group.first, group.second, group.pair_friction], axis=1).astype(np.int32)
    rows, points = _taken(columns, near), PAIRS[group.kinds].points
    repeat = np.repeat if isinstance(rows, np.ndarray) else jnp.repeat
    return jnp.asarray(repeat(rows, points, axis=0))


def _taken(table: np.ndarray, near: Candidates) -> Array | np.ndarray:
    """Rows of a table of the group; constants where the candidates are."""
    return table[near.row] if isinstance(near.row, np.ndarray) else jnp.asarray(table)[near.row]


def _no_manifold(dtype: jnp.dtype) -> Manifold:
    point = jnp.zeros((0, 3), dtype)
    return Manifold(jnp.zeros(0, dtype), point, point, jnp.zeros(0, jnp.int32))
