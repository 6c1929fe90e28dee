"""Addresses of a model's coordinates in MuJoCo's arrays."""

from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Places(ByContent):
    """Addresses of a model's coordinates; static. Coordinates are in ``qpos``, rates in ``qvel``
    and ``qacc``."""

    nq: int
    """Length of ``qpos``."""
    nv: int
    """Length of ``qvel``."""
    nu: int
    """Length of ``ctrl``."""
    single: np.ndarray
    """Addresses of coordinate and rate, and axis, of hinges, slides and the shifts of free joints
    [3 n]."""
    ball: np.ndarray
    """Addresses of coordinate and rate, and first axis, of balls and the rotations of free joints
    [3 n]."""
    free: np.ndarray
    """Addresses of coordinate and rate, and body, of bodies that no joint places [3 n]."""
    control: np.ndarray
    """Address in ``ctrl`` of each actuator's control."""
    na: int
    """Length of ``act``."""
    activation: np.ndarray
    """Address in ``act`` of each activation."""
    mocap_bodies: np.ndarray
    """Fixed bodies that motion capture places."""
    nodes: np.ndarray
    """Family, address of coordinate and rate, and number among the family's velocities of nodes [4
    n]; a coordinate is 0 where the node starts."""
    control_names: tuple[str, ...]
    """Actuator of each entry of ``ctrl``."""
    activation_names: tuple[str, ...]
    """Actuator of each entry of ``act``."""


def address_range(start: np.ndarray, length: int) -> np.ndarray:
    """Return consecutive addresses [n length] from their first ones."""
    return start[:, None] + np.arange(length)
