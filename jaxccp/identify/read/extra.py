"""Packages of the optional extra ``logs``."""

import importlib
from pathlib import Path
from types import ModuleType

from jaxccp.io.errors import InputError

EXTRA = "logs"


def imported(module: str, path: Path) -> ModuleType:
    """Import a module of a package that the extra ``logs`` installs.

    Args:
        module: dotted name.
        path: path of the file, for error messages.

    Raises:
        InputError: the package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise InputError(
            path, f"needs the package {package}", f"pip install 'jaxccp[{EXTRA}]'"
        ) from None
