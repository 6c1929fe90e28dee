"""The algorithms, one file each. To add one, write a file and add it here."""

from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers.admm import ADMM
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.ccp.solvers.auto import Auto
from jaxccp.ccp.solvers.bb import BarzilaiBorwein
from jaxccp.ccp.solvers.cg import CG
from jaxccp.ccp.solvers.dantzig import Dantzig
from jaxccp.ccp.solvers.gradient_newton import GradientNewton
from jaxccp.ccp.solvers.minres import MINRES
from jaxccp.ccp.solvers.newton import Newton
from jaxccp.ccp.solvers.pjacobi import PJacobi
from jaxccp.ccp.solvers.psor import PSOR
from jaxccp.ccp.solvers.sipgs import SIPGS
from jaxccp.names import unknown

SOLVERS: dict[str, type[Solver]] = {
    "auto": Auto,
    "admm": ADMM,
    "apgd": APGD,
    "bb": BarzilaiBorwein,
    "cg": CG,
    "dantzig": Dantzig,
    "gradient-newton": GradientNewton,
    "minres": MINRES,
    "newton": Newton,
    "pjacobi": PJacobi,
    "psor": PSOR,
    "sipgs": SIPGS,
}
"""The algorithms by the names that the command line and the steppers accept."""


def resolved(solver: Solver | str) -> Solver:
    """Return the algorithm itself, or the one named ``solver`` in ``SOLVERS`` with its default
    settings.

    Raises:
        ValueError: no algorithm has that name.
        TypeError: ``solver`` is neither an instance of an algorithm nor a name.
    """
    if isinstance(solver, Solver):
        return solver
    if not isinstance(solver, str):
        raise TypeError(
            f"solver must be a name, such as 'newton', or an instance, such as Newton(), not "
            f"{solver!r}"
        )
    if solver not in SOLVERS:
        raise ValueError(f"solver {unknown(solver, SOLVERS)}")
    return SOLVERS[solver]()


def name_of(solver: Solver) -> str:
    """Return the name in ``SOLVERS`` of an algorithm, or that of its class if it is not there."""
    names = (name for name, kind in SOLVERS.items() if type(solver) is kind)
    return next(names, type(solver).__name__)
