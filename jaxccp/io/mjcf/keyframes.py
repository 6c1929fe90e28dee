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
    mpos: Float[np.ndarray, "n 3"]
    """Of the bodies of motion capture [m]."""
    mquat: Float[np.ndarray, "n 4"]


def keyframes(source: Source) -> dict[str, Keyframe]:
    """Return the keyframes of the file."""
    m = source.m
    return {
        source.name("key", key) or str(key): Keyframe(
            float(m.key_time[key]),
            np.array(m.key_qpos[key]),
            np.array(m.key_qvel[key]),
            np.array(m.key_ctrl[key]),
            np.array(m.key_act[key]),
            np.array(m.key_mpos[key]).reshape(-1, 3),
            np.array(m.key_mquat[key]).reshape(-1, 4),
        )
        for key in range(m.nkey)
    }
