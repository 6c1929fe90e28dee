"""State the identification of the pushed box for ``mujoco.sysid``, with the contact model that
generated the recordings."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.pushed_object.task import AXES, MODEL, START, TRUTH
from experiments.sysid_comparison.mujoco_sysid import Motion, MujocoSysid, Number
from jaxccp.identify import Recording

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary


def peer(recordings: Sequence[Recording], h: float) -> MujocoSysid:
    """Return the identification as ``mujoco.sysid`` states it.

    Args:
        recordings: recordings of pushes.
        h: step length of simulations [s].
    """
    spec = mujoco.MjSpec.from_file(str(MODEL))
    spec.option.timestep = h
    numbers = [
        Number(name, factor * true, 0.1 * true, 5.0 * true, WRITE[name])
        for (name, true), factor in zip(TRUTH.items(), START, strict=True)
    ]
    motions = []
    for recording in recordings:
        control = np.concatenate([recording[f'control["{name}"]'].values for name in AXES], axis=1)
        channels = [recording[f'position["{name}"]'].values for name in AXES]
        samples = np.concatenate([*channels, recording['pose["box"]'].values], axis=1)
        start = samples[:5].mean(axis=0)  # at rest
        motions.append(Motion(recording.name, recording.time, start, control, samples))
    return MujocoSysid(spec, numbers, motions, (*AXES, "box"))


def _mass(spec: Any, value: float) -> None:
    spec.body("box").mass = value


def _floor(spec: Any, value: float) -> None:
    spec.geom("floor").friction[0] = value


def _tip(spec: Any, value: float) -> None:
    spec.geom("tip").friction[0] = value


def _gain(spec: Any, value: float) -> None:
    for name in AXES:
        actuator = spec.actuator(name)
        actuator.gainprm[0], actuator.biasprm[1] = value, -value


def _damping(spec: Any, value: float) -> None:
    for name in AXES:
        spec.joint(name).damping[0] = value


def _friction(spec: Any, value: float) -> None:
    for name in AXES:
        spec.joint(name).frictionloss = value


WRITE = dict(zip(TRUTH, (_mass, _floor, _tip, _gain, _damping, _friction), strict=True))
