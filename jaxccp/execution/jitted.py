"""Compilation of functions that users also call outside of ``jit``."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import jax

from jaxccp.execution import trees

_Function = TypeVar("_Function", bound=Callable)
_Result = TypeVar("_Result")


def jitted(function: _Function) -> _Function:
    """Return ``jax.jit(function)`` with the function's type.

    A function that is called outside of ``jit`` is then compiled as one program. Otherwise each of
    its operations would be compiled separately.
    """
    return cast(_Function, jax.jit(function))


def compiled_outside_of_jit(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Return a function that is compiled as one program, for each ``settings``, when it is called
    with arrays that are not traced.

    With traced arrays (under ``jit``, ``vmap`` or ``grad``) it is part of the caller's program, and
    its settings may be traced too.

    Args:
        function: a function of its settings, a constant of the program, and of arrays.
    """
    program = jax.jit(function, static_argnums=0)

    @wraps(function)
    def call(settings: Any, *arguments: Any) -> _Result:
        within = trees.is_traced(arguments) or not _is_hashable(settings)
        return (function if within else program)(settings, *arguments)

    return call


def _is_hashable(settings: Any) -> bool:
    """Tell whether settings can be constants of a program; with traced numbers they cannot."""
    try:
        hash(settings)
    except TypeError:
        return False
    return True
