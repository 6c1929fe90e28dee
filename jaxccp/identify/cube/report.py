"""An identification of the cube as JSON and as a picture, and parameters read from JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxccp.ccp.solvers import name_of, resolved
from jaxccp.identify.cube.errors import HorizonErrors, TossErrors
from jaxccp.identify.cube.fit import PARAMETERS, UNITS, CubeFit, CubeSettings
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.simulation.toss_simulation import FIRST
from jaxccp.io.errors import InputError
from jaxccp.io.output import finite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURED = 3
"""Number of held-out tosses in the picture."""


@dataclass(frozen=True)
class Identified:
    """An identification of the cube, with its errors on tosses that were not fitted."""

    settings: CubeSettings
    """Parameters and simulation of the cube."""
    cube_fit: CubeFit
    """The fit."""
    fitted: Sequence[Recording]
    """Tosses that were fitted."""
    held_out: Sequence[Recording]
    """Tosses that were not fitted."""
    errors: TossErrors
    """Computes errors of prediction of the tosses that were not fitted."""
    before: HorizonErrors
    """Errors of prediction with the initial values."""
    after: HorizonErrors
    """Errors of prediction with the fitted values."""

    @property
    def initial(self) -> Float[np.ndarray, " p"]:
        """Return the value of each parameter before the fit."""
        return self.cube_fit.fit.problem.column("initial")

    @property
    def standard_error(self) -> Float[np.ndarray, " p"]:
        """Return the standard error of each parameter; infinite if the tosses do not determine
        it."""
        return self.cube_fit.fit.uncertainty.standard_error


def as_json(identified: Identified, truth: Mapping[str, float] = MappingProxyType({})) -> dict:
    """Return parameters with standard errors, errors of prediction before and after, and settings,
    ready for JSON.

    Args:
        identified: the identification.
        truth: true values of those parameters of which they are known, by name; they are under
            ``true`` of their parameters.
    """
    settings = identified.settings
    rows = zip(
        settings.names,
        identified.cube_fit.fit.values,
        identified.standard_error,
        identified.initial,
        strict=True,
    )
    return {
        "parameters": {
            name: {
                "value": float(value),
                "standard_error": finite(error),
                "initial": float(start),
                "unit": UNITS.get(name, ""),
                **({"true": truth[name]} if name in truth else {}),
            }
            for name, value, error, start in rows
        },
        "law": settings.law,
        "substeps": settings.substeps,
        "stepper": settings.stepper,
        "solver": name_of(resolved(settings.solver)),
        "before": identified.before.summary(),
        "after": identified.after.summary(),
        "tosses_fitted": len(identified.fitted),
        "tosses_held_out": len(identified.held_out),
        "held_out_ids": [_identity(toss) for toss in identified.held_out],
        "stages": [
            {
                "horizon": horizon,
                "iterations": len(stage.losses) - 1,
                "loss_first": float(stage.losses[0]),
                "loss_last": float(stage.losses[-1]),
            }
            for horizon, stage in identified.cube_fit.stages.items()
        ],
    }


def _identity(toss: Recording) -> int | str:
    """Return the number of a toss in its file, or its name if it has no number."""
    number = toss.name.rsplit(" ", 1)[-1]
    return int(number) if number.isdecimal() else toss.name


def read_parameters(path: Path) -> tuple[CubeSettings, Float[np.ndarray, " p"]]:
    """Read the settings and the values that :func:`as_json` has written.

    Raises:
        InputError: the file is unreadable, or is not such a file.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        values = {name: float(entry["value"]) for name, entry in content["parameters"].items()}
        stepper, solver = content.get("stepper", "euler"), content.get("solver", "apgd")
        stepping = content["law"], stepper, content["substeps"], solver
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "name a params.json") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        what = f"has no parameters of the cube ({error!r})"
        raise InputError(path, what, "name a params.json of jaxccp identify") from None
    try:
        settings = CubeSettings(tuple(values), *stepping)
    except (ValueError, TypeError) as error:
        raise InputError(path, str(error), "correct it") from None
    for name, value in values.items():
        parameter = PARAMETERS[name]
        if not parameter.lower <= value <= parameter.upper:
            what = f"{name} = {value:g} lies outside {parameter.lower:g} … {parameter.upper:g}"
            raise InputError(path, what, "correct it", "parameters")
    return settings, np.array(list(values.values()))


def picture(identified: Identified, truth: Mapping[str, float] = MappingProxyType({})) -> "Figure":
    """Return a figure of the losses, of the parameters and of held-out tosses with typical errors;
    it needs matplotlib.

    Args:
        identified: the identification.
        truth: true values of those parameters of which they are known, by name.
    """
    from jaxccp.viz import Change, TossPicture, identification_picture

    rank = np.argsort(identified.after.whole.position)
    shares = np.linspace(0.15, 0.85, min(PICTURED, len(rank)))
    fit = identified.cube_fit.fit
    both = [identified.errors.tosses(values) for values in (identified.initial, fit.values)]
    shown = []
    for index in rank[(shares * len(rank)).astype(int)]:
        toss, before, after = identified.held_out[index], *(part[index] for part in both)
        count = len(toss.time) - FIRST - 1
        measured = np.asarray(toss.of_kind("pose")[0].values)[FIRST + 1 :, :3]
        shown.append(
            TossPicture(
                f"{toss.name} (not fitted)",
                toss.time[FIRST + 1 :] - toss.time[FIRST],
                measured,
                measured + before.shift[0, :count],
                measured + after.shift[0, :count],
                np.degrees(before.angle[0, :count]),
                np.degrees(after.angle[0, :count]),
            )
        )
    losses = {
        f"{h} samples": np.array(stage.losses) for h, stage in identified.cube_fit.stages.items()
    }
    scale = fit.problem.column("scale")
    rows = zip(
        identified.settings.names,
        identified.initial,
        fit.values,
        identified.standard_error,
        scale,
        strict=True,
    )
    changes = [
        Change(name, float(start), float(value), float(error), float(width), truth.get(name))
        for name, start, value, error, width in rows
    ]
    law = identified.settings.law
    title = (
        f"Identified from {len(identified.fitted)} tosses, law {law}: measured against simulated"
    )
    return identification_picture(shown, losses, changes, title)
