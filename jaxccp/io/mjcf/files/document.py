"""The XML of a model file, to be changed and written; elements are found by MuJoCo's numbers."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from jaxtyping import Float

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.files.includes import ROOTS
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.scene.frames import Frame, relative_frame

UNNAMED = "unnamed element "
"""Prefix of the names that nameless elements have while a document is changed."""
PROBE = "frame of element "
"""Prefix of the names of sites that show the poses of ``<frame>`` elements."""
TAGS = {"body": "body", "joint": "joint", "freejoint": "joint", "geom": "geom", "site": "site"}
"""Kinds of elements that occur inside bodies."""
MACROS = ("composite", "flexcomp")
"""Elements that MuJoCo's compiler replaces by others."""
FOLDERS = ("assetdir", "meshdir", "texturedir")
"""Attributes of ``<compiler>`` that name folders."""
KINDS = ("body", "joint", "geom", "site", "actuator", "tendon")
"""Kinds of elements whose numbers can be written."""


class Document:
    """An MJCF document in which every element has a name, to find it in the compiled model."""

    def __init__(self, source: Source) -> None:
        """Read the XML again; a URDF is first converted to MJCF by MuJoCo.

        Raises:
            InputError: the model was given as an object of MuJoCo.
        """
        self.mujoco, self._source = source.mujoco, source
        if source.origin.kind not in ("file", "string"):
            what = f"an {source.origin.kind} cannot be written back"
            raise InputError(source.path, what, "load the file or its XML")
        if source.origin.urdf:
            for kind in KINDS:
                for index in range(_count(source.m, kind)):
                    element = source.element(kind, index)
                    element.name = element.name or f"{UNNAMED}{kind} {index}"
            self.root = ElementTree.fromstring(source.as_mjcf())
        else:
            self.root = parsed(source.origin.text)
            _include(self.root, source.origin.folder)
            _make_absolute(self.root, source.origin.folder.resolve())
        self._elements: dict[tuple[str, str], Element] = {}
        self._frames: dict[Element, str] = {}
        for body in self.root.iter("worldbody"):
            self._name(body)
        for kind in ("actuator", "tendon"):
            for section in self.root.findall(kind):
                for place, element in enumerate(section):
                    if isinstance(element.tag, str):
                        self._add(kind, element, f"{kind} {place}")
        self._parents = {child: parent for parent in self.root.iter() for child in parent}
        self.model = self.compiled()
        """MuJoCo's model of the document when it was compiled last."""
        self.names = {kind: self._names(source, kind) for kind in KINDS}
        """Name of every element of each kind, by its number in the source."""

    def _names(self, source: Source, kind: str) -> list[str]:
        """Return the names of all elements of a kind, in the order of the source."""
        count = range(_count(source.m, kind))
        if source.origin.urdf:
            return [source.name(kind, index) for index in count]
        every = range(_count(self.model, kind))
        names = [self.mujoco.mj_id2name(self.model, self._kind(kind), i) or "" for i in every]
        return [name for name in names if not name.startswith(PROBE)]

    def compiled(self) -> Any:
        """Return the compiled model of the document in its present form.

        Raises:
            InputError: MuJoCo refuses its numbers.
        """
        probed = ElementTree.fromstring(ElementTree.tostring(self.root))
        frames = list(self.root.iter("frame"))
        for place, (frame, copy) in enumerate(zip(frames, probed.iter("frame"), strict=True)):
            self._frames[frame] = f"{PROBE}{place}"
            ElementTree.SubElement(
                copy, "site", name=f"{PROBE}{place}", pos="0 0 0", quat="1 0 0 0"
            )
        text = ElementTree.tostring(probed, encoding="unicode")
        with self._source.translated(ImportReport()):
            return self.mujoco.MjSpec.from_string(text).compile()

    def element(self, kind: str, index: int) -> Element | None:
        """Return the XML of an element; None for an element that a macro has made."""
        return self._elements.get((kind, self.names[kind][index]))

    def place(self, kind: str, index: int) -> int:
        """Return the number of an element in the compiled model."""
        name = self.names[kind][index]
        return self.mujoco.mj_name2id(self.model, self._kind(kind), name)

    def frame(self, element: Element) -> Frame | None:
        """Return the pose, relative to the body, of the ``<frame>`` around an element; None without
        one."""
        holder = self._parents.get(element)
        if holder is None or holder.tag != "frame":
            return None
        site = self.mujoco.mj_name2id(self.model, self._kind("site"), self._frames[holder])
        return self.model.site_pos[site], self.model.site_quat[site]

    def text(self, remarks: Sequence[str]) -> str:
        """Return the text of the document with a comment on top, without the names that were
        added."""
        root = parsed(ElementTree.tostring(self.root))
        for element in root.iter():
            if element.get("name", "").startswith(UNNAMED):
                del element.attrib["name"]
        return commented(root, remarks)

    def _kind(self, kind: str) -> Any:
        return getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}")

    def _name(self, holder: Element) -> None:
        """Name the elements of a body and of its descendants."""
        for element in holder:
            if element.tag in TAGS:
                kind = TAGS[element.tag]
                self._add(kind, element, f"{kind} {len(self._elements)}")
            if isinstance(element.tag, str) and element.tag not in MACROS:
                self._name(element)

    def _add(self, kind: str, element: Element, label: str) -> None:
        if not element.get("name"):
            element.set("name", UNNAMED + label)
        self._elements[kind, element.get("name", "")] = element


def local(outer: Frame | None, pose: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return a pose relative to an outer frame; the pose itself without one."""
    if outer is None:
        return np.asarray(pose[0]), np.asarray(pose[1])
    return relative_frame(outer, pose)


def set_numbers(element: Element, name: str, values: Float[np.ndarray, " k"] | float) -> None:
    """Write numbers as an attribute, with full precision.

    Args:
        element: the element.
        name: name of the attribute.
        values: numbers, in their order.
    """
    element.set(name, " ".join(repr(float(value)) for value in np.atleast_1d(values)))


def drop(element: Element, *names: str) -> None:
    """Remove attributes from an element."""
    for name in names:
        element.attrib.pop(name, None)


def sections(root: Element, tag: str) -> Iterator[Element]:
    """Yield the sections with this tag; if there are none, insert one at the beginning."""
    matching = root.findall(tag)
    if not matching:
        matching = [Element(tag)]
        root.insert(0, matching[0])
    yield from matching


def commented(root: Element, remarks: Sequence[str]) -> str:
    """Return the text of a document with a comment on top; ``root`` is not changed."""
    top = parsed(ElementTree.tostring(root))
    if remarks:
        # Two dashes would end the comment.
        lines = re.sub("-(?=-)", "- ", "\n".join(f"    {line}" for line in remarks))
        top.insert(0, ElementTree.Comment(f"\n{lines}\n  "))
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="unicode") + "\n"


def _builder() -> ElementTree.TreeBuilder:
    return ElementTree.TreeBuilder(insert_comments=True)


def _count(m: Any, kind: str) -> int:
    return {
        "body": m.nbody,
        "joint": m.njnt,
        "geom": m.ngeom,
        "site": m.nsite,
        "actuator": len(m.actuator_trntype),
        "tendon": m.ntendon,
    }[kind]


def parsed(text: bytes) -> Element:
    """Parse the text of a document, including comments, and return its root."""
    return ElementTree.fromstring(text, ElementTree.XMLParser(target=_builder()))


def _include(holder: Element, folder: Path) -> None:
    """Replace the ``<include>`` elements by the contents of their files."""
    for place, element in reversed(list(enumerate(holder))):
        if element.tag != "include":
            _include(element, folder)
            continue
        path = (folder / element.get("file", "")).resolve()
        inner = parsed(path.read_bytes())
        _include(inner, folder)
        holder[place : place + 1] = list(inner) if inner.tag in ROOTS else [inner]


def _make_absolute(root: Element, folder: Path) -> None:
    """Make the paths in a document absolute."""
    compilers = list(sections(root, "compiler"))
    for compiler in compilers:
        for name in FOLDERS:
            if compiler.get(name) is not None:
                compiler.set(name, str(folder / compiler.get(name, "")))
    named = {name for compiler in compilers for name in FOLDERS if compiler.get(name) is not None}
    if any(element.get("file") for element in root.iter()) and "assetdir" not in named:
        for name in ("meshdir", "texturedir"):
            if name not in named:
                compilers[0].set(name, str(folder))
    for element in root.iter("model"):
        if element.get("file"):
            element.set("file", str(folder / element.get("file", "")))
