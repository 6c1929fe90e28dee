"""Compute MuJoCo's motions: contacts of a given stiffness, random initial states, and falls."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary
Model = Any
Data = Any


@dataclass(frozen=True)
class Contact:
    """Stiffness and damping of MuJoCo's contacts and limits, and the step that goes with them."""

    timestep: float
    """Length of a step [s]."""
    time_constant: float
    """``solref`` [s]: twice the timestep is the stiffest that MuJoCo allows."""
    damping_ratio: float
    """1 is critical, yet bodies bounce at 0.13 of the speed of the impact: the force, which cannot
    pull, ends before they stand still. With 5 the ratio is 0.01."""


STIFF = Contact(5e-5, 1e-4, 5.0)
CONTACTS = {
    "stiff": STIFF,
    "10 × softer": Contact(5e-5, 1e-3, 5.0),
    "bouncing": Contact(5e-5, 1e-4, 1.0),
    "as the file has it": None,
}


@dataclass(frozen=True)
class Motion:
    """The motion from one initial state."""

    com: np.ndarray
    """Centre of mass of all bodies at equal intervals, the start included, shape (k, 3) [m]."""
    penetration: float
    """Deepest penetration of any contact [m]."""
    limit_violation: float
    """Largest distance of any coordinate beyond its limit [m, rad]."""


def compiled(path: Path, contact: Contact | None) -> Model:
    """Load a model and set its contacts, with margins and gaps of 0.

    With ``contact`` None everything else is left as it is in the file.
    """
    model = mujoco.MjModel.from_xml_path(str(path))
    model.geom_margin[:] = model.geom_gap[:] = 0.0
    if contact is None:
        return model
    model.opt.timestep = contact.timestep
    model.opt.integrator = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
    model.opt.solver = int(mujoco.mjtSolver.mjSOL_NEWTON)
    model.opt.cone = int(mujoco.mjtCone.mjCONE_ELLIPTIC)
    model.opt.impratio = 100.0
    model.opt.iterations, model.opt.tolerance = 200, 1e-12
    for part in ("geom", "jnt"):
        getattr(model, f"{part}_solref")[:] = contact.time_constant, contact.damping_ratio
        getattr(model, f"{part}_solimp")[:] = 0.9999, 0.9999, 0.001, 0.5, 2.0
    return model


def random_states(
    model: Model, rng: np.random.Generator, count: int, drop: tuple[float, float]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return random initial states without contact, as pairs of qpos and qvel.

    Joints are uniform in the middle 80 % of their range, the root is slightly rotated, and
    velocities are normal.

    Args:
        model: the robot.
        rng: random generator.
        count: number of states.
        drop: range of the height of the lowest point above the floor [m].
    """
    data, states = mujoco.MjData(model), []
    while len(states) < count:
        mujoco.mj_resetData(model, data)
        tilt = np.zeros(model.nv)
        tilt[[dof for dof in range(model.nv) if _turns_root(model, dof)]] = 0.3
        mujoco.mj_integratePos(model, data.qpos, tilt * rng.normal(size=model.nv), 1.0)
        for joint in np.flatnonzero(model.jnt_limited):
            lo, hi = model.jnt_range[joint]
            share = rng.uniform(0.1, 0.9)
            data.qpos[model.jnt_qposadr[joint]] = (1 - share) * lo + share * hi
        data.qpos[_height(model)] += 10.0
        mujoco.mj_forward(model, data)
        data.qpos[_height(model)] += rng.uniform(*drop) - lowest(model, data)
        qvel = 0.5 * rng.normal(size=model.nv)
        mujoco.mj_forward(model, data)
        if not data.ncon:
            states.append((data.qpos.copy(), qvel))
    return states


def _turns_root(model: Model, dof: int) -> bool:
    joint = model.dof_jntid[dof]
    kind, kinds = model.jnt_type[joint], mujoco.mjtJoint
    if kind == int(kinds.mjJNT_FREE):
        return dof - model.jnt_dofadr[joint] > 2
    return kind == int(kinds.mjJNT_HINGE) and not model.jnt_limited[joint]


def _height(model: Model) -> int:
    """Return the index in qpos of the coordinate that lifts the whole robot."""
    if model.jnt_type[0] == int(mujoco.mjtJoint.mjJNT_FREE):
        return 2
    upright = np.abs(model.jnt_axis[:, 2]) * (model.jnt_type == int(mujoco.mjtJoint.mjJNT_SLIDE))
    return int(model.jnt_qposadr[np.argmax(upright)])


def lowest(model: Model, data: Data) -> float:
    """Return the height of the lowest point that can touch the floor, which is a plane at 0 [m]."""
    floor = int(np.flatnonzero(model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE))[0])
    moving = np.flatnonzero(model.geom_bodyid > 0)
    collides = (model.geom_contype[floor] & model.geom_conaffinity[moving]) | (
        model.geom_contype[moving] & model.geom_conaffinity[floor]
    )
    return min(
        mujoco.mj_geomDistance(model, data, floor, int(geom), 100.0, None)
        for geom in moving[collides != 0]
    )


def motion(
    model: Model,
    qpos: np.ndarray,
    qvel: np.ndarray,
    duration: float,
    every: float,
    ctrl: np.ndarray | float = 0.0,
) -> Motion:
    """Simulate and record a motion under constant controls.

    Args:
        model: the robot.
        qpos: initial coordinates.
        qvel: initial velocities.
        duration: duration [s].
        every: time between records of the centre of mass [s].
        ctrl: controls.
    """
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, ctrl
    time, com, passed = [], [], []
    penetration, instants = 0.0, np.linspace(0.0, duration, round(duration / every) + 1)
    while not time or time[-1] < duration:
        if not time or data.time > time[-1] + 0.5 * every:
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            time.append(data.time)
            com.append(data.subtree_com[0].copy())
            passed.append(data.qpos.copy())
        mujoco.mj_step(model, data)
        if data.ncon:
            penetration = max(penetration, -data.contact.dist.min())
    path = np.stack([np.interp(instants, time, row) for row in np.transpose(com)], axis=1)
    return Motion(path, penetration, limit_violation(model, np.array(passed)))


def limit_violation(model: Model, qpos: np.ndarray) -> float:
    """Return how far any hinge or slide is past its limit in the rows of ``qpos`` [m, rad]."""
    limited = np.flatnonzero(model.jnt_limited)
    at, (lo, hi) = qpos[:, model.jnt_qposadr[limited]], model.jnt_range[limited].T
    return max(0.0, float(np.max(np.maximum(at - hi, lo - at))))
