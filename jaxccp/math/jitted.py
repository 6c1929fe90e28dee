"""Compilation of functions that users also call by themselves."""

from collections.abc import Callable
from typing import TypeVar, cast

import jax

_Function = TypeVar("_Function", bound=Callable)


def jitted(function: _Function) -> _Function:
    """``jax.jit``, with the function's own type. Called outside of a compiled program, an operation
    after the other would be compiled by itself."""
    return cast(_Function, jax.jit(function))
