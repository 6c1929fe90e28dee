"""The whole identification: split, fit, standard errors, errors of prediction before and after."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import jax
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.ccp.problem import Law
from jaxccp.ccp.solve import Stop
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers import resolved
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.identify import parameters
from jaxccp.identify.evaluate import HORIZONS, Errors, Evaluator
from jaxccp.identify.fit import Descent, Fit, Loss, fit
from jaxccp.identify.normal import normal_equations
from jaxccp.identify.predict import Experiment
from jaxccp.identify.refine import refine
from jaxccp.identify.toss_segments import Segments, cut, whole
from jaxccp.identify.uncertainty import standard_errors
from jaxccp.io.tosses import Tosses
from jaxccp.scene.cube_toss import WIDTH
from jaxccp.scene.library import SCENES

LATER_RATE = 0.3
"""Factor on the learning rate from one horizon to the next."""


@dataclass(frozen=True)
class Settings:
    """Settings of an identification; the defaults suit tosses of a cube recorded at some 150 Hz."""

    names: tuple[str, ...] = parameters.DEFAULT
    law: Law = "ncp"
    solver: Solver | str = field(default_factory=APGD)
    """An algorithm of :mod:`jaxccp.ccp.solvers`, or its name there."""
    stepper: str = "euler"
    """Name of the time stepper (:data:`jaxccp.dynamics.steppers.STEPPERS`)."""
    horizons: tuple[int, ...] = (40, 100)
    """Lengths of the rollouts that are compared with the recording [samples], with one descent for
    each, which begins where the one before ended. The loss over a short horizon is smooth and leads
    towards the minimum; that over a long one is rough, and determines the minimum best."""
    substeps: int = 8
    """The number of steps between two samples."""
    holdout: float = 0.3
    """Fraction of the tosses that are left out of the fit, to measure its errors."""
    threshold: float = 0.1
    """Error at which the loss turns from quadratic to linear [body widths]."""
    descent: Descent = field(default_factory=Descent)

    def __post_init__(self) -> None:
        object.__setattr__(self, "solver", resolved(self.solver))


@dataclass(frozen=True)
class Comparison:
    """Errors of prediction, with one set of parameters, on the tosses that were not fitted."""

    whole: Errors
    """Errors of whole tosses."""
    horizons: dict[int, Errors]
    """Errors over short horizons, by the number of samples predicted."""

    def summary(self) -> dict:
        """Means and medians of the errors, by name, ready for JSON."""
        short = {str(samples): errors.summary() for samples, errors in self.horizons.items()}
        return self.whole.summary() | {"horizons": short}


@dataclass(frozen=True)
class Identification:
    """The result of an identification."""

    settings: Settings
    stages: tuple[Fit, ...]
    """The descent over each horizon."""
    standard_errors: Float[np.ndarray, " p"]
    """Standard error of each parameter, in its unit."""
    initial: Float[np.ndarray, " p"]
    """Value of each parameter before the fit."""
    before: Comparison
    """Errors of prediction with the initial values."""
    after: Comparison
    """Errors of prediction with the fitted values."""
    train: Int[np.ndarray, " k"]
    """Ids of the tosses that were fitted."""
    test: Int[np.ndarray, " k"]
    """Ids of the tosses that ``before`` and ``after`` refer to."""

    @property
    def fit(self) -> Fit:
        """The last descent, with the refined values."""
        return self.stages[-1]


def cube_experiment(
    dt: float,
    law: Law,
    substeps: int,
    solver: Solver | str | None = None,
    stepper: str = "euler",
) -> Experiment:
    """The cube of the toss experiment on a plane.

    Args:
        dt: time between samples [s].
        law: of contact.
        substeps: the number of steps between two samples.
        solver: an algorithm, or its name; APGD when None.
        stepper: name of the time stepper.
    """
    model, state = SCENES["cube-toss"](jax.random.key(0))
    double = model.bodies.mass.dtype == np.float64
    # A batch waits for its slowest solve: an impact on several corners can take thousands of
    # iterations, and the gradient leaves out what an inexact solution does not tell.
    stop = Stop(atol=1e-6 if double else 1e-5, max_iterations=500)
    return Experiment(model, state, dt, law, substeps, stop, solver or APGD(), stepper)


def split(tosses: Tosses, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the tosses at random into those to fit and those held out.

    Args:
        tosses: two at least.
        share: fraction of the tosses that are held out.
        seed: of the random numbers.

    Returns:
        Positions, among all tosses, of those to fit and of those held out, at least one of each.

    Raises:
        ValueError: there is only one toss.
    """
    if len(tosses) < 2:
        raise ValueError("one toss cannot be both fitted and held out: record at least two")
    order = np.random.default_rng(seed).permutation(len(tosses))
    held = min(max(1, round(share * len(tosses))), len(tosses) - 1)
    return np.sort(order[held:]), np.sort(order[:held])


def pieces(tosses: Tosses, horizon: int, gravity: Float[Array, " 3"]) -> Segments:
    """Segments of tosses for a fit over one horizon.

    Where more than half of the tosses are longer than two horizons they are cut into segments of
    one horizon; else there is one segment per toss, from its start, of at most one horizon.

    Args:
        tosses: the recordings.
        horizon: samples after each start.
        gravity: of the model [m/s²].
    """
    if 2 * horizon < np.median(tosses.lengths):
        return cut(tosses, horizon, horizon, gravity)
    return whole(tosses, horizon)


def compare(evaluator: Evaluator, tosses: Tosses, values: np.ndarray) -> Comparison:
    """Errors of prediction of tosses with one set of parameters.

    Args:
        evaluator: computes the errors.
        tosses: the recordings.
        values: of the parameters [p].
    """
    shortest = int(tosses.lengths.max()) - 2
    return Comparison(
        evaluator.whole(values, tosses),
        {
            samples: evaluator.horizon(values, tosses, samples)
            for samples in HORIZONS
            if samples < shortest
        },
    )


def evaluator(
    dt: float, names: tuple[str, ...], law: Law, substeps: int, stepper: str = "euler"
) -> Evaluator:
    """An evaluator of the cube, with errors in cube widths.

    Arguments are those of :func:`cube_experiment`, and the ``names`` of the parameters.
    """
    return Evaluator(cube_experiment(dt, law, substeps, stepper=stepper), names, WIDTH)


def identify(
    tosses: Tosses,
    settings: Settings,
    on_stage: Callable[[str], None] = lambda stage: None,
    on_iteration: Callable[[int, float], None] = lambda iteration, loss: None,
) -> Identification:
    """Fit parameters to a random part of the tosses and measure the errors on the others.

    Args:
        tosses: the recordings.
        settings: parameters, law, horizons and optimiser.
        on_stage: called with a description whenever a stage of the work begins.
        on_iteration: called with the number and the loss of every iteration of a descent.

    Raises:
        ValueError: a parameter is unknown, or there are too few or too short tosses.
    """
    names = parameters.known(settings.names)
    train, test = split(tosses, settings.holdout, settings.descent.seed)
    experiment = cube_experiment(
        tosses.dt, settings.law, settings.substeps, settings.solver, settings.stepper
    )
    loss = Loss(WIDTH, threshold=settings.threshold)
    initial = {name: parameters.PARAMETERS[name].initial for name in names}
    start, descent, stages = initial, settings.descent, []
    for horizon in settings.horizons:
        on_stage(f"fitting over {horizon} samples")
        segments = pieces(tosses.take(train), horizon, experiment.model.gravity)
        found = fit(experiment, segments, names, loss, start, descent, on_iteration)
        stages.append(found)
        start = dict(zip(names, found.values, strict=True))
        descent = replace(descent, learning_rate=LATER_RATE * descent.learning_rate)
    on_stage("refining")
    equations = normal_equations(experiment, segments, names, loss)
    first = np.array(list(initial.values()))
    # A descent of few steps can end in the basin of a wrong minimum, in which the start was not.
    ends = [refine(equations, names, begin) for begin in (stages[-1].values, first)]
    values, minimum = min(ends, key=lambda end: end[1].loss)
    stages[-1] = replace(stages[-1], values=values)
    spread = standard_errors(minimum, names)
    on_stage("errors on held-out tosses")
    held = tosses.take(test)
    judge = evaluator(tosses.dt, names, settings.law, settings.substeps, settings.stepper)
    before, after = (compare(judge, held, x) for x in (first, values))
    return Identification(
        settings,
        tuple(stages),
        spread,
        first,
        before,
        after,
        np.asarray(tosses.ids)[train],
        np.asarray(tosses.ids)[test],
    )
