"""Settings of identifications from TOML files, overridden by options of the command line."""

import inspect
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from jaxccp.cli.commands.model_request import ModelRequest
from jaxccp.cli.known_names import RESIDUALS
from jaxccp.cli.tables import built, check_keys, check_types, from_json, to_json
from jaxccp.identify import Method, Parameter, Restarts, inertial_of, read
from jaxccp.io import InputError, load

READING = tuple(inspect.signature(read).parameters)[2:]
"""Settings of the readers of recordings."""
LOADING = tuple(inspect.signature(load).parameters)[1:]
"""Settings of the loader of models."""
HOLDOUT = 0.3
CASE: dict[str, Any] = {
    "model": str,
    "load": Mapping[str, Any],
    "data": str | Sequence[str],
    "residual": str,
    "settings": Mapping[str, Any],
    "read": Mapping[str, Any],
}
"""Types of the settings of a case; on top they are those of all cases."""
TOP: dict[str, Any] = {
    "parameters": list,
    "method": Mapping[str, Any],
    "holdout": float,
    "seed": int,
    "restarts": Mapping[str, Any],
    "resume": str,
}
"""Types of the settings that all cases share."""
CASES: dict[str, Any] = {"cases": Sequence[Mapping[str, Any]]}
"""Type of the list of cases."""


@dataclass(frozen=True)
class CaseConfig:
    """Settings of one case: a model, recordings of it, and their comparison."""

    model: Path
    data: tuple[str, ...]
    load: Mapping[str, Any] = field(default_factory=dict)
    read: Mapping[str, Any] = field(default_factory=dict)
    residual: str = "simulate"
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """Settings of an identification: cases, parameters, and the method of the fit."""

    cases: tuple[CaseConfig, ...]
    parameters: tuple[Parameter | str, ...] = ()
    method: Method = field(default_factory=Method)
    holdout: float = HOLDOUT
    seed: int = 0
    restarts: Restarts | None = None
    resume: Path | None = None


def config_of(request: ModelRequest, saved: Mapping[str, Any] | None = None) -> Config:
    """Return the settings of an identification: from the options, else from the TOML file, else
    from ``saved``.

    Args:
        request: arguments and options of the command.
        saved: settings of a fit, as :func:`as_table` returns them.

    Raises:
        InputError: a file cannot be read, a key is not known, or model or data are missing.
    """
    table = from_json(dict(saved or {}))
    check_types(request.evaluate or "the fit", "problem", table, CASE | TOP | CASES)
    source: Path | str = "the command line"
    folder = Path()
    given: dict[str, Any] = {}
    if request.config is not None:
        source, folder = request.config, request.config.parent
        given = _toml(request.config)
    check_keys(source, "", table | given, (*CASE, *TOP, *CASES))
    check_types(source, "", given, CASE | TOP | CASES)
    tables = _case_tables(source, given, table)
    if len(tables) > 1 and (request.model or request.data):
        what = "has several cases, each with its own model and data"
        raise InputError(source, what, "leave MODEL and DATA out", "cases")
    cases = tuple(_case(source, folder, entry, request) for entry in tables)
    table |= given
    if request.parameters is None:
        parameters = tuple(
            p for entry in table.get("parameters", []) for p in _parameters(source, entry)
        )
    else:
        parameters = paths_of(request.parameters)
    method = {**table.get("method", {}), **request.method}
    seed = table.get("seed", 0) if request.seed is None else request.seed
    drawn = {"seed": seed, **table.get("restarts", {}), **request.restarts}
    drawn |= {} if request.seed is None else {"seed": request.seed}
    asked = "restarts" in table or bool(request.restarts)
    restarts = built(source, "restarts", Restarts, drawn) if asked else None
    resume = request.resume or (folder / table["resume"] if "resume" in table else None)
    if restarts is not None and resume is not None:
        what = "asks for restarts as well as for a file to resume from"
        raise InputError(source, what, "leave one of them out")
    return Config(
        cases,
        parameters,
        built(source, "method", Method, method),
        float(table.get("holdout", HOLDOUT) if request.holdout is None else request.holdout),
        seed,
        restarts,
        resume,
    )


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(path, f"cannot be read ({error})", "give a TOML file") from None


def _overridden(settings: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a case overridden by those that are given, tables key by key; settings
    that were given with another residual are left out."""
    table = {**settings, **given}
    if "residual" in settings and table["residual"] != settings["residual"]:
        settings = {**settings, "settings": {}}
    for name in ("settings", "load", "read"):
        table[name] = {**settings.get(name, {}), **given.get(name, {})}
    return table


def _case_tables(
    source: Path | str, given: Mapping[str, Any], saved: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the settings of each case: its entry overrides what stands on top, and both override
    the settings that the same case had in a fit.

    Args:
        source: file of the settings, for messages.
        given: settings of the file.
        saved: settings of the fit, with ``cases`` if they differ from case to case.

    Raises:
        InputError: an entry has a key that it cannot have, or the fit has other cases.
    """
    entries = given.get("cases") or [{}]
    for entry in entries:
        for key in entry:
            if key in TOP:
                mend = f"all cases share {key}: move it to the top, above [[cases]]"
                raise InputError(source, f"{key} is not that of a case", mend, "cases")
        check_keys(source, "cases", entry, CASE)
        check_types(source, "cases", entry, CASE)
    before = saved.get("cases") or [saved] * len(entries)
    if len(before) != len(entries):
        what = f"has {len(entries)} of the {len(before)} cases of the fit, whose settings differ"
        raise InputError(source, what, "give --config with all of them in their order", "cases")
    for table in before:
        check_types(source, "cases of the fit", table, CASE)
    pairs = zip(before, entries, strict=True)
    return [_overridden(table, _overridden(given, entry)) for table, entry in pairs]


def _case(
    source: Path | str, folder: Path, table: Mapping[str, Any], request: ModelRequest
) -> CaseConfig:
    """Return the settings of one case, which options override."""
    asked = {} if request.residual is None else {"residual": request.residual}
    table = _overridden(table, asked)
    model = request.model or (folder / table["model"] if "model" in table else None)
    data = [str(path) for path in request.data]
    if not data:
        entries = table.get("data", [])
        entries = [entries] if isinstance(entries, str) else entries
        data = [str(folder / entry) for entry in entries]
    if model is None or not data:
        raise InputError(
            source, f"names no {'model' if model is None else 'data'}", "give MODEL and DATA"
        )
    loading = table["load"]
    check_keys(source, "load", loading, LOADING)
    check_types(source, "load", loading, get_type_hints(load))
    if "packages" in loading:
        loading["packages"] = {k: folder / v for k, v in loading["packages"].items()}
    reading = {
        key: (
            {k: None if v is False else v for k, v in value.items()}
            if key == "columns" and isinstance(value, Mapping)
            else value
        )
        for key, value in table["read"].items()
    }
    check_keys(source, "read", reading, READING)
    check_types(source, "read", reading, get_type_hints(read))
    residual = table.get("residual", "simulate")
    if residual not in RESIDUALS:
        check_keys(source, "residual", {residual: None}, RESIDUALS)
    settings = {**table["settings"], **request.settings, **request.stepping}
    return CaseConfig(model, tuple(data), loading | request.load, reading, residual, settings)


def paths_of(text: str) -> tuple[Parameter | str, ...]:
    """Return the parameters for paths separated by commas; commas within brackets belong to a path.

    Args:
        text: such as ``axes[*].friction,bodies["fore"].inertial``. Inertial numbers have the prior
            of :func:`jaxccp.identify.inertial_of`.

    Raises:
        InputError: the text has no path.
    """
    parts, depth = [""], 0
    for letter in text:
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    paths = [part.strip() for part in parts if part.strip()]
    if not paths:
        raise InputError("--parameters", "names none", "give paths such as axes[*].friction")
    prior = inertial_of().prior
    return tuple(
        Parameter(path, prior=prior) if path.endswith(".inertial") else path for path in paths
    )


def _parameters(source: Path | str, entry: Any) -> tuple[Parameter | str, ...]:
    """Return the parameters of a text of paths, or the one of a table of its fields."""
    if isinstance(entry, str):
        return tuple(paths_of(entry))
    if isinstance(entry, Mapping):
        names = [field.name for field in fields(Parameter) if field.name != "apply"]
        check_keys(source, "parameters", entry, names)
    return (built(source, "parameters", Parameter, entry),)


def as_table(config: Config) -> dict[str, Any]:
    """Return the settings that an evaluation of the fit needs, ready for JSON
    (:func:`jaxccp.cli.tables.to_json`): the parameters, and of each case the residual, its settings
    and those of the loader and the readers. They are on top where all cases have the same, else in
    a list ``cases``."""
    tables = []
    for case in config.cases:
        loading = dict(case.load)
        if "packages" in loading:
            loading["packages"] = {k: str(v.resolve()) for k, v in loading["packages"].items()}
        table = {"residual": case.residual, "settings": case.settings, "read": case.read}
        tables.append(table | {"load": loading})
    blank = {field.name: field.default for field in fields(Parameter)}
    parameters = []
    for parameter in config.parameters:
        if isinstance(parameter, str):
            parameters.append(parameter)
            continue
        entry = {key: getattr(parameter, key) for key in blank if key != "apply"}
        parameters.append({k: v for k, v in entry.items() if k == "path" or v != blank[k]})
    alike = all(table == tables[0] for table in tables)
    return to_json({"parameters": parameters, **(tables[0] if alike else {"cases": tables})})
