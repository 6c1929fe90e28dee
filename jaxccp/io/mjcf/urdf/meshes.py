"""The mesh files of a URDF: where they are, and which of them MuJoCo can read."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from xml.parsers import expat

from jaxccp.io.mjcf.files.packages import Locator, MissingFileError
from jaxccp.io.mjcf.import_report import ImportReport

FILENAME = re.compile(rb"<mesh\b[^>]*?\bfilename\s*=\s*(\"[^\"]*\"|'[^']*')")
FORMATS = (".stl", ".obj", ".msh")
"""Suffixes of the mesh files that MuJoCo reads."""
SINGLE_AXIS = ("revolute", "continuous", "prismatic")
"""Types of URDF joints with a single axis."""
STL_HEADER, STL_TRIANGLE = 84, 50
"""Lengths of the parts of a binary STL file [bytes]."""


@dataclass(frozen=True)
class MeshReference:
    """One ``mesh`` element of a URDF."""

    uri: str
    """URI or path of the file in the URDF."""
    alias: str
    """Name that replaces the file in the text. It differs for each file and scale, because MuJoCo
    distinguishes meshes only by the last part of their path and their scale."""
    link: str
    """Name of the link."""
    line: int
    """Number of the line."""
    collides: bool
    """Whether it belongs to a ``collision`` element, not to a ``visual`` one."""


@dataclass(frozen=True)
class UrdfText:
    """The text of a URDF with aliases in place of mesh files."""

    text: str
    """The text."""
    meshes: tuple[MeshReference, ...]
    """The mesh elements."""
    links: frozenset[str]
    """Names of all links."""
    joints: dict[str, str]
    """Types of the joints with a single axis, by name."""
    mimics: dict[str, dict[str, str]] = field(default_factory=dict)
    """Attributes of ``mimic`` of those of them that mimic another joint, by name."""
    xacro: str = ""
    """First element of xacro that has not been expanded, with its line; empty if there is none."""


def aliased(text: bytes) -> UrdfText:
    """Return a URDF with its mesh files replaced by aliases; lines keep their numbers."""
    meshes: list[MeshReference] = []
    aliases: dict[tuple[str, str], str] = {}
    links: set[str] = set()
    joints: dict[str, str] = {}
    mimics: dict[str, dict[str, str]] = {}
    xacro: list[str] = []
    edits: list[tuple[int, int, bytes]] = []
    tags: list[str] = []
    named: list[str] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        tags.append(tag)
        named.append(attributes.get("name", ""))
        if tags[1:] == ["link"]:
            links.add(named[1])
        elif tags[1:] == ["joint"] and attributes.get("type") in SINGLE_AXIS:
            joints[named[1]] = attributes["type"]
        elif tags[1:] == ["joint", "mimic"] and named[1] in joints:
            mimics[named[1]] = attributes
        if tag.startswith("xacro:"):
            xacro.append(f"line {parser.CurrentLineNumber}: <{tag}>")
        match = FILENAME.match(text, parser.CurrentByteIndex)
        if tags[1:2] != ["link"] or tags[3:] != ["geometry", "mesh"] or match is None:
            return
        uri = attributes["filename"]
        alias = aliases.setdefault((uri, attributes.get("scale", "")), _alias(uri, aliases))
        edits.append((*match.span(1), f'"{alias}"'.encode()))
        collides = tags[2] == "collision"
        meshes.append(MeshReference(uri, alias, named[1], parser.CurrentLineNumber, collides))

    def end(_: str) -> None:
        tags.pop()
        named.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(text, True)
    except expat.ExpatError:
        return UrdfText(text.decode(errors="replace"), (), frozenset(), {})
    for first, last, alias in reversed(edits):
        text = text[:first] + alias + text[last:]
    return UrdfText(
        text.decode(errors="replace"),
        tuple(meshes),
        frozenset(links),
        joints,
        mimics,
        next(iter(xacro), ""),
    )


def _alias(uri: str, aliases: dict[tuple[str, str], str]) -> str:
    name = PurePosixPath(uri.rsplit("/", 1)[-1])
    used = {PurePosixPath(alias).stem for alias in aliases.values()}
    stem, count = name.stem, 1
    while stem in used:
        count += 1
        stem = f"{name.stem}_{count}"
    return stem + name.suffix


def place_meshes(
    spec: Any, mujoco: Any, urdf: UrdfText, locator: Locator, report: ImportReport
) -> None:
    """Give the meshes in MuJoCo's specification the paths of their files.

    Meshes that cannot be read are removed: those of collisions are noted as unsupported, those of
    visuals are only listed.

    Args:
        spec: MuJoCo's specification of the text with aliases.
        mujoco: the package.
        urdf: the text with aliases.
        locator: finds the files.
        report: the report of meshes that cannot be read.
    """
    paths: dict[str, Path] = {}
    problems: dict[str, MissingFileError] = {}
    for reference in urdf.meshes:
        try:
            path = locator.path(reference.uri, spec.meshdir, spec.strippath)
            _check_format(path)
            paths[reference.alias] = path
        except MissingFileError as error:
            problems[reference.alias] = error
    spec.meshdir, spec.strippath = "", False
    for mesh in list(spec.meshes):
        if mesh.file in paths:
            mesh.file = str(paths[mesh.file])
        elif mesh.file in problems:
            for geom in [geom for geom in spec.geoms if geom.meshname == mesh.name]:
                spec.delete(geom)
            spec.delete(mesh)
    from_shapes = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    for mesh in spec.meshes if spec.compiler.inertiafromgeom != from_shapes else ():
        links = (geom.parent for geom in spec.geoms if geom.meshname == mesh.name)
        if all(link.explicitinertial for link in links):
            # Its volume, which may be zero, is not used.
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    _note(urdf, problems, report)


def _note(urdf: UrdfText, problems: dict[str, MissingFileError], report: ImportReport) -> None:
    """Note the meshes that cannot be read."""
    visuals: dict[str, list[str]] = defaultdict(list)
    for reference in urdf.meshes:
        problem = problems.get(reference.alias)
        if problem is None:
            continue
        if reference.collides:
            label = f"collision mesh {reference.uri} of link {reference.link!r}"
            report.ignore(f"{label} (line {reference.line})", str(problem), problem.remedy)
        else:
            visuals[str(problem)].append(reference.uri)
    for problem, uris in visuals.items():
        names = ", ".join(dict.fromkeys(uris))
        report.approximate(f"visual meshes {names}", f"left out: {problem}")


def _check_format(path: Path) -> None:
    """Raise an error for a mesh file that MuJoCo cannot read.

    Raises:
        MissingFileError: the file has another format; the message lists the supported ones.
    """
    remedy = "convert it to binary STL or OBJ"
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise MissingFileError(f"MuJoCo reads no {path.suffix or 'file without an ending'}", remedy)
    if ending == ".stl":
        with path.open("rb") as file:
            header = file.read(STL_HEADER)
        count = int.from_bytes(header[-4:], "little") if len(header) == STL_HEADER else -1
        if header.startswith(b"solid") and path.stat().st_size < STL_HEADER + STL_TRIANGLE * count:
            raise MissingFileError("MuJoCo reads binary STL only, and this is text", remedy)
