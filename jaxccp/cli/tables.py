"""Checked tables of settings, as TOML files have them: their keys, and types of their values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from math import isfinite
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from jaxccp.io import InputError
from jaxccp.names import suggestion


def check_keys(source: Path | str, label: str, table: Iterable[str], names: Iterable[str]) -> None:
    """Check that all keys of a table are known.

    Args:
        source: file of the table, for messages.
        label: name of the table in the file.
        table: keys of the table.
        names: known keys.

    Raises:
        InputError: a key is not known; the message suggests the most similar one.
    """
    names = tuple(names)
    for key in table:
        if key not in names:
            raise InputError(
                source,
                f"there is no {key!r}",
                f"there are {', '.join(names)}{suggestion(key, names)}",
                label,
            )


def check_types(
    source: Path | str, label: str, table: Mapping[str, Any], hints: Mapping[str, Any]
) -> None:
    """Check that all values of a table have the types that they need.

    Args:
        source: file of the table, for messages.
        label: name of the table in the file.
        table: values by key; keys without a type are not checked.
        hints: types by key.

    Raises:
        InputError: a value has another type.
    """
    for key, value in table.items():
        if key in hints and not _fits(value, hints[key]):
            raise InputError(
                source, f"{key} cannot be {value!r}", f"it is {_words(hints[key])}", label
            )


def to_json(entry: Any) -> Any:
    """Return a table for JSON, which has no NaN and infinity: a text such as ``"inf"`` for each, in
    lists and tables too."""
    if isinstance(entry, Mapping):
        return {key: to_json(value) for key, value in entry.items()}
    if isinstance(entry, list | tuple):
        return [to_json(value) for value in entry]
    return str(entry) if isinstance(entry, float) and not isfinite(entry) else entry


def from_json(entry: Any) -> Any:
    """Return a table that :func:`to_json` made ready for JSON, with numbers for these texts."""
    if isinstance(entry, Mapping):
        return {key: from_json(value) for key, value in entry.items()}
    if isinstance(entry, list):
        return [from_json(value) for value in entry]
    return float(entry) if entry in ("inf", "-inf", "nan") else entry


def built(source: Path | str, label: str, cls: type, table: Any) -> Any:
    """Return a dataclass made from a table of its fields.

    Args:
        source: file of the table, for messages.
        label: name of the table in the file.
        cls: the dataclass.
        table: values by field; lists are tuples.

    Raises:
        InputError: a field is not known or missing, or has a value that it cannot have.
    """
    if not isinstance(table, Mapping):
        raise InputError(source, f"{table!r} is no table", "give fields and values", label)
    check_keys(source, label, table, [field.name for field in fields(cls)])
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    hints = get_type_hints(cls)
    check_types(source, label, values, hints)
    for name in required(cls):
        if name not in values:
            raise InputError(source, f"{name} is missing", f"it is {_words(hints[name])}", label)
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise InputError(source, str(error), "correct it", label) from None


def required(cls: type) -> list[str]:
    """Return the names of a dataclass's fields that have no default."""
    return [f.name for f in fields(cls) if f.default is f.default_factory is MISSING]


def _fits(value: Any, hint: Any) -> bool:
    """Tell whether a value has a type."""
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if hint is Any:
        return True
    if origin in (UnionType, Union):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(v, parts[1]) for v in value.values())
    if origin in (Sequence, tuple) and parts:
        return isinstance(value, list | tuple) and all(_fits(v, parts[0]) for v in value)
    return not isinstance(origin, type) or isinstance(value, origin)


def _words(hint: Any) -> str:
    """Return the description of a type in the words of TOML."""
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if origin in (UnionType, Union):
        return " or ".join(_words(part) for part in parts if part is not type(None))
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin is Mapping:
        return "a table" if parts[1] is Any else f"a table whose values are {_words(parts[1])}"
    if origin in (Sequence, tuple) and parts:
        return f"a list whose items are {_words(parts[0])}"
    return _WORDS.get(origin, str(hint))


_WORDS = {
    float: "a number",
    int: "a whole number",
    str: "a text",
    bool: "true or false",
    list: "a list",
}
