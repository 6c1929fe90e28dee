"""Plan what to record next: the motion that tells most about parameters, within limits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxccp.identify.case import Mechanism
from jaxccp.identify.excitation_design import Design
from jaxccp.identify.excitation_limits import Limits, joint_limits
from jaxccp.identify.excitation_program import Frame, Program
from jaxccp.identify.excitation_result import Excitation, result_of
from jaxccp.identify.excitation_search import Search
from jaxccp.identify.intervals import information
from jaxccp.identify.joint_parameters import parameter_of
from jaxccp.identify.parameter import Parameter

if TYPE_CHECKING:
    from jaxccp.identify.fit import Fit

EXCESS = 1e-6
"""Use of a limit beyond 1 that is rounding."""


@dataclass(frozen=True)
class Known:
    """Knowledge of parameters before a motion is recorded: values, information and noise."""

    values: dict[str, float] = field(default_factory=dict)
    """Values by name, in place of the parameters' own."""
    information: Float[np.ndarray, "P P"] | None = None
    """Information of earlier recordings about the parameters ``names``, without priors."""
    names: tuple[str, ...] = ()
    """Names of the parameters that ``information`` is about."""
    noise: dict[str, float] = field(default_factory=dict)
    """Standard deviation of torques by joint, in place of the design's [N, N m]."""
    spacing: float | None = None
    """Time between samples with that noise, in place of the design's [s]."""

    def matrix(self, names: Sequence[str]) -> Float[np.ndarray, "P P"]:
        """Return the information about some parameters, all others unknown."""
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
    """Return the motion whose torques tell most about the parameters, within limits.

    Torques of all joints are taken to be measured, with independent noise, and the motion to be
    known; information is Σ JᵀR⁻¹J with the exact derivatives J of inverse dynamics, priors and
    what is known already are added. The best of some random motions is improved by sequential
    quadratic programming with exact gradients; limits are constraints on a grid of times and are
    checked on a finer one; a motion that exceeds them there is drawn back towards the random one.

    Args:
        mechanism: of hinges and slides on a fixed base.
        parameters: that are to be identified, as of a :class:`jaxccp.identify.Problem`.
        limits: of the motion.
        design: settings.
        known: of earlier recordings.

    Raises:
        ValueError: a parameter or a joint is not known, or a joint has no limit that bounds its
            motion.
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
    """Return the search of :func:`excite`.

    Args:
        mechanism: of hinges and slides on a fixed base.
        parameters: parameters that are to be identified.
        limits: of the motion.
        design: settings.
        known: what earlier recordings tell of the parameters.
    """
    design, known, limits = design or Design(), known or Known(), limits or Limits()
    program = Program(mechanism, [parameter_of(parameter) for parameter in parameters], design)
    ends = joint_limits(limits, mechanism, program.joints)
    return Search(program, design, Frame.of(ends, limits.clearance), known)


def known_of(fit: "Fit", case: int = 0) -> Known:
    """Return what a fit knows: values, information of its recordings, and noise of torques where
    it compared some.

    Args:
        fit: the fit.
        case: number of the case whose torques count.
    """
    objective, plan = fit.problem.objective, fit.problem.plans[case]
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
    every = getattr(getattr(plan, "settings", None), "spacing", None) if noise else None
    return Known(values, information(objective, fit.point), fit.names, noise, every)
