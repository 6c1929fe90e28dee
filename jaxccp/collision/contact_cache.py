"""The impulse of every contact, found again by what touches: warm starts of the next solve."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.detect import Contacts, slots
from jaxccp.model.model import Topology

PER_SHAPE = 8
"""Impulses that are kept for each shape of a model that does not say how many contacts it has."""
FEW = 500
"""Contacts, up to which comparing all with all is faster than sorting them: at 368 it takes 94 µs
and sorting 148 µs, at 1000 820 µs and 450 µs (one core, float32)."""

LEAST, CHANGE = 0.1, 0.5
"""The next solve starts from a mean over the last steps, in which the last one has this share.

What error a solve leaves in the velocities the next one takes back, by an impulse that is off by as
much the other way. So at rest impulses scatter about the lasting one, and the mean is nearer to it
than the last of them: ten boxes at rest take 2.3 iterations of APGD a step for 16.4 (float32, to
1e-4 m/s). To begin with the share is larger, 2 / (n + 2) after n steps, since the first solves are
the worst. An impulse that differs from the mean by more than the second number, as a fraction of
itself, is no scatter: the contact landed, opened or took a blow, and the mean begins anew."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WarmStart:
    """Means of the last steps' impulses, to start the next solve from; no part of the mechanics."""

    shapes: Int[Array, "c 2"]
    """First and second shape of each contact, -1 where there was none."""
    feature: Int[Array, " c"]
    """Geometric feature that touched, -1 where there was no contact."""
    impulse: Float[Array, "c w"]
    """In world coordinates [N·s], so that a change of tangent frame does not matter; with
    spinning and rolling friction the angular impulse follows [N·m·s]."""
    steps: Float[Array, " c"]
    """That the mean is of."""
    scalars: Float[Array, " s"]
    """Of the scalar rows: joints and what acts along their axes."""
    scalar_steps: Float[Array, " s"]


def cache_size(topology: Topology) -> int:
    """Impulses that a stepper of the model keeps: one for each contact there is room for."""
    limit = topology.max_contacts
    return min(slots(topology), PER_SHAPE * len(topology.shapes) if limit is None else limit)


def empty_warm_start(topology: Topology, dtype: jnp.dtype) -> WarmStart:
    """The memory of a system that has not been stepped."""
    count = cache_size(topology)
    return WarmStart(
        jnp.full((count, 2), -1, jnp.int32),
        jnp.full(count, -1, jnp.int32),
        jnp.zeros((count, 6 if topology.rolls else 3), dtype),
        jnp.zeros(count, dtype),
        jnp.zeros(topology.linkage.rows, dtype),
        jnp.zeros(topology.linkage.rows, dtype),
    )


def recall(warm_start: WarmStart, contacts: Contacts) -> Float[Array, "c w"]:
    """The mean world impulse of each contact, and its angular impulse where contacts roll; zero
    for a contact that is new. A contact is the same one if its shapes and its feature are."""
    return recalled(warm_start.shapes, warm_start.feature, warm_start.impulse, contacts)


def recalled(
    shapes: Int[Array, "m 2"],
    feature: Int[Array, " m"],
    values: Float[Array, "m w"],
    contacts: Contacts,
) -> Float[Array, "c w"]:
    """What was kept in ``values`` of each contact, by its shapes and its feature, -1 where a row
    has none; zero for a contact that is new or not live."""
    then = jnp.concatenate([shapes, feature[:, None]], axis=1)
    now = jnp.concatenate([contacts.shapes, contacts.feature[:, None]], axis=1)
    if not len(then) or not len(now):
        return jnp.zeros((len(now), values.shape[1]), values.dtype)
    find = _compared if len(then) * len(now) <= FEW**2 else _searched
    row, same = find(then, now)
    return jnp.where((same & contacts.live)[:, None], values[row], 0.0)


def remember(
    warm_start: WarmStart,
    contacts: Contacts,
    impulse: Float[Array, "c w"],
    scalars: Float[Array, " s"],
) -> WarmStart:
    """The memory for the next step, of the size of the last one's ``warm_start``, from this step's
    impulses, those of contacts in the world. Guesses are not differentiated, nor is it."""
    live = contacts.live
    known = jnp.concatenate([warm_start.impulse, warm_start.steps[:, None]], axis=1)
    known = recalled(warm_start.shapes, warm_start.feature, known, contacts)
    mean, steps = _mean(known[:, :-1], known[:, -1], impulse)
    scalar, scalar_steps = _mean(
        warm_start.scalars[:, None], warm_start.scalar_steps, scalars[:, None]
    )
    found = WarmStart(
        jnp.where(live[:, None], contacts.shapes, -1),
        jnp.where(live, contacts.feature, -1),
        jnp.where(live[:, None], mean, 0.0),
        steps,
        scalar[:, 0],
        scalar_steps,
    )
    return resized(lax.stop_gradient(found), len(warm_start.feature))


def _mean(
    before: Float[Array, "k w"], steps: Float[Array, " k"], last: Float[Array, "k w"]
) -> tuple[Float[Array, "k w"], Float[Array, " k"]]:
    """The means with the impulses of one more step, and of how many steps they are."""
    change = last - before
    scatter, most = (jnp.sum(x[:, :3] ** 2, axis=1) for x in (change, CHANGE * last))
    steps = jnp.where(scatter <= most, steps, 0.0)
    share = jnp.maximum(2 / (steps + 2), LEAST)
    return before + share[:, None] * change, steps + 1


def resized(warm_start: WarmStart, count: int) -> WarmStart:
    """Return the warm start with room for ``count`` contacts; if there are more, it keeps the
    strongest."""
    more = count - len(warm_start.feature)
    fields = "shapes", "feature", "impulse", "steps"
    contacts = {name: getattr(warm_start, name) for name in fields}
    if more < 0:
        live = warm_start.feature >= 0
        strength = jnp.where(live, jnp.sum(warm_start.impulse[:, :3] ** 2, axis=1), -1.0)
        kept = lax.top_k(lax.stop_gradient(strength), count)[1]
        contacts = jax.tree.map(lambda leaf: leaf[kept], contacts)
    elif more > 0:
        contacts = {
            name: jnp.pad(
                leaf,
                ((0, more), *((0, 0),) * (leaf.ndim - 1)),
                constant_values=-1 if name in ("shapes", "feature") else 0,
            )
            for name, leaf in contacts.items()
        }
    return replace(warm_start, **contacts)


def _compared(then: Int[Array, "m 3"], now: Int[Array, "c 3"]) -> tuple[Array, Array]:
    """Row of ``then`` that is equal to each of ``now``, and whether there is one; all with all."""
    same: Bool[Array, "c m"] = jnp.all(now[:, None] == then, axis=2)
    row = jnp.max(jnp.where(same, jnp.arange(len(then), dtype=jnp.int32), -1), axis=1)
    return jnp.maximum(row, 0), row >= 0


def _searched(then: Int[Array, "m 3"], now: Int[Array, "c 3"]) -> tuple[Array, Array]:
    """Find the same rows by bisection of the sorted ones."""
    count = len(then)
    rows = jnp.arange(count, dtype=jnp.int32)
    *columns, order = lax.sort((*then.T, rows), num_keys=3)
    table = jnp.stack(columns, axis=1)
    last = jnp.full(len(now), -1, jnp.int32)
    for bit in reversed(range(count.bit_length())):
        further = last + (1 << bit)
        at = jnp.minimum(further, count - 1)
        last = jnp.where((further < count) & _ordered(table[at], now), further, last)
    at = jnp.maximum(last, 0)
    return order[at], jnp.all(table[at] == now, axis=1)


def _ordered(a: Int[Array, "c 3"], b: Int[Array, "c 3"]) -> Bool[Array, " c"]:
    """Whether a ≤ b, the first column that differs deciding."""
    return (a[:, 0] < b[:, 0]) | (
        (a[:, 0] == b[:, 0]) & ((a[:, 1] < b[:, 1]) | ((a[:, 1] == b[:, 1]) & (a[:, 2] <= b[:, 2])))
    )
