"""Layout of MuJoCo's coordinates of any model."""

import jax.numpy as jnp
import numpy as np

from jaxccp.model.model import Model
from jaxccp.sensors.coordinates.addresses import Places
from jaxccp.sensors.coordinates.coordinates import Coordinates


def mujoco_coordinates(model: Model) -> Coordinates:
    """Return the layout of a model's coordinates in MuJoCo's arrays.

    Coordinates follow the order of the model's bodies. A free body that no joint places has seven
    in ``qpos``, position and quaternion, and six in ``qvel``, linear in world axes and angular in
    the body's. A body that a joint places has the coordinates of the joint's axes in their order,
    and a ball four and three. Joints that close loops have no coordinates.

    Args:
        model: the model.
    """
    topology = model.topology
    linkage = topology.linkage
    parent_joint: dict[int, int] = {}
    for joint, outwards in zip(*linkage.tree, strict=True):
        parent_joint[int(linkage.bodies[joint, int(outwards)])] = int(joint)
    singles: list[tuple[int, int, int]] = []
    ball_rows: list[tuple[int, int, int]] = []
    free_rows: list[tuple[int, int, int]] = []
    nq = nv = 0
    for body in np.flatnonzero(topology.free).tolist():
        if body not in parent_joint:
            free_rows.append((nq, nv, body))
            nq, nv = nq + 7, nv + 6
            continue
        axes = linkage.slots[parent_joint[body]]
        axes = axes[axes < len(linkage.axes)].tolist()
        balls = [axis for axis in axes if linkage.motions[axis] == "ball"]
        for axis in axes[: len(axes) - len(balls)]:
            singles.append((nq, nv, axis))
            nq, nv = nq + 1, nv + 1
        if balls:
            ball_rows.append((nq, nv, balls[0]))
            nq, nv = nq + 4, nv + 3
    actuators = np.arange(len(linkage.actuators), dtype=np.int32)
    actuators_ = () if model.activations is None else model.activations.actuators
    activations = np.arange(len(actuators_), dtype=np.int32)
    dtype = model.gravity.dtype
    return Coordinates(
        jnp.zeros(len(singles), dtype),
        jnp.zeros((len(ball_rows), 4), dtype).at[:, 0].set(1.0),
        jnp.zeros((len(free_rows), 3), dtype),
        Places(
            *(
                nq,
                nv,
                len(actuators),
                _table(singles),
                _table(ball_rows),
                _table(free_rows),
                actuators,
            ),
            *(len(actuators_), activations, np.zeros(0, np.int32), np.zeros((4, 0), np.int32)),
            *(linkage.actuators, tuple(linkage.actuators[i] for i in actuators_)),
        ),
    )


def _table(rows: list[tuple[int, int, int]]) -> np.ndarray:
    return np.array(rows, np.int32).reshape(-1, 3).T
