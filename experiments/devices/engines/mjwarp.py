"""Robots in MJWarp, MuJoCo's engine in NVIDIA's Warp."""

import importlib
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.devices.engines.setting import controls, mujoco, mujoco_model, remark, starts


class MJWarp:
    """Copies of a robot in MJWarp, and a program that advances them.

    On a GPU it is a CUDA graph of one step, launched once a step after the controls are copied;
    its loops run on the device. Everything is compiled and captured in the first run, not beside
    other programs, since all threads share one of Warp's streams. The package raises the
    solver's tolerance to 1e-6, so that it may iterate less than MJX.
    """

    def __init__(self, path: Path, copies: int, iterations: tuple[int, int]) -> None:
        """Note what is to be run.

        Args:
            path: file of the robot.
            copies: number of copies.
            iterations: limits of the solver's iterations and of those of the line search in each.

        Raises:
            ModuleNotFoundError: if the package is not installed.
        """
        if importlib.util.find_spec("mujoco_warp") is None:
            raise ModuleNotFoundError("skipped: not installed (pip install mujoco-warp)")
        self.copies, self.reference = copies, mujoco_model(path, iterations)
        self.compile_seconds = float("nan")
        self.step: Callable[[], None] | None = None

    def run(self) -> None:
        """Advance all copies, and wait for it."""
        warp: Any = importlib.import_module("warp")
        with warp.ScopedDevice("cuda:0" if jax.devices()[0].platform == "gpu" else "cpu"):
            if self.step is None:
                self._start(warp)
            assert self.step is not None
            for ctrl in self.drive:
                warp.copy(self.data.ctrl, ctrl)
                self.step()
            warp.synchronize_device()

    def facts(self) -> dict[str, Any]:
        """Return a note on the state, as a column."""
        flags: Any = importlib.import_module("mujoco_warp").OverflowType
        room = flags.NEFC | flags.NJMAX_NNZ | flags.BROADPHASE | flags.NARROWPHASE
        full = int(np.count_nonzero(self.data.overflow.numpy() & int(room)))
        note = remark(self.data.qpos.numpy(), self.data.qvel.numpy())
        return {"note": f"{full} copies without room for all contacts" if full else note}

    def _start(self, warp: Any) -> None:
        """Place the copies and compile a step."""
        engine: Any = importlib.import_module("mujoco_warp")
        begin = time.perf_counter()
        self.model = engine.put_model(self.reference)
        self.model.opt.warn_overflow = 0  # no message of each step that takes all iterations
        self.drive = [
            warp.array(part) for part in np.asarray(controls(self.reference, self.copies))
        ]
        # A step of other copies compiles all kernels.
        engine.step(self.model, self._placed(engine))
        self.data = self._placed(engine)
        if warp.get_device().is_cuda:
            with warp.ScopedCapture() as capture:
                engine.step(self.model, self.data)
            self.step = lambda: warp.capture_launch(capture.graph)
        else:
            self.step = lambda: engine.step(self.model, self.data)
        warp.synchronize_device()
        self.compile_seconds = time.perf_counter() - begin

    def _placed(self, engine: Any) -> Any:
        """Return the copies at their starts."""
        data = engine.put_data(self.reference, mujoco.MjData(self.reference), nworld=self.copies)
        for array, start in zip(
            (data.qpos, data.qvel), starts(self.reference, self.copies), strict=True
        ):
            array.assign(np.asarray(start))
        return data
