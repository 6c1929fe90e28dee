"""Arrays that users pass: floats of the shape that a function expects, checked while tracing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as short
from types import EllipsisType
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Floats = Array | np.ndarray | Sequence[Any]
"""What public functions take for an array of floats."""
LISTED = 12
"""Names that a message lists at most."""


@dataclass(frozen=True)
class Dimension:
    """One dimension of an expected array."""

    label: str
    """What its entries stand for, in the plural."""
    size: int
    """Number of entries."""
    names: Sequence[str] = ()
    """Names of what the entries stand for, where they have any."""

    @staticmethod
    def named(label: str, names: Sequence[str]) -> "Dimension":
        """Return a dimension with one entry for each name."""
        return Dimension(label, len(names), names)


Expected = Sequence[Dimension | int | EllipsisType]
"""Dimensions of an array, plain numbers where the size says it all; ``...`` in front allows any
leading ones."""


def as_floats(
    what: str,
    value: Any,
    expected: Expected,
    dtype: Any = None,
    remedies: Mapping[tuple[int, ...], str] | None = None,
) -> Float[Array, "..."]:
    """Return ``value`` as a JAX array of floats, after checking its shape.

    The check uses the static shape only. It works under ``jit``, ``vmap`` and ``grad`` and adds
    nothing to the compiled program.

    Args:
        what: name of the argument, with which an error message begins.
        value: an array, a NumPy array, a number or nested lists of numbers.
        expected: the expected dimensions.
        dtype: dtype of the result. None keeps the dtype of a float array, and converts integers and
            booleans to JAX's default float.
        remedies: advice for the end of an error message, by the (wrong) shape of ``value``.

    Raises:
        ValueError: ``value`` has another shape, or its entries are not real numbers.
    """
    try:
        array = jnp.asarray(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what} must be an array of numbers{_described(expected)}, not {short(value)}: {error}"
        ) from error
    if not jnp.isdtype(array.dtype, ("bool", "integral", "real floating")):
        raise ValueError(f"{what} must be an array of real numbers, not of {array.dtype}")
    leading, dimensions = _parts(expected)
    sizes = tuple(_size(d) for d in dimensions)
    shape = array.shape
    fits = _ends_with(shape, sizes) if leading else shape == sizes
    if not fits:
        remedy = (remedies or {}).get(shape, "")
        if not remedy and not leading and len(shape) > len(sizes) and _ends_with(shape, sizes):
            remedy = "; a batch goes through jax.vmap"
        raise ValueError(f"{what} must have shape{_described(expected)}, not {shape}{remedy}")
    if dtype is None:
        dtype = array.dtype if jnp.issubdtype(array.dtype, jnp.floating) else float
    return array.astype(jnp.result_type(dtype))


def _parts(expected: Expected) -> tuple[bool, list[Dimension | int]]:
    """Return whether leading dimensions are allowed, and the list of the dimensions after them."""
    return ... in expected, [d for d in expected if not isinstance(d, EllipsisType)]


def _ends_with(shape: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Return whether the last entries of ``shape`` equal ``sizes``."""
    return len(shape) >= len(sizes) and shape[len(shape) - len(sizes) :] == sizes


def _size(dimension: Dimension | int) -> int:
    """Return the number of entries of a dimension."""
    return dimension if isinstance(dimension, int) else dimension.size


def _described(expected: Expected) -> str:
    """Return the expected shape as text for an error message, with a leading space.

    For example, it returns ``(bodies, 6) = (3, 6) for bodies world, crank, rod`` after the space.
    """
    leading, dimensions = _parts(expected)
    labels = [str(d) if isinstance(d, int) else d.label for d in dimensions]
    sizes = [str(_size(d)) for d in dimensions]
    texts = [_tuple(["...", *part] if leading else part) for part in (labels, sizes)]
    named = [d for d in dimensions if isinstance(d, Dimension) and d.names]
    of = " and ".join(f"{d.label} {_listed(d.names)}" for d in named)
    return f" {' = '.join(dict.fromkeys(texts))}" + (f" for {of}" if of else "")


def _tuple(parts: Sequence[str]) -> str:
    """Return the parts written as a Python tuple."""
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def _listed(names: Sequence[str]) -> str:
    """Return the first ``LISTED`` names, separated by commas, and the number of the others."""
    rest = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f", … and {rest} others" if rest > 0 else "")
