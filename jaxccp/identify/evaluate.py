"""Errors of a model's predictions of recorded tosses."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.stepper import Carry
from jaxccp.identify.predict import Experiment, errors
from jaxccp.identify.toss_segments import Segments, cut, whole
from jaxccp.io.tosses import Tosses

HORIZONS = (10, 20, 40)
"""Horizons of prediction [samples], short enough that chaos does not hide the model's errors."""
BLOCK = 10
"""Samples that are predicted by one call of the compiled program …"""
LANES = 32
"""… and segments: those of all horizons and lengths share it."""


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
    """Computes errors of one experiment's predictions; it is compiled once."""

    def __init__(self, experiment: Experiment, names: tuple[str, ...], width: float) -> None:
        """Prepare the predictions.

        Args:
            experiment: the model, and how its motion is computed.
            names: the parameters whose values are given later.
            width: of the body, the unit of errors of position [m].
        """

        def begin(values: Array, start: Segments) -> Carry:
            return experiment.begin(names, values, start)

        def go_on(
            values: Array, carry: Carry, first: Array, block: Segments
        ) -> tuple[Carry, Array, Array]:
            carry, position, facing = experiment.go_on(names, values, carry, BLOCK, first)
            shift, turn = errors(position, facing, block)
            distance = jnp.linalg.norm(shift, axis=1) / width
            angle = jnp.degrees(jnp.linalg.norm(turn, axis=1))
            apart, turned = (jnp.sum(jnp.where(block.valid, x, 0.0)) for x in (distance, angle))
            return carry, apart, turned

        self._gravity = experiment.model.gravity
        self._begin = jax.jit(jax.vmap(begin, in_axes=(None, 0)))
        self._go_on = jax.jit(jax.vmap(go_on, in_axes=(None, 0, None, 0)))

    def segments(self, values: Float[np.ndarray, " p"], segments: Segments) -> Errors:
        """Errors of each segment, for these values of the parameters."""
        lengths = np.asarray(segments.valid).sum(axis=1)
        # Segments of similar length together, since all of a batch go on to the end of its longest.
        order = np.argsort(-lengths, kind="stable")
        sums = np.zeros((2, len(segments)))
        for begin in range(0, len(order), LANES):
            lanes = order[begin : begin + LANES]
            some = segments.take(np.resize(lanes, LANES))
            sums[:, lanes] = self._sums(jnp.asarray(values, float), some)[:, : len(lanes)]
        return Errors(*(sums / np.maximum(lengths, 1)))

    def _sums(self, values: Array, segments: Segments) -> Float[np.ndarray, "2 b"]:
        """Errors of position and rotation of a batch, each summed over a segment's samples."""
        carry, sums = self._begin(values, segments), np.zeros((2, len(segments)))
        for start in range(0, int(np.asarray(segments.valid).sum(axis=1).max()), BLOCK):
            block = segments.samples(start, BLOCK)
            carry, *more = self._go_on(values, carry, start == 0, block)
            sums += np.array(more)
        return sums

    def whole(self, values: Float[np.ndarray, " p"], tosses: Tosses) -> Errors:
        """Errors of whole tosses, predicted from their second sample to their end."""
        return self.segments(values, whole(tosses))

    def horizon(self, values: Float[np.ndarray, " p"], tosses: Tosses, samples: int) -> Errors:
        """Errors over a short horizon, from starts all along the tosses.

        Args:
            values: of the parameters.
            tosses: the recordings.
            samples: the horizon: samples predicted from each start.
        """
        return self.segments(values, cut(tosses, samples, samples, self._gravity))
