"""Errors of prediction of windows of recordings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxccp.identify.case import Case, subject_of
from jaxccp.identify.checks.check import check_usable
from jaxccp.identify.estimation.normal_equations import Evaluator, Plan
from jaxccp.identify.parameters.parameter import ParameterSet, Scalar
from jaxccp.identify.parameters.problem_parameters import parameter_of
from jaxccp.identify.parameters.structure import with_required_rows
from jaxccp.identify.recordings.recording import KINDS, Recording
from jaxccp.io.output import finite


@dataclass(frozen=True)
class Evaluation:
    """Errors of prediction of the windows of some recordings, for one set of parameters.

    Predictions start from the measured, filtered state. Windows with a prediction that is not
    finite have failed; they are counted in ``failed`` and left out of all other errors.
    """

    channels: dict[str, float]
    """Root mean square error of each channel over all windows, in its unit; infinite if all windows
    failed or the channel has no samples. Of several components it is that of the vector's norm. A
    pose has one for its position [m] and one for its orientation [rad]."""
    units: dict[str, str]
    """Unit of each channel."""
    windows: Float[np.ndarray, "w c"]
    """Root mean square error of each channel in each window; infinite in failed windows, 0 in a
    window without samples."""
    overall: float
    """Root mean square of all errors, each divided by the standard deviation of its noise."""
    failed: int
    """Number of windows with a prediction that is not finite."""

    @property
    def count(self) -> int:
        """Return the number of windows, including failed ones."""
        return len(self.windows)

    def summary(self) -> dict[str, Any]:
        """Return the errors by name, ready for JSON; null if all windows failed."""
        return {
            "channels": {
                name: {"rms": finite(error), "unit": self.units[name]}
                for name, error in self.channels.items()
            },
            "overall": finite(self.overall),
            "windows": self.count,
            "failed_windows": self.failed,
            "per_window": [[finite(error) for error in row] for row in self.windows],
        }


class Predictor:
    """Computes errors of prediction of some recordings for given values of the parameters; compiled
    once."""

    def __init__(self, case: Case, parameters: Sequence[Any]) -> None:
        """Prepare the windows.

        Args:
            case: model, recordings and residual.
            parameters: parameters that are to be set (:class:`jaxccp.identify.Parameter`, or
                paths).

        Raises:
            ValueError: the recordings do not go with the model or the residual.
        """
        check_usable(case.mechanism, case.recordings)
        subject = subject_of(case.mechanism, case.recordings)
        parameter_set = ParameterSet([parameter_of(parameter) for parameter in parameters], subject)
        plan = case.residual.plan(with_required_rows(subject, parameter_set), case.recordings)
        self.recordings = tuple(case.recordings)
        self.evaluator = Evaluator(plan, parameter_set, np.inf)

    def selected(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return those of the values of a fit of several cases that belong to these parameters."""
        scalars = self.evaluator.parameters.scalars
        return {k: x for k, x in values.items() if any(_belongs(k, scalar) for scalar in scalars)}

    def evaluate(self, values: Mapping[str, float]) -> Evaluation:
        """Return the errors for some values.

        Args:
            values: values of parameters by name; values of single recordings as ``NAME of
                RECORDING``. A recording without a value gets the mean of the others, a parameter
                without a value keeps its initial one.

        Raises:
            ValueError: a name is that of no parameter.
        """
        scalars = self.evaluator.parameters.scalars
        unknown = [name for name in values if name not in self.selected(values)]
        if unknown:
            known = ", ".join(scalar.name for scalar in scalars)
            raise ValueError(f"there is no parameter {unknown[0]!r}; there are {known}")
        table = np.array(
            [
                [value_of(values, scalar, recording.name) for scalar in scalars]
                for recording in self.recordings
            ]
        )
        rows = table[np.asarray(self.evaluator.plan.batch.recording)]
        return evaluation(self.evaluator, rows)


def _belongs(name: str, scalar: Scalar) -> bool:
    """Tell whether a name is that of a parameter, or of its value for a recording."""
    return name == scalar.name or (scalar.per_sequence and name.startswith(f"{scalar.name} of "))


def value_of(values: Mapping[str, float], scalar: Scalar, recording: str) -> float:
    """Return the value of a parameter for one recording: the given one, else the mean of those of
    other recordings, else the initial one.

    Args:
        values: values by name.
        scalar: the parameter.
        recording: name of the recording.
    """
    if not scalar.per_sequence:
        return values.get(scalar.name, scalar.initial)
    name = f"{scalar.name} of {recording}"
    if name in values:
        return values[name]
    values_of_sequences = [x for name, x in values.items() if name.startswith(f"{scalar.name} of ")]
    return float(np.mean(values_of_sequences)) if values_of_sequences else scalar.initial


def evaluation(
    evaluator: Evaluator,
    values: Float[np.ndarray, "n p"],
    windows: np.ndarray | None = None,
) -> Evaluation:
    """Return the errors of prediction of all windows of an evaluator, from measured initial states.

    Args:
        evaluator: evaluator of the windows.
        values: values of the parameters in each window.
        windows: indices of the windows to use; None: all.
    """
    plan = evaluator.plan
    count = len(plan.batch)
    still = np.zeros((count, plan.unknowns))
    errors = evaluator.residuals(values, still)
    scale = _weights(plan, errors.shape)
    if windows is not None:
        errors, scale = errors[windows], scale[windows]
    good = np.asarray(np.isfinite(errors).all(axis=(1, 2)))
    label, units, columns = _columns(plan, errors.shape[2])
    used = good[:, None, None] & (scale > 0)
    square = np.where(used, errors, 0.0) ** 2
    counts = used.sum(axis=(0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        plain = np.where(used, square / np.where(scale > 0, scale, 1.0) ** 2, 0.0)
    rows = np.full((len(errors), len(label)), np.inf)
    rms = {}
    for place, (name, part) in enumerate(zip(label, columns, strict=True)):
        # The norm of a vector's error counts, so the number of samples is that of one component.
        samples = used[:, :, part[0]].sum(axis=1)
        sums = plain[:, :, part].sum(axis=(1, 2))
        rows[good, place] = np.sqrt(sums[good] / np.maximum(samples[good], 1))
        total = samples.sum()
        rms[name] = float(np.sqrt(sums.sum() / total)) if total else np.inf
    overall = float(np.sqrt(square.sum() / counts.sum())) if counts.sum() else np.inf
    return Evaluation(rms, units, rows, overall, int(np.sum(~good)))


def _weights(plan: Plan, shape: tuple[int, ...]) -> np.ndarray:
    """Return the inverse standard deviation of each compared value; ones if the plan has none."""
    segments = plan.batch.take(np.arange(len(plan.batch)))
    weight = getattr(segments, "weight", None)
    return np.ones(shape) if weight is None else np.broadcast_to(np.asarray(weight, float), shape)


def _columns(plan: Plan, width: int) -> tuple[list[str], dict[str, str], list[list[int]]]:
    """Return the name, unit and columns of each channel that a plan compares."""
    label, units, columns = [], {}, []
    motions = plan.subject.model.topology.linkage.motions
    place = 0
    # Components of one error are not separate channels.
    channels = () if getattr(plan, "common_deviation", False) else getattr(plan, "observations", ())
    for observation in channels:
        part = list(range(place, place + observation.size))
        place += observation.size
        if observation.kind == "pose":
            parts = {".position": (part[:3], "m"), ".orientation": (part[3:], "rad")}
        else:
            kind = KINDS[observation.kind]
            motion = motions[observation.place] if kind.targets == "axes" else ""
            parts = {"": (part, kind.axis_unit(motion))}
        for suffix, (which, unit) in parts.items():
            name = observation.channel + suffix
            label.append(name)
            units[name] = unit
            columns.append(which)
    for k in range(place, width):
        label.append(f"number {k}")
        units[label[-1]] = "standard deviations"
        columns.append([k])
    return label, units, columns


def split(
    recordings: Sequence[Recording], share: float, seed: int = 0
) -> tuple[list[Recording], list[Recording]]:
    """Split recordings into recordings to fit and held-out recordings, at random.

    Of several recordings, whole ones are held out. A single recording is cut into blocks of
    consecutive samples, ten or more if it has at least 200, of which some are held out.

    Args:
        recordings: one at least.
        share: fraction of the recordings, or of the samples, that is held out.
        seed: seed of the random choice.

    Raises:
        ValueError: ``share`` is not between 0 and 1, or a single recording is too short.
    """
    if not 0 < share < 1:
        raise ValueError(f"the share that is held out lies between 0 and 1, not at {share:g}")
    random = np.random.default_rng(seed)
    if len(recordings) > 1:
        count = min(max(1, round(share * len(recordings))), len(recordings) - 1)
        excluded_numbers = set(random.permutation(len(recordings))[:count].tolist())
        return (
            [recording for k, recording in enumerate(recordings) if k not in excluded_numbers],
            [recording for k, recording in enumerate(recordings) if k in excluded_numbers],
        )
    (recording,) = recordings
    blocks = max(2, round(1.0 / min(share, 1.0 - share)), 10 if len(recording.time) >= 200 else 2)
    edges = np.linspace(0, len(recording.time), blocks + 1).astype(int)
    if np.min(np.diff(edges)) < 4:
        raise ValueError(f"recording {recording.name!r} is too short to hold a part of it out")
    count = min(max(1, round(share * blocks)), blocks - 1)
    excluded = np.zeros(blocks, bool)
    excluded[random.permutation(blocks)[:count]] = True
    parts: tuple[list[Recording], list[Recording]] = [], []
    begin = 0
    for block in range(1, blocks + 1):
        if block == blocks or excluded[block] != excluded[begin]:
            since = recording.time[edges[begin]] - recording.time[0]
            name = f"{recording.name} from {since:g} s"
            parts[int(excluded[begin])].append(recording.part(edges[begin], edges[block], name))
            begin = block
    return parts
