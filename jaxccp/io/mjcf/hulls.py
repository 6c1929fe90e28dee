"""Meshes of very many points, thinned out."""

import numpy as np
from jaxtyping import Float

MOST = 500
"""Vertices of the largest hull: every step costs in proportion, and contact gains nothing."""


def thinned(points: Float[np.ndarray, "n 3"]) -> tuple[Float[np.ndarray, "m 3"], int, float]:
    """Return at most ``MOST`` of the corners of the points' hull if it has more, else all of them.

    Those stay that lie outermost in as many directions, spread evenly once the hull's lengths
    along x, y, z are made equal.

    Args:
        points: of a solid [m].

    Returns:
        The points that stay; the corners that the hull had, and the distance from the new hull to
        the farthest of them [m], both 0 where nothing was left out.
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(points) <= MOST:
        return points, 0, 0.0
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:  # flat: refused with its reason where the shape is made
        return points, 0, 0.0
    if len(corners) <= MOST:
        return corners, 0, 0.0
    outermost = np.argmax(_directions(MOST) @ (corners / np.ptp(corners, axis=0)).T, axis=1)
    kept = corners[np.unique(outermost)]
    faces = ConvexHull(kept).equations
    distance = (corners @ faces[:, :3].T + faces[:, 3]).max()
    return kept, len(corners), float(distance)


def _directions(count: int) -> Float[np.ndarray, "n 3"]:
    """Return unit vectors along a spiral from pole to pole, each with the same share of the
    sphere."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    radius = np.sqrt(1.0 - z**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
