"""Compute reference motions with MuJoCo: accelerations with hard equality constraints, and
trajectories with fine steps."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary
Model = Any
Data = Any

SMOOTH = ("CONTACT", "LIMIT", "FRICTIONLOSS")
"""Kinds of constraint that are switched off, so that motion is smooth."""


def smooth(source: Path | str) -> Model:
    """Return MuJoCo's model of a file, or of XML, without contacts, limits and dry friction."""
    kind = mujoco.MjModel
    read = kind.from_xml_string if isinstance(source, str) else kind.from_xml_path
    model = read(str(source))
    for flag in SMOOTH:
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    model.opt.jacobian = int(mujoco.mjtJacobian.mjJAC_DENSE)
    return model


def random_state(
    model: Model, rng: np.random.Generator, spread: float = 0.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random qpos, qvel and ctrl that satisfy the equality constraints to rounding.

    Args:
        model: MuJoCo's model.
        rng: source of the random numbers.
        spread: standard deviation of the displacement from the model's initial position [rad, m].
    """
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, spread * rng.normal(size=model.nv), 1.0)
    for _ in range(20 if model.neq else 0):
        jacobian, error = _equalities(model, data)
        mujoco.mj_integratePos(model, data.qpos, -np.linalg.pinv(jacobian) @ error, 1.0)
    qvel = 2 * rng.normal(size=model.nv)
    if model.neq:
        jacobian, _ = _equalities(model, data)
        qvel -= np.linalg.pinv(jacobian) @ (jacobian @ qvel)
    return data.qpos.copy(), qvel, rng.normal(size=model.nu)


def accelerations(
    model: Model,
    qpos: np.ndarray,
    qvel: np.ndarray,
    ctrl: np.ndarray,
    act: np.ndarray | None = None,
) -> np.ndarray:
    """Return the generalised accelerations of a state.

    Without equality constraints they are ``qacc_smooth``. With them they solve M q̈ − Jᵀλ = f and J
    q̈ = −J̇q̇, where J̇q̇ comes from central differences of MuJoCo's J.

    Args:
        model: MuJoCo's model.
        qpos: coordinates.
        qvel: generalised velocities.
        ctrl: controls of the actuators.
        act: activations of the actuators; those of a new ``MjData`` when None.
    """
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, ctrl
    if act is not None:
        data.act[:] = act
    mujoco.mj_forward(model, data)
    free = data.qacc_smooth.copy()
    if not model.neq:
        return free
    jacobian, _ = _equalities(model, data)
    mass = np.zeros((model.nv, model.nv))
    for column, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, mass[column], unit)
    step, drift = 1e-5, np.zeros(len(jacobian))
    for sign in (1, -1):
        data.qpos[:] = qpos
        mujoco.mj_integratePos(model, data.qpos, qvel, sign * step)
        drift += sign * (_equalities(model, data)[0] @ qvel) / (2 * step)
    inverse = np.linalg.solve(mass, jacobian.T)
    lam = np.linalg.lstsq(jacobian @ inverse, -(jacobian @ free + drift), rcond=1e-10)[0]
    return free + inverse @ lam


def _equalities(model: Model, data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jacobian and the violation of the equality constraints at ``data.qpos``."""
    mujoco.mj_fwdPosition(model, data)
    return data.efc_J.reshape(-1, model.nv).copy(), data.efc_pos.copy()


def trajectory(
    model: Model, qpos: np.ndarray, qvel: np.ndarray, ctrl: np.ndarray, duration: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return qpos and qvel after ``duration``, integrated by RK4.

    Without equality constraints the integrator is MuJoCo's, with steps of 50 µs. With them it is a
    classical RK4 with steps of 1 ms on the hard-constrained accelerations.

    Args:
        model: MuJoCo's model.
        qpos: initial coordinates.
        qvel: initial generalised velocities.
        ctrl: controls, constant in time.
        duration: simulated time [s].
    """
    if model.neq:
        return _constrained(model, qpos, qvel, ctrl, duration, round(1e3 * duration))
    model.opt.integrator = int(mujoco.mjtIntegrator.mjINT_RK4)
    model.opt.timestep = 5e-5
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, ctrl
    for _ in range(round(duration / model.opt.timestep)):
        mujoco.mj_step(model, data)
    return data.qpos.copy(), data.qvel.copy()


def _constrained(
    model: Model, qpos: np.ndarray, qvel: np.ndarray, ctrl: np.ndarray, duration: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return qpos and qvel after ``duration`` by the classical RK4, for hinges and slides only.

    Raises:
        ValueError: the model has free joints or balls.
    """
    if model.nq != model.nv:
        raise ValueError("a closed loop with free joints or balls has no reference trajectory")
    h, y = duration / steps, np.concatenate([qpos, qvel])

    def rate(y: np.ndarray) -> np.ndarray:
        q, v = np.split(y, 2)
        return np.concatenate([v, accelerations(model, q, v, ctrl)])

    for _ in range(steps):
        a = rate(y)
        b = rate(y + 0.5 * h * a)
        c = rate(y + 0.5 * h * b)
        d = rate(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    q, v = np.split(y, 2)
    return q, v
