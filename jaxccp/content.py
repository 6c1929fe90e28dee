"""Static tables that compare by content, so that a model built again compiles nothing."""

from collections.abc import Callable
from dataclasses import fields
from functools import cached_property, wraps
from typing import Any, TypeVar

import jax
import numpy as np

Owner = TypeVar("Owner")
Table = TypeVar("Table")


def cached_table(table: Callable[[Owner], Table]) -> cached_property[Table]:
    """Return a property that computes a table of indices from the fields of a :class:`ByContent`
    once."""

    @wraps(table)
    def narrow(owner: Owner) -> Table:
        return _narrow(table(owner))

    return cached_property(narrow)


class ByContent:
    """Base class with equality and hash by the fields of a frozen dataclass, arrays included.

    Subclasses are declared with ``@dataclass(frozen=True, eq=False)``, whose comparison cannot
    compare arrays. Whole numbers are held in 32 bits: jax remembers what it made of an array of 64
    bits under one setting of ``jax_enable_x64`` and would return it under the other.
    """

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, _narrow(getattr(self, field.name)))

    @cached_property
    def content(self) -> tuple:
        """The type, followed by the values of all fields: one hashable tuple."""
        return type(self), *(_hashable(getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]

    @cached_property
    def _hash(self) -> int:
        return hash(self.content)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ByContent) or type(self) is not type(other):
            return NotImplemented
        return self._hash == other._hash and self.content == other.content


def _narrow(value: Any) -> Any:
    """Return the value with its arrays, also those in tuples, as NumPy arrays, and those of 64 bit
    integers in 32 bits."""
    if isinstance(value, jax.Array):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype == np.int64:
        return value.astype(np.int32)
    if type(value) is tuple:
        return tuple(_narrow(part) for part in value)
    return value


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return tuple(_hashable(part) for part in value)
    return value
