"""A planned motion: its standard errors, its use of limits, and its file."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxccp.identify.excitation.limits import QUANTITIES
from jaxccp.identify.recordings.recording import Recording, recording
from jaxccp.io.errors import InputError
from jaxccp.io.output import finite, write_file, write_npz


@dataclass(frozen=True)
class LimitedQuantity:
    """The extreme value of one limited quantity on a fine grid of times."""

    what: str
    """Quantity and joint, or the closest shapes."""
    value: float
    """Value farthest from the middle of the limits, with its sign; for shapes the smallest distance
    [m]."""
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
    limited_quantities: tuple[LimitedQuantity, ...]
    """Extreme values of the limited quantities, the distance between shapes last."""
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
        return all(quantity.kept for quantity in self.limited_quantities)

    def summary(self) -> dict[str, Any]:
        """Return the criterion, the standard errors and the use of limits, ready for JSON; null for
        infinite numbers."""
        errors = zip(self.names, self.before, self.after, strict=True)
        return {
            "criterion": self.criterion,
            "score": {"random": finite(self.scores[0]), "optimal": finite(self.scores[1])},
            "parameters": {
                name: {"before": finite(before), "after": finite(after)}
                for name, before, after in errors
            },
            "limits": [
                {
                    "what": quantity.what,
                    "value": quantity.value,
                    "limits": [finite(end) for end in quantity.limits],
                    "kept": quantity.kept,
                }
                for quantity in self.limited_quantities
            ],
            "weakest": [str(weakness) for weakness in self.weaknesses],
        }

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
        for quantity in self.limited_quantities:
            ends = f"{quantity.limits[0]:.4g} … {quantity.limits[1]:.4g}"
            mark = "" if quantity.kept else "  EXCEEDED"
            lines.append(f"{quantity.what:48s} {quantity.value:11.4g} {ends:>23s}{mark}")
        return "\n".join([*lines, *map(str, self.weaknesses)])
