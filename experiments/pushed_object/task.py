"""Record a finger that pushes a box, simulated by MuJoCo, and state what is identified."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

import jaxccp
from jaxccp.identify import Parameter, Problem, Recording, Simulate, recording

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

FOLDER = Path(__file__).parent
MODEL = FOLDER / "push.xml"
SAMPLE = 0.01
"""Time between samples [s]."""
SAMPLES = 80
NOISE = 2e-4
"""Standard deviation of positions [m], and of the displacement that an error of orientation causes
at half the box's width."""
LEVER = 0.05
AXES = ("along", "across")

TRUTH = {
    'bodies["box"].mass': 0.6,
    'shapes["floor"].friction': 0.35,
    'shapes["tip"].friction': 0.6,
    'actuators["along"].gain (and 3 alike)': 500.0,
    'axes["along"].damping (and 1 alike)': 6.0,
    'axes["along"].friction (and 1 alike)': 0.3,
}
"""True values of the parameters, with which the recordings were simulated, by name."""
PEER_ITERATIONS = 20
"""Largest number of iterations of mujoco.sysid, with which its result was measured; left to itself
it takes up to 200."""
START = (1.25, 0.8, 0.75, 0.8, 1.25, 0.75)
"""Values that fits start from, relative to the true ones."""


def path_of_finger(
    rng: np.random.Generator, time: Float[np.ndarray, " s"], slow: bool
) -> Float[np.ndarray, "s 2"]:
    """Return commanded positions of the finger [m]: a push beside the box's middle, back, and
    again.

    Args:
        rng: source of amplitude, frequency and place of the push.
        time: times of the commands [s].
        slow: whether the push is slow, so that the box has little momentum.
    """
    run = np.maximum(time - 0.05, 0.0)
    if slow:
        along = 0.045 + 0.06 * run
    else:
        reach, rate = rng.uniform(0.09, 0.15), rng.uniform(1.6, 2.6)
        along = reach * (0.5 - 0.5 * np.cos(2.0 * np.pi * rate * run)) + 0.02 * run
    across = rng.uniform(-0.02, 0.02) + rng.uniform(-0.06, 0.06) * run
    return np.stack([along, across * np.minimum(run / 0.05, 1.0)], axis=1)


def record(count: int, seed: int, slow: bool = False) -> list[Recording]:
    """Return recordings simulated by MuJoCo with noise: finger positions, box poses and commands.

    Args:
        count: number of recordings.
        seed: seed of the pushes and the noise.
        slow: whether pushes are slow.
    """
    rng = np.random.default_rng(seed)
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    data = mujoco.MjData(model)
    time, steps = SAMPLE * np.arange(SAMPLES), round(SAMPLE / model.opt.timestep)
    box = model.joint("float").qposadr[0]
    out = []
    for number in range(count):
        commands = path_of_finger(rng, time, slow)
        mujoco.mj_resetData(model, data)
        data.ctrl = 0.0
        mujoco.mj_step(model, data, 2000)  # until the box rests
        rows, poses = [], []
        for command in commands:
            rows.append(data.qpos[:2].copy())
            poses.append(data.qpos[box : box + 7].copy())
            data.ctrl = command
            mujoco.mj_step(model, data, steps)
        position = np.array(rows) + rng.normal(0.0, NOISE, (SAMPLES, 2))
        out.append(
            recording(
                time,
                f"push {number}",
                noise={"position": NOISE, "pose": NOISE},
                lever=LEVER,
                position=dict(zip(AXES, position.T, strict=True)),
                control=dict(zip(AXES, commands.T, strict=True)),
                pose={"box": _noisy(np.array(poses), rng)},
            )
        )
    return out


def _noisy(pose: Float[np.ndarray, "s 7"], rng: np.random.Generator) -> Float[np.ndarray, "s 7"]:
    rotation = rng.normal(0.0, 0.5 * NOISE / LEVER, (len(pose), 3))
    w, v = pose[:, 3:4], pose[:, 4:]
    orientation = np.concatenate(
        [w - np.sum(v * rotation, axis=1, keepdims=True), v + w * rotation + np.cross(v, rotation)],
        axis=1,
    )
    at = pose[:, :3] + rng.normal(0.0, NOISE, (len(pose), 3))
    return np.concatenate(
        [at, orientation / np.linalg.norm(orientation, axis=1, keepdims=True)], axis=1
    )


def parameters() -> list[Parameter]:
    """Return the parameters to identify; both axes of the finger share theirs."""
    gains = tuple(f'actuators["{name}"].{leaf}' for name in AXES for leaf in ("gain", "stiffness"))
    paths = (
        'bodies["box"].mass',
        'shapes["floor"].friction',
        'shapes["tip"].friction',
        gains,
        tuple(f'axes["{name}"].damping' for name in AXES),
        tuple(f'axes["{name}"].friction' for name in AXES),
    )
    return [
        Parameter(path, initial=factor * true, lower=0.1 * true, upper=5.0 * true, scale=0.1 * true)
        for path, factor, true in zip(paths, START, TRUTH.values(), strict=True)
    ]


def problem(recordings: list[Recording], h: float) -> Problem:
    """Return the identification problem of the pushed box.

    Args:
        recordings: recordings of pushes.
        h: step length of simulations [s].
    """
    # The noise over a step is 0.04 m/s. Penetration that is removed more slowly lasts, and the fit
    # with 0.01 m/s ended at errors of prediction of 5.5 times the noise, with the model's at 4.1.
    length = SAMPLE * (SAMPLES - 1)
    settings = Simulate(segment=length, h=h, start="measured", recovery_speed=None)
    return Problem(jaxccp.load(str(MODEL)), recordings, parameters(), settings)
