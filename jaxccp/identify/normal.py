"""Normal equations of a fit: the gradient of each toss's loss, and the Gauss–Newton matrix."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify import parameters
from jaxccp.identify.fit import LONGEST, Loss
from jaxccp.identify.predict import Experiment
from jaxccp.identify.toss_segments import Segments

CHUNK = 64
"""The number of segments that are differentiated at once."""


@dataclass(frozen=True)
class NormalEquations:
    """Sums over all segments at some values of the p parameters, in units of their scales."""

    loss: float
    """Sum of the segments' losses."""
    scores: Float[np.ndarray, "t p"]
    """Gradient of the loss of each of t tosses."""
    curvature: Float[np.ndarray, "p p"]
    """Σ w JᵀJ, the Gauss–Newton matrix with the robust weights w."""


def normal_equations(
    experiment: Experiment, segments: Segments, names: tuple[str, ...], loss: Loss
) -> Callable[[Float[np.ndarray, " p"]], NormalEquations]:
    """The normal equations as a function of the parameters' values, compiled once.

    As in the descent, gradients far longer than the median are shortened: after several impacts
    they describe only tiny changes of the parameters.

    Args:
        experiment: predicts the motion.
        segments: starts, each with the samples after it.
        names: of the parameters.
        loss: distance between prediction and recording.
    """
    scale = jnp.asarray(parameters.columns(names)[2])

    @jax.jit
    def terms(values: Array, batch: Segments) -> tuple[Array, Array, Array]:
        def of_segment(segment: Segments) -> tuple[Array, Array, Array]:
            def residuals(offset: Array) -> tuple[Array, Array]:
                r = loss.residuals(experiment, names, values + scale * offset, segment)
                return r, r

            j, r = jax.jacfwd(residuals, has_aux=True)(jnp.zeros_like(values))
            weight = 1.0 / jnp.sqrt(1.0 + jnp.sum((r / loss.threshold) ** 2, axis=-1))
            count = jnp.maximum(jnp.sum(segment.valid), 1)
            return (
                jnp.sum(loss.robust(r)) / count,
                jnp.einsum("s,si,sip->p", weight, r, j) / count,
                jnp.einsum("s,sip,siq->pq", weight, j, j) / count,
            )

        return jax.vmap(of_segment)(batch)

    toss = np.asarray(segments.toss)
    clusters = np.unique(toss)

    def at(values: Float[np.ndarray, " p"]) -> NormalEquations:
        parts = []
        for start in range(0, len(segments), CHUNK):
            # The last chunk is filled up with repeated segments, so that one program serves all.
            which = np.arange(start, start + min(CHUNK, len(segments)))
            kept = which < len(segments)
            found = terms(jnp.asarray(values, float), segments.take(np.where(kept, which, 0)))
            parts.append([np.asarray(x, float)[kept] for x in found])
        losses, slopes, curvature = (np.concatenate(x) for x in zip(*parts, strict=True))
        length = np.linalg.norm(slopes, axis=1)
        tame = np.minimum(1.0, LONGEST * np.median(length) / np.maximum(length, 1e-300))
        slopes, curvature = tame[:, None] * slopes, tame[:, None, None] * curvature
        scores = np.stack([slopes[toss == cluster].sum(axis=0) for cluster in clusters])
        return NormalEquations(float(losses.sum()), scores, curvature.sum(axis=0))

    return at
