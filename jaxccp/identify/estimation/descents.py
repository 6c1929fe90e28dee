"""The minimisations of a fit: over simulations of increasing length and then shorter steps, from
several initial values, or resumed."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxccp.identify.estimation.levenberg_marquardt import Descent, Progress, minimise
from jaxccp.identify.estimation.restarts import Restarts
from jaxccp.identify.parameters.parameter import Scalar
from jaxccp.io.errors import InputError
from jaxccp.io.output import write_file

if TYPE_CHECKING:
    from jaxccp.identify.problem import Problem

SAME = 0.01
"""Relative difference of losses up to which two descents ended at the same minimum."""


def descend(
    problem: "Problem",
    theta: Float[np.ndarray, " P"],
    progress: Progress,
    resume: Path | None = None,
) -> tuple[tuple[Descent, ...], list[Float[np.ndarray, " P"]]]:
    """Minimise the loss in stages, over simulations of increasing length and then with shorter
    steps, each starting from the result of the last.

    Returns:
        The minima of the stages, after a resumption those from the resumed stage on; and the
        parameters of all minima, also those before the resumption.

    Args:
        problem: the problem.
        theta: initial values.
        progress: called after every accepted step.
        resume: a file to which the parameters are written after every accepted step; if it exists
            already, the descent continues from it.

    Raises:
        InputError: the file belongs to other parameters or to a fit with more stages, has a value
            outside its bounds, or is not a file of parameters.
    """
    minima, stages = [], (*problem.earlier_stages, problem.objective)
    if resume is not None and resume.exists():
        theta, minima = _read(resume, problem.scalars, len(stages))
    bounds, descents = (problem.column("lower"), problem.column("upper")), []

    def after(iteration: int, loss: float, theta: np.ndarray) -> None:
        if resume is not None:
            _write(resume, problem.names, minima, theta)
        progress(iteration, loss, theta)

    for stage in stages[len(minima) :]:
        descents.append(minimise(stage, theta, bounds, problem.method, after))
        theta = descents[-1].point.theta
        minima.append(theta)
    return tuple(descents), minima


def restarted(
    problem: "Problem", theta: Float[np.ndarray, " P"], progress: Progress, restarts: Restarts
) -> tuple[tuple[Descent, ...], list[Float[np.ndarray, " P"]], str]:
    """Return the best of the descents (:func:`descend`) from several starts, the parameters of its
    minima, and a sentence about all of them.

    Args:
        problem: the problem.
        theta: one of the starts.
        progress: called after every accepted step of each descent.
        restarts: settings of the random starts.
    """
    results = []
    for start in restarts.best_draws(problem, theta):
        stages, minima = descend(problem, start, progress)
        descent = stages[-1]
        # Each descent has its own estimated standard deviations; losses are compared with the given
        # ones.
        end = problem.objective.at(descent.point.theta, descent.point.starts)
        lost = sum(int(np.sum(~terms.usable)) for terms in end.terms)
        results.append(((lost, end.loss), stages, minima))
    lowest, stages, minima = min(results, key=lambda result: result[0])
    same = sum(key <= (lowest[0], lowest[1] * (1.0 + SAME)) for key, *_ in results)
    note = (
        f"{same} of {len(results)} descents, from the best of {restarts.draws} draws, ended at the "
        "least loss."
    )
    return stages, minima, note


def _write(path: Path, names: tuple[str, ...], minima: list[np.ndarray], theta: np.ndarray) -> None:
    """Write the parameters within a stage, and the minima of the stages before it."""

    def named(values: np.ndarray) -> dict:
        return {name: {"value": float(x)} for name, x in zip(names, values, strict=True)}

    content = {"minima": [named(values) for values in minima], "parameters": named(theta)}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_file(path, lambda file: file.write(text.encode()))


def _read(
    path: Path, scalars: tuple[Scalar, ...], stages: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the parameters that a file holds, and the minima of the stages that were finished."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        sets = [
            {name: float(entry["value"]) for name, entry in named.items()}
            for named in (*content["minima"], content["parameters"])
        ]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = f"cannot be resumed from ({error!r})"
        raise InputError(path, what, "name a new file, or one that resume= wrote") from None
    names = {scalar.name for scalar in scalars}
    if any(set(values) != names for values in sets) or len(sets) > stages:
        what = f"is of another fit: it has {', '.join(sets[-1])}, in stage {len(sets)} of {stages}"
        raise InputError(path, what, "name a new file to begin anew")
    for scalar in scalars:
        if not scalar.lower <= sets[-1][scalar.name] <= scalar.upper:
            what = f"has {scalar.name} = {sets[-1][scalar.name]:g}"
            remedy = f"its bounds are {scalar.lower:g} … {scalar.upper:g}: name a new file"
            raise InputError(path, what, remedy)
    *minima, theta = [np.array([values[scalar.name] for scalar in scalars]) for values in sets]
    return theta, minima
