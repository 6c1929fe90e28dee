"""Things by their names: looked up, and asked about where one is misspelt."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any


def meant(given: Any, known: Collection[Any]) -> str:
    """Which of the ``known`` names was probably meant, as the end of a message; else nothing."""
    close = get_close_matches(str(given), map(str, known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown(given: Any, known: Collection[Any]) -> str:
    """That ``given`` is none of the ``known`` names, and which of them was probably meant."""
    return f"{given!r} is not one of {', '.join(map(str, known))}{meant(given, known)}"
