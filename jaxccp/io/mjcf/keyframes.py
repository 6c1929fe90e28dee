"""Keyframes: named states."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from jaxccp.io.mjcf.source import Source


@dataclass(frozen=True)
class Keyframe:
    """Coordinates, rates and controls in MuJoCo's layout."""

    time: float
    """[s]"""
    qpos: Float[np.ndarray, " nq"]
    qvel: Float[np.ndarray, " nv"]
    ctrl: Float[np.ndarray, " nu"]
    act: Float[np.ndarray, " na"]


def keyframes(source: Source) -> dict[str, Keyframe]:
    """Those of the file."""
    m = source.m
    return {
        source.name("key", key) or str(key): Keyframe(
            float(m.key_time[key]),
            np.array(m.key_qpos[key]),
            np.array(m.key_qvel[key]),
            np.array(m.key_ctrl[key]),
            np.array(m.key_act[key]),
        )
        for key in range(m.nkey)
    }
