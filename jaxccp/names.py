"""Names of bodies, joints, options, …: looked up, and compared where one is misspelt."""

import operator
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any


def suggestion(name: Any, names: Collection[Any]) -> str:
    """Return ``; did you mean …?`` with the closest of the names; empty where none is close.

    Args:
        name: a name that is misspelt.
        names: those that exist.
    """
    close = get_close_matches(str(name), map(str, names), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown(name: Any, names: Collection[Any]) -> str:
    """Return a message that ``name`` is none of the names, with the closest of them.

    Args:
        name: a name that does not exist.
        names: those that exist.
    """
    return f"{name!r} is not one of {', '.join(map(str, names))}{suggestion(name, names)}"


def matches(name: str, pattern: str) -> bool:
    """Tell whether a name matches a pattern: ``*`` and ``?`` stand for any letters, brackets for
    themselves.

    Args:
        name: a name.
        pattern: the pattern.
    """
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def index(label: str, what: str, names: Sequence[str], name: int | str) -> int:
    """Return the index of ``name``, a name or already an index, among ``names``.

    Args:
        label: what the message of the error begins with: the thing that refers to the name.
        what: the kind of thing that the names stand for, such as "body".
        names: the names of all things of that kind, in their order.
        name: one of the names, or an index.

    Raises:
        TypeError: it is neither a name nor a whole number.
        ValueError: there is no such name or index.
    """
    if isinstance(name, str):
        if name in names:
            return names.index(name)
        existing = f"there are {', '.join(names)}" if names else "there is none"
        raise ValueError(
            f"{label}: there is no {what} {name!r}; {existing}{suggestion(name, names)}"
        )
    try:
        place = operator.index(name)
    except TypeError:
        raise TypeError(
            f"{label}: give the name or the index of the {what}, not {name!r}"
        ) from None
    if not 0 <= place < len(names):
        raise ValueError(f"{label}: there is no {what} {name}; add it first")
    return place


def unused(name: str, used: Collection[str]) -> str:
    """Return a name that is not used yet: ``name``, with a + for each time that it is used.

    Args:
        name: the name that is wanted.
        used: names that are taken.
    """
    while name in used:
        name += "+"
    return name


def name_or_default(kind: str, name: str | None, count: int) -> str:
    """Return the name that the user has given to a new thing, or else ``<kind><count>``.

    Args:
        kind: the kind of thing.
        name: the name; None or empty if there is none.
        count: the number of things that there are already.
    """
    return f"{kind}{count}" if name is None or name == "" else name


def fresh(what: str, name: str, used: Collection[str]) -> None:
    """Check that a name is a string and not used yet.

    Args:
        what: the kind of thing that it stands for.
        name: the new name.
        used: the names of all things of that kind.

    Raises:
        TypeError: it is something else, such as a number.
        ValueError: it is used.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} {name!r}: a name must be a string, such as '{what}{name}'")
    if name in used:
        raise ValueError(f"{what} {name!r}: the name is taken; give each {what} its own")
