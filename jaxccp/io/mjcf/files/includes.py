"""Lines of elements in included files, for which MuJoCo's messages have line 0."""

from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from jaxccp.io.mjcf.files.origin import Origin

ROOTS = ("mujoco", "mujocoinclude")
"""Root elements of a model's files."""


@dataclass(frozen=True)
class Element:
    """One element of an included file."""

    file: str
    """Path of the file, as the including file gives it."""
    line: int
    """Number of the line."""
    tag: str
    """Tag of the element."""
    attributes: dict[str, str]
    """Attributes of the element, by name."""


def included(origin: Origin) -> list[Element]:
    """Return the elements of all files that a file or string includes, directly or indirectly."""
    elements: list[Element] = []
    read = {Path(origin.label).resolve()} if origin.kind == "file" else set()
    _read(origin.text, "", origin.folder, elements, read)
    return elements


def _read(text: bytes, name: str, folder: Path, elements: list[Element], read: set[Path]) -> None:
    """Add the elements of an included file, and of the files that it includes, to ``elements``.

    Files that cannot be read are left out; MuJoCo reports the error.
    """
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "include":
            path = attributes.get("file", "")
            target = (folder / path).resolve()
            if target not in read and target.is_file():
                read.add(target)
                _read(target.read_bytes(), path, folder, elements, read)
        elif name and tag not in ROOTS:
            elements.append(Element(name, parser.CurrentLineNumber, tag, attributes))

    parser.StartElementHandler = start
    try:
        parser.Parse(text, True)
    except (OSError, expat.ExpatError):
        return


def place(elements: list[Element], tags: tuple[str, ...], name: str, attribute: str = "") -> str:
    """Return file and line of the only element that matches.

    If several match, return the files that they are in, joined by "or"; if none does, all included
    files; if there are none, an empty string.

    Args:
        elements: elements of the included files.
        tags: possible tags of the element; empty: any.
        name: name of the element; empty if it has none.
        attribute: name of an attribute that it has; empty for any.
    """
    fitting = [
        element
        for element in elements
        if (not tags or element.tag in tags)
        and name == element.attributes.get("name", "")
        and (not attribute or attribute in element.attributes)
    ]
    if len(fitting) == 1:
        return f"{fitting[0].file}, line {fitting[0].line}"
    return " or ".join(dict.fromkeys(element.file for element in fitting or elements))
