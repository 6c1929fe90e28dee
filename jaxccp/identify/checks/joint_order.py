"""Check whether recorded channels belong to other joints than those named."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import linear_sum_assignment

from jaxccp.dynamics import inverse_dynamics
from jaxccp.identify.case import Mechanism
from jaxccp.identify.checks.limits import excess, limits_of, span
from jaxccp.identify.recordings.filters import filled, smoothed
from jaxccp.identify.recordings.recording import Recording
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.sensors.coordinates.coordinates import Coordinates

SAMPLES = 128
"""Number of samples at which torques are compared."""
BETTER = 0.6
"""Unexplained torque with another order, relative to that with the given order, below which the
warning is given."""
CLEAR = 0.02
"""Smallest reduction of the unexplained fraction of variance, mean over joints, for a warning."""
UNITS = 200.0
"""Ratio of measured to expected torques, or its inverse, above which a unit looks wrong."""


def check_order(mechanism: Mechanism, recordings: Sequence[Recording]) -> list[str]:
    """Return a warning if recordings fit another order of the joints much better.

    Positions are compared with the limits of the joints. If that leads to no warning, the torques
    of the first recording, if there are any, are compared with the inverse dynamics of the model,
    with friction and rotor inertia of any size. If their magnitudes are far apart, the warning is
    about the unit of the torques.

    Args:
        mechanism: the mechanism that was recorded.
        recordings: recordings of the mechanism.
    """
    by_limits = _by_limits(mechanism, recordings)
    if by_limits:
        return by_limits
    names = _axes_with_torque(mechanism, recordings)
    return _by_torque(mechanism, recordings, names) if names else []


def _axes_with_torque(mechanism: Mechanism, recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Return the names of all axes; nothing unless the first recording has all positions and at
    least two torques, and nothing else moves."""
    places, linkage = mechanism.layout.places, mechanism.model.topology.linkage
    if len(places.free[2]) or len(places.ball[2]) or len(places.nodes[0]):
        return ()
    names = tuple(linkage.axes[axis] for axis in places.single[2])
    first = recordings[0]
    if len(first.time) < 30 or len(names) > 30:
        return ()
    if any(f'position["{name}"]' not in first.index for name in names):
        return ()
    torques = [f'torque["{name}"]' for name in names]
    usable = [t for t in torques if t in first.index and np.isfinite(first[t].values).any()]
    return names if len(usable) > 1 else ()


def _by_limits(mechanism: Mechanism, recordings: Sequence[Recording]) -> list[str]:
    """Return a warning if positions only fit the limits of other joints."""
    limits = limits_of(mechanism)
    reach = {name: span(recordings, f'position["{name}"]') for name in limits}
    names = [name for name, part in reach.items() if part is not None]
    if len(names) < 2:
        return []
    cost = np.array(
        [
            [excess(reach[name] or (0.0, 0.0), *limits[joint][:2]) for joint in names]
            for name in names
        ]
    )
    cost += 1e-6 * (1.0 - np.eye(len(names)))  # of equal orders the recorded one
    rows, best = linear_sum_assignment(cost)
    recorded, sorted_cost = np.trace(cost), cost[rows, best].sum()
    if recorded < 0.1 or sorted_cost > 0.1 * recorded:
        return []
    return [
        "positions leave the limits of their joints, but not in another order: "
        f"{_words(names, best)}; if joints= or columns= are in the wrong order, mend them"
    ]


def _by_torque(
    mechanism: Mechanism, recordings: Sequence[Recording], names: tuple[str, ...]
) -> list[str]:
    """Return a warning if another order of the joints explains the torques much better."""
    first = recordings[0]
    channels = [first[f'position["{name}"]'].values for name in names]
    samples = filled(first.time, np.concatenate(channels, axis=1))
    position, rate = smoothed(first.time, samples, 10.0)
    acceleration = np.gradient(rate, first.time, axis=0)
    torque = np.full(position.shape, np.nan)
    for place, name in enumerate(names):
        if f'torque["{name}"]' in first.index:
            torque[:, place] = first[f'torque["{name}"]'].values[:, 0]
    edge = len(position) // 20
    rows = np.linspace(edge, len(position) - 1 - edge, SAMPLES).astype(int)
    position, rate, acceleration, torque = (x[rows] for x in (position, rate, acceleration, torque))
    recorded = np.flatnonzero(np.isfinite(torque).sum(axis=0) > SAMPLES // 2)
    orders = list(_orders(len(names)))
    back = [np.argsort(order) for order in orders]
    needed = _needed(mechanism, position, rate, acceleration, orders)
    if not np.isfinite(needed).all() or not len(recorded):
        return []
    ratio = _ratio(torque[:, recorded], needed[0][:, recorded])
    if not 1 / UNITS < ratio < UNITS:
        return [
            f"measured torques are {ratio:.2g} times those that the model's inertia and gravity "
            "need: check their unit (N m), or the masses of the model"
        ]
    score = np.array(
        [
            np.mean(
                [
                    _unexplained(
                        torque[:, i], *(x[:, i] for x in (torque_needed[:, k], acceleration, rate))
                    )
                    for i in recorded
                ]
            )
            for torque_needed, k in ((needed[p], back[p]) for p in range(len(orders)))
        ]
    )
    # Another order for torques than for positions.
    mixed = np.array(
        [
            [
                _unexplained(torque[:, i], needed[0][:, j], acceleration[:, j], rate[:, j])
                for j in range(len(names))
            ]
            for i in recorded
        ]
    )
    matched, columns = linear_sum_assignment(mixed)
    straight = mixed[np.arange(len(recorded)), recorded].mean()
    best = int(np.argmin(score))
    crossed = mixed[matched, columns].mean()
    if crossed < min(BETTER * straight, straight - CLEAR) and crossed <= score[best]:
        what, order = "torques", np.arange(len(names))
        order[recorded[matched]] = columns
    elif score[best] < min(BETTER * score[0], score[0] - CLEAR):
        what, order = "positions and torques", back[best]
    else:
        return []
    return [
        f"{what} look like those of other joints: {_words(names, order)}; the model explains "
        f"{100 * (1 - straight):.0f} % of the torques' variance as they are and "
        f"{100 * (1 - min(crossed, score[best])):.0f} % so; check the order of joints= or columns="
    ]


def _orders(count: int) -> Iterator[np.ndarray]:
    """Yield the given order, then exchanged pairs, the reverse, and shifts by one."""
    plain = np.arange(count)
    yield plain
    for i in range(count):
        for j in range(i + 1, count):
            order = plain.copy()
            order[[i, j]] = order[[j, i]]
            yield order
    if count > 2:
        yield from (plain[::-1].copy(), np.roll(plain, 1), np.roll(plain, -1))


def _needed(
    mechanism: Mechanism,
    position: Float[np.ndarray, "s n"],
    rate: Float[np.ndarray, "s n"],
    acceleration: Float[np.ndarray, "s n"],
    orders: Sequence[np.ndarray],
) -> Float[np.ndarray, "k s n"]:
    """Return the forces along the axes [N, N m] that a recorded motion needs, for several orders of
    its joints.

    Args:
        mechanism: the model, whose actuators do not act.
        position: recorded coordinates [m, rad].
        rate: their rates [m/s, rad/s].
        acceleration: their accelerations [m/s², rad/s²].
        orders: for each of k orders, the column of the motion that each axis takes [n].
    """
    places = mechanism.layout.places
    motions = [np.concatenate([x[:, o] for o in orders]) for x in (position, rate, acceleration)]
    wide = []
    for values, row, width in zip(
        motions, (0, 1, 1), (places.nq, places.nv, places.nv), strict=True
    ):
        table = np.zeros((len(values), width))
        table[:, places.single[row]] = values
        wide.append(jnp.asarray(table, mechanism.state.position.dtype))
    model = mechanism.model
    zeros = {
        name: jnp.zeros_like(getattr(model.actuators, name))
        for name in ("gain", "offset", "stiffness", "damping")
    }
    model = replace(model, actuators=replace(model.actuators, **zeros))
    torque = np.asarray(_torques(model, mechanism.layout, mechanism.state, *wide))
    return torque[:, places.single[1]].reshape(len(orders), len(position), -1)


@jax.jit
def _torques(
    model: Model, layout: Coordinates, state: State, qpos: Array, qvel: Array, qacc: Array
) -> Float[Array, "s nv"]:
    def torque(q: Array, v: Array, a: Array) -> Array:
        return inverse_dynamics(model, layout.state(model, state, q, v), a)

    return jax.vmap(torque)(qpos, qvel, qacc)


def _ratio(torque: Float[np.ndarray, "s n"], needed: Float[np.ndarray, "s n"]) -> float:
    """Return the ratio of the root mean squares of measured and expected torques; 1 if one is
    zero."""
    measured = np.sqrt(np.nanmean(torque**2))
    expected = np.sqrt(np.mean(needed**2))
    return float(measured / expected) if measured > 0 and expected > 0 else 1.0


def _unexplained(
    torque: Float[np.ndarray, " s"],
    needed: Float[np.ndarray, " s"],
    acceleration: Float[np.ndarray, " s"],
    rate: Float[np.ndarray, " s"],
) -> float:
    """Return the fraction of a torque's variance that remains after a fit of the model with rotor
    inertia, friction and an offset."""
    good = np.isfinite(torque)
    target = torque[good] - torque[good].mean()
    if not target.any():
        return 1.0
    speed = np.sqrt(np.mean(rate**2)) + 1e-9
    friction = [acceleration, rate, np.tanh(10.0 * rate / speed), np.ones_like(rate)]
    left = 1.0
    for columns, signed in ((friction, False), ([needed, *friction], True)):
        table = np.stack(columns, axis=1)[good]
        table = table / np.maximum(np.linalg.norm(table, axis=0), 1e-12)
        solution = np.linalg.lstsq(table, target, rcond=None)[0]
        if signed and solution[0] < 0:
            break
        left = float(np.sum((target - table @ solution) ** 2) / np.sum(target**2))
    return left


def _words(names: Sequence[str], order: np.ndarray) -> str:
    """Return which recorded channel looks like which joint's, in words."""
    pairs = [(names[i], names[int(k)]) for i, k in enumerate(order) if int(k) != i]
    return ", ".join(f"{name!r} looks like {joint!r}" for name, joint in pairs)
