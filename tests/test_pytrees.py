"""Classes of arrays are pytrees, so that parts of a step can be compiled by themselves."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin

import jax

import jaxccp

NO_PYTREES = {
    "jaxccp.ccp.solve.Stop",  # settings, static where they are numbers
    "jaxccp.cli.model_file.OpenedModel",  # never inside a program
    "jaxccp.cli.simulation.Run",  # never inside a program
    "jaxccp.math.implicit_root.RootFunction",  # a function with its arguments
    "jaxccp.sensors.reading.Reading",  # arrays and what a sensor was built with
}


def has_arrays(hint: Any) -> bool:
    """Return whether a type is JAX's array, or contains it."""
    if get_origin(hint) is get_origin(Callable[..., int]):
        return False
    own = hint is jax.Array or getattr(hint, "array_type", None) is jax.Array
    return own or any(map(has_arrays, get_args(hint)))


def classes() -> Iterator[type]:
    """Yield the dataclasses of all modules that have fields of arrays."""
    for module in pkgutil.walk_packages(jaxccp.__path__, "jaxccp."):
        if module.name.endswith("__main__"):
            continue
        try:
            contents = vars(importlib.import_module(module.name))
        except ModuleNotFoundError as error:  # of an optional package
            assert not str(error.name).startswith("jaxccp")
            continue
        for found in contents.values():
            if not (inspect.isclass(found) and dataclasses.is_dataclass(found)):
                continue
            arrays = any(has_arrays(field.type) for field in dataclasses.fields(found))
            if arrays and found.__module__ == module.name:
                yield found


def is_pytree(kind: type) -> bool:
    """Return whether JAX looks for the fields of an instance, here of one that has none."""
    try:
        jax.tree.leaves(object.__new__(kind))
    except AttributeError:
        return True
    return False


def test_classes_of_arrays_are_pytrees() -> None:
    found = {f"{kind.__module__}.{kind.__qualname__}": is_pytree(kind) for kind in classes()}
    assert len(found) > 100
    assert {name for name, yes in found.items() if not yes} == NO_PYTREES
