"""Gauss–Seidel sweeps over the row blocks of N, chunk by chunk, for PSOR and SIPGS.

A block is a scalar row, padded to three rows with zeros, or a contact. Blocks are in the order of a
:class:`~jaxccp.ccp.sweeps.colouring.Schedule`. A chunk of uncoupled blocks is contiguous in it,
with padding after the last block. All numbers are in the scaled multipliers of
:mod:`~jaxccp.ccp.scaling`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.cones import SECTIONS, ConeType, Section
from jaxccp.ccp.problem import Problem
from jaxccp.ccp.scaling import scaled
from jaxccp.ccp.sweeps.colouring import Schedule
from jaxccp.ccp.sweeps.rows import RowProducts, arranged, cut, positions, row_products


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Blocks:
    """Bounds, friction and inner coupling of w row blocks."""

    lo: Float[Array, " w"]
    """Lower bounds of scalar rows."""
    hi: Float[Array, " w"]
    """Upper bounds of scalar rows."""
    mu: Float[Array, " w"]
    """Friction coefficients of contacts."""
    is_contact: Bool[Array, " w"]
    """Whether each block is a contact."""
    coupling: Float[Array, "w 2"]
    """Entries of N that couple a contact's tangents with its normal."""
    cone_type: ConeType = field(metadata={"static": True})
    """The shape of the contacts' cones."""

    @property
    def section(self) -> Section:
        return SECTIONS[self.cone_type]

    def constrained(
        self, contacts: Float[Array, "w 3"], scalars: Float[Array, " w"]
    ) -> Float[Array, "w 3"]:
        """Return ``contacts`` where a block is one, and ``scalars`` within their bounds where it is
        not.

        Args:
            contacts: multipliers in their cones, for each block as if it were a contact.
            scalars: multipliers, for each block as if it were a scalar row.
        """
        clipped = jnp.pad(jnp.clip(scalars, self.lo, self.hi)[:, None], ((0, 0), (0, 2)))
        return jnp.where(self.is_contact[:, None], contacts, clipped)


Update = Callable[[Blocks, Float[Array, "w 3"], Float[Array, "w 3"]], Float[Array, "w 3"]]
"""(blocks, multipliers, velocities) ↦ new multipliers of uncoupled blocks."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sweep:
    """A problem in the order and scaling of its sweeps."""

    schedule: Schedule
    """The order of the blocks."""
    position: Int[Array, " b"]
    """Position of each block of the problem in the schedule."""
    scale: Float[Array, "b 3"]
    """S; 0 where there is no row."""
    blocks: Blocks
    """Cones and bounds of all blocks, in the schedule's order."""
    rows: RowProducts
    """Products with S N S."""
    scalars: int = field(metadata={"static": True})
    """Number of scalar rows."""

    def velocities(self, r: Float[Array, " n"]) -> Float[Array, "b 3"]:
        """Return S r in the schedule's order."""
        return self.scale * arranged(r, self.schedule, self.scalars)

    def multipliers(self, lam: Float[Array, " n"]) -> Float[Array, "b 3"]:
        """Return S⁻¹ λ in the schedule's order."""
        none = self.scale == 0
        ordered = arranged(lam, self.schedule, self.scalars)
        return jnp.where(none, 0.0, ordered / jnp.where(none, 1.0, self.scale))

    def impulses(self, x: Float[Array, "b 3"]) -> Float[Array, " n"]:
        """Return λ of scaled multipliers, in the problem's order."""
        blocks = (self.scale * x)[self.position]
        return jnp.concatenate([blocks[: self.scalars, 0], blocks[self.scalars :].reshape(-1)])

    def run(
        self, x: Float[Array, "b 3"], r: Float[Array, "b 3"], backward: Array, update: Update
    ) -> Float[Array, "b 3"]:
        """Return the multipliers after one sweep.

        Args:
            x: multipliers before it.
            r: r as :meth:`velocities` returns it.
            backward: whether the chunks come in reverse order.
            update: function that returns a chunk's new multipliers.
        """
        width, last = self.schedule.width, self.schedule.count - 1

        def chunk(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            x, carrier = state
            k = jnp.where(backward, last - k, k)
            start, stop = self.schedule.bounds[k], self.schedule.bounds[k + 1]
            old = cut(x, start, width)
            u = self.rows.velocity(carrier, old, start, stop) + cut(r, start, width)
            blocks = jax.tree.map(lambda leaf: cut(leaf, start, width), self.blocks)
            live = start + jnp.arange(width) < stop
            new = jnp.where(live[:, None], update(blocks, old, u), old)
            carrier = self.rows.update(carrier, new, new - old, start)
            return lax.dynamic_update_slice_in_dim(x, new, start, 0), carrier

        chunks = self.schedule.count if width > 1 else self.position.shape[0]
        return lax.fori_loop(0, chunks, chunk, (x, self.rows.start(x)))[0]


def prepare(problem: Problem, schedule: Schedule, scale: Float[Array, " n"]) -> Sweep:
    """Return the problem arranged for sweeps over its scaled multipliers S⁻¹ λ.

    Args:
        problem: n rows.
        schedule: the order of its blocks.
        scale: the diagonal of S [√kg].
    """
    scalars, contacts = problem.cones.lo.shape[0], problem.cones.mu.shape[0]
    s = arranged(scale, schedule, scalars)
    inner = scaled(problem.cones, scale)
    nothing = jnp.zeros(contacts, scale.dtype)

    def ordered(single: Array, contact_values: Array) -> Array:
        x = jnp.concatenate([single, contact_values])[schedule.order]
        return jnp.pad(x, [(0, schedule.width)] + [(0, 0)] * (x.ndim - 1))

    _, contact_blocks = problem.delassus.blocks(scalars)
    _, sizes = problem.cones.split(scale)
    blocks = Blocks(
        lo=ordered(inner.lo, nothing),
        hi=ordered(inner.hi, nothing),
        mu=ordered(jnp.zeros_like(inner.lo), inner.mu),
        is_contact=ordered(jnp.zeros(scalars, bool), jnp.ones(contacts, bool)),
        coupling=ordered(
            jnp.zeros((scalars, 2), scale.dtype),
            contact_blocks[:, 0, 1:] * sizes[:, :1] * sizes[:, 1:],
        ),
        cone_type=inner.cone_type,
    )
    return Sweep(
        schedule=schedule,
        position=positions(schedule),
        scale=s,
        blocks=blocks,
        rows=row_products(problem.delassus, s, schedule, scalars),
        scalars=scalars,
    )
