"""Differentiable rigid-body contact: every constraint force is one row of one cone problem.

The names are those of :mod:`jaxccp.api`, loaded when the first of them is asked for, and those of
the package's modules, such as ``jaxccp.testing``, each imported when it is asked for (PEP 562):
importing JAX takes a second, which the command line's ``--help`` and usage errors need not wait
for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxccp.api import *  # noqa: F403

    __version__: str


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("jaxccp")
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.util import find_spec

    if find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    api = import_module("jaxccp.api")
    globals().update({exported: getattr(api, exported) for exported in ("__all__", *api.__all__)})
    if name not in globals():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("jaxccp.api").__all__, "__version__"})
