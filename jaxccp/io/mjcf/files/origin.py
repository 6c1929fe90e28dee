"""Sources of models: files, strings of XML, or MuJoCo's objects."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.parsers import expat

from jaxccp.io.errors import InputError

MARKUP = re.compile(r"\ufeff?\s*<")
"""Beginnings that distinguish strings of XML from paths."""

LONGEST = 200
"""Maximum length of a path in messages."""


@dataclass(frozen=True)
class Origin:
    """The kind and contents of the argument of ``load``."""

    kind: str
    """``file``, ``string``, ``MjModel`` or ``MjSpec``."""
    label: str | Path
    """Beginning of messages: the path of a file, or a description of another source."""
    folder: Path
    """Folder that the paths of further files are relative to."""
    text: bytes = b""
    """The XML; empty for MuJoCo's objects."""
    urdf: bool = False
    """Whether the text is a URDF."""

    def __str__(self) -> str:
        language = "URDF" if self.urdf else "MJCF"
        return f"{language} file {self.label}" if self.kind == "file" else str(self.label)


def origin_of(model: Any, mujoco: ModuleType) -> Origin:
    """Return the kind of source that ``model`` is, with its text if it is a file or a string.

    Raises:
        InputError: models are not read from such an object, or the file cannot be read.
    """
    for kind in ("MjModel", "MjSpec"):
        if isinstance(model, getattr(mujoco, kind)):
            return Origin(kind, _labelled(kind, model), Path.cwd())
    if isinstance(model, str) and MARKUP.match(model):
        text = model.encode()
        urdf = _root(text) == "robot"
        return Origin("string", f"{'URDF' if urdf else 'MJCF'} string", Path.cwd(), text, urdf)
    if not isinstance(model, str | Path):
        what = f"is no model, but of type {type(model).__name__}"
        raise InputError("load", what, "give a path, a string of XML, an MjModel or an MjSpec")
    path = Path(model)
    with suppress(RuntimeError):  # a user without a home
        path = path.expanduser()
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise InputError(path, "is no file", "name an MJCF or URDF file") from None
    except (OSError, ValueError) as error:
        what = f"cannot be read ({getattr(error, 'strerror', error)})"
        raise InputError(str(path)[:LONGEST], what, "name an MJCF or URDF file") from None
    return Origin("file", path, path.parent, text, _root(text) == "robot")


def _labelled(kind: str, model: Any) -> str:
    if kind == "MjSpec":
        return f"MjSpec {model.modelname!r}"
    return f"MjModel {model.names.split(bytes(1), 1)[0].decode(errors='replace')!r}"


def _root(text: bytes) -> str:
    """Return the tag of the root element; empty if there is none."""
    tags: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, _: tags.append(tag)
    with suppress(expat.ExpatError):  # MuJoCo says what is wrong with it.
        parser.Parse(text, True)
    return tags[0] if tags else ""
