"""A planned motion: its standard errors, its use of limits, and its file."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxccp.identify.excitation.limits import QUANTITIES
from jaxccp.identify.recordings.recording import Recording, recording
from jaxccp.identify.uncertainty.intervals import direction_text, undetermined
from jaxccp.io.errors import InputError
from jaxccp.io.output import write_file, write_npz

if TYPE_CHECKING:
    from jaxccp.identify.excitation.search import Search

ROUNDING = 1e-6
"""Excess over a limit, relative to the limit, and distance [m] that count as rounding."""
WEAKEST = 5
"""Number of combinations of parameters that are compared before and after the motion."""


@dataclass(frozen=True)
class Use:
    """The largest value of one limited quantity on a fine grid of times."""

    what: str
    """Quantity and joint, or the closest shapes."""
    value: float
    """Largest magnitude, or smallest distance [m]."""
    limits: tuple[float, float]
    """Lowest and highest allowed value."""
    kept: bool
    """Whether the value is within its limits."""


@dataclass(frozen=True)
class Weakness:
    """A combination of parameters that is poorly determined, before and after a motion is
    recorded."""

    text: str
    """The combination in words."""
    before: float
    """Standard deviation before the motion, in the parameters' scales; infinite if the combination
    is not determined."""
    after: float
    """Standard deviation with the motion recorded."""

    def __str__(self) -> str:
        """Return the improvement by the motion in words."""
        if not np.isfinite(self.after):
            return f"{self.text}, and no motion determines it"
        return f"{self.text}; with this motion to {self.after:.2g} scales"


@dataclass(frozen=True)
class Excitation:
    """A motion to record, with the standard errors that it will lead to."""

    joints: tuple[str, ...]
    """Names of the n joints."""
    time: Float[np.ndarray, " s"]
    """Times of the samples [s]."""
    position: Float[np.ndarray, "s n"]
    """Coordinates of the joints [m, rad]."""
    rate: Float[np.ndarray, "s n"]
    """Rates of the joints [m/s, rad/s]."""
    acceleration: Float[np.ndarray, "s n"]
    """Accelerations of the joints [m/s², rad/s²]."""
    torque: Float[np.ndarray, "s n"]
    """Forces along the axes for this motion, computed with the model [N, N m]."""
    names: tuple[str, ...]
    """Names of the parameters."""
    before: Float[np.ndarray, " P"]
    """Standard error of each parameter from priors and earlier recordings; infinite if they do not
    determine it."""
    after: Float[np.ndarray, " P"]
    """Predicted standard error with the motion recorded."""
    criterion: str
    """Criterion of the design, "D" or "A"."""
    scores: tuple[float, float]
    """Criterion of the best random motion, and of this motion; lower is better."""
    uses: tuple[Use, ...]
    """The use of each limit, those of shapes last."""
    weaknesses: tuple[Weakness, ...]
    """The combinations of parameters that are determined worst before the motion, worst first."""
    control: Float[np.ndarray, "s-1 nu"] | None = None
    """Controls of the model's motors or servos that lead to these torques, held between samples;
    None if a joint has no actuator or several."""
    start: Float[np.ndarray, " nq"] | None = None
    """``qpos`` at the start of the motion; None under the same conditions."""

    @property
    def within_limits(self) -> bool:
        """Return whether no limit is exceeded."""
        return all(use.kept for use in self.uses)

    def recording(self, name: str = "planned") -> Recording:
        """Return the motion as a recording of positions, rates and torques.

        Args:
            name: name of the recording.
        """
        position, rate, torque = (
            dict(zip(self.joints, values.T, strict=True))
            for values in (self.position, self.rate, self.torque)
        )
        return recording(self.time, name, position=position, rate=rate, torque=torque)

    def save(self, path: Path | str) -> Path:
        """Write the motion to a file that :func:`jaxccp.identify.read` reads.

        An npz file has ``time``, ``joint_names`` and ``q``, ``qd``, ``qdd``, ``tau`` (N, n). If one
        motor or servo drives each joint, it also has ``ctrl``, ``qpos`` and ``qvel``, for ``jaxccp
        simulate --init FILE --ctrl FILE``. A csv file has one column for each channel.

        Args:
            path: ends in .npz or .csv.

        Raises:
            InputError: the path has another ending, or cannot be written to.
        """
        path = Path(path)
        parts = (self.position, self.rate, self.acceleration, self.torque)
        if path.suffix == ".npz":
            arrays = dict(zip(("q", "qd", "qdd", "tau"), parts, strict=True))
            if self.control is not None and self.start is not None:
                still = np.zeros(len(self.joints))
                arrays |= {"ctrl": self.control, "qpos": self.start, "qvel": still}
            write_npz(path, time=self.time, joint_names=np.array(self.joints), **arrays)
        elif path.suffix == ".csv":
            text = io.StringIO()
            writer = csv.writer(text)
            head = [f'{kind}["{joint}"]' for kind in QUANTITIES for joint in self.joints]
            writer.writerow(["time", *head])
            writer.writerows(np.concatenate([self.time[:, None], *parts], axis=1).tolist())
            write_file(path, lambda file: file.write(text.getvalue().encode()))
        else:
            raise InputError(path, "is no file for a trajectory", "end it in .npz or .csv")
        return path

    def __str__(self) -> str:
        """Return the standard errors and the use of the limits as tables."""
        first, last = self.scores
        lines = [
            f"{self.criterion}-optimal motion of {self.time[-1]:g} s; criterion {last:.4g}, of the "
            f"best random motion {first:.4g}",
            f"{'parameter':48s} {'before':>11s} {'after':>11s}",
        ]
        for name, before, after in zip(self.names, self.before, self.after, strict=True):
            lines.append(f"{name:48s} {before:11.3g} {after:11.3g}")
        lines.append(f"{'greatest use of limits':48s} {'value':>11s} {'limits':>23s}")
        for use in self.uses:
            ends = f"{use.limits[0]:.4g} … {use.limits[1]:.4g}"
            mark = "" if use.kept else "  EXCEEDED"
            lines.append(f"{use.what:48s} {use.value:11.4g} {ends:>23s}{mark}")
        return "\n".join([*lines, *map(str, self.weaknesses)])


def result_of(search: "Search", x: Float[np.ndarray, " k"], first: float) -> Excitation:
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
        program.joints,
        time,
        position,
        rate,
        acceleration,
        torque,
        program.names,
        _deviation(search.before, program.scale),
        _deviation(search.before + gained, program.scale),
        design.criterion,
        (first, search.score(search.information(x))),
        _uses(search, x),
        _weaknesses(search, gained),
        control,
        start,
    )


def _deviation(matrix: np.ndarray, scale: np.ndarray) -> Float[np.ndarray, " P"]:
    """Return the standard errors for an information matrix in scales; infinite for parameters that
    it does not determine."""
    inverse = np.diag(np.linalg.pinv(matrix, hermitian=True))
    return np.where(undetermined(matrix), np.inf, scale * np.sqrt(np.maximum(inverse, 0.0)))


def _weaknesses(search: "Search", gained: np.ndarray) -> tuple[Weakness, ...]:
    """Return the combinations that are determined worst before the motion, or after it if nothing
    is known before."""
    before, after = search.before, search.before + gained
    values, vectors = np.linalg.eigh(before if before.any() else after)
    floor = 1e-12 * max(float(values.max()), 1e-300)
    out = []
    covariance = np.linalg.pinv(after, hermitian=True, rcond=1e-12)
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


def _uses(search: "Search", x: np.ndarray) -> tuple[Use, ...]:
    """Return the largest use of each limit on the fine grid."""
    program, frame = search.program, search.frame
    samples = search.samples(x, search.fine())
    values = [*np.moveaxis(np.asarray(samples.motion), 2, 0), np.asarray(samples.torque)]
    uses = []
    for row, kind in enumerate(QUANTITIES):
        for k, joint in enumerate(program.joints):
            middle, half = frame.middle[row, k], frame.half[row, k]
            if not np.isfinite(half):
                continue
            series = values[row][:, k]
            worst = float(series[np.argmax(np.abs(series - middle))])
            ends = float(middle - half), float(middle + half)
            kept = bool(abs(worst - middle) <= half * (1.0 + ROUNDING))
            uses.append(Use(f"{kind} of {joint}", worst, ends, kept))
    if program.touching:
        sample = int(np.argmin(samples.gap))
        which = " and ".join(program.owners[k] for k in samples.pair[sample])
        smallest = float(samples.gap[sample])
        kept = smallest >= frame.clearance - ROUNDING
        uses.append(Use(f"distance of {which}", smallest, (frame.clearance, np.inf), kept))
    return tuple(uses)


def _drive(
    search: "Search",
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
