"""Which modes a motion met: what its contacts and limits did, read from step reports."""

import jax
import numpy as np

from jaxccp.dynamics.contact_data import ContactData, Mode
from jaxccp.model import Linkage, Model, State
from jaxccp.testing.motion import Path

GAP = 1e-7
"""A contact that pushes in the first step has been open before at a larger gap [m]."""
TURN = 1e-3
"""Faster than this, about an axis in the surface, a body rolls where it sticks [rad/s]."""
OPPOSED = -0.5
"""Normals on one body at a smaller cosine hold it from two sides."""
PUSH = 1e-10
"""A limit that pushes by more acts [N s, N m s]."""


def modes(model: Model, path: Path) -> dict[str, int]:
    """The number of steps in which each mode was met, by its name.

    ``free``: nothing touches. ``stick``, ``slip``: of any contact. ``rolling``: a contact sticks
    between bodies that turn against each other. ``impact``, ``separation``: a pair of bodies begins
    or ceases to push. ``stick→slip``, ``slip→stick``: of a pair from one step to the next.
    ``redundant``: contacts hold a body in more directions than it has. ``jammed``: from two
    sides. ``limit``: one pushes. ``loop``, ``tendon``: the model has any.
    """
    data = path.report.contact_data
    assert data is not None
    data = jax.tree.map(np.asarray, data)
    count = len(path.state.time)
    met = {"free": 0, "stick": 0, "slip": 0}
    before: dict[tuple[int, int], bool] | None = None
    for step in range(count):
        seen, now = _seen(model, data, path.state, step)
        if before is None:
            opened = {pair for pair, gap in _gaps(data, step).items() if gap > GAP}
            before = {pair: slips for pair, slips in now.items() if pair not in opened}
        seen |= {"impact"} if now.keys() - before.keys() else set()
        seen |= {"separation"} if before.keys() - now.keys() else set()
        kept = before.keys() & now.keys()
        seen |= {"stick→slip" for pair in kept if now[pair] and not before[pair]}
        seen |= {"slip→stick" for pair in kept if before[pair] and not now[pair]}
        before = now
        for mode in seen or {"free"}:
            met[mode] = met.get(mode, 0) + 1
    linkage = model.topology.linkage
    limited = np.abs(np.asarray(path.scalars)[:, limit_rows(linkage)]) > PUSH
    present = {
        "limit": int(limited.any(axis=1).sum()),
        "loop": count * bool(len(linkage.loops)),
        "tendon": count * bool(linkage.routing.tendons),
    }
    return {mode: steps for mode, steps in (met | present).items() if steps}


def shape_pairs(model: Model, path: Path) -> tuple[str, ...]:
    """Kinds of shapes on the bodies that pushed each other, such as ``box-plane``."""
    topology, data = model.topology, path.report.contact_data
    assert data is not None
    pushing = np.asarray(data.live & (data.mode != Mode.OPEN))
    found: set[str] = set()
    for pair in np.unique(np.asarray(data.bodies)[pushing], axis=0):
        kinds = [np.array(topology.shapes)[topology.shape_body == body] for body in pair]
        found |= {"-".join(sorted((str(a), str(b)))) for a in kinds[0] for b in kinds[1]}
    return tuple(sorted(found))


def limit_rows(linkage: Linkage) -> slice:
    """The scalar rows of limits."""
    first = linkage.forbidden + len(linkage.compliant)
    return slice(first, first + len(linkage.lower) + len(linkage.upper) + len(linkage.balls))


def _pushing(data: ContactData, step: int) -> np.ndarray:
    return np.flatnonzero(np.asarray(data.live[step] & (data.mode[step] != Mode.OPEN)))


def _pair(data: ContactData, step: int, contact: int) -> tuple[int, int]:
    first, second = data.bodies[step][contact]
    return int(first), int(second)


def _gaps(data: ContactData, step: int) -> dict[tuple[int, int], float]:
    """The smallest gap of each pair of bodies that pushes."""
    found: dict[tuple[int, int], float] = {}
    for contact in _pushing(data, step):
        pair, gap = _pair(data, step, contact), float(data.gap[step][contact])
        found[pair] = min(gap, found.get(pair, gap))
    return found


def _seen(
    model: Model, data: ContactData, states: State, step: int
) -> tuple[set[str], dict[tuple[int, int], bool]]:
    """Modes of the contacts of one step, and of each pair of bodies that pushes if it slips."""
    seen: set[str] = set()
    pairs: dict[tuple[int, int], bool] = {}
    moves, spin = model.topology.moves, np.asarray(states.angular_velocity[step])
    held: dict[int, int] = {}
    normals: dict[int, list[np.ndarray]] = {}
    for contact in _pushing(data, step):
        pair, slips = _pair(data, step, contact), data.mode[step][contact] == Mode.SLIDING
        pairs[pair] = pairs.get(pair, False) or bool(slips)
        seen.add("slip" if slips else "stick")
        normal = np.asarray(data.normal[step][contact])
        turn = spin[pair[1]] - spin[pair[0]]
        if not slips and np.linalg.norm(turn - normal * (normal @ turn)) > TURN:
            seen.add("rolling")
        for body, sense in zip(pair, (-1.0, 1.0), strict=True):
            if moves[body]:
                held[body] = held.get(body, 0) + (1 if slips else 3)
                normals.setdefault(body, []).append(sense * normal)
    if any(rows > 6 for rows in held.values()):
        seen.add("redundant")
    if any((np.array(n) @ np.array(n).T).min() < OPPOSED for n in normals.values()):
        seen.add("jammed")
    return seen, pairs
