"""Things by their names: looked up, and asked about where one is misspelt."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Any


def meant(given: Any, known: Collection[Any]) -> str:
    """Which of the ``known`` names was probably meant, as the end of a message; else nothing."""
    close = get_close_matches(str(given), map(str, known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown(given: Any, known: Collection[Any]) -> str:
    """That ``given`` is none of the ``known`` names, and which of them was probably meant."""
    return f"{given!r} is not one of {', '.join(map(str, known))}{meant(given, known)}"


def index(label: str, what: str, names: Sequence[str], given: int | str) -> int:
    """Where ``given``, a name or already an index, stands among ``names``.

    Args:
        label: who asks, for the message.
        what: what the names are of, such as "body".
        names: all there are.
        given: one of them, or an index.

    Raises:
        ValueError: if there is none.
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
