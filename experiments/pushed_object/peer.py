"""The pushes in ``mujoco.sysid``, whose contact is that of the simulation they come from."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.pushed_object.task import AXES, MODEL, START, TRUTH
from experiments.sysid_comparison.mujoco_sysid import Motion, MujocoSysid, Number
from jaxccp.identify import Recording

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary


def peer(recordings: Sequence[Recording], h: float) -> MujocoSysid:
    """Return the task.

    Args:
        recordings: of pushes.
        h: step of simulations [s].
    """
    spec = mujoco.MjSpec.from_file(str(MODEL))
    spec.option.timestep = h
    numbers = [
        Number(name, factor * true, 0.1 * true, 5.0 * true, WRITE[name])
        for (name, true), factor in zip(TRUTH.items(), START, strict=True)
    ]
    motions = []
    for one in recordings:
        control = np.concatenate([one[f'control["{name}"]'].values for name in AXES], axis=1)
        channels = [one[f'position["{name}"]'].values for name in AXES]
        samples = np.concatenate([*channels, one['pose["box"]'].values], axis=1)
        start = samples[:5].mean(axis=0)  # at rest
        motions.append(Motion(one.name, one.time, start, control, samples))
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
