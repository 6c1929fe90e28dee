"""Bodies: those without a joint are one with their parent, and frames go to centres of mass; those
of motion capture are fixed."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.source import Source
from jaxccp.scene.builder import ModelBuilder
from jaxccp.scene.frames import to_matrix, to_quaternion

NOWHERE = -1
"""Our body where one of the file's is none of ours: a node inside a flexible body."""


@dataclass(frozen=True)
class Frames:
    """Frames say where the file's bodies are in ours; ours have the axes of the topmost of those in
    them."""

    body: Int[np.ndarray, " n"]
    """Ours, of each of the file's; ``NOWHERE`` if none."""
    position: Float[np.ndarray, "n 3"]
    """Of the file's frame, from our centre of mass in our axes [m]."""
    rotation: Float[np.ndarray, "n 3 3"]
    labels: tuple[str, ...]
    """What to call them in messages."""

    def point(self, body: int, local: np.ndarray) -> np.ndarray:
        """A point given in the file's frame of a body, in our body's."""
        return self.position[body] + self.rotation[body] @ local

    def pose(self, body: int, local: np.ndarray, quaternion: np.ndarray) -> tuple:
        """Position and quaternion of a frame given in the file's frame of a body, in our body's.

        Raises ``ValueError`` for one that is not finite.
        """
        if not np.isfinite([*local, *quaternion]).all():
            raise ValueError(
                f"a frame in {self.labels[body]} is not finite, but at {local}, {quaternion}"
            )
        facing = to_quaternion(self.rotation[body] @ to_matrix(quaternion))
        return self.point(body, local), facing


def add_bodies(source: Source, builder: ModelBuilder, nodes: Bool[np.ndarray, " n"]) -> Frames:
    """Add the bodies where they are at ``qpos0``, but for those that are ``nodes`` of flexible
    bodies: they are ``NOWHERE`` as yet."""
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
    for first in np.unique(top[(top > 0) & ~nodes]):
        parts = np.flatnonzero(top == first)
        if first in captured:
            # Nothing weighs on what does not move: its frame is the file's.
            name, turned = source.name("body", first) or None, rotation[first].copy()
            here = position[first].copy()
            body[parts] = builder.add_fixed(here, to_quaternion(turned), name)
            position[parts] = (position[parts] - here) @ turned
            rotation[parts] = turned.T @ rotation[parts]
            continue
        axes = rotation[first].copy()
        mass = m.body_mass[parts]
        centre = mass @ data.xipos[parts] / max(mass.sum(), np.finfo(float).tiny)
        principal = data.ximat[parts].reshape(-1, 3, 3)
        inertia = inertia_about(centre, mass, principal, m.body_inertia[parts], data.xipos[parts])
        index = builder.add_body(
            float(mass.sum()),
            axes.T @ inertia @ axes,
            centre,
            to_quaternion(axes),
            name=source.name("body", first) or None,
        )
        body[parts] = index
        position[parts] = (position[parts] - centre) @ axes
        rotation[parts] = axes.T @ rotation[parts]
    labels = tuple(source.label("body", index) for index in range(m.nbody))
    return Frames(body, position, rotation, labels)


def captured_bodies(source: Source) -> np.ndarray:
    """Bodies of the file that motion capture places, in the order of their poses."""
    number = np.asarray(source.m.body_mocapid)
    own = np.flatnonzero(number >= 0)
    return own[np.argsort(number[own])]


def subtree(source: Source, root: int) -> Bool[np.ndarray, " n"]:
    """Return which of the file's bodies hang on ``root``, itself included."""
    within = np.arange(source.m.nbody) == root
    for body in range(root + 1, source.m.nbody):
        within[body] |= within[source.m.body_parentid[body]]
    return within


def inertia_about(
    point: Float[np.ndarray, "3"],
    mass: Float[np.ndarray, " n"],
    axes: Float[np.ndarray, "n 3 3"],
    moments: Float[np.ndarray, "n 3"],
    centres: Float[np.ndarray, "n 3"],
) -> Float[np.ndarray, "3 3"]:
    """Return the inertia of several bodies about a common point [kg m²], by their principal axes
    (columns) and moments; all are in the same axes."""
    total = np.zeros((3, 3))
    for weight, facing, own, arm in zip(mass, axes, moments, centres - point, strict=True):
        shift = (arm @ arm) * np.eye(3) - np.outer(arm, arm)
        total += (facing * own) @ facing.T + weight * shift
    return 0.5 * (total + total.T)
