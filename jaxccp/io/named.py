"""A contact problem read from a file, and how its multipliers stand there."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jaxccp.ccp import Problem
from jaxccp.io.arrays import Arrays


@dataclass(frozen=True)
class NamedProblem:
    """A problem of n rows and how its multipliers stand in the file it came from."""

    name: str
    path: Path
    problem: Problem
    order: np.ndarray
    """(n,) row of the file of each row of the problem (scalar rows first, then contacts)."""
    cohesion: np.ndarray
    """(n,) what the problem's multipliers exceed the file's by [N·s], in the problem's order."""
    unit: np.ndarray
    """(n,) what the problem's multipliers are multiplied by to be in the file's units."""
    objective: float
    """What the file's objective ½ λᵀNλ + rᵀλ exceeds the problem's by [J]."""
    scale: float
    """max ‖r_c‖ over the file's row blocks [m/s]; relative residuals refer to it."""

    def file_multipliers(self, lam: np.ndarray) -> np.ndarray:
        """Multipliers of the problem (n,) [N·s] as the file's, in its row order."""
        out = np.empty(lam.shape)
        out[self.order] = self.unit * (np.asarray(lam, np.float64) - self.cohesion)
        return out


def named(
    arrays: Arrays,
    problem: Problem,
    r: np.ndarray,
    order: np.ndarray,
    shift: np.ndarray,
    n_shift: np.ndarray,
    unit: np.ndarray,
) -> NamedProblem:
    """``r``: the file's, in the problem's order and units; ``n_shift``: N ``shift``."""
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
        name, arrays.path, problem, order, shift, unit, float(objective), float(scale)
    )
