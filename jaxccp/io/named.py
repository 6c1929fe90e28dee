"""A contact problem read from a file, and the map from its multipliers to the file's."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxccp.ccp import Problem
from jaxccp.io.arrays import Arrays


@dataclass(frozen=True)
class NamedProblem:
    """A problem of n rows, with the name, row order, shift and units that it has in its file."""

    name: str
    """Name of the problem: that in the file, else the file's."""
    path: Path
    """Path of the file."""
    problem: Problem
    """The problem."""
    order: np.ndarray
    """Row of the file for each row of the problem (scalar rows first, then contacts), (n,)."""
    shift: np.ndarray
    """Problem's multipliers minus the file's [N·s], (n,), in the problem's order: the cohesion on
    normal rows, 0 elsewhere."""
    unit: np.ndarray
    """Factors that convert the problem's multipliers to the file's units, (n,)."""
    objective: float
    """The file's objective ½ λᵀNλ + rᵀλ minus the problem's [J]."""
    scale: float
    """max ‖r_c‖ over the file's row blocks [m/s]; residuals are relative to it."""

    def file_multipliers(self, lam: np.ndarray) -> np.ndarray:
        """Convert multipliers of the problem [N·s], (n,), to the units and row order of the
        file."""
        out = np.empty(lam.shape)
        out[self.order] = self.unit * (np.asarray(lam, np.float64) - self.shift)
        return out


def make_named_problem(
    arrays: Arrays,
    problem: Problem,
    r: np.ndarray,
    order: np.ndarray,
    shift: np.ndarray,
    n_shift: np.ndarray,
    unit: np.ndarray,
) -> NamedProblem:
    """Return a problem with its name in the file and the scale of its residuals.

    Args:
        arrays: the file.
        problem: the problem, in multipliers x = λ + a, with the file's λ and the shift a.
        r: free velocities of the file's problem [m/s], (n,), in the problem's order and units.
        order: row of the file of each row of the problem, (n,).
        shift: a [N·s], (n,), in the problem's order and units.
        n_shift: N a [m/s], (n,).
        unit: factors that convert the problem's multipliers to the file's units, (n,).

    Raises:
        InputError: the file's ``name`` cannot be the name of a file, or its contacts have rolling
            friction and no round cones.
    """
    try:
        _ = problem.cones.section
    except ValueError as error:
        raise arrays.fault("friction", str(error), 'leave it out, or store "cone"') from None
    scalars = problem.cones.lo.shape[0]
    blocks = [
        np.abs(r[:scalars]),
        np.linalg.norm(r[scalars:].reshape(-1, problem.cones.width), axis=1),
    ]
    scale = np.max(np.concatenate(blocks), initial=0.0)
    # With λ = x - a: ½ λᵀNλ + rᵀλ = ½ xᵀNx + (r - N a)ᵀx + ½ aᵀNa - rᵀa.
    objective = shift @ (0.5 * n_shift - r)
    name = arrays.text("name") if "name" in arrays else arrays.path.stem
    if not name or Path(name).name != name:
        raise arrays.fault("name", f"{name!r} cannot name a file", "leave out the folder")
    return NamedProblem(
        name=name,
        path=arrays.path,
        problem=problem,
        order=order,
        shift=shift,
        unit=unit,
        objective=float(objective),
        scale=float(scale),
    )
