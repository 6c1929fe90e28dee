"""Penalty forces: what surfaces that overlap do to each other, as a function of state and memory.

    f_n = k_n δ + φ g_n δ̇ − φ adhesion        along the normal
    f_t = −(k_t s + g_t v), ‖f_t‖ ≤ μ (k_n δ + φ g_n δ̇)₊        across it

for overlap δ, slip velocity v and stretch s, the slip since the surfaces met, as far as friction
holds it. φ is the part of a step in which the surfaces overlap (:func:`_present`). Spinning and
rolling are resisted by dashpots with bounds in proportion to the same force.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics.contact_rows import contact_jacobian, contact_velocity
from jaxccp.dynamics.impact import at_start
from jaxccp.dynamics.reaction import contact_wrenches
from jaxccp.dynamics.smooth.memory import SmoothMemory, recall, remember
from jaxccp.math import safe
from jaxccp.model.model import Model
from jaxccp.model.smooth import ADHESION, NORMAL, SmoothSurfaces, Touch
from jaxccp.model.smooth.touch import Coefficients
from jaxccp.model.state import State

ROUND = ("sphere", "capsule")
"""Shapes whose radius is that of their curvature. All others are flat where they touch."""
SLOPE = 5.0
"""[s/m] of friction by the slip speed: μ f_n tanh(SLOPE v)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothForces:
    """What smooth contacts do at one instant."""

    contacts: Contacts
    """Those that overlap are ``live``."""
    force: Float[Array, "c 3"]
    """On the second body, friction included, world axes [N]."""
    torque: Float[Array, "c 3"]
    """Of spinning and rolling friction on the second body, world axes [N m]."""
    slides: Bool[Array, " c"]
    """Whether friction is at its bound."""
    wrenches: Float[Array, "nb 6"]
    """Force [N] and torque [N m] on each body, world axes, about its centre of mass; on fixed
    bodies too."""
    memory: SmoothMemory | None
    """For the next step."""


def smooth_contacts(model: Model, state: State) -> Contacts:
    """All overlapping pairs of points of a model with ``topology.smooth``, the deepest first where
    there is a capacity."""
    topology = model.topology
    smooth = topology.smooth
    assert smooth is not None
    only = replace(
        topology,
        pairs=smooth.pairs,
        max_contacts=smooth.max_contacts,
        rebounds=False,
        smooth=None,
    )
    touching = replace(model.contact, margin=jnp.zeros_like(model.contact.margin))
    return detect(replace(model, topology=only, contact=touching, smooth=None), state)


def smooth_forces(
    model: Model,
    state: State,
    contacts: Contacts,
    memory: SmoothMemory | None,
    elapsed: Float[Array, ""] | float,
) -> SmoothForces:
    """The forces at a state, ``elapsed`` [s] after the instant that ``memory`` is of.

    Args:
        model: with ``topology.smooth``.
        state: positions and velocities at which forces are wanted.
        contacts: of :func:`smooth_contacts` at that state.
        memory: of :func:`jaxccp.dynamics.smooth.empty_memory`, or of the forces of the step before.
            A stepper that asks for forces several times in a step gives the same one each time, and
            keeps the last that is returned.
        elapsed: over which the slip velocity of ``state`` has stretched the springs.
    """
    smooth, table = model.topology.smooth, model.smooth
    assert smooth is not None and table is not None
    live = contacts.live & (contacts.gap < 0)
    contacts = replace(contacts, live=live)
    moves = jnp.asarray(model.topology.moves)[:, None]
    twist = jnp.where(moves, state.twist, 0.0)[contacts.bodies]
    action = at_start(state, contacts)
    relative = contact_velocity(contact_jacobian(action, rolls=True), twist)
    closing, slip = -relative[:, 0], relative[:, 1:3]

    known = recall(memory, contacts)
    floor = model.contact.min_bounce_speed
    approach = jnp.where(known[:, 4] > 0, known[:, 4], jnp.maximum(closing, floor))
    touch = _touch(model, table, contacts, approach)
    law = NORMAL[smooth.normal]
    springs = law.coefficients(touch)
    present = _present(touch.overlap, closing, elapsed)
    damping = present * springs.normal_damping * closing
    pressing = springs.normal_stiffness * touch.overlap + damping
    strength = jnp.minimum(*_sides(table.adhesion, contacts, 0.0))
    normal = pressing - present * ADHESION[smooth.adhesion](strength, touch.radius)

    bound = contacts.friction * jnp.maximum(pressing, 0.0)
    if law.by_speed:
        speed = safe.norm(slip)
        friction = -bound[:, None] * _tanh_along(SLOPE, slip, speed)
        stretch, slides = jnp.zeros_like(slip), SLOPE * speed > 1
    else:
        turn = 0.5 * elapsed * jnp.sum(action.frame[:, :1] * twist[:, :, 3:], axis=(1, 2))
        start = _carried(known, action.frame, turn, springs.tangential_stiffness)
        if smooth.tangential == "one-step":
            start = jnp.zeros_like(start)
        stretch = start + (elapsed * present)[:, None] * slip
        if smooth.tangential == "none":
            stretch = jnp.zeros_like(start)
        friction, stretch, slides = _friction(springs, stretch, slip, bound)
    local = jnp.concatenate([normal[:, None], friction], axis=1)
    spin = jnp.zeros_like(local)
    if smooth.rolls:
        spin = _resistance(touch, springs, relative[:, 3:], contacts.rolling, pressing)

    def in_world(vector: Array) -> Array:
        return jnp.where(live[:, None], jnp.einsum("cij,ci->cj", action.frame, vector), 0.0)

    force, torque = in_world(local), in_world(spin)
    both = jnp.concatenate([force, torque], axis=1)
    wrenches = contact_wrenches(state, contacts, action.lever, both, 1.0)
    values = jnp.concatenate(
        [
            jnp.einsum("cij,ci->cj", action.frame[:, 1:], stretch),
            springs.tangential_stiffness[:, None],
            approach[:, None],
        ],
        axis=1,
    )
    kept = remember(memory, contacts, values)
    return SmoothForces(contacts, force, torque, slides, wrenches, kept)


def _touch(
    model: Model, table: SmoothSurfaces, contacts: Contacts, approach: Float[Array, " c"]
) -> Touch:
    """The contacts as laws see them. Rows that are no contact are of some harmless one."""
    topology, live = model.topology, contacts.live
    free, carried = jnp.asarray(topology.free), jnp.asarray(topology.carried)
    mass = jnp.where(carried, table.frame_mass, model.bodies.mass)
    light = safe.divide(jnp.where(free | carried, 1.0, 0.0), mass)
    mobility = jnp.sum(light[contacts.bodies], axis=1)

    is_round = np.isin(topology.shapes, ROUND)
    radius = jnp.where(is_round, model.shapes.radius, 1.0)
    curvature = jnp.sum(jnp.where(is_round, 1 / radius, 0.0)[contacts.shapes], axis=1)
    flat = curvature == 0
    effective = jnp.where(flat, table.flat_radius, 1 / jnp.where(flat, 1.0, curvature))

    rigid, poisson = jnp.isinf(table.young_modulus), table.poisson_ratio
    young = jnp.where(rigid, 1.0, table.young_modulus)
    plane = jnp.where(rigid, jnp.inf, young / (1 - poisson**2))
    shear = jnp.where(rigid, jnp.inf, young / (2 * (2 - poisson) * (1 + poisson)))
    given = table.coefficients
    return Touch(
        overlap=jnp.where(live, -contacts.gap, 1.0),
        mass=1 / jnp.where(live, mobility, 1.0),
        radius=effective,
        restitution=jnp.where(live, contacts.restitution, 1.0),
        approach=approach,
        characteristic_speed=table.characteristic_speed,
        young=_in_series(*_sides(plane, contacts)),
        shear=_in_series(*_sides(shear, contacts)),
        coefficients=None if given is None else _in_series(*_sides(given, contacts)),
    )


def _present(
    overlap: Float[Array, " c"], closing: Float[Array, " c"], elapsed: Float[Array, ""] | float
) -> Float[Array, " c"]:
    """The part of a step in which surfaces overlap that meet or part in it: δ / (h |δ̇|), 1 for all
    others. Dashpots and adhesion, which begin with a jump, would else act for whole steps: then
    the derivative of the sum over steps would not be that of the motion, however short the steps.
    """
    travel = elapsed * jnp.abs(closing)
    brief = travel > overlap
    return jnp.where(brief, overlap / jnp.where(brief, travel, 1.0), 1.0)


def _sides(column: Array, contacts: Contacts, fill: float = 1.0) -> tuple[Array, Array]:
    """Return the numbers of the first and of the second shape of each contact; ``fill`` where there
    is none."""
    live = contacts.live.reshape(-1, *[1] * (column.ndim - 1))
    first, second = (column[contacts.shapes[:, side]] for side in (0, 1))
    return jnp.where(live, first, fill), jnp.where(live, second, fill)


def _in_series(a: Array, b: Array) -> Array:
    """1 / (1/a + 1/b), for a and b that may be 0 or infinite."""
    rigid_a, rigid_b = jnp.isinf(a), jnp.isinf(b)
    own_a, own_b = jnp.where(rigid_a, 1.0, a), jnp.where(rigid_b, 1.0, b)
    return jnp.where(rigid_a, b, jnp.where(rigid_b, a, safe.divide(own_a * own_b, own_a + own_b)))


def _carried(
    known: Float[Array, "c 5"],
    frame: Float[Array, "c 3 3"],
    turn: Float[Array, " c"],
    stiffness: Float[Array, " c"],
) -> Float[Array, "c 2"]:
    """The stretch of the step before in the tangents of this one, turned with the two surfaces by
    ``turn`` [rad] about the normal. Where the stiffness has grown, the spring keeps its force, not
    its stretch, since pressing does no work on it (Thornton, Cummins & Cleary, Powder Technol. 233,
    2013)."""
    x, y = jnp.einsum("cij,cj->ic", frame[:, 1:], known[:, :3])
    cos, sin = jnp.cos(turn), jnp.sin(turn)
    grown = safe.divide(jnp.minimum(known[:, 3], stiffness), stiffness)
    return grown[:, None] * jnp.stack([x * cos - y * sin, x * sin + y * cos], axis=1)


def _friction(
    springs: Coefficients,
    stretch: Float[Array, "c 2"],
    slip: Float[Array, "c 2"],
    bound: Float[Array, " c"],
) -> tuple[Float[Array, "c 2"], Float[Array, "c 2"], Bool[Array, " c"]]:
    """The force, the stretch that friction holds, and whether surfaces slide.

    The spring's force is bounded by itself, then that of spring and dashpot together: whatever the
    slip, both then never do more work than the spring has stored.
    """
    held, _ = _limited(springs.tangential_stiffness[:, None] * stretch, bound)
    trial = held + springs.tangential_damping[:, None] * slip
    force, slides = _limited(-trial, bound)
    return force, safe.divide(held, springs.tangential_stiffness[:, None]), slides


def _resistance(
    touch: Touch,
    springs: Coefficients,
    relative: Float[Array, "c 3"],
    reach: Float[Array, "c 2"],
    pressing: Float[Array, " c"],
) -> Float[Array, "c 3"]:
    """Torques against spinning and rolling, of critical dashpots 2 √(m* k_n) at the lever R*, bound
    by the coefficients' ``reach`` [m] times the force."""
    dashpot = 2 * jnp.sqrt(touch.mass * springs.normal_stiffness) * touch.radius**2
    trial = -dashpot[:, None] * relative
    bound = reach * jnp.maximum(pressing, 0.0)[:, None]
    spin, _ = _limited(trial[:, :1], bound[:, 0])
    roll, _ = _limited(trial[:, 1:], bound[:, 1])
    return jnp.concatenate([spin, roll], axis=1)


def _limited(
    vector: Float[Array, "c k"], bound: Float[Array, " c"]
) -> tuple[Float[Array, "c k"], Bool[Array, " c"]]:
    """The vector, no longer than ``bound``, and whether it would be."""
    length = safe.norm(vector)
    over = length > bound
    scale = jnp.where(over, bound / jnp.where(over, length, 1.0), 1.0)
    return scale[:, None] * vector, over


def _tanh_along(slope: float, slip: Float[Array, "c 2"], speed: Float[Array, " c"]) -> Array:
    """tanh(slope v) v / ‖v‖, smooth at rest."""
    still = speed == 0
    factor = jnp.tanh(slope * speed) / jnp.where(still, 1.0, speed)
    return jnp.where(still, slope, factor)[:, None] * slip
