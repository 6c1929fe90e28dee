"""Loss, gradient and Gauss–Newton matrix of segments."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Terms:
    """Loss, gradient and Gauss–Newton matrix of each of n segments, over z = (p parameters, x
    unknowns of its initial state)."""

    loss: Float[np.ndarray, " n"]
    """Loss of each segment."""
    gradient: Float[np.ndarray, "n z"]
    """Gradient of the loss with respect to z, in the units of z."""
    hessian: Float[np.ndarray, "n z z"]
    """Gauss–Newton matrix, with the robust weights."""
    end: Float[np.ndarray, "n x"]
    """End of the segment, as a change of the next one's initial state."""
    end_jacobian: Float[np.ndarray, "n x z"]
    """Derivative of ``end`` with respect to z."""
    square: Float[np.ndarray, "n o"]
    """Sum of squares of the errors of each compared value, over independent samples."""
    count: Float[np.ndarray, "n o"]
    """Number of independent samples in that sum."""
    usable: np.ndarray
    """Mask of the segments in which all numbers are finite [n]."""
    derivative_scale: Float[np.ndarray, " n"]
    """Factor by which ``gradient`` and ``hessian`` were scaled down; 1 for most segments."""
