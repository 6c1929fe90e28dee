"""Frames as pairs of position [m] and unit quaternion (w, x, y, z), in numpy's double precision."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from jaxccp.math.quaternion import PRODUCT

IDENTITY = (1.0, 0.0, 0.0, 0.0)
ORIGIN = (0.0, 0.0, 0.0)
Frame = tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray]


def relative_frame(reference: Frame, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose of one frame relative to another.

    Args:
        reference: the frame that the result refers to, in the world.
        frame: the other frame, in the world.

    Returns:
        Position [m] and unit quaternion of ``frame`` in ``reference``.
    """
    inverse = np.asarray(reference[1]) * [1, -1, -1, -1]
    offset = np.asarray(frame[0]) - reference[0]
    orientation = np.einsum("i,ijk,k->j", inverse, PRODUCT, np.asarray(frame[1]))
    return to_matrix(inverse) @ offset, orientation


def to_matrix(quaternion: Sequence[float] | np.ndarray) -> Float[np.ndarray, "3 3"]:
    """Return the rotation matrix of a quaternion of any length but 0."""
    w, x, y, z = np.asarray(quaternion) / np.linalg.norm(quaternion)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def to_quaternion(rotation: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "4"]:
    """Return the unit quaternion of a rotation matrix.

    It is the eigenvector of Bar-Itzhack's symmetric matrix (J. Guidance 23, 2000), exact for any
    angle.
    """
    r = rotation
    skew = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    matrix = np.empty((4, 4))
    matrix[0, 0] = np.trace(r)
    matrix[0, 1:] = matrix[1:, 0] = skew
    matrix[1:, 1:] = r + r.T - np.trace(r) * np.eye(3)
    vector = np.linalg.eigh(matrix)[1][:, -1]
    return vector if vector[0] >= 0 else -vector
