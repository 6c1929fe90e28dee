"""Standard errors of fitted parameters."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.fit import Loss
from jaxccp.identify.predict import Experiment
from jaxccp.identify.segments import Segments

CHUNK = 64
"""Segments differentiated at once."""


def standard_errors(
    experiment: Experiment,
    segments: Segments,
    names: tuple[str, ...],
    values: Float[np.ndarray, " p"],
    loss: Loss,
) -> Float[np.ndarray, " p"]:
    """Cluster-robust standard errors at the minimum of the loss.

    The sandwich H⁻¹ (Σ_t g_t g_tᵀ) H⁻¹ of an M-estimator (Huber 1967; White 1982), g_t the gradient
    summed over the segments of toss t, which share its errors, and H = Σ w JᵀJ the Gauss–Newton
    matrix with the robust weights. Infinite where the data do not tell a parameter at all.
    """

    @jax.jit
    def terms(values: Array, batch: Segments) -> tuple[Array, Array]:
        def of_segment(segment: Segments) -> tuple[Array, Array]:
            def residuals(v: Array) -> Array:
                return loss.residuals(experiment, names, v, segment)

            r, j = residuals(values), jax.jacfwd(residuals)(values)
            weight = 1.0 / jnp.sqrt(1.0 + jnp.sum((r / loss.threshold) ** 2, axis=-1))
            count = jnp.maximum(jnp.sum(segment.valid), 1)
            slope = jnp.einsum("s,si,sip->p", weight, r, j) / count
            curvature = jnp.einsum("s,sip,siq->pq", weight, j, j) / count
            return slope, curvature

        return jax.vmap(of_segment)(batch)

    slopes, curvature = [], np.zeros((len(names), len(names)))
    for start in range(0, len(segments), CHUNK):
        # The last chunk is filled up with a repeated segment, so that one program serves all.
        which = np.arange(start, start + min(CHUNK, len(segments)))
        kept = which < len(segments)
        slope, h = terms(jnp.asarray(values), segments.take(np.where(kept, which, 0)))
        slopes.append(np.asarray(slope)[kept])
        curvature += np.asarray(h)[kept].sum(axis=0)
    return _sandwich(np.concatenate(slopes), np.asarray(segments.toss), curvature)


def _sandwich(slopes: np.ndarray, toss: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    clusters = np.unique(toss)
    scores = np.stack([slopes[toss == cluster].sum(axis=0) for cluster in clusters])
    meat = scores.T @ scores * len(clusters) / max(len(clusters) - 1, 1)
    # Parameters have different units: scale before inverting.
    scale = np.sqrt(np.diag(curvature))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        return np.where(scale > 0, np.nan, np.inf)
    bread = np.linalg.pinv(curvature / np.outer(scale, scale), hermitian=True)
    covariance = bread @ (meat / np.outer(scale, scale)) @ bread
    return np.sqrt(np.diag(covariance)) / scale
