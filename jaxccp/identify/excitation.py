"""Plan what to record next: the motion that tells most about parameters, within limits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize

from jaxccp.identify.case import Mechanism
from jaxccp.identify.excitation_basis import Basis
from jaxccp.identify.excitation_limits import Limits, joint_limits
from jaxccp.identify.excitation_program import (
    LENGTH,
    Frame,
    Program,
    criterion_of,
    smooth_maximum,
)
from jaxccp.identify.excitation_result import Excitation, result_of
from jaxccp.identify.parameter import Parameter

if TYPE_CHECKING:
    from jaxccp.identify.problem import Fit

SHARPNESS = 100.0
"""Of the smooth maximum over time of the use of limits."""
FINE = 8
"""Times between two of those at which limits are constraints at which they are checked after."""
EXCESS = 1e-6
"""Use of a limit beyond 1 that is rounding."""
NULL = 1e-10
"""Eigenvalue of the information of several motions, over the largest, of a direction that no
motion tells."""


@dataclass(frozen=True)
class Design:
    """Settings of a planned motion."""

    criterion: str = "D"
    """What is optimal: the determinant of the information, D, so that the volume of the confidence
    region is least; or the trace of its inverse, A, so that the sum of variances in the
    parameters' scales is."""
    duration: float = 10.0
    """Length of the motion [s]."""
    series: str = "fourier"
    """Functions that the motion of a joint is a sum of: fourier (Swevers et al., IEEE T-RA 13,
    1997) or spline, both at rest at both ends."""
    terms: int = 5
    """Harmonics of the Fourier series, or intervals between the knots of the spline."""
    noise: float = 1.0
    """Standard deviation of a sample of torque [N, N m], of all joints."""
    spacing: float = 0.01
    """Time between the samples that will be recorded [s]."""
    cutoff: float = 10.0
    """Frequency of the filter that torques will go through [Hz]."""
    moving: float = 0.05
    """Rate below which a joint's samples will be left out [m/s, rad/s]."""
    starts: int = 16
    """Random motions, the best of which is improved."""
    iterations: int = 60
    """Most steps of the optimiser."""
    seed: int = 0
    """Of the random motions."""

    def __post_init__(self) -> None:
        if self.criterion not in ("D", "A"):
            raise ValueError(f"criterion must be D or A, not {self.criterion!r}")
        if self.series not in ("fourier", "spline"):
            raise ValueError(f"series must be fourier or spline, not {self.series!r}")
        for name in ("duration", "noise", "spacing", "cutoff"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")
        if self.terms < 3 or self.starts < 1 or self.iterations < 0:
            raise ValueError("there must be 3 terms or more, one start, and iterations ≥ 0")


@dataclass(frozen=True)
class Known:
    """What is known of parameters before the motion is recorded."""

    values: dict[str, float] = field(default_factory=dict)
    """Values by name, in place of the parameters' own."""
    information: Float[np.ndarray, "P P"] | None = None
    """Information of earlier recordings, without priors, of parameters ``names``."""
    names: tuple[str, ...] = ()
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
        found = full[np.ix_(kept, kept)]
        if rest:
            border, corner = full[np.ix_(kept, rest)], full[np.ix_(rest, rest)]
            found = found - border @ np.linalg.pinv(corner, hermitian=True) @ border.T
        rows = [list(names).index(self.names[k]) for k in kept]
        out[np.ix_(rows, rows)] = found
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
    checked on a finer one.

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
    from jaxccp.identify.problem import parameter_of

    design, known = design or Design(), known or Known()
    limits = limits or Limits()
    program = Program(mechanism, [parameter_of(one) for one in parameters], design)
    ends = joint_limits(limits, mechanism, program.joints)
    search = Search(program, design, Frame.of(ends, limits.clearance), known)
    x, first = search.best_random()
    margin = 1.0
    for _ in range(4):
        improved = search.improve(x, margin)
        excess = search.greatest_use(improved)
        if excess <= 1.0 + EXCESS:
            break
        margin /= excess * (1.0 + 1e-4)
    return result_of(search, improved, first)


def known_of(fit: "Fit", case: int = 0) -> Known:
    """Return what a fit knows: values, information of its recordings, and noise of torques where
    it compared some.

    Args:
        fit: the fit.
        case: number of the case whose torques count.
    """
    from jaxccp.identify.intervals import information

    objective, plan = fit.problem.objective, fit.problem.plans[case]
    noise = {}
    weight = getattr(plan.batch.take(np.arange(len(plan.batch))), "weight", None)
    observations = getattr(plan, "observations", ())
    if weight is not None and all(one.kind == "torque" for one in observations):
        largest = np.asarray(weight).reshape(-1, len(observations)).max(axis=0)
        largest = largest * objective.evaluators[case].weight
        axes = plan.subject.model.topology.linkage.axes
        noise = {
            axes[one.place]: 1.0 / float(value)
            for one, value in zip(observations, largest, strict=True)
            if value > 0
        }
    values = dict(zip(fit.names, fit.values.tolist(), strict=True))
    every = getattr(getattr(plan, "settings", None), "spacing", None) if noise else None
    return Known(values, information(objective, fit.point), fit.names, noise, every)


class Search:
    """The search for a motion: programs over coefficients of all joints."""

    def __init__(self, program: Program, design: Design, frame: Frame, known: Known) -> None:
        self.program, self.design, self.frame = program, design, frame
        names, scale = program.names, program.scale
        initial = np.asarray(program.parameters.column("initial"))
        self.theta = np.array(
            [known.values.get(n, v) for n, v in zip(names, initial, strict=True)]
        )
        prior = np.asarray(program.parameters.column("prior"), float)
        before = known.matrix(names) + np.diag(prior**-2.0)
        self.before = before * np.outer(scale, scale)
        self.noise = np.array([known.noise.get(name, design.noise) for name in program.joints])
        basis = Basis(design.series, design.duration, design.terms)  # type: ignore[arg-type]
        self.basis = basis
        self.count = 10 * design.terms
        self.grid = basis.at(np.linspace(0.0, design.duration, self.count, endpoint=False))
        self.fine = basis.at(np.linspace(0.0, design.duration, FINE * self.count + 1))
        self.recorded = max(round(design.duration / (known.spacing or design.spacing)), 1)
        # Numbers of order 1: middles in half widths of positions, the rest in rates.
        speed = np.minimum(
            frame.half[1], 0.5 * frame.half[0] * 2.0 * np.pi / design.duration * design.terms
        )
        self.unit = np.concatenate(
            [frame.half[0][:, None], np.repeat(speed[:, None], len(basis) - 1, axis=1)], axis=1
        )
        self.shape = self.unit.shape
        self._use = jax.jit(lambda x, grid: jnp.max(self._uses(x, grid), axis=0))
        self.information = jax.jit(self._information_of)
        self.kept = np.eye(len(names))

    def coefficients(self, x: Array | np.ndarray) -> Array:
        """Return the coefficients of the basis of numbers of order 1."""
        middle = jnp.zeros(self.shape).at[:, 0].set(self.frame.middle[0])
        return middle + self.unit * jnp.reshape(x, self.shape)

    def motion(self, x: Array | np.ndarray, grid: np.ndarray) -> Array:
        """Return positions, rates and accelerations on a grid of times."""
        return self.program.motion(jnp.asarray(grid), self.coefficients(x))

    def greatest_use(self, x: np.ndarray) -> float:
        """Return the greatest use of any limit on the fine grid."""
        return float(np.max(np.asarray(self._use(x, self.fine))))

    def best_random(self) -> tuple[np.ndarray, float]:
        """Return the best of some random motions that use 0.9 of their limits, and its criterion;
        and settle which directions any motion tells."""
        random = np.random.default_rng(self.design.seed)
        found = []
        for _ in range(self.design.starts):
            x = random.normal(size=self.shape)
            x[:, 0] = random.uniform(-0.3, 0.3, len(x))
            for _ in range(40):
                use = float(np.max(np.asarray(self._use(x.ravel(), self.grid))))
                if use <= 0.95:
                    break
                x = x * max(0.7, min(0.93 / use, 0.97))
            found.append(x.ravel())
        told = [np.asarray(self.information(x)) for x in found]
        total = sum(told) + len(told) * self.before
        values, vectors = np.linalg.eigh(total)
        self.kept = vectors[:, values > NULL * max(values.max(), 1e-300)]
        scores = [self.score(one) for one in told]
        best = int(np.nanargmin(np.where(np.isfinite(scores), scores, np.inf)))
        return found[best], scores[best]

    def score(self, information: np.ndarray) -> float:
        """Return the criterion of a motion's information with what is known before."""
        matrix = self.kept.T @ (information + self.before) @ self.kept
        return float(criterion_of(jnp.asarray(matrix), self.design.criterion))

    def improve(self, x: np.ndarray, margin: float) -> np.ndarray:
        """Return the optimum within a share of the limits, by sequential quadratic programming."""
        if not self.design.iterations:
            return x
        kept, before = jnp.asarray(self.kept), jnp.asarray(self.before)

        @jax.jit
        @jax.value_and_grad
        def loss(x: Array) -> Array:
            matrix = kept.T @ (self._information_of(x) + before) @ kept
            return criterion_of(matrix, self.design.criterion)

        limited = np.append(np.isfinite(self.frame.half).ravel(), self.program.touching)

        def room(x: Array) -> Array:
            use = self._uses(x, self.grid)
            return (margin - smooth_maximum(use, SHARPNESS))[np.flatnonzero(limited)]

        room, slope = jax.jit(room), jax.jit(jax.jacrev(room))

        def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = loss(jnp.asarray(x))
            return float(value), np.asarray(gradient, float)

        found = minimize(
            objective,
            x,
            jac=True,
            method="SLSQP",
            constraints={
                "type": "ineq",
                "fun": lambda x: np.asarray(room(jnp.asarray(x)), float),
                "jac": lambda x: np.asarray(slope(jnp.asarray(x)), float),
            },
            options={"maxiter": self.design.iterations, "ftol": 1e-5},
        )
        return found.x if np.isfinite(found.x).all() else x

    def _information_of(self, x: Array) -> Array:
        """Return the information of all samples that will be recorded, from those of the grid."""
        motion = self.motion(x, self.grid)
        found = self.program.information(
            jnp.asarray(self.theta), motion, jnp.asarray(self.noise), smooth=True
        )
        return found * (self.recorded / self.count)

    def _uses(self, x: Array, grid: np.ndarray) -> Float[Array, "s k"]:
        """Return the use of each joint's limits and, last, of the clearance of shapes."""
        motion = self.motion(x, grid)
        use = self.program.use(self.frame, jnp.asarray(self.theta), motion)
        use = use.reshape(len(motion), -1)
        if not self.program.touching:
            return jnp.concatenate([use, jnp.zeros((len(motion), 1))], axis=1)
        gaps, _ = self.program.gaps(motion)
        near = smooth_maximum(1.0 + (self.frame.clearance - gaps.T) / LENGTH, SHARPNESS)
        return jnp.concatenate([use, near[:, None]], axis=1)
