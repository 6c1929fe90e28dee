"""The bodies whose mass is symmetric about their only hinge."""

from collections.abc import Sequence

import numpy as np

from jaxccp.model.joints import Hinge
from jaxccp.scene.frames import to_matrix
from jaxccp.scene.tables.body_tables import BodySpec
from jaxccp.scene.tables.joint_tables import JointSpec

TOLERANCE = 1e-6
"""Largest part of a body's inertia about its axis that may change in the world as it turns."""


def axisymmetric(joints: Sequence[JointSpec], bodies: Sequence[BodySpec]) -> np.ndarray:
    """Return the mask of the rigid bodies on a single joint, a hinge, whose mass is symmetric about
    its axis [nb].

    Args:
        joints: the joints that were added.
        bodies: the bodies that were added.
    """
    ends = np.array([joint.bodies for joint in joints], int)
    single = np.bincount(ends.ravel(), minlength=len(bodies)) == 1
    mask = np.zeros(len(bodies), bool)
    for joint in joints:
        axes = joint.joint.axes
        if len(axes) == 1 and isinstance(axes[0], Hinge):
            for side, body in enumerate(joint.bodies):
                turn = to_matrix(joint.frame[side])
                point = joint.anchor[side] + turn @ np.asarray(axes[0].point, float)
                mask[body] = single[body] and _symmetric(
                    bodies[body], turn @ axes[0].direction, point
                )
    return mask & np.array([body.free for body in bodies])


def _symmetric(body: BodySpec, axis: np.ndarray, point: np.ndarray) -> bool:
    """Return whether a body's mass is symmetric about an axis.

    Args:
        body: the body.
        axis: unit vector along the axis, body axes.
        point: a point of the axis, from the centre of mass [m].
    """
    inertia = np.asarray(body.inertia, float)
    about = axis @ inertia @ axis
    offset = body.mass * np.sum(np.cross(point, axis) ** 2)
    # What is left of the inertia when its symmetric part is taken off.
    across = 0.5 * (np.trace(inertia) - about)
    rest = inertia - across * np.eye(3) - (about - across) * np.outer(axis, axis)
    return bool(offset + np.abs(rest).max() <= TOLERANCE * about)
