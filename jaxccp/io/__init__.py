"""Files read and written."""

from jaxccp.io.errors import InputError
from jaxccp.io.named import NamedProblem
from jaxccp.io.output import write_npz
from jaxccp.io.problems import read_problem

__all__ = ["InputError", "NamedProblem", "read_problem", "write_npz"]
