"""Compilation of functions that users also call outside of ``jit``."""

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

import jax

_Function = TypeVar("_Function", bound=Callable)


def jitted(function: _Function) -> _Function:
    """Return ``jax.jit(function)`` with the function's type.

    A function that is called outside of ``jit`` is then compiled as one program. Otherwise each of
    its operations would be compiled separately.
    """
    return cast(_Function, jax.jit(function))


def is_hashable(settings: Hashable) -> bool:
    """Tell whether settings can be constants of a program; with traced numbers they cannot."""
    try:
        hash(settings)
    except TypeError:
        return False
    return True
