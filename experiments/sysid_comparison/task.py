"""Define the task of both libraries: recordings of an arm, and the parameters to identify."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

FOLDER = Path(__file__).parent
MODEL = FOLDER / "arm.xml"
SAMPLE = 0.01
"""Time between samples [s]."""
SAMPLES = 150
NOISE = 2e-4
"""Standard deviation of the measured positions [rad]."""
FINE = 1e-4
"""Step length of the simulation that recordings come from [s]."""
AXES = ("yaw", "pitch", "roll", "elbow", "wrist_roll", "wrist_pitch", "wrist_yaw")
ROUGH = 0.25
"""Largest error of the values that fits start from, relative to the true ones."""


@dataclass(frozen=True)
class Quantity:
    """A number to identify, with its names in MuJoCo's specification and in jaxccp."""

    path: str | tuple[str, ...]
    kind: str
    """``body``, ``joint`` or ``actuator``."""
    target: str
    field: str

    @property
    def name(self) -> str:
        """Return a short name of the number."""
        return f"{self.target}.{self.field}"

    def get(self, spec: Any) -> float:
        """Return the number in a specification."""
        value = getattr(getattr(spec, self.kind)(self.target), self.field)
        return float(np.atleast_1d(value)[0])

    def set(self, spec: Any, value: float) -> None:
        """Write the number into a specification."""
        element = getattr(spec, self.kind)(self.target)
        if self.field == "gainprm":  # the gain of a position servo is its stiffness, too
            element.gainprm[0], element.biasprm[1] = value, -value
        elif self.field == "damping":
            element.damping[0] = value
        else:
            setattr(element, self.field, value)


def _joint(name: str, field: str, leaf: str) -> Quantity:
    return Quantity(f'axes["{name}"].{leaf}', "joint", name, field)


QUANTITIES = (
    *(
        Quantity(f'bodies["{name}"].mass', "body", name, "mass")
        for name in ("upper", "fore", "hand")
    ),
    *(_joint(name, "armature", "armature") for name in ("yaw", "wrist_roll")),
    *(_joint(name, "damping", "damping") for name in ("yaw", "elbow")),
    *(_joint(name, "frictionloss", "friction") for name in ("pitch", "elbow")),
    Quantity(
        ('actuators["roll"].gain', 'actuators["roll"].stiffness'), "actuator", "roll", "gainprm"
    ),
)


@dataclass(frozen=True)
class Data:
    """Recordings of motions that begin at rest."""

    time: Float[np.ndarray, " s"]
    control: Float[np.ndarray, "n s 7"]
    """Commanded positions, each held until the next sample [rad]."""
    position: Float[np.ndarray, "n s 7"]
    """Measured positions [rad]."""


def record(count: int, seed: int) -> Data:
    """Return recordings of MuJoCo's simulation in steps of ``FINE``, with noise.

    Args:
        count: number of recordings.
        seed: seed of commands, initial poses and noise.
    """
    rng = np.random.default_rng(seed)
    spec = mujoco.MjSpec.from_file(str(MODEL))
    spec.option.timestep = FINE
    model = spec.compile()
    data = mujoco.MjData(model)
    time = SAMPLE * np.arange(SAMPLES)
    substeps = round(SAMPLE / FINE)
    control, position = np.empty((2, count, SAMPLES, 7))
    for i in range(count):
        control[i] = commands(rng, time)
        mujoco.mj_resetData(model, data)
        data.qpos = data.ctrl = control[i, 0]
        mujoco.mj_step(model, data, 20000)  # until it hangs in its servos
        for k in range(SAMPLES):
            position[i, k] = data.qpos
            data.ctrl = control[i, k]
            mujoco.mj_step(model, data, substeps)
    return Data(time, control, position + NOISE * rng.standard_normal(position.shape))


def commands(rng: np.random.Generator, time: Float[np.ndarray, " s"]) -> Float[np.ndarray, "s 7"]:
    """Return commanded positions [rad]: a constant pose, and after five samples three sines on each
    axis."""
    pose = rng.uniform(-1.0, 1.0, 7)
    run = np.maximum(time - time[5], 0.0)[:, None, None]
    rate = 2.0 * np.pi * rng.uniform(0.5, 4.0, (7, 3))
    size = rng.uniform(-0.25, 0.25, (7, 3))
    return pose + np.sum(size * np.sin(rate * run), axis=2)


def rough(seed: int) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """Return the true values, and those that fits start from.

    Args:
        seed: seed of the errors of the initial values.
    """
    spec = mujoco.MjSpec.from_file(str(MODEL))
    truth = np.array([quantity.get(spec) for quantity in QUANTITIES])
    off = np.random.default_rng(seed).uniform(-ROUGH, ROUGH, len(truth))
    return truth, truth * (1.0 + np.sign(off) * np.maximum(np.abs(off), 0.6 * ROUGH))


def bounds(
    initial: Float[np.ndarray, " p"],
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """Return the smallest and largest values that fits may take."""
    return 0.2 * initial, 5.0 * initial
