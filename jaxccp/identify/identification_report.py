"""An identification as JSON and as a picture, and parameters read back from JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import jax
import numpy as np

from jaxccp.ccp.problem import Law
from jaxccp.dynamics.steppers import STEPPERS
from jaxccp.identify import parameters
from jaxccp.identify.pipeline import Identification, cube_experiment
from jaxccp.identify.predict import errors
from jaxccp.identify.toss_segments import FIRST, whole
from jaxccp.io.errors import InputError
from jaxccp.io.tosses import Tosses
from jaxccp.names import unknown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURED = 3
"""The number of held-out tosses in the picture."""


def as_json(found: Identification, truth: Mapping[str, float] = MappingProxyType({})) -> dict:
    """Parameters with standard errors, errors of prediction before and after, and settings.

    Args:
        found: the identification.
        truth: true values of those parameters of which they are known, by name.

    Returns:
        A dictionary that JSON can hold; true values are under ``true`` of their parameters.
    """
    names, fit = found.fit.names, found.fit
    return {
        "parameters": {
            name: {
                "value": float(value),
                "standard_error": _finite(error),
                "initial": float(start),
                "unit": parameters.PARAMETERS[name].unit,
                **({"true": truth[name]} if name in truth else {}),
            }
            for name, value, error, start in zip(
                names, fit.values, found.standard_errors, found.initial, strict=True
            )
        },
        "law": found.settings.law,
        "substeps": found.settings.substeps,
        "stepper": found.settings.stepper,
        "before": found.before.summary(),
        "after": found.after.summary(),
        "tosses_fitted": len(found.train),
        "tosses_held_out": len(found.test),
        "held_out_ids": [int(i) for i in found.test],
        "stages": [
            {
                "horizon": horizon,
                "iterations": len(stage.losses),
                "loss_first": float(stage.losses[0]),
                "loss_last": float(np.mean(stage.losses[-max(1, len(stage.losses) // 10) :])),
            }
            for horizon, stage in zip(found.settings.horizons, found.stages, strict=True)
        ],
    }


def _finite(value: float) -> float | None:
    """``value``, or None if it is infinite, as where the data do not determine a parameter."""
    return float(value) if np.isfinite(value) else None


def read_parameters(path: Path) -> tuple[tuple[str, ...], np.ndarray, Law, int, str]:
    """Names, values, law, substeps and stepper from a ``params.json`` of :func:`as_json`.

    Raises :class:`jaxccp.io.InputError` for anything else.
    """
    try:
        content = json.loads(path.read_text())
        values = {name: float(entry["value"]) for name, entry in content["parameters"].items()}
        law, substeps = content["law"], int(content["substeps"])
        stepper = content.get("stepper", "euler")
    except FileNotFoundError:
        raise InputError(path, "no such file", "check the path") from None
    except OSError as error:
        raise InputError(path, f"cannot be read ({error.strerror})", "check the path") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            path, f"not the parameters of an identification ({error!r})", "give a params.json"
        ) from None
    try:
        names = parameters.known(tuple(values))
        parameters.to_free(names, values)
    except ValueError as error:
        raise InputError(path, str(error), "correct it", "parameters") from None
    if law not in ("ccp", "ncp") or substeps < 1:
        raise InputError(path, f"law {law!r} with {substeps} substeps", "correct both", "law")
    if stepper not in STEPPERS:
        raise InputError(path, unknown(stepper, STEPPERS), "correct it", "stepper")
    return names, np.array([values[name] for name in names]), law, substeps, stepper


def picture(
    found: Identification, tosses: Tosses, truth: Mapping[str, float] = MappingProxyType({})
) -> "Figure":
    """Held-out tosses that are typical of the errors after the fit, the losses, the parameters.

    Needs matplotlib, which nothing else here does.

    Args:
        found: the identification.
        tosses: all those it was given.
        truth: true values of those parameters of which they are known, by name.

    Returns:
        The figure, to be saved.
    """
    from jaxccp.viz import Change, TossPicture, identification_picture

    rank = np.argsort(found.after.whole.position)
    shares = np.linspace(0.15, 0.85, min(PICTURED, len(rank)))
    typical = rank[(shares * len(rank)).astype(int)]
    position = {int(toss): index for index, toss in enumerate(tosses.ids)}
    which = np.array([position[int(found.test[i])] for i in typical])
    held = tosses.take(which)
    segments = whole(held)
    its = found.settings
    experiment = cube_experiment(tosses.dt, its.law, its.substeps, stepper=its.stepper)
    samples = segments.target_position.shape[1]
    names = found.fit.names

    @jax.jit
    def run(values, batch):
        def one(segment):
            moved = experiment.predict(names, values, segment, samples)
            return moved[0], errors(*moved, segment)[1]

        return jax.vmap(one)(batch)

    both = [
        jax.tree.map(np.asarray, run(jax.numpy.asarray(values, float), segments))
        for values in (found.initial, found.fit.values)
    ]
    shown = []
    for row, index in enumerate(which):
        count = int(tosses.lengths[index]) - FIRST - 1
        (before, turn_before), (after, turn_after) = (
            (moved[row, :count], turn[row, :count]) for moved, turn in both
        )
        shown.append(
            TossPicture(
                f"toss {tosses.ids[index]} (not fitted)",
                np.arange(1, count + 1) * tosses.dt,
                np.asarray(segments.target_position)[row, :count],
                before,
                after,
                np.degrees(np.linalg.norm(turn_before, axis=1)),
                np.degrees(np.linalg.norm(turn_after, axis=1)),
            )
        )
    law = found.settings.law
    title = f"Identified from {len(found.train)} tosses, law {law}: measured against simulated"
    losses = {
        f"{horizon} samples": stage.losses
        for horizon, stage in zip(found.settings.horizons, found.stages, strict=True)
    }
    changes = [
        Change(name, float(start), float(value), float(error), scale, truth.get(name))
        for name, start, value, error, scale in zip(
            names,
            found.initial,
            found.fit.values,
            found.standard_errors,
            parameters.columns(names)[2],
            strict=True,
        )
    ]
    return identification_picture(shown, losses, changes, title)
