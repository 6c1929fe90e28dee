"""The XML of a model file, to be changed and written: its elements by MuJoCo's numbers."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from jaxtyping import Float

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.includes import ROOTS
from jaxccp.io.mjcf.source import Source
from jaxccp.scene.frames import Frame, relative_frame

UNNAMED = "unnamed element "
"""Beginning of the names that elements without one have while a document is changed."""
PROBE = "frame of element "
"""Beginning of the names of sites that tell where ``<frame>`` elements are."""
TAGS = {"body": "body", "joint": "joint", "freejoint": "joint", "geom": "geom", "site": "site"}
"""Kinds of the elements of a tree of bodies."""
MACROS = ("composite", "flexcomp")
"""Elements that MuJoCo replaces by others."""
FOLDERS = ("assetdir", "meshdir", "texturedir")
"""Attributes of the compiler that name folders."""
KINDS = ("body", "joint", "geom", "site", "actuator", "tendon")
"""Kinds of elements whose numbers can be written."""


class Document:
    """An MJCF document with a name for every element, as MuJoCo compiles it."""

    def __init__(self, source: Source) -> None:
        """Read the XML once more; that of a URDF is what MuJoCo makes of it.

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
            _include(self.root, source.origin.folder, set())
            _make_absolute(self.root, source.origin.folder.resolve())
        self._elements: dict[tuple[str, str], Element] = {}
        self._frames: dict[Element, str] = {}
        for body in self.root.iter("worldbody"):
            self._name(body, None)
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
        """Return MuJoCo's model of the document as it is now.

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
        """Return the XML of an element; None of one that a macro has made."""
        return self._elements.get((kind, self.names[kind][index]))

    def place(self, kind: str, index: int) -> int:
        """Return the number of an element in the compiled document."""
        name = self.names[kind][index]
        return self.mujoco.mj_name2id(self.model, self._kind(kind), name)

    def frame(self, element: Element) -> Frame | None:
        """Return the pose of the ``<frame>`` that an element is in, relative to its body; None if
        it is in none."""
        holder = self._parents.get(element)
        if holder is None or holder.tag != "frame":
            return None
        site = self.mujoco.mj_name2id(self.model, self._kind("site"), self._frames[holder])
        return self.model.site_pos[site], self.model.site_quat[site]

    def text(self, remarks: Sequence[str]) -> str:
        """Return the document, names that it did not have taken out, with a comment on top."""
        root = parsed(ElementTree.tostring(self.root))
        for element in root.iter():
            if element.get("name", "").startswith(UNNAMED):
                del element.attrib["name"]
        return commented(root, remarks)

    def _kind(self, kind: str) -> Any:
        return getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}")

    def _name(self, holder: Element, parent: Element | None) -> None:
        """Name the elements in a body, and those in its bodies."""
        for element in holder:
            if element.tag in TAGS:
                kind = TAGS[element.tag]
                self._add(kind, element, f"{kind} {len(self._elements)}")
            if isinstance(element.tag, str) and element.tag not in MACROS:
                self._name(element, holder)

    def _add(self, kind: str, element: Element, label: str) -> None:
        if not element.get("name"):
            element.set("name", UNNAMED + label)
        self._elements[kind, element.get("name", "")] = element


def local(outer: Frame | None, pose: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return a pose relative to an outer frame; as it is where there is none."""
    if outer is None:
        return np.asarray(pose[0]), np.asarray(pose[1])
    return relative_frame(outer, pose)


def set_numbers(element: Element, name: str, values: Float[np.ndarray, " k"] | float) -> None:
    """Write numbers as an attribute, with all their digits.

    Args:
        element: that has the attribute.
        name: of the attribute.
        values: numbers, in their order.
    """
    element.set(name, " ".join(repr(float(value)) for value in np.atleast_1d(values)))


def drop(element: Element, *names: str) -> None:
    """Take attributes out of an element."""
    for name in names:
        element.attrib.pop(name, None)


def sections(root: Element, tag: str) -> Iterator[Element]:
    """Yield the sections of this tag; makes one, in front of all others, if there is none."""
    matching = root.findall(tag)
    if not matching:
        matching = [Element(tag)]
        root.insert(0, matching[0])
    yield from matching


def commented(root: Element, remarks: Sequence[str]) -> str:
    """Return the text of a document with a comment on top.

    ``root`` stays as it is.
    """
    top = parsed(ElementTree.tostring(root))
    if remarks:
        lines = "\n".join(f"    {line}" for line in remarks).replace("--", "- -")
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
    """Return the root of a document, comments kept."""
    return ElementTree.fromstring(text, ElementTree.XMLParser(target=_builder()))


def _include(holder: Element, folder: Path, read: set[Path]) -> None:
    """Put what files include in the place of the ``<include>`` elements."""
    for place, element in reversed(list(enumerate(holder))):
        if element.tag != "include":
            _include(element, folder, read)
            continue
        path = (folder / element.get("file", "")).resolve()
        inner = parsed(path.read_bytes())
        _include(inner, folder, read)
        holder[place : place + 1] = list(inner) if inner.tag in ROOTS else [inner]


def _make_absolute(root: Element, folder: Path) -> None:
    """Make the folders and files that a document names independent of where it is."""
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
