"""Contacts as data: where bodies touch, with what force, and whether they stick or slide."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.derivative.linearization import sliding
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solution import Solution
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.impact import Action
from jaxccp.dynamics.smooth import SmoothForces


class Mode(IntEnum):
    """What a contact does, an integer in the result so that it batches."""

    OPEN = 0
    """It is within the margin, and nothing pushes."""
    STICKING = 1
    """It pushes, and the surfaces do not slip."""
    SLIDING = 2
    """It pushes, and the surfaces slip, or it has no friction."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactData:
    """The contacts of one step in arrays of fixed length c; stacks over time and batches.

    Where ``live`` is False the slot holds no contact, its force is 0 and all else in it means
    nothing. Hard contacts come first, ``jaxccp.Model.topology.max_contacts`` where that is set,
    then smooth ones.
    """

    live: Bool[Array, " c"]
    bodies: Int[Array, "c 2"]
    """First and second body."""
    shapes: Int[Array, "c 2"]
    """First and second shape."""
    gap: Float[Array, " c"]
    """Signed distance at the start of the step [m], negative when penetrating."""
    point: Float[Array, "c 3"]
    """Where the force acts, world [m]; of a bounce at its time of impact."""
    normal: Float[Array, "c 3"]
    """From the first body to the second, world, unit; of a bounce at its time of impact."""
    force: Float[Array, "c 3"]
    """On the second body, friction included, world axes, mean over the step [N]."""
    torque: Float[Array, "c 3"]
    """Of spinning and rolling friction on the second body, world axes, mean over the step [N m]."""
    mode: Int[Array, " c"]
    """What the contact does, of :class:`Mode`, as far as the solver's tolerance tells."""

    @property
    def open(self) -> Int[Array, ""]:
        """How many contacts push nothing."""
        return self._count(Mode.OPEN)

    @property
    def sticking(self) -> Int[Array, ""]:
        """How many contacts stick."""
        return self._count(Mode.STICKING)

    @property
    def sliding(self) -> Int[Array, ""]:
        """How many contacts slide."""
        return self._count(Mode.SLIDING)

    def _count(self, mode: Mode) -> Int[Array, ""]:
        """Count over the contacts of each step, whatever axes come before."""
        return jnp.sum(self.live & (self.mode == mode), axis=-1, dtype=jnp.int32)


class Solved(Protocol):
    """What a step has solved."""

    @property
    def problem(self) -> Problem: ...
    @property
    def action(self) -> Action: ...
    @property
    def h(self) -> Float[Array, ""] | float: ...


def contact_data(
    contacts: Contacts,
    system: Solved,
    solution: Solution,
    impulses: Float[Array, "c w"],
    law: Law,
    tolerance: Float[Array, ""],
) -> ContactData:
    """The contacts of a step with their ``impulses``.

    Args:
        contacts: as given to :func:`jaxccp.dynamics.maximal.assemble`.
        system: the step's problem.
        solution: of that problem.
        impulses: of the contacts in the world, as that solution has them.
        law: under which it was solved.
        tolerance: of the solver [m/s]. What changes velocities by less is no push, and what slips
            more slowly does not slip.

    Returns:
        One entry for each of ``contacts``.
    """
    problem, action, h = system.problem, system.action, system.h
    steps = problem.step_sizes()
    velocity = problem.corrected(solution.u, law)
    _, slip = sliding(problem.cones, solution.lam - steps * velocity, steps)
    _, impulse = problem.cones.split(solution.lam)
    _, scale = problem.cones.split(steps)
    pushes = impulse[:, 0] > tolerance * scale[:, 0]
    slips = (jnp.sum(slip[:, :2] ** 2, axis=1) > tolerance**2) | (problem.cones.mu == 0)
    mode = jnp.where(pushes, jnp.where(slips, Mode.SLIDING, Mode.STICKING), Mode.OPEN)
    acting = jnp.where(contacts.live[:, None], impulses / h, 0.0)
    torque = acting[:, 3:] if acting.shape[1] > 3 else jnp.zeros_like(acting)
    time = h * action.delay
    point = contacts.position + time[:, None] * contacts.slide(time)
    return ContactData(
        live=contacts.live,
        bodies=contacts.bodies,
        shapes=contacts.shapes,
        gap=contacts.gap,
        point=point,
        normal=action.frame[:, 0],
        force=acting[:, :3],
        torque=torque,
        mode=mode.astype(jnp.int32),
    )


def smooth_data(hard: ContactData | None, smooth: SmoothForces) -> ContactData:
    """The contacts of a step, after its ``hard`` ones, if there are any, the smooth ones."""
    contacts = smooth.contacts
    pushes = jnp.any(smooth.force != 0, axis=1)
    mode = jnp.where(pushes, jnp.where(smooth.slides, Mode.SLIDING, Mode.STICKING), Mode.OPEN)
    own = ContactData(
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
    if hard is None:
        return own
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), hard, own)
