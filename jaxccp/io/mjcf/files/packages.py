"""Finding the files that a URDF names by ``package://``, ``file://`` or a relative path."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from jaxccp.io.errors import InputError

VARIABLE = "ROS_PACKAGE_PATH"


class MissingFileError(ValueError):
    """A file that is not where its URDF says, with a remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.remedy = remedy


@dataclass(frozen=True)
class Locator:
    """Finds the files that a URDF in ``folder`` refers to."""

    folder: Path
    """Folder of the URDF."""
    packages: Mapping[str, Path]
    """Folders of packages by name; they are used before any search."""

    def path(self, uri: str, meshdir: str = "", stripped: bool = False) -> Path:
        """Return the path of an existing file for a URI.

        Args:
            uri: URI or path in the URDF.
            meshdir: the folder that relative paths start from, relative to that of the URDF.
            stripped: whether a file in ``meshdir`` with the last part of ``uri`` as its name is
                taken first, as MuJoCo does with ``strippath``.

        Raises:
            MissingFileError: the file does not exist; the message lists where it was searched for.
        """
        flat = self.folder / meshdir / uri.rsplit("/", 1)[-1]
        if stripped and flat.is_file():
            return flat.resolve()
        scheme, _, rest = uri.rpartition("://")
        if scheme == "package":
            name, _, rest = rest.lstrip("/").partition("/")
            path = self._package(name) / rest
        elif scheme == "file":
            path = Path(rest)
        elif scheme:
            raise MissingFileError(f"addresses of kind {scheme}:// cannot be read", "name a file")
        else:
            path = self.folder / meshdir / uri
        if not path.is_file():
            raise MissingFileError(f"there is no file {path}", "put it there, or correct its name")
        return path.resolve()

    def _package(self, name: str) -> Path:
        if name in self.packages:
            return self.packages[name]
        start = self.folder.resolve()
        for folder in (start, *start.parents, *_listed()):
            for candidate in (folder, folder / name):
                if candidate.is_dir() and name in (candidate.name, _declared(candidate)):
                    return candidate
        searched = ", ".join((f"{start} and the folders above it", *map(str, _listed())))
        raise MissingFileError(
            f"there is no package {name!r} in {searched}",
            f"give its folder, packages={{{name!r}: folder}} (--package {name}=DIR), or set "
            f"{VARIABLE}",
        )


def check_packages(packages: Mapping[str, str | Path]) -> dict[str, Path]:
    """Return the folders of packages as paths.

    Raises:
        InputError: one of them is not a folder.
    """
    folders = {name: Path(folder) for name, folder in packages.items()}
    for name, folder in folders.items():
        if not folder.is_dir():
            raise InputError(folder, f"is no folder, of package {name!r}", "name its folder")
    return folders


def _listed() -> Iterator[Path]:
    """Yield the folders that ``ROS_PACKAGE_PATH`` lists."""
    for entry in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        yield Path(entry)


def _declared(folder: Path) -> str:
    """Return the name of the package that a folder's ``package.xml`` declares; empty if there is
    none."""
    try:
        return (ElementTree.parse(folder / "package.xml").findtext("name") or "").strip()
    except (OSError, ElementTree.ParseError):
        return ""
