"""The residual of a case, made from the settings that a configuration or the options give."""

from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from jaxccp.cli.dataclass_options import settings_of
from jaxccp.cli.identify_config import CaseConfig
from jaxccp.cli.known_names import RESIDUALS
from jaxccp.cli.tables import built, check_keys, check_types, required
from jaxccp.dynamics.steppers import STEPPERS
from jaxccp.io import InputError

STEPPING = ("law", "stepper", "solver")
"""Settings of the stepper of a simulation, which are names."""


def residual_of(source: Path | str, case: CaseConfig, loaded: Any) -> Any:
    """Return the residual of a case with its settings.

    Args:
        source: file of the settings, for messages.
        case: settings of the case; ``stepper``, ``law`` and ``solver`` are names.
        loaded: the model, whose sensors are those that are compared.

    Raises:
        InputError: the residual has no such setting.
    """
    module, _, name = RESIDUALS[case.residual].partition(":")
    cls = getattr(import_module(module), name)
    names = {field.name for field in fields(cls)}
    types = get_type_hints(cls) | dict.fromkeys(STEPPING, str)
    check_types(source, "settings", case.settings, types)
    settings = {key: value for key, value in case.settings.items() if key not in STEPPING}
    stepping = {key: case.settings[key] for key in STEPPING if key in case.settings}
    if stepping and "stepper" in names:
        choice = stepping.get("stepper", "euler")
        if choice not in STEPPERS:
            check_keys(source, "settings", {choice: None}, STEPPERS)
        h: Any = settings.get("h", next(f.default for f in fields(cls) if f.name == "h"))
        step: Any = h[-1] if isinstance(h, list | tuple) and h else h
        law, solver = stepping.get("law", "ncp"), stepping.get("solver")
        try:
            settings["stepper"] = STEPPERS[choice](step, law, solver)
        except ValueError as error:
            raise InputError(source, str(error), "correct it", "settings") from None
    elif stepping:
        settings |= stepping
    if "sensors" in names:
        settings["sensors"] = loaded.sensors
    for name, option in settings_of(RESIDUALS[case.residual]).items():
        if name in required(cls) and name not in settings:
            what = option.help.split(". ")[0]
            mend = f"give --{name}, or {name} in [settings]: {what}, such as 0.5"
            raise InputError(source, f"{name} is missing", mend, case.residual)
    return built(source, case.residual, cls, settings)
