"""Compilation of functions that users also call by themselves."""

from collections.abc import Callable
from typing import TypeVar, cast

import jax

_Function = TypeVar("_Function", bound=Callable)


def jitted(function: _Function) -> _Function:
    """Return ``jax.jit`` of a function, with the function's type.

    Called outside of a compiled program, each of its operations would otherwise be compiled
    separately.
    """
    return cast(_Function, jax.jit(function))
