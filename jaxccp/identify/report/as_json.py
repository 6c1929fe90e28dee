"""A fit as JSON, and its values read from JSON."""

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from jaxccp.identify.excitation.excite import Known
from jaxccp.identify.fit import Fit
from jaxccp.identify.parameters.units import unit_of
from jaxccp.identify.report.curves import CaseCurves
from jaxccp.io.errors import InputError
from jaxccp.io.output import finite, write_file


def fit_as_json(fit: Fit, curves: Sequence[CaseCurves]) -> dict[str, Any]:
    """Return parameters with their uncertainty, errors by channel and the losses of a fit, ready
    for JSON; null for infinite numbers.

    Args:
        fit: the fit.
        curves: curves of the fit's cases.
    """
    problem, half = fit.problem, fit.uncertainty.half_width()
    parameters = {}
    for place, (scalar, value) in enumerate(zip(problem.scalars, fit.values, strict=True)):
        wide = float(half[place])
        subject = next(
            plan.subject
            for plan, recordings in zip(problem.plans, problem.index, strict=True)
            if any(place in row for row in recordings)
        )
        parameters[scalar.name] = {
            "value": float(value),
            "standard_error": finite(fit.uncertainty.standard_error[place]),
            "interval": [finite(value - wide), finite(value + wide)],
            "initial": float(scalar.initial),
            "lower": finite(scalar.lower),
            "upper": finite(scalar.upper),
            "prior": finite(scalar.prior),
            "unit": unit_of(scalar, subject),
        }
    losses, open_directions = fit.descent.losses, fit.identifiability
    return {
        "jaxccp": version("jaxccp"),
        "parameters": parameters,
        "correlation": [[finite(entry) for entry in row] for row in correlation(fit)],
        "rms": {
            in_case(name, entry.case, len(curves)): {"rms": finite(error), "unit": unit}
            for entry in curves
            for name, (error, unit) in entry.rms.items()
        },
        "identifiability": [entry.text for entry in open_directions.poorly_determined],
        "notes": list(fit.notes),
        "warnings": list(problem.warnings),
        "loss": {"first": finite(losses[0]), "last": finite(losses[-1])},
        "iterations": len(losses) - 1,
        "evaluations": fit.descent.evaluations,
        "converged": bool(fit.descent.converged),
        "recordings": [entry.name for case in problem.cases for entry in case.recordings],
    }


def correlation(fit: Fit) -> np.ndarray:
    """Return the correlation matrix of the parameters' errors; NaN for parameters that are not
    determined."""
    covariance = fit.uncertainty.covariance
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    determined = (scale > 0) & np.isfinite(fit.uncertainty.standard_error)
    safe = np.where(determined, scale, 1.0)
    out = np.clip(covariance / np.outer(safe, safe), -1.0, 1.0)
    return np.where(np.outer(determined, determined), out, np.nan)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write the JSON of a fit to a file; the file is replaced in one step."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_file(path, lambda file: file.write(text.encode()))


def read_values(path: Path | str) -> dict[str, float]:
    """Read the parameters of a fit by name, as ``Problem.fit(initial=…)`` and
    :class:`jaxccp.identify.Predictor` take them, from a ``fit.json`` or a file that ``resume=``
    wrote.

    Raises:
        InputError: the file is not a file of parameters.
    """
    return read_fit(Path(path))[0]


def read_fit(path: Path) -> tuple[dict[str, float], dict[str, Any]]:
    """Read the parameters of a fit by name, and the settings that an evaluation of it needs (none
    if the file has none).

    Raises:
        InputError: the file is not a file of parameters.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        values = {name: float(entry["value"]) for name, entry in content["parameters"].items()}
        return values, dict(content.get("problem", {}))
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        raise InputError(path, what, "name the fit.json of a report") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        what = f"has no parameters of a fit ({error!r})"
        raise InputError(path, what, "name the fit.json of a report") from None


def read_known(path: Path | str) -> Known:
    """Read from the file of a fit what it knows: values, and the inverse of the covariance as
    information.

    Parameters without a finite standard error count as unknown.

    Raises:
        InputError: the file is not the ``fit.json`` of a report.
    """
    values = read_values(path)
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        entries = content["parameters"]
        errors = [entries[name]["standard_error"] for name in values]
        determined = [k for k, error in enumerate(errors) if error]
        rows = np.array(content["correlation"], float)[np.ix_(determined, determined)]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        what = f"has no errors and correlations of a fit ({error!r})"
        raise InputError(Path(path), what, "name the fit.json of a report") from None
    deviation = np.array([errors[k] for k in determined], float)
    inverse = np.linalg.pinv(np.nan_to_num(rows), hermitian=True)
    names = tuple(list(values)[k] for k in determined)
    return Known(values, inverse / np.outer(deviation, deviation), names)


def in_case(name: str, case: int, count: int) -> str:
    """Return a name with the number of its case, if there are several.

    Args:
        name: name of a channel or a body.
        case: number of the case.
        count: number of cases.
    """
    return name if count == 1 else f"case {case}: {name}"
