"""Addresses of a model's coordinates in MuJoCo's arrays."""

from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Places(ByContent):
    """Addresses of a model's coordinates in ``qpos``, and of its rates in ``qvel`` and ``qacc``;
    static."""

    nq: int
    """Length of ``qpos``."""
    nv: int
    """Length of ``qvel``."""
    nu: int
    """Length of ``ctrl``."""
    single: np.ndarray
    """Address of the coordinate, address of the rate, and axis; for each hinge, slide and
    translation axis of a free joint [3 n]."""
    ball: np.ndarray
    """Address of the quaternion, address of the angular velocity, and first axis; for each ball
    joint and rotation of a free joint [3 n]."""
    free: np.ndarray
    """Address of the pose, address of the velocity, and body; for each body that no joint places [3
    n]."""
    control: np.ndarray
    """Address in ``ctrl`` of each actuator of the model."""
    na: int
    """Length of ``act``."""
    activation: np.ndarray
    """Address in ``act`` of each activation of the model."""
    mocap_bodies: np.ndarray
    """Fixed bodies that are placed by motion capture (``mocap_pos``, ``mocap_quat``)."""
    nodes: np.ndarray
    """Family, address of the coordinate, address of the rate, and index among the family's
    velocities; for each coordinate of a node [4 n]. The coordinate is the displacement of the node
    from its initial position."""
    control_names: tuple[str, ...]
    """Name of the actuator at each entry of ``ctrl``."""
    activation_names: tuple[str, ...]
    """Name of the actuator at each entry of ``act``."""


def address_range(start: np.ndarray, length: int) -> np.ndarray:
    """Return ranges of ``length`` consecutive addresses, given the first address of each [n
    length]."""
    return start[:, None] + np.arange(length)
