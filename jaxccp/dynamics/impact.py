"""Impacts: which contacts they are, and when and where within the step their impulses act."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.problem import Problem
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.inertia import world_inertia
from jaxccp.math import linear3, quaternion, safe
from jaxccp.math.contact_frame import contact_frame
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Action:
    """When and where the impulses of contacts act: at the start of the step, but those of bounces
    at their time of impact."""

    delay: Float[Array, " c"]
    """Fraction of the step that passes before."""
    frame: Float[Array, "c 3 3"]
    """``Contacts.frame`` at that time."""
    lever: Float[Array, "c 2 3"]
    """From the centre of mass of either body to the contact point, at that time [m]."""
    timed: Bool[Array, " c"]
    """Which contacts are impacts that act at their own time, or answer one then."""
    answers: Bool[Array, " c"]
    """Which of these are closed already, and answer."""
    late: bool = field(metadata={"static": True})
    """Whether any impulse may act after the start."""
    lasting: float = field(default=0.0, metadata={"static": True})
    """Delay of impulses that no impact asks for."""

    def early(self, problem: Problem, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        """The impulses ``lam`` times the fraction of the step that each has to move bodies.

        A contact that is closed already, or a limit, answers an impact when that happens: a row's
        delay is the mean of the impacts', by what each changes of the row's velocity.
        """
        own, blocks = problem.cones.split(lam)
        hits = jnp.where(self.timed[:, None], blocks, 0.0)

        def answered(delay: Array) -> tuple[Array, Array]:
            impulses = problem.cones.join(jnp.zeros_like(own), delay[:, None] * hits)
            return problem.cones.split(problem.delassus.apply(impulses))

        both = jnp.stack([jnp.ones_like(self.delay), self.delay])
        (rows, late_rows), (normals, late_normals) = jax.vmap(answered)(both)
        delay = _mean(late_normals[:, 0], normals[:, 0], self.lasting)
        delay = jnp.where(self.timed, self.delay, delay)
        own = (1.0 - _mean(late_rows, rows, self.lasting)) * own
        return problem.cones.join(own, (1.0 - delay)[:, None] * blocks)

    def lever_early(self, problem: Problem, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return what :meth:`early` does, had each impulse the delay at which its lever is
        taken."""
        own, blocks = problem.cones.split(lam)
        return problem.cones.join(own, (1.0 - self.delay)[:, None] * blocks)


NEGLIGIBLE = 1e-6
"""Change of a row's velocity by impacts [m/s] that is far too small to be one."""


def _mean(late: Array, total: Array, otherwise: float) -> Array:
    """late / total between 0 and 1; ``otherwise`` where the total is negligible.

    All three are taken in units of the largest, so that no square leaves the range of float32.
    """
    unit = lax.stop_gradient(jnp.maximum(jnp.abs(total), NEGLIGIBLE))
    late, total, least = late / unit, total / unit, (NEGLIGIBLE / unit) ** 2
    return jnp.clip((late * total + otherwise * least) / (total * total + least), 0.0, 1.0)


def at_start(state: State, contacts: Contacts) -> Action:
    """The action of contacts whose impulses act at once."""
    lever = contacts.position[:, None] - state.position[contacts.bodies]
    idle = jnp.zeros_like(contacts.live)
    return Action(jnp.zeros_like(contacts.gap), contacts.frame, lever, idle, idle, late=False)


def at_impact(
    state: State,
    contacts: Contacts,
    timed: Bool[Array, " c"],
    answers: Bool[Array, " c"],
    delay: Float[Array, " c"],
    free_velocity: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
) -> Action:
    """The action of contacts of which those that are ``timed`` act after ``delay``, a fraction of
    the step (:func:`impact_delay`); some of them ``answers``.

    Until then the bodies fly freely: centres of mass move exactly as the stepper moves them, so
    that impulses at the levers conserve angular momentum; gap, contact point and normal move as
    their first two derivatives have it.
    """
    start = at_start(state, contacts)
    time = (h * delay)[:, None]
    flown = contacts.slide(h * delay)[:, None] - free_velocity[contacts.bodies, :3]
    normal = contacts.frame[:, 0]
    turned = normal + time * (contacts.normal_rate + 0.5 * time * contacts.normal_acceleration)
    normal = safe.normalize(turned, jnp.eye(3, dtype=normal.dtype)[0])
    frame = jnp.where(timed[:, None, None], contact_frame(normal), start.frame)
    lever = start.lever + time[:, None] * flown
    return Action(delay, frame, lever, timed, answers, late=True)


def gap_bend(
    contacts: Contacts, moving: Float[Array, "c 2 6"], arms: Float[Array, "c 2 3"]
) -> Float[Array, " c"]:
    """Second derivatives of gaps [m/s²] while the two bodies of contacts keep their twists
    ``moving``; ``arms`` lead from centres of mass to the contact.

    A gap's rate is n · (v_b − v_a), v of the material points that touch. As these points slide over
    the bodies, with the contact's velocity less that of the centre, ω × that is what v changes by.
    A gap of the order of h is left out: the points of both surfaces count as one.
    """
    normal, velocity, spin = contacts.frame[:, 0], moving[..., :3], moving[..., 3:]
    material = velocity + linear3.cross(spin, arms)
    change = linear3.cross(spin, contacts.position_rate[:, None] - velocity)
    turned = contacts.normal_rate * (material[:, 1] - material[:, 0])
    return jnp.sum(turned + normal * (change[:, 1] - change[:, 0]), axis=1)


GRAZE = 0.1
"""Least part of its speed at the start of the step that what closes a gap has left when it meets;
what would lose more of it, or turn back before, is taken to meet at that."""


def impact_delay(
    gap: Float[Array, " c"],
    hits: Bool[Array, " c"],
    closing: Float[Array, " c"],
    bend: Float[Array, " c"],
    h: Float[Array, ""] | float,
) -> Float[Array, " c"]:
    """Fraction τ/h of the step after which gaps Φ are closed at speeds c = ``closing`` [m/s], with
    Φ'' = ``bend`` (:func:`gap_bend`): the root τ of Φ − c τ + Φ'' τ²/2 = 0; 0 where nothing hits.

    It may be later than the end of the step, by which the gap would be closed at constant speed.
    Left to the next step, such an impact would be one of bodies that this step has slowed down so
    that they do not penetrate.
    """
    gap, meets = jnp.maximum(gap, 0.0), hits & (closing > 0)
    bend = jnp.maximum(bend, -closing / h)
    square = jnp.maximum(closing**2 - 2.0 * gap * bend, (GRAZE * closing) ** 2)
    twice = closing + jnp.sqrt(jnp.where(meets, square, 1.0))
    return safe.divide(2.0 * gap, jnp.where(meets, twice, 0.0)) / h


@dataclass(frozen=True)
class Turning:
    """How free bodies turn until they are hit, to first order, and how the twists of those on
    joints change on account of the joints."""

    time: Float[Array, " c"]
    """Until each contact's impact [s]."""
    spin: Float[Array, "nb 3"]
    inertia: Float[Array, "nb 3 3"]
    """At the start of the step, world axes."""
    bodies: Int[Array, "c 2"]
    curving: Float[Array, "nb 6"] | None = None
    """Rates of the twists of bodies on joints at constant rates of these; None: left out."""

    @staticmethod
    def of(
        model: Model,
        state: State,
        contacts: Contacts,
        action: Action,
        free_velocity: Float[Array, "nb 6"],
        h: Float[Array, ""] | float,
        curving: Float[Array, "nb 6"] | None = None,
        mask: np.ndarray | None = None,
    ) -> "Turning":
        """Make the turning of a step of length ``h`` [s] with these twists without contact, of the
        bodies of the ``mask`` [nb]; None: of those that no joint touches."""
        mask = model.topology.untouched if mask is None else mask
        spin = jnp.where(jnp.asarray(mask)[:, None], free_velocity[:, 3:], 0.0)
        inertia = world_inertia(model, quaternion.to_matrix(state.quaternion))
        return Turning(h * action.delay, spin, inertia, contacts.bodies, curving)

    def twists(self, twist: Float[Array, "nb 6"]) -> Float[Array, "c 2 6"]:
        """Return the twists of the bodies of contacts once they have turned, their momenta being
        those of ``twist`` at the start of the step: d(I⁻¹L)/dt = ω × I⁻¹L − I⁻¹(ω × L)."""
        momentum = jnp.einsum("bij,bj->bi", self.inertia, twist[:, 3:])
        lost = linear3.inverse(self.inertia) @ linear3.cross(self.spin, momentum)[:, :, None]
        rate = linear3.cross(self.spin, twist[:, 3:]) - lost[:, :, 0]
        change = jnp.pad(rate, ((0, 0), (3, 0)))
        if self.curving is not None:
            change = change + self.curving
        return twist[self.bodies] + self.time[:, None, None] * change[self.bodies]

    def back(self, rows: Float[Array, "c 2 w 3"]) -> Float[Array, "c 2 w 3"]:
        """Angular parts of rows, turned back with the bodies to the start of the step."""
        turn = self.time[:, None, None] * self.spin[self.bodies]
        return rows - linear3.cross(turn[:, :, None], rows)


def at_once(
    action: Action,
    restitution: Float[Array, " c"],
    velocity: Float[Array, "c w"],
    before: Float[Array, "c w"],
) -> tuple[Float[Array, "c w"], Float[Array, " c"]]:
    """Newton's law at the time of impact: contacts separate at e times their approach speed.

    Until then forces have acted for part of the step, and they act on for the rest. What they add
    after the impact is no part of the velocities in its law.

    Args:
        action: the contacts' time of impact.
        restitution: e.
        velocity: of the rows at the end of the step without impulses [m/s].
        before: of the rows at its start.

    Returns:
        Velocities that the impact's tangential rows see, ``velocity`` where there is none, and the
        bias of the normal rows of impacts.
    """
    later = (1.0 - action.delay)[:, None] * (velocity - before)
    approach = jnp.where(action.answers, 0.0, (velocity - later)[:, 0])
    tangential = action.timed[:, None] & (np.arange(velocity.shape[1]) > 0)
    return velocity - jnp.where(tangential, later, 0.0), restitution * approach - later[:, 0]


def impacts(
    model: Model,
    contacts: Contacts,
    u_before: Float[Array, " c"],
    u_free: Float[Array, " c"],
    bend: Float[Array, " c"],
    h: Float[Array, ""] | float,
) -> Bool[Array, " c"]:
    """Tell which contacts are impacts: those that would close within the step, and faster than the
    minimum bounce speed, by their normal velocities before the step and without contact [m/s] and
    second derivatives of their gaps [m/s²]."""
    # What would close at constant speed counts even if it is late, see :func:`impact_delay`.
    sooner = jnp.where(u_free < 0, jnp.clip(bend, u_free / h, 0.0), 0.0)
    closes = contacts.gap + h * (u_free + 0.5 * h * sooner) < 0
    return contacts.live & closes & (u_before < -model.contact.min_bounce_speed)
