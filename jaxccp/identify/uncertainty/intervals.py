"""Standard errors, and the combinations of parameters that recordings do not determine."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from jaxccp.identify.estimation.levenberg_marquardt import rounding, solve
from jaxccp.identify.estimation.objective import Objective, Point
from jaxccp.identify.uncertainty.base_parameters import BaseParameter, base_parameters
from jaxccp.identify.uncertainty.clusters import gradient_covariance

NAMED = 0.25
"""Component of a direction, relative to the largest, below which a parameter is not named."""
PART = 1e-3
"""Component of a parameter in the undetermined directions above which the parameter itself is
undetermined."""


@dataclass(frozen=True)
class Direction:
    """A combination of parameters, and how well the recordings determine it."""

    shares: Float[np.ndarray, " P"]
    """Change of each parameter in its scale; a unit vector."""
    deviation: float
    """Standard deviation of the combination, in scales; infinite if it is not determined."""
    text: str
    """The combination in words."""


@dataclass(frozen=True)
class Identifiability:
    """Directions in the space of parameters, those that recordings determine worst first."""

    names: tuple[str, ...]
    """Names of the parameters."""
    directions: tuple[Direction, ...]
    """Combinations of parameters, in the order of their standard deviations, largest first."""
    deviation: Float[np.ndarray, " P"]
    """Standard deviation of each parameter if all others are unknown, without priors."""
    alone: Float[np.ndarray, " P"]
    """Standard deviation of each parameter if all others are known."""
    base: tuple[BaseParameter, ...] = ()
    """The combinations that are determined, one for each base parameter."""

    @property
    def poorly_determined(self) -> tuple[Direction, ...]:
        """Combinations whose standard deviation exceeds the parameters' own scales."""
        return tuple(direction for direction in self.directions if direction.deviation > 1.0)

    def __str__(self) -> str:
        """Return a table, and the undetermined combinations in words."""
        lines = [f"{'parameter':48s} {'deviation':>11s} {'others known':>13s}"]
        for name, all_free, alone in zip(self.names, self.deviation, self.alone, strict=True):
            lines.append(f"{name:48s} {all_free:11.3g} {alone:13.3g}")
        lines += [direction.text for direction in self.poorly_determined] or [
            "all combinations are determined"
        ]
        return "\n".join(lines)


def information(objective: Objective, point: Point) -> Float[np.ndarray, "P P"]:
    """Return the Gauss–Newton matrix of the parameters, with initial states eliminated and without
    priors."""
    reduced = point.chains.reduced(0.0).corner - np.diag(objective.precision)
    return 0.5 * (reduced + reduced.T)


def identifiability(
    objective: Objective,
    point: Point,
    names: Sequence[str],
    scale: Float[np.ndarray, " P"],
) -> Identifiability:
    """Return how well the recordings determine the parameters at a point.

    Args:
        objective: the loss.
        point: parameters, and the derivatives there.
        names: names of the parameters.
        scale: a typical change of each.
    """
    plain = information(objective, point)
    matrix = plain * np.outer(scale, scale)
    values, vectors = np.linalg.eigh(matrix)
    floor = rounding() * max(float(values.max()), 1e-300)
    directions = []
    for value, vector in zip(values, vectors.T, strict=True):
        spread = 1.0 / np.sqrt(value) if value > floor else np.inf
        text = direction_text(vector, spread, names, scale, point.theta)
        directions.append(Direction(vector, float(spread), text))
    known, null = vectors[:, values > floor], vectors[:, values <= floor]
    deviation = np.linalg.norm(known / np.sqrt(values[values > floor]), axis=1)
    deviation = np.where(np.linalg.norm(null, axis=1) > PART, np.inf, deviation)
    diagonal = np.diag(matrix)
    alone = np.where(diagonal > floor, 1.0 / np.sqrt(np.maximum(diagonal, floor)), np.inf)
    base = base_parameters(plain, names, scale)
    return Identifiability(tuple(names), tuple(directions), scale * deviation, scale * alone, base)


def direction_text(
    vector: np.ndarray,
    spread: float,
    names: Sequence[str],
    scale: np.ndarray,
    theta: np.ndarray,
) -> str:
    """Return a combination of parameters, and how well it is determined, in words.

    Args:
        vector: change of each parameter in its scale, of unit length.
        spread: standard deviation of the combination in scales; infinite if it is not determined.
        names: names of the parameters.
        scale: a typical change of each.
        theta: values of the parameters.
    """
    parts = np.flatnonzero(np.abs(vector) > NAMED * np.abs(vector).max())
    parts = parts[np.argsort(-np.abs(vector[parts]))]
    precision = (
        "not determined" if not np.isfinite(spread) else f"determined only to {spread:.2g} scales"
    )
    if len(parts) == 1:
        return f"{names[parts[0]]} is {precision}"
    if len(parts) == 2:
        relative = vector[parts] * scale[parts] / np.where(theta[parts] == 0, np.inf, theta[parts])
        if np.all(relative != 0) and 0.8 < abs(relative[0] / relative[1]) < 1.25:
            what = "product" if relative[0] * relative[1] < 0 else "ratio"
            which = "ratio" if what == "product" else "common factor"
            return (
                f"{names[parts[0]]} and {names[parts[1]]} are determined only as a {what}: "
                f"their {which} is {precision}"
            )
    terms = " ".join(f"{vector[i]:+.2f} {names[i]}" for i in parts[:6])
    rest = f" and {len(parts) - 6} more" if len(parts) > 6 else ""
    return f"{terms}{rest} (in scales) is {precision}"


def undetermined(matrix: Float[np.ndarray, "P P"]) -> Bool[np.ndarray, " P"]:
    """Return the mask of parameters that a Gauss–Newton matrix leaves undetermined, alone or in a
    combination."""
    diagonal = np.diag(matrix)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    null = vectors[:, values <= rounding() * max(values.max(), 1e-300)]
    return (diagonal <= 0) | (np.linalg.norm(null, axis=1) > PART)


@dataclass(frozen=True)
class Uncertainty:
    """Standard errors of the parameters at a minimum."""

    covariance: Float[np.ndarray, "P P"]
    """Covariance of the parameters' errors."""
    standard_error: Float[np.ndarray, " P"]
    """The larger of the clustered standard error and that of independent noise."""
    freedoms: int
    """Degrees of freedom of Student's distribution: number of clusters minus one."""

    def with_systematic_error(self, error: Float[np.ndarray, " P"]) -> "Uncertainty":
        """Return standard errors that include an error of the parameters that noise does not
        cause.

        Args:
            error: estimate of the error of each parameter, with its sign.
        """
        total = np.sqrt(self.standard_error**2 + error**2)
        return replace(
            self, covariance=self.covariance + np.outer(error, error), standard_error=total
        )

    def half_width(self, level: float = 0.95) -> Float[np.ndarray, " P"]:
        """Return the half width of the confidence interval at a level."""
        return stats.t.ppf(0.5 + 0.5 * level, max(self.freedoms, 1)) * self.standard_error


def uncertainty(objective: Objective, point: Point) -> Uncertainty:
    """Return standard errors that are robust to errors shared by the samples of a recording.

    The variances are those of H⁻¹ (G + Λ) H⁻¹ with the covariance G of the gradient of the loss,
    which its clusters of errors show (:func:`gradient_covariance`), the precision Λ of priors and
    the Gauss–Newton matrix H (Huber 1967, White 1982). Where those of H⁻¹ are larger they are used
    instead, because few clusters give a poor estimate. Correlations are those of the sum of both
    matrices.

    Args:
        objective: the loss.
        point: the minimum.
    """
    reduced = point.chains.reduced(0.0)
    matrix = reduced.corner
    inverse = np.stack([solve(matrix, column) for column in np.eye(len(matrix))])
    inverse = 0.5 * (inverse + inverse.T)
    spread, count = gradient_covariance(objective, point, reduced, inverse)
    clustered = inverse @ (spread + np.diag(objective.precision)) @ inverse
    error = np.sqrt(np.maximum(np.diag(clustered), np.maximum(np.diag(inverse), 0.0)))
    error = np.where(undetermined(matrix), np.inf, error)
    # Few clusters leave their matrix singular: alone it would correlate all errors fully.
    both = clustered + inverse
    larger = error / np.sqrt(np.maximum(np.diag(both), 1e-300))
    covariance = both * np.where(np.isfinite(np.outer(larger, larger)), np.outer(larger, larger), 1)
    return Uncertainty(covariance, error, count - 1)
