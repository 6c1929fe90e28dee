"""Errors of prediction of the cube's tosses, in widths of the cube and in degrees."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from jaxccp.identify.case import Case
from jaxccp.identify.cube.fit import NOISE, Cube, CubeSettings, interval
from jaxccp.identify.estimation.evaluation import Predictor
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.simulation.toss_simulation import FIRST
from jaxccp.scenes.cube_toss import WIDTH

HORIZONS = (10, 20, 40)
"""Horizons of prediction [samples], short enough that chaos does not hide the model's errors."""


@dataclass(frozen=True)
class Errors:
    """Errors of each of b segments, means over its samples."""

    position: Float[np.ndarray, " b"]
    """Distance between predicted and recorded position [widths of the cube]."""
    rotation: Float[np.ndarray, " b"]
    """Angle between predicted and recorded orientation [degrees]."""

    def summary(self) -> dict[str, float]:
        """Return mean and median of both errors over the segments, by name."""
        return {
            "position_error_mean": float(np.mean(self.position)),
            "position_error_median": float(np.median(self.position)),
            "rotation_error_mean": float(np.mean(self.rotation)),
            "rotation_error_median": float(np.median(self.rotation)),
        }


@dataclass(frozen=True)
class HorizonErrors:
    """Errors of prediction for one set of parameters."""

    whole: Errors
    """Errors of whole tosses, from their second sample to their end."""
    horizons: dict[int, Errors]
    """Errors over short horizons, from starts throughout the tosses, by number of samples."""

    def summary(self) -> dict:
        """Return means and medians of the errors by name, ready for JSON."""
        short = {str(samples): errors.summary() for samples, errors in self.horizons.items()}
        return self.whole.summary() | {"horizons": short}


@dataclass(frozen=True)
class Deviations:
    """Differences between predictions and recordings after each of b starts."""

    shift: Float[np.ndarray, "b s 3"]
    """Predicted minus recorded position [m]; 0 where nothing was recorded."""
    angle: Float[np.ndarray, "b s"]
    """Angle between predicted and recorded orientation [rad]."""
    present: Bool[np.ndarray, "b s"]
    """Mask of samples that were recorded."""

    def means(self, samples: int | None = None) -> Errors:
        """Return the mean errors of the starts that are followed by ``samples`` recorded samples;
        None: of all starts, over the samples that were recorded."""
        mask = self.present[:, :samples]
        used = mask.any(axis=1) if samples is None else mask.all(axis=1)
        count = mask[used].sum(axis=1)
        distance = np.linalg.norm(self.shift[used, :samples], axis=2).sum(axis=1) / count
        angle = self.angle[used, :samples].sum(axis=1) / count
        return Errors(distance / WIDTH, np.degrees(angle))


class TossErrors:
    """Computes errors of prediction of some tosses for given parameters; compiled once."""

    def __init__(self, tosses: Sequence[Recording], settings: CubeSettings) -> None:
        """Prepare the simulations.

        Args:
            tosses: tosses to predict.
            settings: the parameters whose values are given later, and how tosses are simulated.
        """
        lengths = np.array([len(toss.time) for toss in tosses])
        # One program for tosses of up to 128 samples, one for up to 256 …, because a batch runs to
        # the end of its longest toss.
        room = 2 ** np.maximum(np.ceil(np.log2(lengths)), 7).astype(int)
        order = np.argsort(room, kind="stable")
        self._back = np.argsort(order)
        self._whole = [
            _predictor(
                [tosses[k] for k in np.flatnonzero(room == size).tolist()],
                settings,
                int(size) - FIRST - 1,
            )
            for size in np.unique(room)
        ]
        self._settings = tosses, settings

    @cached_property
    def _short(self) -> Predictor:
        """Return the predictor with starts throughout the tosses."""
        tosses, settings = self._settings
        longest = max(len(toss.time) for toss in tosses) - FIRST - 1
        step = HORIZONS[0] * interval(tosses)
        return _predictor(tosses, settings, min(HORIZONS[-1], longest), every=step, least=step)

    def tosses(self, values: Float[np.ndarray, " p"]) -> list[Deviations]:
        """Return the deviations of whole tosses, from their second sample to their end."""
        deviations = []
        for predictor in self._whole:
            group = _deviations(predictor, values)
            parts = (group.shift, group.angle, group.present)
            deviations += [
                Deviations(*(x[k : k + 1] for x in parts)) for k in range(len(group.angle))
            ]
        return [deviations[k] for k in self._back]

    def whole(self, values: Float[np.ndarray, " p"]) -> Errors:
        """Return the errors of whole tosses."""
        means = [deviations.means() for deviations in self.tosses(values)]
        position = np.concatenate([mean.position for mean in means])
        return Errors(position, np.concatenate([mean.rotation for mean in means]))

    def compare(self, values: Float[np.ndarray, " p"]) -> HorizonErrors:
        """Return the errors over whole tosses and over short horizons."""
        short = _deviations(self._short, values)
        horizons = {
            samples: short.means(samples)
            for samples in HORIZONS
            if samples <= short.present.shape[1] and short.present[:, :samples].all(axis=1).any()
        }
        return HorizonErrors(self.whole(values), horizons)


def _predictor(
    tosses: Sequence[Recording],
    settings: CubeSettings,
    samples: int,
    every: float = np.inf,
    least: float | None = None,
) -> Predictor:
    """Return a predictor of a number of samples from the start of each toss, or from every
    ``every`` seconds."""
    residual = settings.residual(interval(tosses), samples, every, least)
    return Predictor(Case(Cube.nominal(), tosses, residual), settings.parameters)


def _deviations(predictor: Predictor, values: Float[np.ndarray, " p"]) -> Deviations:
    evaluator = predictor.evaluator
    batch = evaluator.plan.batch
    rows = np.tile(np.asarray(values, float), (len(batch), 1))
    # The first sample is the start itself.
    errors = evaluator.residuals(rows, np.zeros((len(batch), 0)))[:, 1:] * NOISE
    present = np.asarray(batch.take(np.arange(len(batch))).weight)[:, 1:, 0] > 0
    return Deviations(
        errors[..., :3], np.linalg.norm(errors[..., 3:], axis=2) / (WIDTH / 2), present
    )
