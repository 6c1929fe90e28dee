"""Impacts: which contacts they are, and when and where within the step their impulses act."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Problem
from jaxccp.collision.detect import Contacts
from jaxccp.math import linear3, safe
from jaxccp.math.contact_frame import contact_frame
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Action:
    """Times, contact frames and levers of the impulses of c contacts, which act at the start of the
    step or at the time of impact."""

    delay: Float[Array, " c"]
    """Fraction of the step that passes before each impulse."""
    frame: Float[Array, "c 3 3"]
    """``Contacts.frame`` (normal and two tangents) at the time of the impulse."""
    lever: Float[Array, "c 2 3"]
    """Vectors from the centres of mass of the two bodies to the contact point at the time of the
    impulse [m]."""
    timed: Bool[Array, " c"]
    """Whether a contact acts after its delay: it is an impact, or simultaneous with one."""
    simultaneous: Bool[Array, " c"]
    """Whether a contact in ``timed`` is closed at the start, and responds to an impact on one of
    its bodies."""
    late: bool = field(metadata={"static": True})
    """Whether any impulse may act after the start."""
    default_delay: float = field(default=0.0, metadata={"static": True})
    """Fraction of the step before impulses of scalar rows and of contacts that no impact affects.
    """

    def weight_by_remaining_time(
        self, problem: Problem, lam: Float[Array, " n"]
    ) -> Float[Array, " n"]:
        """Return each impulse times the fraction of the step that is left when it acts.

        Impacts act at their own time. Other contacts and limits respond to impacts: the delay of
        such a row is the mean of the impacts' delays, weighted by the change of the row's velocity
        that each impact causes.

        Args:
            problem: the step's problem.
            lam: multipliers of that problem.
        """
        scalars, blocks = problem.cones.split(lam)
        hits = jnp.where(self.timed[:, None], blocks, 0.0)

        def impact_effect(delay: Array) -> tuple[Array, Array]:
            impulses = problem.cones.join(jnp.zeros_like(scalars), delay[:, None] * hits)
            return problem.cones.split(problem.delassus.apply(impulses))

        weights = jnp.stack([jnp.ones_like(self.delay), self.delay])
        (rows, late_rows), (normals, late_normals) = jax.vmap(impact_effect)(weights)
        delay = _mean(late_normals[:, 0], normals[:, 0], self.default_delay)
        delay = jnp.where(self.timed, self.delay, delay)
        scalars = (1.0 - _mean(late_rows, rows, self.default_delay)) * scalars
        return problem.cones.join(scalars, (1.0 - delay)[:, None] * blocks)

    def weight_by_lever_time(self, problem: Problem, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the impulse of each contact times 1 − ``delay``, the fraction of the step that is
        left at the time for which its frame and lever are given; scalar rows keep their impulses.

        Args:
            problem: the step's problem.
            lam: multipliers of that problem.
        """
        scalars, blocks = problem.cones.split(lam)
        return problem.cones.join(scalars, (1.0 - self.delay)[:, None] * blocks)


NEGLIGIBLE = 1e-6
"""Change of a row's velocity [m/s] up to which a row counts as unaffected by impacts."""


def _mean(late: Array, total: Array, default: float) -> Array:
    """Return late / total, clipped to [0, 1]; ``default`` where the total is negligible.

    Both are divided by the larger of ``total`` and :data:`NEGLIGIBLE`, so that no square leaves the
    range of float32.
    """
    unit = lax.stop_gradient(jnp.maximum(jnp.abs(total), NEGLIGIBLE))
    late, total, floor = late / unit, total / unit, (NEGLIGIBLE / unit) ** 2
    return jnp.clip((late * total + default * floor) / (total * total + floor), 0.0, 1.0)


def action_at_start(state: State, contacts: Contacts) -> Action:
    """Return the action of contacts if all impulses act at the start of the step.

    Args:
        state: the state at the start.
        contacts: the contacts there.
    """
    lever = contacts.position[:, None] - state.position[contacts.bodies]
    none = jnp.zeros_like(contacts.live)
    return Action(jnp.zeros_like(contacts.gap), contacts.frame, lever, none, none, late=False)


def action_at_impact(
    state: State,
    contacts: Contacts,
    timed: Bool[Array, " c"],
    simultaneous: Bool[Array, " c"],
    delay: Float[Array, " c"],
    free_velocity: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
) -> Action:
    """Return the action of contacts if some of them act at their time of impact.

    Until then the bodies fly freely. Centres of mass move exactly as the stepper moves them, so
    that impulses at the levers conserve angular momentum; gap, contact point and normal follow
    their first two time derivatives.

    Args:
        state: the state at the start of the step.
        contacts: the contacts there.
        timed: mask of the contacts that act after their delay.
        simultaneous: mask of those in ``timed`` that are closed at the start and respond to an
            impact.
        delay: fraction of the step before each impulse (:func:`impact_delay`).
        free_velocity: twists of the bodies without contact.
        h: length of the step [s].
    """
    start = action_at_start(state, contacts)
    time = (h * delay)[:, None]
    lever_rate = (
        contacts.mean_point_velocity(h * delay)[:, None] - free_velocity[contacts.bodies, :3]
    )
    normal = contacts.frame[:, 0]
    rotated = normal + time * (contacts.normal_rate + 0.5 * time * contacts.normal_acceleration)
    normal = safe.normalize(rotated, jnp.eye(3, dtype=normal.dtype)[0])
    frame = jnp.where(timed[:, None, None], contact_frame(normal), start.frame)
    lever = start.lever + time[:, None] * lever_rate
    return Action(delay, frame, lever, timed, simultaneous, late=True)


def gap_acceleration(
    contacts: Contacts, twists: Float[Array, "c 2 6"], levers: Float[Array, "c 2 3"]
) -> Float[Array, " c"]:
    """Return the second derivative of each gap while the bodies keep their twists [m/s²].

    A gap's rate is n · (v_b − v_a) for the velocities v of the material points that touch. The
    contact point slides over both bodies; v then changes by ω × (velocity of the contact point −
    velocity of the centre of mass). Terms of the order of the gap are neglected: the nearest points
    of both surfaces count as one.

    Args:
        contacts: gaps, normals and their rates.
        twists: twists of the two bodies of each contact.
        levers: vectors from the two centres of mass to the contact [m].
    """
    normal, velocity, spin = contacts.frame[:, 0], twists[..., :3], twists[..., 3:]
    material = velocity + linear3.cross(spin, levers)
    change = linear3.cross(spin, contacts.position_rate[:, None] - velocity)
    normal_part = contacts.normal_rate * (material[:, 1] - material[:, 0])
    return jnp.sum(normal_part + normal * (change[:, 1] - change[:, 0]), axis=1)


GRAZE = 0.1
"""Lower bound on the speed of a gap when it closes, as a fraction of the closing speed c of
:func:`impact_delay`; it also holds if the gap would slow down further or open again."""


def impact_delay(
    gap: Float[Array, " c"],
    hits: Bool[Array, " c"],
    closing: Float[Array, " c"],
    acceleration: Float[Array, " c"],
    h: Float[Array, ""] | float,
) -> Float[Array, " c"]:
    """Return the fraction τ/h of the step after which each gap closes; 0 for contacts that are no
    impacts.

    It may exceed 1: a gap may close within the step at the speed c, but later if it slows down
    (Φ'' > 0). Such an impact cannot be left to the next step, since this step already slows the
    bodies down, so that they do not penetrate.

    Args:
        gap: Φ [m].
        hits: mask of the contacts that are impacts.
        closing: closing speed c, without contact impulses [m/s].
        acceleration: Φ'' [m/s²] (:func:`gap_acceleration`); τ solves Φ − c τ + Φ'' τ²/2 = 0.
        h: length of the step [s].
    """
    # At a gap of 0 the derivative is that of an open one, where maximum takes half of it.
    gap, closes = jnp.where(gap < 0, 0.0, gap), hits & (closing > 0)
    acceleration = jnp.maximum(acceleration, -closing / h)
    square = jnp.maximum(closing**2 - 2.0 * gap * acceleration, (GRAZE * closing) ** 2)
    denominator = closing + jnp.sqrt(jnp.where(closes, square, 1.0))
    return safe.divide(2.0 * gap, jnp.where(closes, denominator, 0.0)) / h


def newton_impact_law(
    action: Action,
    restitution: Float[Array, " c"],
    velocity: Float[Array, "c w"],
    before: Float[Array, "c w"],
) -> tuple[Float[Array, "c w"], Float[Array, " c"]]:
    """Apply Newton's law at the time of impact: contacts separate at e times their approach speed.

    Forces act before the impact and after it. The law does not see the velocities that they add
    after the impact.

    Args:
        action: the contacts' times of impact.
        restitution: e.
        velocity: velocities of the rows at the end of the step without impulses [m/s].
        before: velocities of the rows at its start [m/s].

    Returns:
        The velocities that the rows of contacts see [m/s]: ``velocity``, in tangential rows of
            impacts without the part after the impact; and the bias of the normal row of each
            contact, which is meant for impacts only [m/s].
    """
    after_impact = (1.0 - action.delay)[:, None] * (velocity - before)
    approach = jnp.where(action.simultaneous, 0.0, (velocity - after_impact)[:, 0])
    tangential = action.timed[:, None] & (np.arange(velocity.shape[1]) > 0)
    return velocity - jnp.where(
        tangential, after_impact, 0.0
    ), restitution * approach - after_impact[:, 0]


def find_bounces(
    contacts: Contacts,
    is_impact: Bool[Array, " c"],
    u_before: Float[Array, " c"],
    h: Float[Array, ""] | float,
) -> Bool[Array, " c"]:
    """Return the mask of the impacts that rebound by Newton's law, as if surfaces were rigid.

    Compliant surfaces rebound when they meet, which is when they were apart a step ago, as their
    velocities before the step tell. Once they overlap, their spring acts: with a rebound in each
    step it would never be compressed at speed.

    Args:
        contacts: the contacts at the start of the step.
        is_impact: result of :func:`find_impacts`.
        u_before: normal velocities before the step [m/s].
        h: length of the step [s].
    """
    meets = (contacts.compliance == 0) | (contacts.gap > h * u_before)
    return is_impact & (contacts.restitution > 0) & meets


def find_impacts(
    model: Model,
    contacts: Contacts,
    u_before: Float[Array, " c"],
    u_free: Float[Array, " c"],
    acceleration: Float[Array, " c"],
    h: Float[Array, ""] | float,
) -> Bool[Array, " c"]:
    """Return the mask of contacts that close within the step, faster than the minimum bounce speed.

    Args:
        model: the model, with the minimum bounce speed in its contact settings.
        contacts: the contacts at the start of the step.
        u_before: normal velocities before the step [m/s].
        u_free: normal velocities without contact [m/s].
        acceleration: second derivatives of the gaps [m/s²].
        h: length of the step [s].
    """
    # A gap that closes at constant speed counts even if it closes late (:func:`impact_delay`).
    closing_acceleration = jnp.where(u_free < 0, jnp.clip(acceleration, u_free / h, 0.0), 0.0)
    closes = contacts.gap + h * (u_free + 0.5 * h * closing_acceleration) < 0
    return contacts.live & closes & (u_before < -model.contact.min_bounce_speed)
