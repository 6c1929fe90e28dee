"""Contacts as data: where bodies touch, with what force, and whether they stick or slide."""

from dataclasses import dataclass
from enum import IntEnum

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.derivative.linearization import sliding
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solution import Solution
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.smooth import SmoothForces


class Mode(IntEnum):
    """Mode of a contact, as an integer, so that results can be batched."""

    OPEN = 0
    """The contact has no force, but is within the margin, or within the ``distance`` of a
    :class:`jaxccp.Relaxed` derivative."""
    STICKING = 1
    """The contact has a force, and the surfaces do not slip."""
    SLIDING = 2
    """The contact has a force, and the surfaces slip or have no friction."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactData:
    """The contacts of one step in arrays of fixed length c; stacks over time and batches.

    Unless ``live``, a slot holds no contact: its force is 0 and the other entries are undefined.
    Hard contacts come first, ``jaxccp.Model.topology.max_contacts`` of them if that is set, then
    smooth ones, which steppers of second and fourth order give as they are at the end of the step.
    """

    live: Bool[Array, " c"]
    """Whether the slot holds a contact."""
    bodies: Int[Array, "c 2"]
    """First and second body of each contact."""
    shapes: Int[Array, "c 2"]
    """First and second shape of each contact."""
    gap: Float[Array, " c"]
    """Signed distance at the start of the step [m], negative when penetrating."""
    point: Float[Array, "c 3"]
    """Point at which the force acts, world [m]; for a bounce, at the time of impact."""
    normal: Float[Array, "c 3"]
    """Unit normal from the first body to the second, world; for a bounce, at the time of impact."""
    force: Float[Array, "c 3"]
    """Force on the second body, friction included, world axes, mean over the step [N]."""
    torque: Float[Array, "c 3"]
    """Torque of spinning and rolling friction on the second body, world axes, mean over the step [N
    m]."""
    mode: Int[Array, " c"]
    """Open, sticking or sliding (:class:`Mode`), judged to the solver's tolerance."""

    @staticmethod
    def none(dtype: DTypeLike) -> "ContactData":
        """Return the data of no contacts.

        Args:
            dtype: type of the floats.
        """
        pairs, vectors = jnp.zeros((0, 2), jnp.int32), jnp.zeros((0, 3), dtype)
        return ContactData(
            live=jnp.zeros(0, bool),
            bodies=pairs,
            shapes=pairs,
            gap=jnp.zeros(0, dtype),
            point=vectors,
            normal=vectors,
            force=vectors,
            torque=vectors,
            mode=jnp.zeros(0, jnp.int32),
        )

    @property
    def open(self) -> Int[Array, ""]:
        """Number of contacts without force."""
        return self._count(Mode.OPEN)

    @property
    def sticking(self) -> Int[Array, ""]:
        """Number of contacts that stick."""
        return self._count(Mode.STICKING)

    @property
    def sliding(self) -> Int[Array, ""]:
        """Number of contacts that slide."""
        return self._count(Mode.SLIDING)

    def _count(self, mode: Mode) -> Int[Array, ""]:
        """Return the number of contacts in a mode, for each step of any batch."""
        return jnp.sum(self.live & (self.mode == mode), axis=-1, dtype=jnp.int32)


def contact_data(
    contacts: Contacts,
    problem: Problem,
    action: Action,
    h: Float[Array, ""] | float,
    solution: Solution,
    impulses: Float[Array, "c w"],
    law: Law,
    tolerance: Float[Array, ""],
) -> ContactData:
    """Return the contacts of a step as data.

    Args:
        contacts: the contacts that the problem was assembled from.
        problem: cone problem of the rows that are not eliminated.
        action: the times and places at which the contacts' impulses act.
        h: length of the step [s].
        solution: the solution of that problem.
        impulses: the contacts' impulses in world axes, of that solution.
        law: the law under which it was solved.
        tolerance: tolerance of the solver [m/s]. An impulse that changes velocities by less counts
            as none, and what slips more slowly counts as sticking.

    Returns:
        One entry for each of ``contacts``.
    """
    steps = problem.step_sizes()
    velocity = problem.corrected(solution.u, law)
    _, slip = sliding(problem.cones, solution.lam - steps * velocity, steps)
    _, impulse = problem.cones.split(solution.lam)
    _, scale = problem.cones.split(steps)
    presses = impulse[:, 0] > tolerance * scale[:, 0]
    slips = (jnp.sum(slip[:, :2] ** 2, axis=1) > tolerance**2) | (problem.cones.mu == 0)
    mode = jnp.where(presses, jnp.where(slips, Mode.SLIDING, Mode.STICKING), Mode.OPEN)
    force = jnp.where(contacts.live[:, None], impulses / h, 0.0)
    torque = force[:, 3:] if force.shape[1] > 3 else jnp.zeros_like(force)
    time = h * action.delay
    point = contacts.position + time[:, None] * contacts.mean_point_velocity(time)
    return ContactData(
        live=contacts.live,
        bodies=contacts.bodies,
        shapes=contacts.shapes,
        gap=contacts.gap,
        point=point,
        normal=action.frame[:, 0],
        force=force[:, :3],
        torque=torque,
        mode=mode.astype(jnp.int32),
    )


def smooth_data(hard: ContactData, smooth: SmoothForces) -> ContactData:
    """Return smooth contacts as data, after the hard ones of the same step.

    Args:
        hard: data of the hard contacts.
        smooth: the smooth contacts and their forces.
    """
    contacts = smooth.contacts
    presses = jnp.any(smooth.force != 0, axis=1)
    mode = jnp.where(presses, jnp.where(smooth.slides, Mode.SLIDING, Mode.STICKING), Mode.OPEN)
    smooth_contacts_ = ContactData(
        live=contacts.live,
        bodies=contacts.bodies,
        shapes=contacts.shapes,
        gap=contacts.gap,
        point=contacts.position,
        normal=contacts.frame[:, 0],
        force=smooth.force,
        torque=smooth.torque,
        mode=mode.astype(jnp.int32),
    )
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), hard, smooth_contacts_)
