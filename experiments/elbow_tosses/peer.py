"""Simulate the tosses of the elbow in MuJoCo: prediction errors, and a fit by ``mujoco.sysid``."""

import importlib
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from experiments.elbow_tosses.task import LENGTH, MODEL, SUBSTEPS, Judge, Starts
from experiments.sysid_comparison.mujoco_sysid import Motion, MujocoSysid, Number
from jaxccp.identify.cube.fit import interval

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

VALUES = {
    "friction": (0.3, 0.01, 1.5),
    "time constant": (0.02, 0.004, 0.1),
    "damping ratio": (1.0, 0.1, 3.0),
    "second mass": (1.0, 0.5, 2.0),
    "first inertia": (1.0, 0.5, 2.0),
    "second inertia": (1.0, 0.5, 2.0),
    "elbow damping": (1e-4, 0.0, 0.1),
    "elbow friction": (1e-3, 0.0, 0.1),
    "ground height": (0.0, -0.01, 0.01),
    "gravity": (1.0, 0.9, 1.1),
}
"""Initial value and bounds of each parameter; masses, inertias and gravity are factors of the
nominal values."""


def write(name: str, spec: Any, value: float) -> None:
    """Write the value of a parameter into a specification.

    Args:
        name: name of the parameter, a key of VALUES.
        spec: MuJoCo specification of the model; it is changed in place.
        value: value of the parameter.
    """
    geoms = [spec.geom(geom) for geom in ("ground", "first", "second")]
    if name == "friction":
        for geom in geoms:
            geom.friction[0] = value
    elif name in ("time constant", "damping ratio"):
        for geom in geoms:
            geom.solref[("time constant", "damping ratio").index(name)] = value
    elif name == "second mass":
        spec.body("second").mass = 0.37 * value
    elif name.endswith("inertia"):
        spec.body(name.split()[0]).inertia = np.full(3, 6.167e-4 * value)
    elif name == "elbow damping":
        spec.joint("elbow").damping[0] = value
    elif name == "elbow friction":
        spec.joint("elbow").frictionloss = value
    elif name == "ground height":
        spec.geom("ground").pos[2] = value
    else:
        spec.option.gravity = [0.0, 0.0, -9.81 * value]


def distances(judge: Judge, starts: Starts, values: dict[str, float]) -> Float[np.ndarray, "b s"]:
    """Return the mean distance of both boxes from their recorded positions, at each sample after
    the starts of a judge [box lengths].

    Args:
        judge: supplies the initial states and the recorded samples.
        starts: the starts that the judge was made of.
        values: values of the parameters, by name.
    """
    spec = mujoco.MjSpec.from_file(str(MODEL))
    for name, value in values.items():
        write(name, spec, value)
    spec.option.timestep = interval(starts.tosses) / SUBSTEPS
    model = spec.compile()
    data = mujoco.MjData(model)
    rows = judge.batch.take(np.arange(len(judge.batch)))
    out = np.zeros(judge.present.shape)
    for k, (qpos, qvel) in enumerate(zip(*rows.start[:2], strict=True)):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = qpos, qvel
        measured = np.asarray(rows.observed[k])[1:].reshape(-1, 2, 7)[..., :3]
        for sample in np.flatnonzero(judge.present[k]):
            mujoco.mj_step(model, data, SUBSTEPS)
            mujoco.mj_kinematics(model, data)
            away = np.linalg.norm(data.xpos[1:3] - measured[sample], axis=1)
            out[k, sample] = away.mean() / LENGTH
    return out


def fit(judge: Judge, starts: Starts) -> tuple[dict[str, float], int]:
    """Return the values that mujoco.sysid identifies, and the number of simulations of all segments
    that the fit took.

    Args:
        judge: supplies the initial states and the recorded samples.
        starts: the starts that the judge was made of.
    """
    spec = mujoco.MjSpec.from_file(str(MODEL))
    dt = interval(starts.tosses)
    spec.option.timestep = dt / SUBSTEPS
    numbers = [Number(name, *values, write=partial(write, name)) for name, values in VALUES.items()]
    rows, motions = judge.batch.take(np.arange(len(judge.batch))), []
    for k in np.flatnonzero(judge.present.all(axis=1)):
        poses = np.asarray(rows.observed[k]).reshape(-1, 2, 7)
        first, second = (
            Rotation.from_quat(poses[:, body, 3:], scalar_first=True) for body in (0, 1)
        )
        angle = np.unwrap((first.inv() * second).as_rotvec()[:, 1])
        angle += 2 * np.pi * round((rows.start[0][k][7] - angle[0]) / (2 * np.pi))
        time = dt * np.arange(len(poses))
        samples = np.concatenate([poses[:, 0], angle[:, None]], axis=1)
        motions.append(
            Motion(
                f"segment {k}",
                time,
                np.asarray(rows.start[0][k]),
                np.zeros((len(time), 0)),
                samples,
                np.asarray(rows.start[1][k]),
            )
        )
    task = MujocoSysid(spec, numbers, motions, ("first", "elbow"))
    estimate, _ = task.fit()
    return dict(zip(VALUES, map(float, estimate), strict=True)), task.evaluations


def nominal() -> dict[str, float]:
    """Return the initial values of all parameters, by name."""
    return {name: value for name, (value, _, _) in VALUES.items()}
