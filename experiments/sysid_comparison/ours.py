"""Identify the task's parameters with jaxccp: Levenberg–Marquardt on exact Jacobians."""

import numpy as np
from jaxtyping import Float

import jaxccp
from experiments.sysid_comparison.task import AXES, MODEL, NOISE, QUANTITIES, Data, bounds
from jaxccp.identify import Parameter, Problem, Simulate, recording


class Ours:
    """The identification problem as :mod:`jaxccp.identify` states it."""

    def __init__(self, data: Data, initial: Float[np.ndarray, " p"], h: float, start: str) -> None:
        """State the identification problem.

        Args:
            data: recordings.
            initial: values to start from.
            h: step length of simulations [s].
            start: "measured" or "unknown" initial states of simulations.
        """
        recordings = [
            recording(
                data.time,
                f"motion {i}",
                noise={"position": NOISE},
                position=dict(zip(AXES, position.T, strict=True)),
                control=dict(zip(AXES, control.T, strict=True)),
            )
            for i, (position, control) in enumerate(zip(data.position, data.control, strict=True))
        ]
        parameters = [
            Parameter(quantity.path, initial=value, lower=low, upper=high, scale=0.1 * value)
            for quantity, value, low, high in zip(
                QUANTITIES, initial.tolist(), *map(np.ndarray.tolist, bounds(initial)), strict=True
            )
        ]
        settings = Simulate(segment=float(data.time[-1]), h=h, start=start)
        self.problem = Problem(jaxccp.load(str(MODEL)), recordings, parameters, settings)
        self.evaluations = 0

    def iteration(self) -> None:
        """Compute what an iteration needs: residuals and their Jacobian."""
        self.problem.objective.at(self.problem.column("initial"), self._starts())

    def fit(self) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
        """Return the identified values and half the widths of their 95 % intervals."""
        fit = self.problem.fit()
        self.evaluations = fit.descent.evaluations
        return fit.values, fit.uncertainty.half_width()

    def _starts(self) -> tuple[np.ndarray, ...]:
        return tuple(np.zeros((len(p.batch), p.unknowns)) for p in self.problem.plans)
