"""Files read and written."""

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf import Loaded, UnsupportedError, load
from jaxccp.io.named import NamedProblem
from jaxccp.io.output import write_file, write_npz
from jaxccp.io.problems import read_problem
from jaxccp.io.step_matrices import write_system
from jaxccp.io.trajectory import (
    TrajectoryArrays,
    load_trajectory,
    save_trajectory,
    trajectory_arrays,
)

__all__ = [
    "InputError",
    "Loaded",
    "NamedProblem",
    "TrajectoryArrays",
    "UnsupportedError",
    "load",
    "load_trajectory",
    "read_problem",
    "save_trajectory",
    "trajectory_arrays",
    "write_file",
    "write_npz",
    "write_system",
]
