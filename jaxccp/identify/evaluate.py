"""Errors of a model's predictions of recorded tosses."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.predict import Experiment, errors
from jaxccp.identify.toss_segments import Segments, cut, whole
from jaxccp.io.tosses import Tosses

HORIZONS = (10, 20, 40)
"""Horizons of prediction [samples], short enough that chaos does not hide the model's errors."""
LONG = 1.5
"""Tosses longer than this many times the shortest one are rolled out in a batch of their own."""


@dataclass(frozen=True)
class Errors:
    """The errors of each of b segments, as means over its samples."""

    position: Float[np.ndarray, " b"]
    """Distance between predicted and recorded position [body widths]."""
    rotation: Float[np.ndarray, " b"]
    """Angle between predicted and recorded orientation [degrees]."""

    def summary(self) -> dict[str, float]:
        """Mean and median of both errors over the segments, by name."""
        return {
            "position_error_mean": float(np.mean(self.position)),
            "position_error_median": float(np.median(self.position)),
            "rotation_error_mean": float(np.mean(self.rotation)),
            "rotation_error_median": float(np.median(self.rotation)),
        }


class Evaluator:
    """Computes errors of one experiment's predictions; it is compiled once for each shape."""

    def __init__(self, experiment: Experiment, names: tuple[str, ...], width: float) -> None:
        """Prepare the predictions.

        Args:
            experiment: the model, and how its motion is computed.
            names: the parameters whose values are given later.
            width: of the body, the unit of errors of position [m].
        """

        def of_segment(values: Array, segment: Segments) -> tuple[Array, Array]:
            samples = segment.target_position.shape[0]
            shift, turn = errors(*experiment.predict(names, values, segment, samples), segment)
            count = jnp.maximum(jnp.sum(segment.valid), 1)
            distance: Array = jnp.linalg.norm(shift, axis=1) / width
            angle = jnp.degrees(jnp.linalg.norm(turn, axis=1))
            return (
                jnp.sum(jnp.where(segment.valid, distance, 0.0)) / count,
                jnp.sum(jnp.where(segment.valid, angle, 0.0)) / count,
            )

        self._gravity = experiment.model.gravity
        self._run = jax.jit(jax.vmap(of_segment, in_axes=(None, 0)))

    def segments(self, values: Float[np.ndarray, " p"], segments: Segments) -> Errors:
        """Errors of each segment, for these values of the parameters."""
        position, rotation = self._run(jnp.asarray(values, float), segments)
        return Errors(np.asarray(position), np.asarray(rotation))

    def whole(self, values: Float[np.ndarray, " p"], tosses: Tosses) -> Errors:
        """Errors of whole tosses, predicted from their second sample to their end."""
        order = np.argsort(tosses.lengths, kind="stable")
        # A batch is as long as its longest toss: the few long ones go apart.
        long = tosses.lengths[order] > LONG * tosses.lengths[order[0]]
        parts = [part for part in (order[~long], order[long]) if len(part)]
        found = [self.segments(values, whole(tosses.take(part))) for part in parts]
        back = np.argsort(order, kind="stable")
        return Errors(
            np.concatenate([e.position for e in found])[back],
            np.concatenate([e.rotation for e in found])[back],
        )

    def horizon(self, values: Float[np.ndarray, " p"], tosses: Tosses, samples: int) -> Errors:
        """Errors over a short horizon, from starts all along the tosses.

        Args:
            values: of the parameters.
            tosses: the recordings.
            samples: the horizon: samples predicted from each start.
        """
        return self.segments(values, cut(tosses, samples, samples, self._gravity))
