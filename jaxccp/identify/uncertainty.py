"""Standard errors of fitted parameters."""

import numpy as np
from jaxtyping import Float

from jaxccp.identify import parameters
from jaxccp.identify.normal import NormalEquations


def standard_errors(equations: NormalEquations, names: tuple[str, ...]) -> Float[np.ndarray, " p"]:
    """Cluster-robust standard errors at the minimum of the loss.

    They are square roots of the diagonal of the sandwich H⁻¹ (Σ_t g_t g_tᵀ) H⁻¹ of an M-estimator
    (Huber 1967; White 1982), where g_t is the gradient of the loss of toss t, whose samples have
    correlated errors, and H the Gauss–Newton matrix. A parameter that the data do not determine has
    an infinite one.
    """
    scores, curvature = equations.scores, equations.curvature
    tosses, count = scores.shape
    # Each parameter fitted takes one toss's worth of scatter out of the scores.
    meat = scores.T @ scores * tosses / max(tosses - count, 1)
    # In units of each parameter's own curvature, so that the inverse is well conditioned.
    scale = np.sqrt(np.diag(curvature))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        return np.where(scale > 0, np.nan, np.inf)
    bread = np.linalg.pinv(curvature / np.outer(scale, scale), hermitian=True)
    covariance = bread @ (meat / np.outer(scale, scale)) @ bread
    return parameters.columns(names)[2] * np.sqrt(np.diag(covariance)) / scale
