"""Bodies: those without a joint are one with their parent, and frames go to centres of mass; those
of motion capture are fixed."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.inertia import combined
from jaxccp.scene.builder import ModelBuilder
from jaxccp.scene.frames import to_matrix, to_quaternion

NOWHERE = -1
"""Index for a body of the file that is not in the model: a node inside a flexible body."""


@dataclass(frozen=True)
class BodyMap:
    """A table that gives, for each of the file's n bodies, the model's body that contains it, and
    the pose of its frame in that body.

    Bodies of the file that are welded together are one body of the model, which has the axes of the
    topmost of them.
    """

    body: Int[np.ndarray, " n"]
    """Index of the model's body for each body of the file; ``NOWHERE`` if it has none."""
    position: Float[np.ndarray, "n 3"]
    """Origin of the frame of the file's body, relative to the centre of mass and in the axes of the
    model's body [m]."""
    rotation: Float[np.ndarray, "n 3 3"]
    """Rotation from the axes of the file's body to those of the model's."""
    labels: tuple[str, ...]
    """Labels of the file's bodies, for messages."""

    def point(self, body: int, local: np.ndarray) -> np.ndarray:
        """Convert a point from the frame of a file's body to the frame of the model's body [m]."""
        return self.position[body] + self.rotation[body] @ local

    def pose(self, body: int, local: np.ndarray, quaternion: np.ndarray) -> tuple:
        """Convert a pose from the frame of a file's body to the frame of the model's body.

        Args:
            body: the file's number of the body.
            local: origin of the frame in the file's body [m], (3,).
            quaternion: orientation of the frame in the file's body, (4,).

        Returns:
            Position [m] and quaternion in the model's body.

        Raises:
            ValueError: the frame is not finite.
        """
        if not np.isfinite([*local, *quaternion]).all():
            raise ValueError(
                f"a frame in {self.labels[body]} is not finite, but at {local}, {quaternion}"
            )
        orientation = to_quaternion(self.rotation[body] @ to_matrix(quaternion))
        return self.point(body, local), orientation


def add_bodies(source: Source, builder: ModelBuilder, nodes: Bool[np.ndarray, " n"]) -> BodyMap:
    """Add the file's bodies to a builder, in their poses at ``qpos0``.

    Args:
        source: the compiled file.
        builder: the builder.
        nodes: mask of the file's n bodies that are nodes of flexible bodies; they are not added,
            and are ``NOWHERE`` in the result.

    Returns:
        Places of the file's bodies in the model.

    Raises:
        InputError: no body can move, or a mass, inertia or pose is not finite.
    """
    m, mujoco = source.m, source.mujoco
    top, captured = np.asarray(m.body_weldid), captured_bodies(source)
    if not np.any(~np.isin(top, captured) & (top > 0)):
        what = "none of its bodies can move" if m.nbody > 1 else "has no body besides the world"
        remedy = "give it a body with a joint"
        if source.origin.urdf:
            remedy += ", or free its root link by floating=True (--floating)"
        raise InputError(source.path, what, remedy)
    data = mujoco.MjData(m)
    mujoco.mj_kinematics(m, data)
    for body in range(m.nbody):
        numbers = (m.body_mass[body], *m.body_inertia[body], *data.xipos[body])
        if not np.isfinite(numbers).all():
            label = source.label("body", body)
            raise InputError(
                source.path, f"{label}: mass, inertia or place is not finite", "correct it"
            )
    body = np.where(nodes, NOWHERE, 0).astype(np.int32)
    position, rotation = np.array(data.xpos), np.array(data.xmat).reshape(-1, 3, 3)
    position[nodes], rotation[nodes] = 0.0, np.eye(3)
    index = 0
    for first in np.unique(top[(top > 0) & ~nodes]):
        name = source.name("body", first) or source.unused_name("body", f"body{index + 1}")
        parts = np.flatnonzero(top == first)
        if first in captured:
            # The mass of a fixed body has no effect, so it keeps the file's frame.
            origin, axes = position[first].copy(), rotation[first].copy()
            index = builder.add_fixed(origin, to_quaternion(axes), name)
            body[parts] = index
            position[parts] = (position[parts] - origin) @ axes
            rotation[parts] = axes.T @ rotation[parts]
            continue
        axes = rotation[first].copy()
        principal = data.ximat[parts].reshape(-1, 3, 3)
        inertias = np.einsum("nij,nj,nkj->nik", principal, m.body_inertia[parts], principal)
        mass, centre, inertia = combined(m.body_mass[parts], data.xipos[parts], inertias)
        orientation = to_quaternion(axes)
        index = builder.add_body(mass, axes.T @ inertia @ axes, centre, orientation, name=name)
        body[parts] = index
        position[parts] = (position[parts] - centre) @ axes
        rotation[parts] = axes.T @ rotation[parts]
    labels = tuple(source.label("body", index) for index in range(m.nbody))
    return BodyMap(body, position, rotation, labels)


def captured_bodies(source: Source) -> np.ndarray:
    """Return the file's motion-capture bodies, in the order of ``mocap_pos``."""
    number = np.asarray(source.m.body_mocapid)
    captured = np.flatnonzero(number >= 0)
    return captured[np.argsort(number[captured])]


def subtree(source: Source, root: int) -> Bool[np.ndarray, " n"]:
    """Return the mask of ``root`` and its descendants among the file's bodies."""
    within = np.arange(source.m.nbody) == root
    for body in range(root + 1, source.m.nbody):
        within[body] |= within[source.m.body_parentid[body]]
    return within
