"""What all engines have in common: robots, starts, controls, and MuJoCo's settings."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

SEED = 0
NOISE = 0.1
"""Standard deviation of coordinates and rates at the start [m, rad, m/s, rad/s]."""
STEPS = 50
"""Steps of one run of a program."""


class Program(Protocol):
    """Copies of a robot and a program that advances them."""

    compile_seconds: float

    def run(self) -> None:
        """Advance all copies by :data:`STEPS`, and wait for it."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return what the last run tells, by columns of the table."""
        ...


def asset(name: str, folder: str) -> Path:
    """Return the file of one of Brax's models.

    Raises:
        SystemExit: if ``folder`` is empty and brax is not installed.
    """
    if folder:
        return Path(folder) / f"{name}.xml"
    spec = importlib.util.find_spec("brax")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("brax is not installed; its models are needed: pip install brax")
    return Path(spec.submodule_search_locations[0]) / "envs" / "assets" / f"{name}.xml"


def mujoco_model(path: Path, iterations: tuple[int, int]) -> Any:
    """Return MuJoCo's model of a robot, with the settings of MJX and MJWarp.

    Args:
        path: file of the robot.
        iterations: limits of the solver's iterations and of those of the line search in each.
    """
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    # As brax trains them: damping is explicit, so that the inertia is factorised once a step.
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    model.opt.iterations, model.opt.ls_iterations = iterations
    return model


def starts(model: Any, copies: int) -> tuple[jax.Array, jax.Array]:
    """Return random qpos and qvel of every copy, near those of the model."""
    random = np.random.default_rng(SEED)
    qpos = np.tile(model.qpos0, (copies, 1))
    qpos[:, 7:] += NOISE * random.standard_normal((copies, model.nq - 7))
    qvel = NOISE * random.standard_normal((copies, model.nv))
    return jnp.asarray(qpos, jnp.float32), jnp.asarray(qvel, jnp.float32)


def controls(model: Any, copies: int) -> jax.Array:
    """Return random controls within the actuators' limits, shape (steps, copies, nu)."""
    low, high = np.asarray(model.actuator_ctrlrange).T
    random = np.random.default_rng(SEED + 1)
    return jnp.asarray(random.uniform(low, high, (STEPS, copies, model.nu)), jnp.float32)


def remark(*arrays: Any) -> str:
    """Return a note if any number of a state is not finite."""
    finite = all(np.isfinite(np.asarray(array)).all() for array in arrays)
    return "" if finite else "some copies not finite"
