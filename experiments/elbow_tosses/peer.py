"""The same tosses in MuJoCo: errors with any parameters, and a fit by ``mujoco.sysid``."""

import importlib
from typing import Any

import numpy as np
from jaxtyping import Float

from experiments.elbow_tosses.task import LENGTH, MODEL, SUBSTEPS, Judge, Starts
from jaxccp.identify.cube import interval

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
"""Initial, least and greatest value of each parameter; masses and inertias as factors."""


def write(spec: Any, name: str, value: float) -> None:
    """Write the value of a parameter into a specification.

    Args:
        spec: of the nominal model.
        name: of the parameter.
        value: of it.
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
    """Return the mean distance of both boxes from where they were recorded, at each sample after
    the starts of a judge [lengths].

    Args:
        judge: whose starts and samples are taken.
        starts: that it was made of.
        values: of the parameters, by name.
    """
    spec = mujoco.MjSpec.from_file(str(MODEL))
    for name, value in values.items():
        write(spec, name, value)
    spec.option.timestep = interval(starts.tosses) / SUBSTEPS
    model = spec.compile()
    data = mujoco.MjData(model)
    rows = judge.batch.take(np.arange(len(judge.batch)))
    out = np.zeros(judge.present.shape)
    for k, (qpos, qvel) in enumerate(zip(rows.qpos, rows.qvel, strict=True)):
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
    """Return the values that mujoco.sysid identifies, and how many simulations of all segments they
    took.

    Args:
        judge: whose starts and samples are taken.
        starts: that it was made of.
    """
    sysid: Any = importlib.import_module("mujoco.sysid")
    spec = mujoco.MjSpec.from_file(str(MODEL))
    dt = interval(starts.tosses)
    spec.option.timestep = dt / SUBSTEPS
    for body in ("first", "second"):
        for axis in ("pos", "quat"):
            kind = getattr(mujoco.mjtSensor, f"mjSENS_FRAME{axis.upper()}")
            spec.add_sensor(
                name=f"{body} {axis}", type=kind, objtype=mujoco.mjtObj.mjOBJ_XBODY, objname=body
            )
    model = spec.compile()
    known = sysid.ParameterDict()
    for name, (value, low, high) in VALUES.items():

        def put(spec: Any, parameter: Any, name=name) -> None:
            write(spec, name, float(parameter.value[0]))

        known.add(sysid.Parameter(name, value, low, high, modifier=put))
    rows = judge.batch.take(np.arange(len(judge.batch)))
    full = [k for k in range(len(judge.batch)) if judge.present[k].all()]
    measured, initial, commands = [], [], []
    names = [f"{body} {axis}" for body in ("first", "second") for axis in ("pos", "quat")]
    for k in full:
        samples = np.asarray(rows.observed[k])
        time = dt * np.arange(len(samples))
        initial.append(sysid.create_initial_state(model, rows.qpos[k], rows.qvel[k]))
        commands.append(sysid.TimeSeries(time, np.zeros((len(time), 0)), {}))
        measured.append(
            sysid.TimeSeries.from_names(
                time, samples, model, [(name, sysid.SignalType.MjSensor) for name in names]
            )
        )
    sequences = sysid.ModelSequences(
        "elbow", spec, [f"segment {k}" for k in full], initial, commands, measured
    )
    compare, count = sysid.build_residual_fn(models_sequences=[sequences]), [0]

    def counted(x: Float[np.ndarray, "..."], parameters: Any) -> tuple:
        count[0] += 1 if x.ndim == 1 else x.shape[1]
        return compare(x, parameters)

    found, _ = sysid.optimize(known, counted, verbose=False)
    return dict(zip(VALUES, map(float, found.as_vector()), strict=True)), count[0]


def nominal() -> dict[str, float]:
    """Return the values of the file."""
    return {name: value for name, (value, _, _) in VALUES.items()}
