"""Fit of parameters by gradient descent through rollouts of many segments at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from jaxccp.identify import parameters
from jaxccp.identify.predict import Experiment, errors
from jaxccp.identify.toss_segments import Segments
from jaxccp.math import safe

LONGEST = 3.0
"""Largest norm of a segment's gradient, relative to the median of its batch."""


@dataclass(frozen=True)
class Loss:
    """Mean over samples of a robust distance between prediction and recording.

    It is the pseudo-Huber function of the errors: quadratic below ``threshold``, linear above it.
    So the few segments in which the body is predicted to fall on another side do not dominate.
    """

    length: float
    """The unit of errors of position, such as the body's width [m]."""
    angle_weight: float = 0.5
    """Weight of errors of orientation [1/rad]; one half, as a body's corners are about half its
    width from its centre."""
    threshold: float = 0.02
    """Error at which the loss turns from quadratic to linear, in units of ``length``."""

    def residuals(
        self, experiment: Experiment, names: tuple[str, ...], values: Array, segment: Segments
    ) -> Float[Array, "s 6"]:
        """Weighted errors of position and orientation of one segment, 0 after the recording's end.

        Args:
            experiment: predicts the motion.
            names: of the parameters.
            values: of the parameters [p].
            segment: a start and the s samples after it.
        """
        samples = segment.target_position.shape[0]
        predicted = experiment.predict(names, values, segment, samples)
        shift, turn = errors(*predicted, segment)
        both = jnp.concatenate([shift / self.length, self.angle_weight * turn], axis=1)
        return jnp.where(segment.valid[:, None], both, 0.0)

    def robust(self, residuals: Float[Array, "s 6"]) -> Float[Array, " s"]:
        """The pseudo-Huber function of each sample's residual."""
        square = jnp.sum((residuals / self.threshold) ** 2, axis=-1)
        return self.threshold**2 * (jnp.sqrt(1.0 + square) - 1.0)

    def of_segment(
        self, experiment: Experiment, names: tuple[str, ...], values: Array, segment: Segments
    ) -> Float[Array, ""]:
        """The loss of one segment; arguments as in :meth:`residuals`."""
        residuals = self.residuals(experiment, names, values, segment)
        return jnp.sum(self.robust(residuals)) / jnp.maximum(jnp.sum(segment.valid), 1)


@dataclass(frozen=True)
class Descent:
    """Adam on minibatches of segments, with a cosine schedule."""

    iterations: int = 60
    batch: int = 48
    """The number of segments in a minibatch."""
    learning_rate: float = 0.2
    """Step length at the start, relative to the parameters' scales."""
    seed: int = 0


@dataclass(frozen=True)
class Fit:
    """The result of a descent."""

    names: tuple[str, ...]
    values: Float[np.ndarray, " p"]
    """Fitted values of the parameters, in the order of ``names``."""
    losses: Float[np.ndarray, " iterations"]
    """Loss of the minibatch of each iteration."""
    path: Float[np.ndarray, "iterations p"]
    """Values of the parameters after each iteration."""


def fit(
    experiment: Experiment,
    segments: Segments,
    names: Sequence[str],
    loss: Loss,
    initial: Mapping[str, float] | None = None,
    descent: Descent | None = None,
    on_iteration: Callable[[int, float], None] = lambda iteration, loss: None,
) -> Fit:
    """Fit parameters of a model to segments of recordings.

    Args:
        experiment: the model; its other numbers stay as they are.
        segments: starts, each with the samples after it.
        names: of the parameters, a subset of :data:`jaxccp.identify.parameters.PARAMETERS`.
        loss: distance between prediction and recording.
        initial: values to start from, by name; those of the table for names that it lacks.
        descent: settings of the optimiser.
        on_iteration: called with the iteration's number and loss, for a progress bar.

    Raises:
        ValueError: a name is unknown, or an initial value is not between its bounds.
    """
    chosen = parameters.known(names)
    descent = descent or Descent()
    start = {name: parameters.PARAMETERS[name].initial for name in chosen} | dict(initial or {})
    free = jnp.asarray(parameters.to_free(chosen, start), float)
    schedule = optax.cosine_decay_schedule(descent.learning_rate, descent.iterations, alpha=0.02)
    optimizer = optax.adam(schedule, b2=0.99)

    def one(free: Array, segment: Segments) -> Array:
        return loss.of_segment(experiment, chosen, parameters.to_physical(chosen, free), segment)

    @jax.jit
    def update(free: Array, state: optax.OptState, batch: Segments):
        values, gradients = jax.vmap(jax.value_and_grad(one), in_axes=(None, 0))(free, batch)
        change, state = optimizer.update(_tamed_mean(gradients), state)
        free = free + jnp.asarray(change)
        return free, state, jnp.mean(values), parameters.to_physical(chosen, free)

    state = optimizer.init(free)
    losses, path = [], []
    for iteration, which in enumerate(_minibatches(len(segments), descent)):
        free, state, value, values = update(free, state, segments.take(which))
        losses.append(float(value))
        path.append(np.asarray(values))
        on_iteration(iteration, losses[-1])
    tail = max(1, descent.iterations // 10)
    return Fit(chosen, np.mean(path[-tail:], axis=0), np.array(losses), np.array(path))


def _tamed_mean(gradients: Float[Array, "b p"]) -> Float[Array, " p"]:
    """Mean of the segments' gradients, each shortened to at most a few times the median length.

    After several impacts a gradient can be exact and yet so large that it describes only a tiny
    change of the parameters; a few such segments must not dominate the mean.
    """
    length = jnp.linalg.norm(gradients, axis=1)
    limit = LONGEST * jnp.median(length)
    return jnp.mean(gradients * jnp.minimum(1.0, safe.divide(limit, length))[:, None], axis=0)


def _minibatches(count: int, descent: Descent):
    """Indices of the segments of each iteration's minibatch, by random permutations of all."""
    random = np.random.default_rng(descent.seed)
    size = min(descent.batch, count)
    queue = np.zeros(0, int)
    for _ in range(descent.iterations):
        if len(queue) < size:
            queue = np.concatenate([queue, random.permutation(count)])
        batch, queue = queue[:size], queue[size:]
        yield batch
