"""The pushes in ``mujoco.sysid``, whose contact is that of the simulation they come from."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from experiments.pushed_object.task import AXES, MODEL, START, TRUTH
from jaxccp.identify import Recording

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary


def fit(recordings: Sequence[Recording], h: float) -> tuple[Float[np.ndarray, " p"], int]:
    """Return identified values, and how many simulations of all recordings they took.

    Args:
        recordings: of pushes.
        h: step of simulations [s].
    """
    from experiments.sysid_comparison.peer import held

    sysid: Any = importlib.import_module("mujoco.sysid")
    spec = mujoco.MjSpec.from_file(str(MODEL))
    spec.option.timestep = h
    model = spec.compile()
    known = sysid.ParameterDict()
    for (name, true), factor in zip(TRUTH.items(), START, strict=True):
        known.add(
            sysid.Parameter(name, factor * true, 0.1 * true, 5.0 * true, modifier=WRITE[name])
        )
    box, mapping = "box_qpos", sysid.TimeSeries.compute_all_control_mapping(model)
    names = [(name, sysid.SignalType.MjStateQPos) for name in ("along_qpos", "across_qpos", box)]
    starts, commands, measured = [], [], []
    for one in recordings:
        control = np.concatenate([one[f'control["{name}"]'].values for name in AXES], axis=1)
        channels = [one[f'position["{name}"]'].values for name in AXES]
        samples = np.concatenate([*channels, one['pose["box"]'].values], axis=1)
        starts.append(sysid.create_initial_state(model, samples[:5].mean(axis=0), np.zeros(8)))
        commands.append(held(one.time, control, h, mapping))
        measured.append(sysid.TimeSeries.from_names(one.time, samples, model, names))
    sequences = sysid.ModelSequences(
        "push",
        spec,
        [one.name for one in recordings],
        starts,
        commands,
        measured,
        allow_missing_sensors=True,
    )
    residual, count = sysid.build_residual_fn(models_sequences=[sequences]), [0]

    def counted(x: Float[np.ndarray, "..."], parameters: Any) -> tuple:
        count[0] += 1 if x.ndim == 1 else x.shape[1]
        return residual(x, parameters)

    found, _ = sysid.optimize(known, counted, verbose=False, max_iters=20)
    return found.as_vector(), count[0]


def _mass(spec: Any, known: Any) -> None:
    spec.body("box").mass = float(known.value[0])


def _floor(spec: Any, known: Any) -> None:
    spec.geom("floor").friction[0] = float(known.value[0])


def _tip(spec: Any, known: Any) -> None:
    spec.geom("tip").friction[0] = float(known.value[0])


def _gain(spec: Any, known: Any) -> None:
    for name in AXES:
        actuator = spec.actuator(name)
        actuator.gainprm[0], actuator.biasprm[1] = float(known.value[0]), -float(known.value[0])


def _damping(spec: Any, known: Any) -> None:
    for name in AXES:
        spec.joint(name).damping[0] = float(known.value[0])


def _friction(spec: Any, known: Any) -> None:
    for name in AXES:
        spec.joint(name).frictionloss = float(known.value[0])


WRITE = dict(zip(TRUTH, (_mass, _floor, _tip, _gain, _damping, _friction), strict=True))
