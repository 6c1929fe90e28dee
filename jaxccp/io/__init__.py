"""Files read and written."""

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf import Loaded, UnsupportedError, load
from jaxccp.io.named import NamedProblem
from jaxccp.io.output import write_file, write_npz
from jaxccp.io.problems import read_problem
from jaxccp.io.step_matrices import write_system
from jaxccp.io.trajectory import Recording, load_trajectory, record, save_trajectory

__all__ = [
    "InputError",
    "Loaded",
    "NamedProblem",
    "Recording",
    "UnsupportedError",
    "load",
    "load_trajectory",
    "read_problem",
    "record",
    "save_trajectory",
    "write_file",
    "write_npz",
    "write_system",
]
