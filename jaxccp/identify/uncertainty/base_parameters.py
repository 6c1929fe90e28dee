"""Base parameters: the smallest number of combinations that recordings determine."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import qr, solve_triangular

from jaxccp.identify.estimation.levenberg_marquardt import rounding

NAMED = 1e-4
"""Coefficient of a parameter in a combination, in scales of the parameters, below which it is left
out."""


@dataclass(frozen=True)
class BaseParameter:
    """A parameter that recordings determine, together with the parameters that have the same
    effect."""

    name: str
    """The parameter after which the combination is named."""
    coefficients: dict[str, float]
    """Coefficient of each parameter in the combination; 1 for ``name``. A change of parameters that
    leaves all combinations unchanged changes no residual, to first order."""
    deviation: float
    """Standard deviation of the combination, without priors."""

    def __str__(self) -> str:
        """Return the combination as a sum."""
        terms = [
            f" {'-' if factor < 0 else '+'} {abs(factor):.4g} {name}"
            for name, factor in self.coefficients.items()
            if name != self.name
        ]
        return self.name + "".join(terms)


def base_parameters(
    information: Float[np.ndarray, "P P"],
    names: Sequence[str],
    scale: Float[np.ndarray, " P"],
) -> tuple[BaseParameter, ...]:
    """Return the base parameters of a problem, by a QR factorisation of its regressor with column
    pivoting.

    The Gram matrix of the regressor is enough: its root has the same pivots. With columns in the
    order P, J P = Q [R₁ R₂], the combinations are θ₁ + R₁⁻¹ R₂ θ₂ (Gautier, J. Robotic Systems 8,
    1991). For nonlinear parameters they are combinations of changes from the point at which J was
    computed.

    Args:
        information: Gauss–Newton matrix of the P parameters, without priors.
        names: names of the parameters.
        scale: a typical change of each, by which columns are compared.

    Returns:
        As many as the regressor has independent columns, in the order of their pivots, largest
        first.
    """
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    flat = rounding()
    values = np.where(values > 1e-2 * flat * max(values.max(), 1e-300), values, 0.0)
    factors_qr = qr(np.sqrt(values)[:, None] * vectors.T, mode="r", pivoting=True)
    triangle, order = np.asarray(factors_qr[0]), np.asarray(factors_qr[-1]).tolist()
    pivots = np.abs(np.diag(triangle))
    rank = int(np.sum(pivots > np.sqrt(flat) * max(pivots[0], 1e-300)))
    first = triangle[:rank, :rank]
    share = solve_triangular(first, triangle[:rank, rank:])
    deviation = np.linalg.norm(solve_triangular(first, np.eye(rank)), axis=1)
    bases = []
    for row, place in enumerate(order[:rank]):
        dependent = np.array(order[rank:], int)[np.abs(share[row]) > NAMED]
        factors = share[row][np.abs(share[row]) > NAMED] * scale[place] / scale[dependent]
        name = str(names[int(place)])
        coefficients: dict[str, float] = {name: 1.0}
        coefficients |= {str(names[k]): float(x) for k, x in zip(dependent, factors, strict=True)}
        spread = float(deviation[row] * scale[place])
        bases.append(BaseParameter(name, coefficients, spread))
    return tuple(bases)
