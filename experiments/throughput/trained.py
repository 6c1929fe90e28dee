"""Load the robots of brax and MuJoCo Playground for training, of which few shapes collide."""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import EulerImplicitLinearized, Stop, load

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

NOISE = 0.1
"""Standard deviation of coordinates and rates at the start [m, rad, m/s, rad/s]."""
REACH = 0.3
"""Largest distance of commanded positions from those of the initial pose [rad]."""


@dataclass(frozen=True)
class Trained:
    """A robot's file, and the settings with which MJX simulates it in training."""

    package: str
    file: str
    """Path of the file in the package."""
    iterations: int
    """Number of iterations of MJX's solver in training."""
    line_search: int
    """Number of steps of MJX's line search in training."""
    install: str
    """Arguments of ``pip install`` that install the package."""
    explicit_damping: bool = False
    """Whether the training code, not the file, makes MuJoCo's damping explicit."""


def _brax(name: str, iterations: int, line_search: int, explicit_damping: bool = False) -> Trained:
    file, install = f"envs/assets/{name}.xml", "--no-deps brax"
    return Trained("brax", file, iterations, line_search, install, explicit_damping)


def _playground(name: str, iterations: int) -> Trained:
    file = f"_src/locomotion/{name}/xmls/scene_mjx_feetonly_flat_terrain.xml"
    return Trained("mujoco_playground", file, iterations, 5, "--no-deps playground")


ROBOTS = {
    "ant": _brax("ant", 1, 4, explicit_damping=True),
    "humanoid": _brax("humanoid", 1, 4, explicit_damping=True),
    "hopper": _brax("hopper", 4, 50),
    "walker2d": _brax("walker2d", 4, 50),
    "half_cheetah": _brax("half_cheetah", 4, 50),
    "go1": _playground("go1", 1),
    "berkeley_humanoid": _playground("berkeley_humanoid", 3),
}
"""Robots by name; iterations and damping of ant and humanoid are those that brax sets in its code,
those of the others come from their files."""


def written(name: str, folder: Path) -> Path:
    """Write the file of a robot as it is trained, without its meshes, which are only visual.

    Args:
        name: one of :data:`ROBOTS`.
        folder: folder to write to.

    Returns:
        The path of the file.

    Raises:
        SystemExit: the package that has the file is not installed.
    """
    robot = ROBOTS[name]
    package = importlib.util.find_spec(robot.package)
    if package is None or not package.submodule_search_locations:
        raise SystemExit(f"{robot.package} has the file of {name}: pip install {robot.install}")
    root = Path(package.submodule_search_locations[0])
    spec = mujoco.MjSpec.from_file(str(root / robot.file))
    for geom in list(spec.geoms):
        if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
            spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    if robot.explicit_damping:
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    spec.compile()
    path = folder / f"{name}.xml"
    path.write_text(spec.to_xml(), encoding="utf-8")
    return path


def reference(path: Path) -> Any:
    """Return MuJoCo's model of a file, with one evaluation of the dynamics per step, as jaxccp
    has."""
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    return model


def starts(model: Any, copies: int) -> tuple[np.ndarray, np.ndarray]:
    """Return initial coordinates and velocities of all copies [copies nq], [copies nv].

    The pose is the first key of the file, or else the model's default, with noise in the joints.

    Args:
        model: MuJoCo's model.
        copies: number of copies.
    """
    random = np.random.default_rng(0)
    rest = model.key_qpos[0] if model.nkey else model.qpos0
    root = 7 if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE else 3
    qpos = np.tile(rest, (copies, 1))
    qpos[:, root:] += NOISE * random.standard_normal((copies, model.nq - root))
    return qpos, NOISE * random.standard_normal((copies, model.nv))


def controls(model: Any, copies: int, steps: int) -> np.ndarray:
    """Return random controls of all copies and steps [steps copies nu].

    They are within the limits of motors, or are positions near those of the first key.

    Args:
        model: MuJoCo's model.
        copies: number of copies.
        steps: number of steps.
    """
    low, high = model.actuator_ctrlrange.T
    if model.nkey:
        rest = model.key_ctrl[0]
        low, high = np.maximum(low, rest - REACH), np.minimum(high, rest + REACH)
    return np.random.default_rng(1).uniform(low, high, (steps, copies, model.nu))


class Copies:
    """Copies of a robot in jaxccp, in single precision.

    Attributes:
        layout: order of the coordinates and controls in MuJoCo.
        carry: carry from which a step of each copy starts.
        drive: controls of all steps and copies.
    """

    def __init__(self, path: Path, copies: int, steps: int, stop: Stop) -> None:
        """Place the copies in their initial states.

        Args:
            path: path of the robot's file.
            copies: number of copies.
            steps: number of steps that have controls.
            stop: stopping criterion of the solver.
        """
        model, loaded = reference(path), load(path, allow_unsupported=True)
        self.model, self.layout = loaded.model, loaded.layout
        self.stepper = EulerImplicitLinearized(loaded.timestep, stop=stop)
        place = jax.vmap(lambda q, v: self.layout.state(loaded.model, loaded.state, q, v))
        state = jax.jit(place)(*(jnp.asarray(x, jnp.float32) for x in starts(model, copies)))
        self.carry = jax.jit(jax.vmap(lambda s: self.stepper.init(loaded.model, s)))(state)
        drive = jnp.asarray(controls(model, copies, steps), jnp.float32)
        self.drive = jax.jit(jax.vmap(jax.vmap(self.layout.control)))(drive)

    def advance(self, carry: Any, control: jax.Array, mapping: Callable = jax.vmap) -> Any:
        """Return the carry of all copies after a step.

        Args:
            carry: carry of all copies.
            control: controls of all copies.
            mapping: transformation that maps a function of one copy over all copies.
        """
        return mapping(lambda c, u: self.stepper.advance(self.model, c, None, u)[0])(carry, control)

    def rollout(self, carry: Any, drive: jax.Array) -> Any:
        """Return the carry of all copies after one step with each of the controls."""
        return jax.lax.scan(lambda c, u: (self.advance(c, u), None), carry, drive)[0]
