"""Static tables that compare by what is in them, so that a model built again compiles nothing."""

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np


class ByContent:
    """Equality and hash from the fields of a frozen dataclass, arrays included.

    Subclasses are declared with ``@dataclass(frozen=True, eq=False)``, whose own comparison knows
    nothing of arrays.
    """

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
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, ByContent)
        return self._hash == other._hash and self.content == other.content


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return tuple(_hashable(part) for part in value)
    return value
