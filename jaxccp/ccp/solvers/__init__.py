"""The algorithms, one file each; a new one is a file and a line here."""

from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers.admm import ADMM
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.ccp.solvers.auto import Auto
from jaxccp.ccp.solvers.bb import BarzilaiBorwein
from jaxccp.ccp.solvers.dantzig import Dantzig
from jaxccp.ccp.solvers.newton import Newton

SOLVERS: dict[str, type[Solver]] = {
    "auto": Auto,
    "admm": ADMM,
    "apgd": APGD,
    "bb": BarzilaiBorwein,
    "dantzig": Dantzig,
    "newton": Newton,
}
"""By the name the command line and the steppers take."""
