"""Checks of arguments: physical quantities, whose ``ValueError`` names the fault and a remedy, and
kinds of objects, whose ``TypeError`` does."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

SYMMETRY_TOLERANCE = 1e-6
UNIT_TOLERANCE = 1e-3


def instance(what: str, value: Any, kinds: Iterable[type], expected: str) -> None:
    """Check that ``value`` is an object of one of some classes.

    Args:
        what: name of the argument, for the message of the error.
        value: the value given by the user.
        kinds: the classes.
        expected: what the user should give, with an example.

    Raises:
        TypeError: the value is something else, such as a number or the class itself.
    """
    if not isinstance(value, tuple(kinds)):
        given = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
        raise TypeError(f"{what} must be {expected}, not {given}")


def finite_vector(what: str, value: Sequence[float] | np.ndarray, length: int) -> np.ndarray:
    """Return a copy of ``value``, an array of floats.

    Args:
        what: name of the quantity, for the message of the error.
        value: the value given by the user.
        length: length that it must have.

    Raises:
        ValueError: the value has another shape, or numbers that are not finite.
    """
    array = np.array(value, float)
    if array.shape != (length,) or not np.isfinite(array).all():
        raise ValueError(f"{what} must be {length} finite numbers, not {value!r}")
    return array


def positive(what: str, value: float) -> float:
    """Return ``value`` if it is finite and above zero.

    Args:
        what: name of the quantity, for the message of the error.
        value: the value given by the user.

    Raises:
        ValueError: the value is not.
    """
    if not (is_number(value) and np.isfinite(value) and value > 0):
        raise ValueError(f"{what} must be positive and finite, not {value!r}")
    return float(value)


def nonnegative(what: str, value: float) -> float:
    """Return ``value`` if it is finite and not below zero.

    Args:
        what: name of the quantity, for the message of the error.
        value: the value given by the user.

    Raises:
        ValueError: the value is not.
    """
    if not (is_number(value) and np.isfinite(value) and value >= 0):
        raise ValueError(f"{what} must be finite and not negative, not {value!r}")
    return float(value)


def is_number(value: Any) -> bool:
    """Tell whether ``value`` is a single number."""
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind not in "OSU"


def unit_quaternion(what: str, value: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return a quaternion normalised to length 1.

    Args:
        what: name of the quantity, for the message of the error.
        value: the value given by the user.

    Raises:
        ValueError: the value is not 4 finite numbers, or its length differs from 1 by more than
            1e-3.
    """
    maker = {(3,): 'from_euler("xyz", …)', (3, 3): "from_matrix(…)"}.get(np.shape(value))
    if maker:
        raise ValueError(
            f"{what} must be a unit quaternion (w, x, y, z), not {value!r}; angles, rotation "
            "vectors and matrices are turned into one by scipy.spatial.transform.Rotation: "
            f"Rotation.{maker}.as_quat(scalar_first=True)"
        )
    array = finite_vector(what, value, 4)
    length = np.linalg.norm(array)
    if abs(length - 1) > UNIT_TOLERANCE:
        raise ValueError(
            f"{what} must be a unit quaternion (w, x, y, z); {value!r} has length {length:.6g}: "
            "divide it by its length"
        )
    return array / length


def inertia_matrix(what: str, value: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return ``value`` as a 3 × 3 tensor [kg m²].

    Args:
        what: name of the body, for the message of the error.
        value: three principal moments, or a tensor.

    Raises:
        ValueError: the value has another shape, or no distribution of mass has that inertia.
    """
    array = np.asarray(value, float)
    tensor = np.diag(array) if array.shape == (3,) else array
    if tensor.shape != (3, 3) or not np.isfinite(tensor).all():
        raise ValueError(
            f"{what}: inertia must be three finite principal moments or a finite 3 × 3 matrix "
            f"[kg m²], not {value!r}"
        )
    size = np.abs(tensor).max()
    if np.abs(tensor - tensor.T).max() > SYMMETRY_TOLERANCE * size:
        raise ValueError(f"{what}: inertia must be symmetric, not {value!r}")
    moments = np.linalg.eigvalsh(tensor)
    if moments[0] <= 0:
        raise ValueError(
            f"{what}: inertia must be positive definite; its principal moments are {moments}"
        )
    if moments[2] > (moments[0] + moments[1]) * (1 + SYMMETRY_TOLERANCE):
        raise ValueError(
            f"{what}: no body has principal moments {moments}: the largest must not exceed the sum "
            "of the other two (triangle inequality)"
        )
    return 0.5 * (tensor + tensor.T)
