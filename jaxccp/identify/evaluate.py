"""How well a model predicts recorded tosses."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.predict import Experiment, errors
from jaxccp.identify.segments import Segments, cut, whole
from jaxccp.io.tosses import Tosses

HORIZONS = (10, 20, 40)
"""Samples over which chaos does not yet drown the model."""
GROUPS = 4
"""Tosses are sorted by length and rolled out in so many batches."""


@dataclass(frozen=True)
class Errors:
    """Mean errors of each segment."""

    position: Float[np.ndarray, " b"]
    """In body widths."""
    rotation: Float[np.ndarray, " b"]
    """[degrees]"""

    def summary(self) -> dict[str, float]:
        """Mean and median over the segments."""
        return {
            "position_error_mean": float(np.mean(self.position)),
            "position_error_median": float(np.median(self.position)),
            "rotation_error_mean": float(np.mean(self.rotation)),
            "rotation_error_median": float(np.median(self.rotation)),
        }


def evaluate(
    experiment: Experiment,
    tosses: Tosses,
    names: tuple[str, ...],
    values: Float[np.ndarray, " p"],
    width: float,
) -> Errors:
    """Errors of whole tosses, rolled out from their second sample to their end."""
    order = np.argsort(tosses.lengths, kind="stable")
    found = [
        _mean_errors(experiment, whole(tosses.take(part)), names, values, width)
        for part in np.array_split(order, min(GROUPS, len(order)))
    ]
    back = np.argsort(order, kind="stable")
    return Errors(
        np.concatenate([e.position for e in found])[back],
        np.concatenate([e.rotation for e in found])[back],
    )


def evaluate_horizon(
    experiment: Experiment,
    tosses: Tosses,
    names: tuple[str, ...],
    values: Float[np.ndarray, " p"],
    width: float,
    samples: int,
) -> Errors:
    """Errors over the next ``samples`` samples, from starts all along the tosses."""
    return _mean_errors(experiment, cut(tosses, samples, samples), names, values, width)


def _mean_errors(
    experiment: Experiment,
    segments: Segments,
    names: tuple[str, ...],
    values: np.ndarray,
    width: float,
) -> Errors:
    samples = segments.target_position.shape[1]

    @jax.jit
    def of_all(values: Array, batch: Segments) -> tuple[Array, Array]:
        def of_segment(segment: Segments) -> tuple[Array, Array]:
            predicted = experiment.predict(names, values, segment, samples)
            shift, turn = errors(*predicted, segment)
            count = jnp.maximum(jnp.sum(segment.valid), 1)
            distance = jnp.linalg.norm(shift, axis=1) / width
            angle = jnp.degrees(jnp.linalg.norm(turn, axis=1))
            return (
                jnp.sum(jnp.where(segment.valid, distance, 0.0)) / count,
                jnp.sum(jnp.where(segment.valid, angle, 0.0)) / count,
            )

        return jax.vmap(of_segment)(batch)

    position, rotation = of_all(jnp.asarray(values, float), segments)
    return Errors(np.asarray(position), np.asarray(rotation))
