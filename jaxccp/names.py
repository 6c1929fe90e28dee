"""Things by their names: looked up, and asked about where one is misspelt."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any


def meant(given: Any, known: Collection[Any]) -> str:
    """``; did you mean …?`` with the known name closest to ``given``; empty where none is close."""
    close = get_close_matches(str(given), map(str, known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown(given: Any, known: Collection[Any]) -> str:
    """A message that ``given`` is none of the ``known`` names, with the closest of them."""
    return f"{given!r} is not one of {', '.join(map(str, known))}{meant(given, known)}"


def index(label: str, what: str, names: Sequence[str], given: int | str) -> int:
    """The index of ``given``, a name or already an index, among ``names``.

    Args:
        label: what the message of the error begins with: the thing that refers to the name.
        what: the kind of thing that the names stand for, such as "body".
        names: the names of all things of that kind, in their order.
        given: one of the names, or an index.

    Raises:
        ValueError: there is no such name or index.
    """
    if isinstance(given, str):
        if given in names:
            return names.index(given)
        known = f"there are {', '.join(names)}" if names else "there is none"
        raise ValueError(f"{label}: there is no {what} {given!r}; {known}{meant(given, names)}")
    if not 0 <= given < len(names):
        raise ValueError(f"{label}: there is no {what} {given}; add it first")
    return int(given)


def fresh(what: str, name: str, taken: Collection[str]) -> None:
    """Raise ``ValueError`` for a name that is taken."""
    if name in taken:
        raise ValueError(f"{what} {name!r}: the name is taken; give each {what} its own")
