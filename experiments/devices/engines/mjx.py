"""Robots in MJX."""

import importlib
from pathlib import Path
from typing import Any

import jax

from experiments.devices.engines.compiled import Compiled
from experiments.devices.engines.setting import controls, mujoco_model, starts


def program(path: Path, copies: int, iterations: tuple[int, int]) -> Compiled:
    """Return MJX's program of a robot.

    Args:
        path: file of the robot.
        copies: number of copies.
        iterations: limits of the solver's iterations and of those of the line search in each.
    """
    return Compiled(lambda: _lowered(path, copies, iterations))


def _lowered(path: Path, copies: int, iterations: tuple[int, int]) -> tuple[Any, Any, jax.Array]:
    engine: Any = importlib.import_module("mujoco.mjx")
    reference = mujoco_model(path, iterations)
    model = engine.put_model(reference)
    blank = engine.make_data(model)
    state = jax.vmap(lambda q, v: blank.replace(qpos=q, qvel=v))(*starts(reference, copies))

    def many(state: Any, drive: jax.Array) -> tuple[Any, tuple]:
        def step(state: Any, ctrl: jax.Array) -> tuple[Any, None]:
            return jax.vmap(lambda d, u: engine.step(model, d.replace(ctrl=u)))(state, ctrl), None

        return jax.lax.scan(step, state, drive)[0], ()

    drive = controls(reference, copies)
    return jax.jit(many).lower(state, drive), state, drive
