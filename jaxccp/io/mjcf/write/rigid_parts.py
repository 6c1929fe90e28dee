"""The inertia of a body that consists of several parts, divided among them again.

A body's pseudo-inertia P = [[Σ, h], [hᵀ, m]], with Σ = ½ tr(I) 1 − I about its origin, is positive
semidefinite if and only if some distribution of mass has it (Wensing, Kim & Slotine, IEEE RA-L 3,
2018). Moving all mass by one affine map T, and scaling it, changes it to T P Tᵀ, so that the same T
takes each part to one that is physical as well, and their sum to the new whole.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

THICKENED = 1e-9
"""Smallest eigenvalue of a pseudo-inertia about the centre of mass, relative to the largest;
thinner bodies are thickened to it for the affine map."""

Inertial = tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3 3"]]
"""Mass [kg], centre of mass [m] and inertia about it [kg m²]."""


def pseudo_inertia(inertial: Inertial) -> Float[np.ndarray, "4 4"]:
    """Return the pseudo-inertia of a body about the origin of the frame in which its centre of mass
    is given."""
    mass, centre, inertia = inertial
    sigma = 0.5 * np.trace(inertia) * np.eye(3) - inertia + mass * np.outer(centre, centre)
    out = np.empty((4, 4))
    out[:3, :3], out[:3, 3], out[3, :3], out[3, 3] = sigma, mass * centre, mass * centre, mass
    return out


def inertial_of_pseudo(matrix: Float[np.ndarray, "4 4"]) -> Inertial:
    """Return mass, centre of mass and inertia about it for a pseudo-inertia; zeros for a part
    without mass."""
    mass = float(matrix[3, 3])
    if mass <= 0.0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    centre = matrix[:3, 3] / mass
    sigma = matrix[:3, :3] - mass * np.outer(centre, centre)
    return mass, centre, np.trace(sigma) * np.eye(3) - sigma


def divide_inertia(
    parts: Sequence[Inertial], before: Inertial, after: Inertial
) -> list[Float[np.ndarray, "4 4"]]:
    """Divide a changed inertia of a whole body among its parts; return the pseudo-inertia of each.

    Args:
        parts: inertias of the original parts, in the body's axes; the first part takes the rounding
            error.
        before: original inertia of the whole body, in its axes.
        after: new inertia of the whole body, in the same axes and from the same origin.
    """
    total = pseudo_inertia(after)
    changed = _root(total, after) @ np.linalg.inv(_root(pseudo_inertia(before), before))
    rest = [changed @ pseudo_inertia(part) @ changed.T for part in parts[1:]]
    return [total - sum(rest, np.zeros((4, 4))), *rest]


def _root(matrix: Float[np.ndarray, "4 4"], inertial: Inertial) -> Float[np.ndarray, "4 4"]:
    """Return A = [[L, √m c], [0, √m]] with A Aᵀ = P and the Cholesky factor L of Σ about the centre
    of mass c; a body that is too thin is thickened."""
    mass, centre, _ = inertial
    sigma = matrix[:3, :3] - mass * np.outer(centre, centre)
    values, vectors = np.linalg.eigh(0.5 * (sigma + sigma.T))
    values = np.maximum(values, THICKENED * max(values.max(), 1e-12))
    root = np.eye(4)
    root[:3, :3] = np.linalg.cholesky((vectors * values) @ vectors.T)
    root[:3, 3], root[3, 3] = np.sqrt(mass) * centre, np.sqrt(mass)
    return root
