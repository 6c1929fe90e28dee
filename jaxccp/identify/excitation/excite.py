"""Plan what to record next: the motion that determines the parameters best, within limits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxccp.identify.case import Mechanism
from jaxccp.identify.excitation.assessment import result_of
from jaxccp.identify.excitation.design import Design
from jaxccp.identify.excitation.limits import Limits, joint_limits
from jaxccp.identify.excitation.program import LimitBox, Program
from jaxccp.identify.excitation.result import Excitation
from jaxccp.identify.excitation.search import Search
from jaxccp.identify.parameters.parameter import Parameter
from jaxccp.identify.parameters.problem_parameters import parameter_of
from jaxccp.identify.uncertainty.intervals import information

if TYPE_CHECKING:
    from jaxccp.identify.fit import Fit

EXCESS = 1e-6
"""Excess over a limit, relative to the limit, that counts as rounding."""


@dataclass(frozen=True)
class Known:
    """Knowledge of the parameters before a motion is recorded: values, information and noise."""

    values: dict[str, float] = field(default_factory=dict)
    """Values by name; they replace the initial values of the parameters."""
    information: Float[np.ndarray, "P P"] | None = None
    """Information matrix of earlier recordings for the parameters ``names``, with their priors."""
    names: tuple[str, ...] = ()
    """Names of the parameters of ``information``."""
    noise: dict[str, float] = field(default_factory=dict)
    """Standard deviation of torques by joint [N, N m]; it replaces the design's."""
    spacing: float | None = None
    """Time between samples with that noise [s]; it replaces the design's."""

    def matrix(self, names: Sequence[str]) -> Float[np.ndarray, "P P"]:
        """Return the information matrix for some parameters, with all other parameters unknown."""
        out = np.zeros((len(names), len(names)))
        if self.information is None:
            return out
        kept = [k for k, name in enumerate(self.names) if name in names]
        rest = [k for k in range(len(self.names)) if k not in kept]
        full = self.information
        block = full[np.ix_(kept, kept)]
        if rest:
            border, corner = full[np.ix_(kept, rest)], full[np.ix_(rest, rest)]
            block = block - border @ np.linalg.pinv(corner, hermitian=True) @ border.T
        rows = [list(names).index(self.names[k]) for k in kept]
        out[np.ix_(rows, rows)] = block
        return out


def excite(
    mechanism: Mechanism,
    parameters: Sequence[Parameter | str],
    limits: Limits | None = None,
    design: Design | None = None,
    known: Known | None = None,
) -> Excitation:
    """Return the motion within limits whose torques determine the parameters best.

    The torques of all joints are assumed to be measured, with independent noise, and the motion to
    be exact. The information matrix is Σ JᵀR⁻¹J with the exact derivatives J of inverse dynamics,
    plus earlier information and the priors of the parameters that this is not about. The best of
    several random motions is improved by sequential quadratic programming with exact gradients.
    Limits are constraints at a grid of times, and are checked at a finer one. A motion that exceeds
    them there is moved back towards the random one.

    Args:
        mechanism: a mechanism of hinges and slides on a fixed base.
        parameters: parameters to identify, as for :class:`jaxccp.identify.Problem`.
        limits: limits of the motion; None: those of the model.
        design: settings; None: the defaults.
        known: what earlier recordings determine.

    Raises:
        ValueError: a parameter or a joint is not known, a joint has no limit that bounds its
            motion, or joints are coupled.
    """
    search = search_of(mechanism, parameters, limits, design, known)
    x, first = search.best_random()
    margin = 1.0
    for _ in range(4):
        improved = search.improve(x, margin)
        excess = search.greatest_use(improved)
        if excess <= 1.0 + EXCESS:
            break
        margin /= excess * (1.0 + 1e-4)
    else:
        improved = search.drawn_back(improved, x)
    return result_of(search, improved, first)


def search_of(
    mechanism: Mechanism,
    parameters: Sequence[Parameter | str],
    limits: Limits | None = None,
    design: Design | None = None,
    known: Known | None = None,
) -> Search:
    """Return the search for the motion of :func:`excite`.

    Args:
        mechanism: a mechanism of hinges and slides on a fixed base.
        parameters: parameters to identify.
        limits: limits of the motion; None: those of the model.
        design: settings; None: the defaults.
        known: what earlier recordings determine.
    """
    design, known, limits = design or Design(), known or Known(), limits or Limits()
    program = Program(mechanism, [parameter_of(parameter) for parameter in parameters], design)
    ends = joint_limits(limits, mechanism, program.joints)
    return Search(program, design, LimitBox.of(ends, limits.clearance), known)


def known_of(fit: "Fit", case: int = 0) -> Known:
    """Return the knowledge of a fit: values, information of its recordings and priors, and the
    noise of torques if it compared torques.

    Args:
        fit: the fit.
        case: number of the case whose torques count.
    """
    objective, plan = fit.descent.objective, fit.problem.plans[case]
    noise = {}
    weight = getattr(plan.batch.take(np.arange(len(plan.batch))), "weight", None)
    observations = getattr(plan, "observations", ())
    if weight is not None and all(o.kind == "torque" for o in observations):
        largest = np.asarray(weight).reshape(-1, len(observations)).max(axis=0)
        largest = largest * objective.evaluators[case].weight
        axes = plan.subject.model.topology.linkage.axes
        noise = {
            axes[observation.place]: 1.0 / float(value)
            for observation, value in zip(observations, largest, strict=True)
            if value > 0
        }
    values = dict(zip(fit.names, fit.values.tolist(), strict=True))
    total = information(objective, fit.point) + np.diag(objective.precision)
    spacing = getattr(getattr(plan, "settings", None), "spacing", None) if noise else None
    if spacing is not None:
        spacing /= getattr(plan, "independent_share", 1.0)
    return Known(values, total, fit.names, noise, spacing)
