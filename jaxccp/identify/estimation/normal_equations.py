"""Residuals and exact Jacobians of all segments, summed to normal equations."""

import copy
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.estimation.chunks import ChunkedProgram, cores
from jaxccp.identify.estimation.terms import Terms
from jaxccp.identify.parameters.parameter import ParameterSet
from jaxccp.identify.recordings.gaps import Gaps
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.recordings.segments import Batch
from jaxccp.identify.subject import Subject

CHUNK = 32
"""Maximum number of segments in one call of the compiled program, for long segments."""
SAMPLES = 256
"""Maximum number of samples in one call, for short segments."""
BATCH = 256
"""Maximum number of segments in one call with several vectors of parameters."""
FEWEST = 8
"""Smallest number of segments for each core, when segments are divided among cores."""
REVERSE = 2.0
"""Number of parameters per compared value above which derivatives are computed in reverse mode,
value by value, instead of forward mode."""
WILD = 30.0
"""Norm of a segment's derivatives, relative to the median, above which they are useless for any
finite change of the parameters. The segment's gradient and Gauss–Newton matrix are then multiplied
by the ratio of this bound to the norm."""


class Plan(Protocol):
    """Computes one kind of residual for the segments of some recordings."""

    @property
    def batch(self) -> Batch:
        """Segments that are compared with the model."""
        ...

    @property
    def subject(self) -> Subject:
        """The subject with the initial values of all parameters."""
        ...

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """The recordings from which the segments are cut."""
        ...

    @property
    def unknowns(self) -> int:
        """Number of unknowns of each segment besides the parameters."""
        ...

    def residual(
        self, subject: Subject, segment: Any, change: Float[Array, " x"]
    ) -> tuple[Float[Array, "s o"], Float[Array, " x"]]:
        """Return errors divided by their standard deviations, and the end of the segment relative
        to the initial state of the next one.

        Args:
            subject: the model with the parameters' values.
            segment: one of the batch.
            change: change of the unknowns of its initial state.
        """
        ...


class Evaluator:
    """Computes the terms of the segments of one plan; compiled once."""

    def __init__(self, plan: Plan, parameters: ParameterSet, threshold: float) -> None:
        """Prepare the program.

        Args:
            plan: the plan.
            parameters: parameters to identify.
            threshold: standard deviations beyond which a sample's error counts linearly.
        """
        self.plan, self.parameters, self.threshold = plan, parameters, threshold
        scale = jnp.asarray(parameters.column("scale"))
        # Errors of filtered samples that are closer than the filter resolves are not independent.
        self.independent = independent = getattr(plan, "independent_share", 1.0)

        def residual(values: Array, change: Array, segment: Any) -> tuple:
            return plan.residual(parameters.apply(plan.subject, values), segment, change)

        def terms(
            values: Array, change: Array, segment: Any, weight: Array, threshold: Array
        ) -> dict[str, Array]:
            def at(offset: Array) -> tuple:
                shifted = values + scale * offset[: len(scale)]
                errors, end = residual(shifted, change + offset[len(scale) :], segment)
                out = weight * errors, end
                return out, out

            zero = jnp.zeros(len(scale) + plan.unknowns)
            (slope, end_slope), (errors, end) = jacobian(at, has_aux=True)(zero)
            square = jnp.sum(errors**2, axis=1)
            # The pseudo-Huber loss threshold² (root − 1), without its cancellation.
            root = jnp.sqrt(1.0 + square / threshold**2)
            share = independent / root
            return {
                "loss": independent * jnp.sum(square / (1.0 + root)),
                "gradient": jnp.einsum("s,so,soz->z", share, errors, slope),
                "hessian": jnp.einsum("s,soz,soy->zy", share, slope, slope),
                "end": end,
                "end_jacobian": end_slope,
                "square": independent * jnp.sum(errors**2, axis=0),
                "count": independent * jnp.sum(errors != 0.0, axis=0),
            }

        shape = self._shape()
        many = not plan.unknowns and len(scale) > REVERSE * np.prod(shape)
        jacobian = jax.jacrev if many else jax.jacfwd
        self._terms = ChunkedProgram(jax.vmap(terms, in_axes=(0, 0, 0, None, None)))
        self._residual = ChunkedProgram(jax.vmap(residual))
        count = len(plan.batch)
        parts = max(-(-count // max(CHUNK, SAMPLES // shape[0])), min(cores(), count // FEWEST), 1)
        self.chunk = -(-count // parts)
        self.observed = shape[1]
        self.reset_deviations()

    def with_plan(self, plan: Plan) -> "Evaluator":
        """Return an evaluator of other segments that uses the same compiled programs.

        Args:
            plan: a copy of this evaluator's plan with another batch.
        """
        copied = copy.copy(self)
        copied.plan = plan
        copied.reset_deviations()
        return copied

    def reset_deviations(self) -> None:
        """Reset the standard deviations to those of the plan."""
        self.weight = np.ones(self.observed)
        batch = self.plan.batch
        continuity = getattr(getattr(self.plan, "settings", None), "continuity", None) or 1.0
        self.gaps = Gaps(continuity * batch.start_deviation, batch.joined)

    def _shape(self) -> tuple[int, int]:
        """Return the number of samples of a segment, and the number of compared values of a
        sample."""
        batch = self.plan.batch
        segment = jax.tree.map(lambda leaf: leaf[0], batch.take(np.zeros(1, int)))
        values = jnp.asarray(self.parameters.column("initial"))

        def errors(values: Array) -> Array:
            subject = self.parameters.apply(self.plan.subject, values)
            return self.plan.residual(subject, segment, jnp.zeros(self.plan.unknowns))[0]

        return jax.eval_shape(errors, values).shape

    def chunks(self, values: np.ndarray, change: np.ndarray):
        """Yield the arguments of each chunk, and the number of its segments that are not
        padding."""
        count, segments, size = len(values), len(self.plan.batch), self.chunk
        if count > segments:
            size = min(-(-count // cores()), BATCH)
        for begin in range(0, count, size):
            which = np.arange(begin, begin + size) % count
            yield (
                (
                    jnp.asarray(values[which]),
                    jnp.asarray(change[which]),
                    self.plan.batch.take(which % segments),
                ),
                min(size, count - begin),
            )

    def terms(self, values: Float[np.ndarray, "n p"], change: Float[np.ndarray, "n x"]) -> Terms:
        """Return the terms of all segments.

        Args:
            values: values of the parameters in each segment.
            change: change of each segment's initial state.
        """
        chunks, kept = zip(*self.chunks(values, change), strict=True)
        common = jnp.asarray(self.weight), jnp.asarray(self.threshold, float)
        results = self._terms.map([(*chunk, *common) for chunk in chunks])
        parts = [
            {name: np.asarray(x, float)[:count] for name, x in result.items()}
            for result, count in zip(results, kept, strict=True)
        ]
        all_parts = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        finite = np.ones(len(self.plan.batch), bool)
        for array in all_parts.values():
            finite &= np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        for name, array in all_parts.items():
            all_parts[name] = np.where(finite.reshape(-1, *[1] * (array.ndim - 1)), array, 0.0)
        length = np.sqrt(np.einsum("nzz->n", all_parts["hessian"]))
        # Segments without a compared sample have no derivatives at all.
        some = finite & (length > 0)
        middle = np.median(length[some]) if some.any() else 1.0
        tame = np.minimum(1.0, WILD * middle / np.maximum(length, 1e-300))
        all_parts["gradient"] *= tame[:, None]
        all_parts["hessian"] *= tame[:, None, None]
        scale = np.concatenate([self.parameters.column("scale"), np.ones(self.plan.unknowns)])
        all_parts["gradient"] /= scale
        all_parts["hessian"] /= scale[:, None] * scale
        all_parts["end_jacobian"] /= scale
        return Terms(**all_parts, usable=finite, derivative_scale=tame)

    def residuals(
        self, values: Float[np.ndarray, "k p"], change: Float[np.ndarray, "k x"]
    ) -> Float[np.ndarray, "k s o"]:
        """Return the errors of all segments, divided by the given standard deviations.

        With more rows of arguments than segments, each group of as many rows is one pass over all
        segments.
        """
        chunks, kept = zip(*self.chunks(values, change), strict=True)
        parts = self._residual.map(chunks)
        return np.concatenate([part[0][:count] for part, count in zip(parts, kept, strict=True)])

    def reweight(self, terms: Terms, starts: Float[np.ndarray, "n x"]) -> None:
        """Set the standard deviation of each compared value to the root mean square of its errors,
        if that exceeds the given one.

        Errors of the model thus count as noise. Components of one error (``common_deviation`` of a
        plan) get a common standard deviation. Gaps between joined segments are treated in the same
        way.

        Args:
            terms: terms of all segments.
            starts: changes of the segments' starts.
        """
        usable = terms.usable
        square, count = terms.square[usable].sum(axis=0), terms.count[usable].sum(axis=0)
        if getattr(self.plan, "common_deviation", False):
            square, count = np.full_like(square, square.sum()), np.full_like(count, count.sum())
        spread = np.sqrt(square / np.maximum(count, 1.0)) / self.weight
        self.weight = 1.0 / np.maximum(spread, 1.0)
        self.gaps.reweight(self.gaps.square(starts, terms.end, usable))

    def log_deviations(self, terms: Terms) -> float:
        """Return the sum, over all compared samples and gaps, of the logarithm of the estimated
        standard deviation relative to the given one.

        With it a loss is a negative log-likelihood, which can be compared between estimates.

        Args:
            terms: terms of all segments.
        """
        count = terms.count[terms.usable].sum(axis=0)
        return float(-count @ np.log(self.weight)) + self.gaps.log_deviations(terms.usable)
