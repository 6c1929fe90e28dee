"""Cone complementarity problems K ∋ λ ⟂ N λ + r ∈ K*, their solution and its derivative.

This package needs no bodies, only N, r and cones, and can be used alone.
"""

from jaxccp.ccp.cones import Cones, equality, inequality
from jaxccp.ccp.derivative import Gradient, PlainGradient, Relaxed
from jaxccp.ccp.operators import (
    Band,
    BlockSparseDelassus,
    BodyDelassus,
    CoupledDelassus,
    Delassus,
    DenseDelassus,
    RepeatedDelassus,
    Repetition,
    SumDelassus,
    WhitenedDelassus,
)
from jaxccp.ccp.problem import Law, Problem, residuals
from jaxccp.ccp.solution import (
    DerivativeStatus,
    Solution,
    Statistics,
    Status,
    raise_for_derivative,
)
from jaxccp.ccp.solve import Stop, solve
from jaxccp.ccp.solver import Solver, Task
from jaxccp.ccp.solvers import SOLVERS
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
from jaxccp.ccp.violation import Violations, violations

__all__ = [
    "ADMM",
    "APGD",
    "CG",
    "MINRES",
    "PSOR",
    "SIPGS",
    "SOLVERS",
    "Auto",
    "Band",
    "BarzilaiBorwein",
    "BlockSparseDelassus",
    "BodyDelassus",
    "Cones",
    "CoupledDelassus",
    "Dantzig",
    "Delassus",
    "DenseDelassus",
    "DerivativeStatus",
    "Gradient",
    "GradientNewton",
    "Law",
    "Newton",
    "PJacobi",
    "PlainGradient",
    "Problem",
    "Relaxed",
    "RepeatedDelassus",
    "Repetition",
    "Solution",
    "Solver",
    "Statistics",
    "Status",
    "Stop",
    "SumDelassus",
    "Task",
    "Violations",
    "WhitenedDelassus",
    "equality",
    "inequality",
    "raise_for_derivative",
    "residuals",
    "solve",
    "violations",
]
