"""Checks that the options of ``jaxccp identify`` are compatible, and the request made from them."""

from collections.abc import Iterable
from typing import Any

import typer

from jaxccp.cli.commands.model_request import ModelRequest
from jaxccp.cli.commands.scene_argument import is_model, loading_of
from jaxccp.cli.dataclass_options import settings_of
from jaxccp.cli.known_names import IDENTIFIED, METHOD, PARAMETERS, RESIDUALS, RESTARTS
from jaxccp.names import unknown

CUBE_ONLY = ("demo", "horizons")
"""Options that are only for tosses of the cube."""
FITTING = ("horizons", "holdout", "restarts", "resume", "out")
"""Options that have no effect on the evaluation of a fit, besides the fields of ``METHOD`` and
``RESTARTS``."""
SAVED = ("names", "law", "stepper", "solver")
"""Options that the evaluation of a fit of the cube takes from the file of the fit."""
LOADING = ("package", "floating", "actuators", "allow_unsupported")
"""Options that say how a model file is loaded."""


def cube_parameters(
    options: dict[str, Any], set_by_user: set[str], settings: dict[str, Any]
) -> tuple[str, ...]:
    """Return the names of the cube's parameters that are identified.

    Args:
        options: values of the options by name.
        set_by_user: names of the options that the user gave.
        settings: values of the options made of dataclasses.

    Raises:
        typer.BadParameter: options go with model files, or contradict each other.
    """
    method = values_of(settings, (METHOD,))
    for name in ("residual", "restarts", "resume", *LOADING, *settings):
        if name in set_by_user and name not in method:
            raise typer.BadParameter("goes with a model file", param_hint=_option(name))
    if options["holdout"] == 0:
        raise typer.BadParameter("some tosses have to be held out", param_hint="--holdout")
    if options["demo"] == bool(options["paths"]) or len(options["paths"] or ()) > 1:
        raise typer.BadParameter("give either DATA.npz or --demo, or a model file and DATA")
    names = options["names"]
    return tuple(_names(",".join(IDENTIFIED) if names is None else names).split(","))


def model_request(
    options: dict[str, Any], set_by_user: set[str], settings: dict[str, Any]
) -> ModelRequest:
    """Return the request to identify a model.

    Args:
        options: values of the options by name.
        set_by_user: names of the options that the user gave.
        settings: values of the options made of dataclasses.

    Raises:
        typer.BadParameter: options go with tosses of the cube, or recordings are missing.
    """
    for name in CUBE_ONLY:
        if name in set_by_user:
            raise typer.BadParameter("goes with tosses of the cube", param_hint=_option(name))
    paths = options["paths"] or []
    has_model = bool(paths) and is_model(str(paths[0]))
    if has_model and len(paths) < 2 and options["config"] is None:
        raise typer.BadParameter("give recordings of the model too", param_hint="DATA")
    written = {name: options[name] for name in set_by_user & set(options)}
    method = values_of(settings, (METHOD,)) | {
        name: written[name] for name in ("iterations",) if name in written
    }
    number = {} if options["restarts"] is None else {"descents": options["restarts"]}
    return ModelRequest(
        model=paths[0] if has_model else None,
        data=tuple(paths[has_model:]),
        load=loading_of(*(options[name] for name in LOADING)),
        config=options["config"],
        evaluate=options["evaluate"],
        parameters=options["names"],
        residual=options["residual"],
        settings=values_of(settings, RESIDUALS.values()),
        method=method,
        restarts=values_of(settings, (RESTARTS,)) | number,
        resume=options["resume"],
        stepping={name: written[name] for name in ("law", "stepper", "solver") if name in written},
        holdout=written.get("holdout"),
        seed=written.get("seed"),
        precision=options["precision"],
        out=options["out"],
        as_json=options["as_json"],
    )


def check_evaluation(set_by_user: set[str], is_cube: bool) -> None:
    """Check that all options that the user gave act on the evaluation of a fit.

    Args:
        set_by_user: names of the options that the user gave.
        is_cube: whether the fit is of the cube.

    Raises:
        typer.BadParameter: an option would have no effect.
    """
    of_fit = (*FITTING, *settings_of(METHOD), *settings_of(RESTARTS))
    for name in (*of_fit, *(SAVED if is_cube else ())):
        if name in set_by_user:
            option = "--parameters" if name == "names" else _option(name)
            raise typer.BadParameter("has no effect on --evaluate", param_hint=option)


def _option(name: str) -> str:
    """Return the name of an option as it is written on the command line."""
    return "--" + name.replace("_", "-")


def values_of(settings: dict[str, Any], references: Iterable[str]) -> dict[str, Any]:
    """Return the option values of the fields of some classes."""
    fields = {name: field for ref in references for name, field in settings_of(ref).items()}
    return {
        name: fields[name].value(value)
        for name, value in settings.items()
        if name in fields and value is not None
    }


def _names(text: str) -> str:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARAMETERS:
            raise typer.BadParameter(unknown(name, PARAMETERS))
    if not names or len(set(names)) < len(names):
        raise typer.BadParameter(f"{text!r} is an empty or repeated list")
    return ",".join(names)
