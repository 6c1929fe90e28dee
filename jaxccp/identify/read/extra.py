"""Packages of the optional extra ``logs``."""

import importlib
from pathlib import Path
from types import ModuleType

from jaxccp.io.errors import InputError

EXTRA = "logs"


def imported(module: str, path: Path) -> ModuleType:
    """Return a module of a package that an extra installs.

    Args:
        module: dotted name.
        path: of the file that needs it.

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
