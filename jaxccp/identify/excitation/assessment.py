"""Assessment of a planned motion: its standard errors, its use of limits, and its controls."""

import numpy as np
from jaxtyping import Float

from jaxccp.identify.estimation.levenberg_marquardt import rounding
from jaxccp.identify.excitation.limits import QUANTITIES
from jaxccp.identify.excitation.result import Excitation, LimitedQuantity, Weakness
from jaxccp.identify.excitation.search import Search
from jaxccp.identify.uncertainty.intervals import direction_text, undetermined

ROUNDING = 1e-6
"""Excess over a limit, relative to the limit, and distance [m] that count as rounding."""
WEAKEST = 5
"""Number of combinations of parameters that are compared before and after the motion."""


def result_of(search: Search, x: Float[np.ndarray, " k"], first: float) -> Excitation:
    """Return the motion of a search with its standard errors, its limits checked on a fine grid.

    Args:
        search: the search.
        x: coefficients of the motion.
        first: criterion of the best random motion.
    """
    program, design = search.program, search.design
    time = np.linspace(0.0, design.duration, search.recorded + 1)
    samples = search.samples(x, time)
    torque = np.asarray(samples.torque)
    gained = search.exact_information(x)
    position, rate, acceleration = np.moveaxis(np.asarray(samples.motion), 2, 0)
    control, start = _drive(search, position, rate, torque)
    return Excitation(
        joints=program.joints,
        time=time,
        position=position,
        rate=rate,
        acceleration=acceleration,
        torque=torque,
        names=program.names,
        before=_deviation(search.before, program.scale),
        after=_deviation(search.before + gained, program.scale),
        criterion=design.criterion,
        scores=(first, search.score(search.information(x))),
        limited_quantities=_limited_quantities(search, x),
        weaknesses=_weaknesses(search, gained),
        control=control,
        start=start,
    )


def _deviation(matrix: np.ndarray, scale: np.ndarray) -> Float[np.ndarray, " P"]:
    """Return the standard errors for an information matrix in scales; infinite for parameters that
    it does not determine."""
    inverse = np.diag(np.linalg.pinv(matrix, hermitian=True))
    return np.where(undetermined(matrix), np.inf, scale * np.sqrt(np.maximum(inverse, 0.0)))


def _weaknesses(search: Search, gained: np.ndarray) -> tuple[Weakness, ...]:
    """Return the combinations that are determined worst before the motion, or after it if nothing
    is known before."""
    before, after = search.before, search.before + gained
    values, vectors = np.linalg.eigh(before if before.any() else after)
    floor = rounding() * max(float(values.max()), 1e-300)
    out = []
    covariance = np.linalg.pinv(after, hermitian=True, rcond=rounding())
    null = np.eye(len(after)) - search.kept @ search.kept.T
    for value, vector in list(zip(values, vectors.T, strict=True))[:WEAKEST]:
        spread = 1.0 / np.sqrt(value) if value > floor else np.inf
        if spread < 0.1:
            continue
        text = direction_text(
            vector, spread, search.program.names, search.program.scale, search.theta
        )
        undetermined = vector @ null @ vector > 1e-6
        later = np.inf if undetermined else float(np.sqrt(vector @ covariance @ vector))
        out.append(Weakness(text, float(spread), later))
    return tuple(out)


def _limited_quantities(search: Search, x: np.ndarray) -> tuple[LimitedQuantity, ...]:
    """Return the extreme value of each limited quantity on the fine grid of times.

    Args:
        search: the search.
        x: coefficients of the motion.
    """
    program, box = search.program, search.box
    samples = search.samples(x, search.fine())
    values = [*np.moveaxis(np.asarray(samples.motion), 2, 0), np.asarray(samples.torque)]
    quantities = []
    for row, kind in enumerate(QUANTITIES):
        for k, joint in enumerate(program.joints):
            middle, half = box.middle[row, k], box.half[row, k]
            if not np.isfinite(half):
                continue
            series = values[row][:, k]
            worst = float(series[np.argmax(np.abs(series - middle))])
            ends = float(middle - half), float(middle + half)
            kept = bool(abs(worst - middle) <= half * (1.0 + ROUNDING))
            quantities.append(LimitedQuantity(f"{kind} of {joint}", worst, ends, kept))
    if program.touching:
        sample = int(np.argmin(samples.gap))
        which = " and ".join(program.owners[k] for k in samples.pair[sample])
        smallest = float(samples.gap[sample])
        kept = smallest >= box.clearance - ROUNDING
        quantities.append(
            LimitedQuantity(f"distance of {which}", smallest, (box.clearance, np.inf), kept)
        )
    return tuple(quantities)


def _drive(
    search: Search,
    position: Float[np.ndarray, "s n"],
    rate: Float[np.ndarray, "s n"],
    torque: Float[np.ndarray, "s n"],
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return controls that lead to the torques, each the mean over the time to the next sample, and
    ``qpos`` at the start; None if a joint has no actuator or several."""
    subject, joints = search.program.plan.subject, search.program.joints
    actuators, linkage = subject.model.actuators, subject.model.topology.linkage
    if (linkage.actuated >= len(linkage.axes)).any():  # actuators on tendons
        return None, None
    driven = [linkage.axes[axis] for axis in linkage.actuated]
    gain, gear, offset, stiffness, damping = (
        np.asarray(getattr(actuators, name), float)
        for name in ("gain", "gear", "offset", "stiffness", "damping")
    )
    layout = subject.layout
    if sorted(driven) != sorted(joints) or not (gain * gear).all() or layout.places.na:
        return None, None
    order, places = [joints.index(name) for name in driven], layout.places.single
    by_rate = np.argsort(places[1])
    reference = np.asarray(layout.reference, float)[by_rate]
    length = gear * (position - reference)[:, order]
    force = torque[:, order] / gear + stiffness * length + damping * gear * rate[:, order]
    controls = (force - offset) / gain
    control = np.zeros((len(torque) - 1, layout.places.nu))
    control[:, np.asarray(layout.places.control)] = 0.5 * (controls[:-1] + controls[1:])
    rest, _ = layout.coordinates(subject.model, subject.state)
    start = np.array(rest, float)
    start[places[0][by_rate]] = position[0]
    return control, start
