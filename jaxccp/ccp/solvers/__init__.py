"""The algorithms, one file each; a new one is a file and a line here."""

from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers.apgd import APGD

SOLVERS: dict[str, type[Solver]] = {
    "apgd": APGD,
}
"""By the name the command line and the steppers take."""
