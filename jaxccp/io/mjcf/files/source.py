"""A model file compiled by MuJoCo, and labels of its elements for messages."""

import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.files.includes import Element, included, place
from jaxccp.io.mjcf.files.origin import origin_of
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.urdf.urdf import UrdfOptions, read_urdf
from jaxccp.names import unused

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
    "flex": "flexes",
}
"""Names of the lists in MuJoCo's specification, by kind of element."""
COUNTS = {
    "body": "nbody",
    "joint": "njnt",
    "site": "nsite",
    "actuator": "nu",
    "tendon": "ntendon",
    "equality": "neq",
    "sensor": "nsensor",
    "key": "nkey",
}
"""MuJoCo's fields with the numbers of elements, by kind."""
TAGS = {"body": ("body",), "joint": ("joint", "freejoint"), "geom": ("geom",), "site": ("site",)}
"""Tags of elements in files, by kind; kinds with many different tags are left out."""
WITHOUT_LINE = re.compile(r"(Element (?:name )?'([^']*)'.*), line 0\b")
"""Text in MuJoCo's messages about elements of included files."""
ATTRIBUTE = re.compile(r"attribute: '([^']*)'")


class Source:
    """A compiled model (``m``, MuJoCo's ``MjModel``) with its origin."""

    def __init__(self, model: Any, options: UrdfOptions, report: ImportReport) -> None:
        """Compile a model.

        Args:
            model: a path, a string of XML, MuJoCo's ``MjModel`` or its ``MjSpec``, which stays as
                it is.
            options: settings that a URDF does not contain.
            report: the report, for URDFs and for MuJoCo's warnings.

        Raises:
            InputError: the model cannot be read; MuJoCo rejects it (with MuJoCo's message); MuJoCo
                is not installed; or options of a URDF are given for another model.
        """
        self.mujoco = _mujoco(model)
        self.origin = origin_of(model, self.mujoco)
        self.path = self.origin.label
        """Label of the source that messages begin with."""
        options.check(self.origin)
        self._names: dict[str, frozenset[str]] = {}
        with self.translated(report):
            self._spec = self._specified(model, options, report)
            self.m = model if self._spec is None else self._spec.compile()

    def _specified(self, model: Any, options: UrdfOptions, report: ImportReport) -> Any:
        """Return MuJoCo's specification of the model; None for a model that was given compiled."""
        kind = self.origin.kind
        if kind == "MjModel":
            return None
        if kind == "MjSpec":
            return model.copy()
        if self.origin.urdf:
            return read_urdf(self.mujoco, self.origin, options, report)
        if kind == "string":
            return self.mujoco.MjSpec.from_string(model)
        return self.mujoco.MjSpec.from_file(str(self.path))

    @contextmanager
    def translated(self, report: ImportReport) -> Iterator[None]:
        """Raise MuJoCo's errors as ``InputError``, and put its warnings into the report instead of
        a log file.

        Raises:
            InputError: MuJoCo refuses the model.
        """
        mujoco = self.mujoco
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda text: report.approximate("MuJoCo warns", text.strip()))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except InputError:
            raise
        except (ValueError, TypeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            message = self._with_location(
                "; ".join(filter(None, map(str.strip, str(error).splitlines())))
            )
            raise InputError(
                self.path, f"MuJoCo cannot compile it: {message}", "correct it"
            ) from None
        finally:
            mujoco.set_mju_user_warning(before)

    @cached_property
    def _included(self) -> list[Element]:
        return included(self.origin)

    def _with_location(self, message: str) -> str:
        """Return MuJoCo's message with the name of the included file in place of line 0."""
        attribute = ATTRIBUTE.search(message)

        def put(match: re.Match) -> str:
            what, name = match.groups()
            named = what.startswith("Element name")
            where = place(
                self._included,
                () if named else (name,),
                name if named else "",
                attribute[1] if attribute else "",
            )
            return f"{what}, in {where}" if where else what

        return WITHOUT_LINE.sub(put, message)

    @cached_property
    def _elements(self) -> dict[str, dict[int, Any]]:
        if self._spec is None:
            return {kind: {} for kind in LISTS}
        return {
            kind: {element.id: element for element in getattr(self._spec, attribute)}
            for kind, attribute in LISTS.items()
        }

    def element(self, kind: str, index: int) -> Any:
        """Return an element of MuJoCo's specification (``MjsFlex`` and the like).

        Raises:
            InputError: the model was given compiled, without its specification.
        """
        if self._spec is None:
            what = f"{self.label(kind, index)}: a compiled model does not tell all of it"
            raise InputError(self.path, what, "load the file, its XML or its MjSpec")
        return self._elements[kind][index]

    def as_mjcf(self) -> str:
        """Return MuJoCo's specification as MJCF with explicit inertias; numbers have six digits.

        Raises:
            InputError: the model was given compiled, without its specification.
        """
        if self._spec is None:
            what = "a compiled model cannot be written as a file"
            raise InputError(self.path, what, "load the file, its XML or its MjSpec")
        self._spec.compiler.saveinertial = True
        self._spec.compile()
        return self._spec.to_xml()

    def plugin(self, instance: int) -> tuple[str, dict[str, str]]:
        """Return the name and the settings of a plugin instance.

        Raises:
            InputError: the model was given compiled, without its specification.
        """
        if self._spec is None:
            what = f"plugin {instance}: a compiled model does not tell its name"
            raise InputError(self.path, what, "load the file, its XML or its MjSpec")
        for plugin in self._spec.plugins:
            if plugin.id == instance:
                return plugin.plugin_name, dict(plugin.config)
        return "", {}

    def name(self, kind: str, index: int) -> str:
        """Return the name of an element; empty if it has none."""
        if self._spec is None:
            return self.mujoco.mj_id2name(self.m, self._type(kind), index) or ""
        element = self._elements[kind].get(index)
        return element.name if element is not None else ""

    def unused_name(self, kind: str, name: str, taken: Collection[str] = ()) -> str:
        """Return a name that no element of a kind has, ``name`` if it is unused.

        Args:
            kind: kind of the elements, such as ``body``.
            name: the name that is wanted.
            taken: names of other things that it must not be either.
        """
        if kind not in self._names:
            count = getattr(self.m, COUNTS[kind])
            self._names[kind] = frozenset(self.name(kind, index) for index in range(count))
        return unused(name, self._names[kind].union(taken))

    def _type(self, kind: str) -> Any:
        return getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}")

    def label(self, kind: str, index: int) -> str:
        """Return a label of an element for messages, such as ``joint 'hip' (line 12)`` or ``joint
        'hip' (legs.xml, line 12)``.

        An element without a name has its number; a geom without name and line has the label of its
        body.
        """
        element = self._elements[kind].get(index)
        name = self.name(kind, index)
        what = f"{kind} {name!r}" if name else f"{kind} {index}"
        where = element.info if element is not None else ""
        if where == "line 0":
            where = place(self._included, TAGS.get(kind, ()), name)
        if kind == "geom" and not name and not where:
            where = self.label("body", int(self.m.geom_bodyid[index]))
        return f"{what} ({where})" if where else what

    def column(self, name: str) -> np.ndarray:
        """Return a field of the compiled model; empty if this version of MuJoCo does not have
        it."""
        return np.asarray(getattr(self.m, name, np.zeros(0)))

    @property
    def has_passive_forces(self) -> bool:
        """Return whether MuJoCo computes passive forces: not if the file disables both springs and
        dampers, or all passive forces."""
        both = self.is_disabled("SPRING") and self.is_disabled("DAMPER")
        return not (both or self.is_disabled("PASSIVE"))

    @property
    def gravity(self) -> list[float]:
        """Acceleration of gravity [m/s²]; 0 if the file disables it."""
        return [0.0] * 3 if self.is_disabled("GRAVITY") else self.m.opt.gravity.tolist()

    def is_disabled(self, *flags: str) -> bool:
        """Tell whether the file disables any of these flags (``GRAVITY``, ``CONTACT``, …)."""
        bits = self.mujoco.mjtDisableBit
        masks = (getattr(bits, f"mjDSBL_{flag}", 0) for flag in flags)
        return any(self.m.opt.disableflags & int(mask) for mask in masks)


def _mujoco(model: Any) -> ModuleType:
    try:
        import mujoco
    except ImportError:
        name = str(model) if isinstance(model, Path) else "load"
        raise InputError(
            name, "model files are read by the package mujoco", "pip install 'jaxccp[mjcf]'"
        ) from None
    return mujoco
