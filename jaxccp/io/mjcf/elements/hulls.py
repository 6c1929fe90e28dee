"""Convex hulls with a limited number of vertices, for meshes of very many points."""

import numpy as np
from jaxtyping import Float

MOST = 500
"""Maximum number of vertices of a hull; the cost of a step is proportional to it, and contacts do
not improve with more."""


def thinned(points: Float[np.ndarray, "n 3"]) -> tuple[Float[np.ndarray, "m 3"], int, float]:
    """Return the vertices of the convex hull of points, at most ``MOST`` of them.

    If there are more, those are kept that lie outermost in evenly spread directions, after the
    extents along x, y and z are scaled to be equal. At most ``MOST`` points, and points in a plane,
    are returned as they are.

    Args:
        points: points of a solid [m].

    Returns:
        The points that stay; the number of vertices that the hull had, and the distance from the
        new hull to the farthest of them [m], both 0 if no vertex was left out.
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
    """Return evenly spread unit vectors, along a spiral from pole to pole."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    radius = np.sqrt(1.0 - z**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
