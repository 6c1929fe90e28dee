"""Modes of contacts and limits that occur in a motion, read from its step reports."""

import jax
import numpy as np

from jaxccp.dynamics.contact.contact_data import ContactData, Mode
from jaxccp.model import Model, State
from jaxccp.model.row_order import row_order
from jaxccp.testing.motion import Path

GAP = 1e-7
"""Gap [m] above which a contact with a force in the first step counts as open before it."""
ROLLING_RATE = 1e-3
"""Angular velocity about an axis in the surface above which a sticking body rolls [rad/s]."""
OPPOSED = -0.5
"""Cosine between normals on one body below which contacts hold it from two sides."""
MIN_IMPULSE = 1e-10
"""Least impulse of a limit that acts [N s, N m s]."""


def modes(model: Model, path: Path) -> dict[str, int]:
    """Return the number of steps with each mode, by its name.

    ``free``: nothing touches. ``stick``, ``slip``: of any contact. ``rolling``: a contact sticks
    between bodies that rotate against each other. ``impact``, ``separation``: contact forces
    between a pair of bodies begin or end. ``stick→slip``, ``slip→stick``: of a pair from one step
    to the next. ``redundant``: contacts constrain a body in more directions than it has.
    ``jammed``: from two sides. ``limit``: one acts. ``loop``, ``tendon``: the model has any.

    Args:
        model: the model.
        path: its motion.
    """
    count = len(path.state.time)
    counts = _contact_modes(model, path)
    linkage = model.topology.linkage
    limited = (
        np.abs(np.asarray(path.scalars)[:, row_order(linkage).of("lower", "upper", "ball")])
        > MIN_IMPULSE
    )
    present = {
        "limit": int(limited.any(axis=1).sum()),
        "loop": count * bool(len(linkage.loops)),
        "tendon": count * bool(linkage.routing.tendons),
    }
    return {mode: steps for mode, steps in (counts | present).items() if steps}


def shape_pairs(model: Model, path: Path) -> tuple[str, ...]:
    """Return the pairs of kinds of shapes, such as ``box-plane``, of bodies between which contact
    forces act; not all of them need touch.

    Args:
        model: the model.
        path: its motion.
    """
    topology, data = model.topology, path.report.contact_data
    if data is None:
        return ()
    pressing = np.asarray(data.live & (data.mode != Mode.OPEN))
    pairs: set[str] = set()
    for pair in np.unique(np.asarray(data.bodies)[pressing], axis=0):
        kinds = [np.array(topology.shapes)[topology.shape_body == body] for body in pair]
        pairs |= {"-".join(sorted((str(a), str(b)))) for a in kinds[0] for b in kinds[1]}
    return tuple(sorted(pairs))


def _contact_modes(model: Model, path: Path) -> dict[str, int]:
    """Return the number of steps with each mode of contacts."""
    data, count = path.report.contact_data, len(path.state.time)
    data = jax.tree.map(np.asarray, data)
    counts = {"free": 0, "stick": 0, "slip": 0}
    before: dict[tuple[int, int], bool] | None = None
    for step in range(count):
        step_modes, pairs = _step_modes(model, data, path.state, step)
        if before is None:
            opened = {pair for pair, gap in _gaps(data, step).items() if gap > GAP}
            before = {pair: slips for pair, slips in pairs.items() if pair not in opened}
        step_modes |= {"impact"} if pairs.keys() - before.keys() else set()
        step_modes |= {"separation"} if before.keys() - pairs.keys() else set()
        kept = before.keys() & pairs.keys()
        step_modes |= {"stick→slip" for pair in kept if pairs[pair] and not before[pair]}
        step_modes |= {"slip→stick" for pair in kept if before[pair] and not pairs[pair]}
        before = pairs
        for mode in step_modes or {"free"}:
            counts[mode] = counts.get(mode, 0) + 1
    return counts


def _pressing_contacts(data: ContactData, step: int) -> np.ndarray:
    return np.flatnonzero(np.asarray(data.live[step] & (data.mode[step] != Mode.OPEN)))


def _pair(data: ContactData, step: int, contact: int) -> tuple[int, int]:
    first, second = data.bodies[step][contact]
    return int(first), int(second)


def _gaps(data: ContactData, step: int) -> dict[tuple[int, int], float]:
    """Return the smallest gap of each pair of bodies with contact forces."""
    gaps: dict[tuple[int, int], float] = {}
    for contact in _pressing_contacts(data, step):
        pair, gap = _pair(data, step, contact), float(data.gap[step][contact])
        gaps[pair] = min(gap, gaps.get(pair, gap))
    return gaps


def _step_modes(
    model: Model, data: ContactData, states: State, step: int
) -> tuple[set[str], dict[tuple[int, int], bool]]:
    """Return the modes of the contacts of one step, and for each pair of bodies whether it
    slips."""
    step_modes: set[str] = set()
    pairs: dict[tuple[int, int], bool] = {}
    movable, spin = model.topology.movable, np.asarray(states.angular_velocity[step])
    row_counts: dict[int, int] = {}
    normals: dict[int, list[np.ndarray]] = {}
    for contact in _pressing_contacts(data, step):
        pair, slips = _pair(data, step, contact), data.mode[step][contact] == Mode.SLIDING
        pairs[pair] = pairs.get(pair, False) or bool(slips)
        step_modes.add("slip" if slips else "stick")
        normal = np.asarray(data.normal[step][contact])
        relative_spin = spin[pair[1]] - spin[pair[0]]
        if (
            not slips
            and np.linalg.norm(relative_spin - normal * (normal @ relative_spin)) > ROLLING_RATE
        ):
            step_modes.add("rolling")
        for body, sense in zip(pair, (-1.0, 1.0), strict=True):
            if movable[body]:
                row_counts[body] = row_counts.get(body, 0) + (1 if slips else 3)
                normals.setdefault(body, []).append(sense * normal)
    if any(rows > 6 for rows in row_counts.values()):
        step_modes.add("redundant")
    if any((np.array(n) @ np.array(n).T).min() < OPPOSED for n in normals.values()):
        step_modes.add("jammed")
    return step_modes, pairs
