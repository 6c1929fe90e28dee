"""A model file as MuJoCo compiles it, and what to call its elements in messages."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from jaxccp.io.errors import InputError

LISTS = {
    "body": "bodies",
    "joint": "joints",
    "geom": "geoms",
    "site": "sites",
    "actuator": "actuators",
    "tendon": "tendons",
    "equality": "equalities",
    "sensor": "sensors",
    "pair": "pairs",
    "key": "keys",
}
"""Kinds of elements and what the specification calls their lists."""


class Source:
    """The compiled model (``m``: MuJoCo's ``MjModel``) and where it came from."""

    def __init__(self, path: str | Path) -> None:
        """Compile the file.

        Raises:
            InputError: it cannot be read or MuJoCo refuses it, in MuJoCo's words; or MuJoCo is not
                installed.
        """
        self.path = Path(path)
        self.mujoco = _mujoco(self.path)
        if not self.path.is_file():
            raise InputError(self.path, "is no file", "name an MJCF or URDF file")
        with self._said():
            self._spec = self.mujoco.MjSpec.from_file(str(self.path))
            self.m = self._spec.compile()

    @contextmanager
    def _said(self) -> Iterator[None]:
        """MuJoCo's errors in our words; its warnings, which it would write to a file, are left."""
        mujoco = self.mujoco
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda _: None)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except (ValueError, TypeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            said = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
            raise InputError(self.path, f"MuJoCo cannot compile it: {said}", "correct it") from None
        finally:
            mujoco.set_mju_user_warning(before)

    @cached_property
    def _elements(self) -> dict[str, dict[int, Any]]:
        return {
            kind: {element.id: element for element in getattr(self._spec, attribute)}
            for kind, attribute in LISTS.items()
        }

    def name(self, kind: str, index: int) -> str:
        """Name of an element, empty if it has none."""
        element = self._elements[kind].get(index)
        return element.name if element is not None else ""

    def label(self, kind: str, index: int) -> str:
        """``joint 'hip' (line 12)``, as far as known; elements without a name have a number."""
        element = self._elements[kind].get(index)
        name = self.name(kind, index)
        what = f"{kind} {name!r}" if name else f"{kind} {index}"
        return f"{what} ({element.info})" if element is not None and element.info else what

    def column(self, name: str) -> np.ndarray:
        """A field of the compiled model; zeros where this version of MuJoCo lacks it."""
        return np.asarray(getattr(self.m, name, np.zeros(0)))

    def off(self, *flags: str) -> bool:
        """Whether the file disables any of these (``GRAVITY``, ``CONTACT``, …)."""
        bits = self.mujoco.mjtDisableBit
        known = (getattr(bits, f"mjDSBL_{flag}", 0) for flag in flags)
        return any(self.m.opt.disableflags & int(bit) for bit in known)


def _mujoco(path: Path) -> ModuleType:
    try:
        import mujoco
    except ImportError:
        raise InputError(
            path, "model files are read by the package mujoco", "pip install 'jaxccp[mjcf]'"
        ) from None
    return mujoco
