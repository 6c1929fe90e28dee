"""Where elements of included files stand: MuJoCo knows their lines no more and calls them 0."""

from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from jaxccp.io.mjcf.origin import Origin

ROOTS = ("mujoco", "mujocoinclude")
"""Elements that say nothing but that a file is a model's."""


@dataclass(frozen=True)
class Element:
    """One element of an included file."""

    file: str
    """As the including file names it."""
    line: int
    tag: str
    attributes: dict[str, str]


def included(origin: Origin) -> list[Element]:
    """Return the elements of the files that a file or string includes, directly or not."""
    elements: list[Element] = []
    read = {Path(origin.label).resolve()} if origin.kind == "file" else set()
    _read(origin.text, "", origin.folder, elements, read)
    return elements


def _read(text: bytes, name: str, folder: Path, elements: list[Element], read: set[Path]) -> None:
    """Add the elements of an included file of this name, and of those that it includes; what
    cannot be read is left out: it is MuJoCo that says what is wrong with it."""
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "include":
            other = attributes.get("file", "")
            target = (folder / other).resolve()
            if target not in read and target.is_file():
                read.add(target)
                _read(target.read_bytes(), other, folder, elements, read)
        elif name and tag not in ROOTS:
            elements.append(Element(name, parser.CurrentLineNumber, tag, attributes))

    parser.StartElementHandler = start
    try:
        parser.Parse(text, True)
    except (OSError, expat.ExpatError):
        return


def place(elements: list[Element], tags: tuple[str, ...], name: str, attribute: str = "") -> str:
    """File and line of the one element that fits, else the files it can be in; empty if in none.

    Args:
        elements: of the included files.
        tags: what it may be; none for anything.
        name: that it has, if any.
        attribute: that it has, if any is known.
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
