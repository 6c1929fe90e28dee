"""Arrays of an npz file, each checked for presence, kind, shape and finite numbers."""

from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from jaxccp.io.errors import InputError

SYMMETRY = 1e-4
"""Largest accepted asymmetry of a symmetric matrix, relative to its largest entry."""

ZIP, NPY = b"PK", b"\x93N"
"""First bytes of npz files, and of npy files with a single array."""


def holds(path: Path, *fields: str) -> bool:
    """Tell whether a path is an npz file with all of these arrays."""
    if path.suffix.lower() != ".npz":
        return False
    try:
        with np.load(path, allow_pickle=False) as archive:
            return set(fields) <= set(archive.files)
    except (OSError, ValueError, BadZipFile):
        return False


class Arrays:
    """Reads the arrays of an npz file on demand, and checks each of them."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            with self.path.open("rb") as file:
                start = file.read(len(ZIP))
        except FileNotFoundError:
            raise InputError(path, "no such file", "check the path") from None
        except OSError as error:
            raise InputError(
                path, f"cannot be read ({error.strerror or error})", "give a readable npz file"
            ) from None
        if start != ZIP:
            what = "a single array, not an npz file" if start == NPY else "is no npz file"
            raise InputError(path, what, "give a file that numpy.savez wrote")
        try:
            archive = np.load(self.path, allow_pickle=False)
        except Exception as error:  # zipfile, zlib and struct each raise their own
            raise InputError(
                path, f"an npz file that is damaged or truncated ({error})", "write it again"
            ) from None
        self._archive = archive
        self._read: set[str] = set()

    def __enter__(self) -> "Arrays":
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def __contains__(self, field: str) -> bool:
        return field in self._archive

    def names(self) -> tuple[str, ...]:
        """Return the names of all arrays."""
        return tuple(self._archive.files)

    def fault(self, field: str, problem: str, mend: str) -> InputError:
        """Make the error for an array of this file, to be raised by the caller.

        Args:
            field: name of the array.
            problem: description of the fault.
            mend: a remedy for the user.
        """
        return InputError(self.path, problem, mend, field)

    def require(self, *fields: str) -> None:
        """Check that the file has all of ``fields``.

        Raises:
            InputError: arrays are missing; the message lists them.
        """
        missing = [field for field in fields if field not in self]
        if missing:
            names = ", ".join(missing)
            raise InputError(self.path, f"missing {names}", f"the layout needs {', '.join(fields)}")

    def refuse_unread(self, what: str, *fields: str) -> None:
        """Check that those of ``fields`` that the file has, and nobody has read, are zero.

        Args:
            what: name of what the file describes, for the message.
            fields: names of arrays of numbers.

        Raises:
            InputError: one of them has numbers other than zero, which would be without effect.
        """
        for field in fields:
            unread = field in self and field not in self._read
            if unread and self._numbers(field, self.shape(field)).any():
                problem = f"is not zero, but no row of this {what} uses it"
                raise self.fault(field, problem, "leave it out, or store the rows it acts on")

    def text(self, field: str) -> str:
        """Return an array that holds a single string.

        Raises:
            InputError: the array is missing, or is not a single string.
        """
        value = self._load(field)
        if value.dtype.kind != "U" or value.size != 1:
            raise self.fault(field, f"is {_describe(value)}, not a string", "store one string")
        return str(value.reshape(-1)[0])

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a one-dimensional array of strings.

        Raises:
            InputError: the array is missing, or is not a list of strings.
        """
        value = self._load(field)
        if value.dtype.kind != "U" or value.ndim != 1:
            raise self.fault(
                field, f"is {_describe(value)}, not strings", "store a list of strings"
            )
        return tuple(map(str, value))

    def shape(self, field: str) -> tuple[int, ...]:
        """Return the shape of an array.

        Raises:
            InputError: the array is missing or cannot be read.
        """
        return self._load(field).shape

    def kind(self, field: str) -> str:
        """Return NumPy's letter for the kind of an array's dtype: ``f``, ``i``, ``U`` and so on.

        Raises:
            InputError: the array is missing or cannot be read.
        """
        return self._load(field).dtype.kind

    def numbers(self, field: str) -> np.ndarray:
        """Return a float64 array of any shape; NaN is a missing number.

        Raises:
            InputError: the array is missing, does not hold real numbers, or some are infinite.
        """
        value = self._load(field)
        value = self._numbers(field, value.shape)
        self._refuse(field, value, np.isinf(value), "infinite", "NaN is a missing number")
        return value

    def floats(self, field: str, *shape: int | None) -> np.ndarray:
        """Return a float64 array of finite numbers.

        Args:
            field: name of the array.
            shape: lengths of the array's axes; None means any length.

        Raises:
            InputError: it is missing, has another shape, or numbers that are not finite and real.
        """
        value = self._numbers(field, shape)
        self._refuse(field, value, ~np.isfinite(value), "NaN or infinite", "store finite numbers")
        return value

    def bounds(self, lower: str, upper: str, *shape: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds as float64 arrays of one shape; bounds may be infinite.

        Args:
            lower: name of the array of lower bounds.
            upper: name of the array of upper bounds.
            shape: the shape of both; None stands for any length.

        Raises:
            InputError: an array is missing or has another shape; a bound is NaN, a lower one +inf
                or an upper one −inf; or a lower bound exceeds the upper one.
        """
        lo = self._numbers(lower, shape)
        hi = self._numbers(upper, lo.shape)
        self._refuse(lower, lo, np.isnan(lo) | (lo == np.inf), "NaN or +inf", "-inf is no bound")
        self._refuse(upper, hi, np.isnan(hi) | (hi == -np.inf), "NaN or -inf", "inf is no bound")
        self._refuse(lower, lo, lo > hi, f"above {upper}", "exchange the bounds")
        return lo, hi

    def _numbers(self, field: str, shape: tuple[int | None, ...]) -> np.ndarray:
        value = self._load(field)
        if value.dtype.kind not in "fiu":
            raise self.fault(field, f"is {_describe(value)}", "store real numbers")
        self._check_shape(field, value, shape)
        return value.astype(np.float64)

    def _refuse(self, field: str, value: np.ndarray, bad: np.ndarray, what: str, mend: str) -> None:
        where = np.argwhere(bad)
        if len(where):
            at = f"[{', '.join(map(str, where[0]))}]"
            problem = f"{len(where)} of {value.size} numbers are {what}, first at {at}"
            raise self.fault(field, problem, mend)

    def not_negative(self, field: str, *shape: int | None) -> np.ndarray:
        """Return a float64 array of finite numbers ≥ 0.

        Args:
            field: name of the array.
            shape: lengths of the array's axes; None means any length.

        Raises:
            InputError: it is missing, has another shape, or a number that is not finite and ≥ 0.
        """
        value = self.floats(field, *shape)
        bad = np.argwhere(value < 0)
        if len(bad):
            where = tuple(bad[0])
            at = f"[{', '.join(map(str, where))}]"
            raise self.fault(field, f"is {value[where]:g} at {at}", "it must be ≥ 0")
        return value

    def integers(self, field: str, *shape: int | None) -> np.ndarray:
        """Return an int64 array; the arguments are those of :meth:`floats`.

        Raises:
            InputError: it is missing, has another shape, or numbers that are not integers.
        """
        value = self._load(field)
        if value.dtype.kind not in "iu":
            raise self.fault(field, f"is {_describe(value)}", "store integers")
        self._check_shape(field, value, shape)
        return value.astype(np.int64)

    def symmetric(self, field: str, matrix: np.ndarray, transpose: np.ndarray) -> np.ndarray:
        """Return the symmetric part ½ (A + Aᵀ) of a matrix A.

        Args:
            field: name of the array that errors refer to.
            matrix: A, in any layout.
            transpose: Aᵀ in the same layout.

        Raises:
            InputError: an entry of A differs from that of Aᵀ by more than :data:`SYMMETRY` of the
                largest entry.
        """
        largest = np.max(np.abs(matrix), initial=0.0)
        difference = np.max(np.abs(matrix - transpose), initial=0.0)
        if difference > SYMMETRY * largest:
            raise self.fault(
                field,
                f"not symmetric: entries differ from the transpose's by {difference:.3g}",
                f"at most {SYMMETRY:g} of the largest entry, {largest:.3g}, is taken for rounding",
            )
        return 0.5 * (matrix + transpose)

    def _load(self, field: str) -> np.ndarray:
        self.require(field)
        self._read.add(field)
        try:
            return self._archive[field]
        except Exception as error:  # as above
            if "allow_pickle" in str(error):
                raise self.fault(field, "holds Python objects", "store numbers or text") from None
            raise self.fault(
                field, f"cannot be read ({error})", "the file is damaged: write it again"
            ) from None

    def _check_shape(self, field: str, value: np.ndarray, shape: tuple[int | None, ...]) -> None:
        fits = value.ndim == len(shape) and all(
            expected in (None, length) for expected, length in zip(shape, value.shape, strict=True)
        )
        if not fits:
            expected = ", ".join("any" if n is None else str(n) for n in shape)
            raise self.fault(
                field,
                f"has shape {value.shape}, not ({expected})",
                "correct it or the other arrays",
            )


def _describe(value: np.ndarray) -> str:
    return f"of type {value.dtype} and shape {value.shape}"
