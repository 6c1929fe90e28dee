"""Curves of measured and simulated channels, segment by segment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.identify.fit import Fit
from jaxccp.identify.recordings.recording import KINDS
from jaxccp.identify.recordings.segments import Observation
from jaxccp.identify.subject import Subject


@dataclass(frozen=True)
class Column:
    """One component of a channel that is compared."""

    channel: str
    """Name of the channel."""
    part: str
    """Component of the channel; empty if it has only one."""
    unit: str
    """Unit of the values."""

    @property
    def label(self) -> str:
        """Name of the channel with its component."""
        return f"{self.channel}.{self.part}" if self.part else self.channel


@runtime_checkable
class Curved(Protocol):
    """A plan whose segments can be drawn; reports leave out plans without these methods."""

    @property
    def subject(self) -> Subject:
        """The model as it was before any parameter changed it."""
        ...

    @property
    def observations(self) -> Sequence[Observation]:
        """Return the compared channels, in the order of their values."""
        ...

    @property
    def start_times(self) -> Float[np.ndarray, " n"]:
        """Time of the recording at which each segment's times begin [s]."""
        ...

    def curves(
        self, subject: Subject, segment: Any, change: Float[Array, " x"]
    ) -> tuple[Float[Array, " s"], Float[Array, "s o"], Float[Array, "s o"], Bool[Array, "s o"]]:
        """Return the times of the samples, measured values, simulated values, and the mask of
        existing samples.

        Args:
            subject: the model with the parameters' values.
            segment: one of the batch.
            change: change of the unknowns of its initial state.
        """
        ...


@dataclass(frozen=True)
class Curve:
    """The measured and simulated samples of one segment of a recording."""

    recording: int
    """Number of the recording in its case."""
    time: Float[np.ndarray, " s"]
    """Time in the recording [s]."""
    measured: Float[np.ndarray, "s o"]
    """Measured values; NaN where one is missing."""
    simulated: Float[np.ndarray, "s o"]
    """Simulated values."""


@dataclass(frozen=True)
class CaseCurves:
    """The curves of all segments of one case of a fit."""

    case: int
    """Number of the case."""
    columns: tuple[Column, ...]
    """Compared values, in the order of the curves' columns."""
    segments: tuple[Curve, ...]
    """Curves of the segments."""

    @property
    def rms(self) -> dict[str, tuple[float, str]]:
        """Return the root mean square error of each component of a channel, with its unit; of a
        pose, of its position [m] and of its orientation [rad]."""
        error = np.concatenate([item.simulated - item.measured for item in self.segments])
        groups: dict[tuple[str, str], list[int]] = {}
        for place, column in enumerate(self.columns):
            kind = {"": "", "x": ".position", "y": ".position", "z": ".position"}.get(
                column.part, ".orientation" if column.part.startswith("q") else f".{column.part}"
            )
            groups.setdefault((column.channel, kind), []).append(place)
        out = {}
        for (channel, kind), places in groups.items():
            square = np.sum(error[:, places] ** 2, axis=1)
            present = np.isfinite(square)
            mean = float(np.sqrt(square[present].mean())) if present.any() else np.nan
            # The difference of two close quaternions has half the angle between them as its norm.
            angle = kind == ".orientation"
            unit = "rad" if angle else self.columns[places[0]].unit
            out[channel + kind] = ((2.0 if angle else 1.0) * mean, unit)
        return out


def columns_of(plan: Curved) -> tuple[Column, ...]:
    """Return the components, with units, of the values that a plan's curves have."""
    linkage = plan.subject.model.topology.linkage
    out: list[Column] = []
    for item in plan.observations:
        if item.kind == "pose":
            out += [Column(item.channel, part, "m") for part in "xyz"]
            out += [Column(item.channel, f"q{part}", "") for part in "wxyz"]
            continue
        kind = KINDS[item.kind]
        unit = kind.axis_unit(linkage.motions[item.place] if kind.targets == "axes" else "")
        parts = [""] if item.size == 1 else [str(k) for k in range(item.size)]
        out += [Column(item.channel, part, unit) for part in parts]
    return tuple(out)


def _orientations(observations: Sequence[Observation]) -> list[int]:
    """Return the first column of each quaternion, of which both signs are one orientation: those of
    poses, and of sensors of four numbers."""
    out, place = [], 0
    for item in observations:
        pose = item.kind == "pose"
        if pose or (item.kind == "sensor" and item.size == 4):
            out.append(place + 3 * pose)
        place += 7 if pose else item.size
    return out


def curves_of(fit: Fit) -> list[CaseCurves]:
    """Return the curves of all cases whose plans can be drawn, simulated from the initial states of
    the fit."""
    return [
        _of_case(fit, case, plan)
        for case, plan in enumerate(fit.problem.plans)
        if isinstance(plan, Curved)
    ]


def _of_case(fit: Fit, case: int, plan: Any) -> CaseCurves:
    objective, point = fit.problem.objective, fit.point
    evaluator = objective.evaluators[case]

    @jax.jit
    @jax.vmap
    def run(values: Array, change: Array, segment: Any) -> tuple:
        subject = evaluator.parameters.apply(plan.subject, values)
        return plan.curves(subject, segment, change)

    parts = []
    for arguments, kept in evaluator.chunks(
        objective.values(case, point.theta), point.starts[case]
    ):
        parts.append([np.asarray(item)[:kept] for item in run(*arguments)])
    time, measured, simulated, present = (np.concatenate(item) for item in zip(*parts, strict=True))
    segments = []
    columns = columns_of(plan)
    scalar = _orientations(plan.observations)
    for number in range(len(plan.batch)):
        some = present[number].any(axis=1)
        values = np.where(present[number], measured[number], np.nan)[some]
        shown = np.array(simulated[number][some])
        for k in scalar:
            opposite = np.nansum(values[:, k : k + 4] * shown[:, k : k + 4], axis=1) < 0
            shown[opposite, k : k + 4] *= -1
        when = np.asarray(time[number], float)[some] + plan.start_times[number]
        segments.append(Curve(int(plan.batch.recording[number]), when, values, shown))
    return CaseCurves(case, columns, tuple(segments))
