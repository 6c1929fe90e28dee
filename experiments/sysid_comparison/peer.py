"""State the task for ``mujoco.sysid``."""

import importlib
from typing import Any

import numpy as np
from jaxtyping import Float

from experiments.sysid_comparison.mujoco_sysid import Motion, MujocoSysid, Number
from experiments.sysid_comparison.task import AXES, MODEL, QUANTITIES, Data, bounds

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary


def peer(
    data: Data,
    initial: Float[np.ndarray, " p"],
    h: float,
    integrator: str = "RK4",
    threads: int = 1,
) -> MujocoSysid:
    """Return the identification problem as ``mujoco.sysid`` states it.

    Args:
        data: recordings.
        initial: values to start from.
        h: step length of simulations [s].
        integrator: MuJoCo's name of the integrator.
        threads: number of threads of simulations.
    """
    spec = mujoco.MjSpec.from_file(str(MODEL))
    spec.option.timestep = h
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    rows = zip(QUANTITIES, initial, *bounds(initial), strict=True)
    numbers = [
        Number(quantity.name, value, low, high, quantity.set) for quantity, value, low, high in rows
    ]
    motions = [
        Motion(f"motion {i}", data.time, position[0], control, position)
        for i, (position, control) in enumerate(zip(data.position, data.control, strict=True))
    ]
    return MujocoSysid(spec, numbers, motions, AXES, threads)
