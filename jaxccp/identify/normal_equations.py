"""Residuals and exact Jacobians of all segments, summed up to normal equations."""

import copy
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.chunks import ChunkedProgram, cores
from jaxccp.identify.gaps import Gaps
from jaxccp.identify.parameter import ParameterSet
from jaxccp.identify.recording import Recording
from jaxccp.identify.subject import Subject

CHUNK = 32
"""Segments that one call of the compiled program takes; of short ones …"""
SAMPLES = 256
"""… as many as have this many samples."""
BATCH = 256
"""Most segments of a chunk where there are several vectors of parameters."""
FEWEST = 8
"""Segments of a chunk from which it pays to share them among cores."""
REVERSE = 2.0
"""Parameters for each number that a segment compares beyond which derivatives are taken backwards,
number by number, and not forwards, parameter by parameter."""
WILD = 30.0
"""Length of a segment's derivatives, over the median of all, beyond which they say nothing about
any finite change of the parameters: the segment is weighted down to it."""


class Batch(Protocol):
    """Segments of recordings, in order."""

    @property
    def recording(self) -> np.ndarray:
        """Number of the recording of each segment [n]."""
        ...

    @property
    def start_deviation(self) -> Float[np.ndarray, "n x"]:
        """Standard deviation of each unknown of a segment."""
        ...

    @property
    def joined(self) -> np.ndarray:
        """Mask: the segment has to end where the next one starts [n]."""
        ...

    def __len__(self) -> int: ...

    def take(self, which: np.ndarray) -> Any:
        """Return some of the segments as a pytree with a leading axis."""
        ...


class Plan(Protocol):
    """A plan computes one kind of residual for the segments of some recordings."""

    @property
    def batch(self) -> Batch:
        """The segments that are compared."""
        ...

    @property
    def subject(self) -> Subject:
        """The model as it was before any parameter changed it."""
        ...

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """The recordings that the segments are of."""
        ...

    @property
    def unknowns(self) -> int:
        """The number of unknowns of each segment besides the parameters."""
        ...

    def residual(
        self, subject: Subject, segment: Any, change: Float[Array, " x"]
    ) -> tuple[Float[Array, "s o"], Float[Array, " x"]]:
        """Return errors over their standard deviations, and where the segment ends, from where the
        next one starts.

        Args:
            subject: the model with the parameters' values.
            segment: one of the batch.
            change: of its start's unknowns.
        """
        ...


@dataclass(frozen=True)
class Terms:
    """Derivatives of each of n segments by its z = (p parameters, x unknowns of its start)."""

    loss: Float[np.ndarray, " n"]
    gradient: Float[np.ndarray, "n z"]
    hessian: Float[np.ndarray, "n z z"]
    """Gauss–Newton matrix, with the robust weights."""
    end: Float[np.ndarray, "n x"]
    """Where the segment ends, as a change of where the next one starts."""
    end_jacobian: Float[np.ndarray, "n x z"]
    square: Float[np.ndarray, "n o"]
    """Sum of squares of each observed number, and …"""
    count: Float[np.ndarray, "n o"]
    """… of how many samples."""
    usable: np.ndarray
    """Mask: all numbers are finite [n]."""
    taming: Float[np.ndarray, " n"]
    """Factor by which derivatives were shortened; 1 for most."""


class Evaluator:
    """Evaluates the terms of one plan's segments; compiled once."""

    def __init__(self, plan: Plan, parameters: ParameterSet, threshold: float) -> None:
        """Prepare the program.

        Args:
            plan: what is computed.
            parameters: that are identified.
            threshold: standard deviations beyond which a sample's error counts linearly.
        """
        self.plan, self.parameters, self.threshold = plan, parameters, threshold
        scale = jnp.asarray(parameters.column("scale"))

        def residual(values: Array, change: Array, segment: Any, weight: Array) -> tuple:
            subject = parameters.apply(plan.subject, values)
            errors, end = plan.residual(subject, segment, change)
            return weight * errors, end

        def terms(values: Array, change: Array, segment: Any, weight: Array) -> dict[str, Array]:
            def at(offset: Array) -> tuple:
                shifted = values + scale * offset[: len(scale)]
                out = residual(shifted, change + offset[len(scale) :], segment, weight)
                return out, out

            zero = jnp.zeros(len(scale) + plan.unknowns)
            (slope, end_slope), (errors, end) = jacobian(at, has_aux=True)(zero)
            square = jnp.sum(errors**2, axis=1)
            robust = threshold**2 * (jnp.sqrt(1.0 + square / threshold**2) - 1.0)
            share = 1.0 / jnp.sqrt(1.0 + square / threshold**2)
            return {
                "loss": jnp.sum(robust),
                "gradient": jnp.einsum("s,so,soz->z", share, errors, slope),
                "hessian": jnp.einsum("s,soz,soy->zy", share, slope, slope),
                "end": end,
                "end_jacobian": end_slope,
                "square": jnp.sum(errors**2, axis=0),
                "count": jnp.sum(errors != 0.0, axis=0),
            }

        shape = self._shape()
        many = not plan.unknowns and len(scale) > REVERSE * np.prod(shape)
        jacobian = jax.jacrev if many else jax.jacfwd
        self._terms = ChunkedProgram(jax.vmap(terms, in_axes=(0, 0, 0, None)))
        self._residual = ChunkedProgram(jax.vmap(residual, in_axes=(0, 0, 0, None)))
        count = len(plan.batch)
        parts = max(-(-count // max(CHUNK, SAMPLES // shape[0])), min(cores(), count // FEWEST), 1)
        self.chunk = -(-count // parts)
        self.observed = shape[1]
        self.forget()

    def with_plan(self, plan: Plan) -> "Evaluator":
        """Return an evaluator of other segments, with the same programs.

        Args:
            plan: a copy of this one's with another batch.
        """
        copied = copy.copy(self)
        copied.plan = plan
        copied.forget()
        return copied

    def forget(self) -> None:
        """Take the standard deviations that were told, of what the plan compares."""
        self.weight = np.ones(self.observed)
        batch = self.plan.batch
        continuity = getattr(getattr(self.plan, "settings", None), "continuity", None) or 1.0
        self.gaps = Gaps(continuity * batch.start_deviation, batch.joined)

    def _shape(self) -> tuple[int, int]:
        """Return how many samples a segment has, and how many numbers a sample compares."""
        batch = self.plan.batch
        segment = jax.tree.map(lambda leaf: leaf[0], batch.take(np.zeros(1, int)))
        values = jnp.asarray(self.parameters.column("initial"))

        def errors(values: Array) -> Array:
            subject = self.parameters.apply(self.plan.subject, values)
            return self.plan.residual(subject, segment, jnp.zeros(self.plan.unknowns))[0]

        return jax.eval_shape(errors, values).shape

    def chunks(self, values: np.ndarray, change: np.ndarray):
        """Yield the arguments of each chunk and how many of its segments count."""
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
                    jnp.asarray(self.weight),
                ),
                min(size, count - begin),
            )

    def terms(self, values: Float[np.ndarray, "n p"], change: Float[np.ndarray, "n x"]) -> Terms:
        """Return the terms of all segments.

        Args:
            values: of the parameters, of each segment.
            change: of each segment's start.
        """
        chunks, kept = zip(*self.chunks(values, change), strict=True)
        parts = [
            {name: np.asarray(x, float)[:count] for name, x in result.items()}
            for result, count in zip(self._terms.map(chunks), kept, strict=True)
        ]
        all_parts = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        finite = np.ones(len(self.plan.batch), bool)
        for array in all_parts.values():
            finite &= np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        for name, array in all_parts.items():
            all_parts[name] = np.where(finite.reshape(-1, *[1] * (array.ndim - 1)), array, 0.0)
        length = np.sqrt(np.einsum("nzz->n", all_parts["hessian"]))
        middle = np.median(length[finite]) if finite.any() else 1.0
        tame = np.minimum(1.0, WILD * middle / np.maximum(length, 1e-300))
        all_parts["gradient"] *= tame[:, None]
        all_parts["hessian"] *= tame[:, None, None]
        scale = np.concatenate([self.parameters.column("scale"), np.ones(self.plan.unknowns)])
        all_parts["gradient"] /= scale
        all_parts["hessian"] /= scale[:, None] * scale
        all_parts["end_jacobian"] /= scale
        return Terms(**all_parts, usable=finite, taming=tame)

    def residuals(
        self, values: Float[np.ndarray, "k p"], change: Float[np.ndarray, "k x"]
    ) -> Float[np.ndarray, "k s o"]:
        """Return the weighted residuals of all segments; of more rows than there are segments, each
        as many is about all of them."""
        chunks, kept = zip(*self.chunks(values, change), strict=True)
        parts = self._residual.map(chunks)
        return np.concatenate([part[0][:count] for part, count in zip(parts, kept, strict=True)])

    def reweight(self, terms: Terms, starts: Float[np.ndarray, "n x"]) -> None:
        """Take the root mean square of each observed number's errors, where it is more than its
        standard deviation, as standard deviation from here on: what the model cannot express
        counts as noise. Components of one error (``common_deviation`` of a plan) have a common one.
        The same goes for gaps between joined segments.

        Args:
            terms: of all segments.
            starts: changes of the segments' starts.
        """
        usable = terms.usable
        square, count = terms.square[usable].sum(axis=0), terms.count[usable].sum(axis=0)
        if getattr(self.plan, "common_deviation", False):
            square, count = np.full_like(square, square.sum()), np.full_like(count, count.sum())
        spread = np.sqrt(square / np.maximum(count, 1.0)) / self.weight
        self.weight = 1.0 / np.maximum(spread, 1.0)
        self.gaps.reweight(self.gaps.square(starts, terms.end, usable))
