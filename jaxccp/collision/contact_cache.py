"""The impulse of every contact, found again by what touches: warm starts of the next solve."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import Contacts, slots
from jaxccp.model.model import Topology

PER_SHAPE = 8
"""Impulses that are kept for each shape of a model that does not say how many contacts it has."""

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

    contacts: ContactMemory
    """Of each contact the impulse in world coordinates [N·s], so that a change of tangent frame
    does not matter, with spinning and rolling friction the angular impulse [N·m·s], and how many
    steps the mean is of."""
    scalars: Float[Array, " s"]
    """Of the scalar rows: joints and what acts along their axes."""
    scalar_steps: Float[Array, " s"]

    @property
    def impulses(self) -> Float[Array, "c w"]:
        """Of the contacts."""
        return self.contacts.values[:, :-1]


def cache_size(topology: Topology) -> int:
    """Impulses that a stepper of the model keeps: one for each contact there is room for."""
    limit = topology.max_contacts
    return min(slots(topology), PER_SHAPE * len(topology.shapes) if limit is None else limit)


def empty_warm_start(topology: Topology, dtype: jnp.dtype) -> WarmStart:
    """The memory of a system that has not been stepped."""
    rows = jnp.zeros(topology.linkage.rows, dtype)
    width = 7 if topology.rolls else 4
    return WarmStart(ContactMemory.empty(cache_size(topology), width, dtype), rows, rows)


def recall(warm_start: WarmStart, contacts: Contacts) -> WarmStart:
    """The means of the contacts of a step: zero of one that is new."""
    return replace(warm_start, contacts=warm_start.contacts.at(contacts))


def remember(
    known: WarmStart, impulses: Float[Array, "c w"], scalars: Float[Array, " s"], count: int
) -> WarmStart:
    """The memory for the next step, of ``count`` contacts, from what was known of this step's and
    their impulses in the world. Guesses are not differentiated, nor is it."""
    before = known.contacts
    mean, steps = _mean(known.impulses, before.values[:, -1], impulses)
    scalar, scalar_steps = _mean(known.scalars[:, None], known.scalar_steps, scalars[:, None])
    live = before.feature >= 0
    values = jnp.where(live[:, None], jnp.concatenate([mean, steps[:, None]], axis=1), 0.0)
    found = WarmStart(replace(before, values=values), scalar[:, 0], scalar_steps)
    return resized(lax.stop_gradient(found), count)


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
    strength = jnp.sum(warm_start.impulses[:, :3] ** 2, axis=1)
    return replace(warm_start, contacts=warm_start.contacts.resized(count, strength))
