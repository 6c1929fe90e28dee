"""Warm starts: the impulses of every contact, stored for the next solve by shapes and feature."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import Contacts, slots
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.topology import Topology

PER_SHAPE = 8
"""Number of contacts for each shape whose impulses are stored, in a model without a capacity for
contacts."""

MIN_SHARE, CHANGE = 0.1, 0.5
"""Weight of the last step in the mean from which the next solve starts, and relative change at
which the mean restarts. The next solve corrects the velocity error of a solve by an impulse error
in the opposite direction. So at rest impulses scatter about the lasting one, and their mean is
nearer to it than the last one: ten boxes at rest take 2.3 iterations of APGD a step instead of 16.4
(float32, to 1e-4 m/s). At first the weight is larger, 2 / (n + 2) after n steps, because the first
solves are the least accurate. An impulse that differs from the mean by more than the second number,
as a fraction of itself, is not scatter: the contact landed, opened or was hit. The mean then
restarts."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WarmStart:
    """Means of the impulses of the last steps, from which the next solve starts; they do not affect
    the mechanics."""

    contacts: ContactMemory
    """For each contact the mean impulse in world axes [N·s], which does not depend on the tangents;
    with spinning and rolling friction also the angular impulse [N·m·s]; and the number of steps in
    the mean."""
    scalars: Float[Array, " s"]
    """Impulses of the scalar rows: joints and forces along their axes [N·s, N·m·s]."""
    scalar_steps: Float[Array, " s"]
    """Number of steps in each of these means."""

    @property
    def impulses(self) -> Float[Array, "c w"]:
        """Mean impulses of the contacts [N·s, N·m·s]."""
        return self.contacts.values[:, :-1]


def contact_capacity(model: Model) -> int:
    """Return the largest number of hard contacts in one step of the model."""
    every, limit = slots(model.topology), model.topology.max_contacts
    return every if limit is None else min(limit, every)


def cache_size(topology: Topology) -> int:
    """Return the number of contacts whose impulses a stepper stores: the model's capacity, or
    without one :data:`PER_SHAPE` for each shape; no more than there are slots."""
    limit = topology.max_contacts
    return min(slots(topology), PER_SHAPE * len(topology.shapes) if limit is None else limit)


def empty_warm_start(topology: Topology, dtype: jnp.dtype) -> WarmStart:
    """Return the warm start of a system that has not been stepped.

    Args:
        topology: the topology of the model.
        dtype: dtype of the impulses.
    """
    rows = jnp.zeros(row_order(topology.linkage).count, dtype)
    width = 7 if topology.rolls else 4
    return WarmStart(ContactMemory.empty(cache_size(topology), width, dtype), rows, rows)


def recall(warm_start: WarmStart, contacts: Contacts) -> WarmStart:
    """Return the stored means for the contacts of a step; zero for new contacts.

    Args:
        warm_start: the means after the last step.
        contacts: the contacts of this step.
    """
    return replace(warm_start, contacts=warm_start.contacts.at(contacts))


def update_means(
    recalled: WarmStart, impulses: Float[Array, "c w"], scalars: Float[Array, " s"], count: int
) -> WarmStart:
    """Return the warm start for the next step, without derivatives.

    Args:
        recalled: the means of this step's contacts, as :func:`recall` returned them.
        impulses: impulses of these contacts in the world [N·s].
        scalars: impulses of the scalar rows.
        count: number of contacts to keep.
    """
    before = recalled.contacts
    mean, steps = _mean(recalled.impulses, before.values[:, -1], impulses)
    scalar, scalar_steps = _mean(recalled.scalars[:, None], recalled.scalar_steps, scalars[:, None])
    live = before.feature >= 0
    values = jnp.where(live[:, None], jnp.concatenate([mean, steps[:, None]], axis=1), 0.0)
    updated = WarmStart(replace(before, values=values), scalar[:, 0], scalar_steps)
    return resized(lax.stop_gradient(updated), count)


def _mean(
    before: Float[Array, "k w"], steps: Float[Array, " k"], last: Float[Array, "k w"]
) -> tuple[Float[Array, "k w"], Float[Array, " k"]]:
    """Return the means updated with the impulses of one more step, and their numbers of steps.

    Args:
        before: the means so far.
        steps: the number of steps in each.
        last: the impulses of the step.
    """
    change = last - before
    scatter, most = (jnp.sum(x[:, :3] ** 2, axis=1) for x in (change, CHANGE * last))
    steps = jnp.where(scatter <= most, steps, 0.0)
    share = jnp.maximum(2 / (steps + 2), MIN_SHARE)
    return before + share[:, None] * change, steps + 1


def resized(warm_start: WarmStart, count: int) -> WarmStart:
    """Return the warm start with capacity for ``count`` contacts; it keeps the strongest contacts
    if there are more.

    Args:
        warm_start: the means.
        count: number of contacts to keep.
    """
    strength = jnp.sum(warm_start.impulses[:, :3] ** 2, axis=1)
    return replace(warm_start, contacts=warm_start.contacts.resized(count, strength))
