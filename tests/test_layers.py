"""Check that imports point down the layers: each module may import its own layer and those below
it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "jaxccp"
SOURCE = Path(__file__).resolve().parent.parent / PACKAGE

# Lowest first. ROOT is the package's own __init__, which hands on what api has users touch.
ROOT = f"{PACKAGE}/__init__"
LAYERS = (
    *("names", "content", "execution", "math", "ccp", "model", "flexible", "collision", "dynamics"),
    *("sensors", "scene", "io", "viz", "identify", "envs", "testing", "scenes", "identify.cube"),
    *("api", ROOT, "cli", "__main__"),
)
# Beyond the order: describing bodies and finding contacts is independent of how forces are solved.
FORBIDDEN = {
    "model": f"{PACKAGE}.ccp.solvers",
    "collision": f"{PACKAGE}.ccp.solvers",
}


def layer_of(name: str) -> str:
    """Return the layer of a dotted name: its first two components under the package, or the first,
    if that is a layer."""
    parts = name.split(".")[1:3]
    return next((layer for layer in (".".join(parts), *parts[:1]) if layer in LAYERS), ROOT)


def imports(tree: ast.Module, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Yield line and full dotted name of every name imported, wherever in the module it stands.

    `from a import b` gives `a.b`, whether b is a module or not; relative imports are resolved.

    Args:
        tree: the parsed module.
        module: dotted name of the module.
        is_package: whether the module is a package's ``__init__``.
    """
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [node.module] if node.module else []
            if node.level:
                base = package[: len(package) - node.level + 1] + base
            yield from ((node.lineno, ".".join([*base, alias.name])) for alias in node.names)


def offenders(source: str, path: str) -> list[str]:
    """Return `path:line: what is wrong` for each import that does not point down.

    `path` is relative to the package's parent, as in `jaxccp/ccp/solvers/apgd.py`.
    """
    parts = list(Path(path).with_suffix("").parts)
    is_package = parts[-1] == "__init__"
    module = ".".join(parts[:-1] if is_package else parts)
    layer = layer_of(module)
    if layer == ROOT and module != PACKAGE:
        mend = "move it into one, or give it a place in LAYERS"
        return [f"{path}:1: '{parts[1]}' is no layer: {mend}"]
    violations = []
    for line, name in imports(ast.parse(source, path), module, is_package):
        if name.split(".")[0] != PACKAGE:
            continue
        target = layer_of(name)
        banned = FORBIDDEN.get(layer)
        if LAYERS.index(target) > LAYERS.index(layer):
            violations.append(
                f"{path}:{line}: layer '{layer}' imports {name} of layer '{target}' above it"
            )
        elif banned and f"{name}.".startswith(f"{banned}."):
            violations.append(
                f"{path}:{line}: layer '{layer}' imports {name}: it must know no solver"
            )
    return violations


def test_imports_point_down() -> None:
    modules = sorted(SOURCE.rglob("*.py"))
    assert modules, f"no module found under {SOURCE}"
    violations = [
        offender
        for module in modules
        for offender in offenders(
            module.read_text(encoding="utf-8"), module.relative_to(SOURCE.parent).as_posix()
        )
    ]
    assert not violations, "imports must point down the layers:\n" + "\n".join(violations)


@pytest.mark.parametrize(
    ("path", "source", "line"),
    [
        ("jaxccp/ccp/solvers/apgd.py", "import numpy\nfrom jaxccp.model import Body", 2),
        ("jaxccp/ccp/solvers/apgd.py", "from ...model import Body", 1),
        ("jaxccp/ccp/solvers/__init__.py", "from ...dynamics.step import step", 1),
        ("jaxccp/math/safe.py", "from .. import ccp", 1),
        ("jaxccp/math/safe.py", "import jaxccp.ccp.cones as cones", 1),
        ("jaxccp/math/safe.py", "from jaxccp import *", 1),
        ("jaxccp/model/body.py", "def f():\n    from jaxccp import collision", 2),
        ("jaxccp/model/body.py", "from ..ccp.solvers import apgd", 1),
        ("jaxccp/model/body.py", "from ..ccp import cones, solvers", 1),
        ("jaxccp/io/npz.py", "import jaxccp", 1),
        ("jaxccp/io/npz.py", "from jaxccp import simulate", 1),
        ("jaxccp/dynamics/step.py", "from jaxccp.scene import ModelBuilder", 1),
        ("jaxccp/sensors/target.py", "from jaxccp.scene import WORLD", 1),
        ("jaxccp/envs/task.py", "from jaxccp.scenes import draw", 1),
        ("jaxccp/identify/problem.py", "from jaxccp.scenes.library import SCENES", 1),
        ("jaxccp/identify/problem.py", "from jaxccp.identify.cube import fit", 1),
        ("jaxccp/__init__.py", "from .cli import main", 1),
        ("jaxccp/helpers.py", "", 1),
    ],
)
def test_checker_names_file_and_line(path: str, source: str, line: int) -> None:
    (offender,) = offenders(source, path)
    assert offender.startswith(f"{path}:{line}: ")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("jaxccp/math/safe.py", "import jax\nfrom math import pi\nfrom jaxccp_other import x"),
        ("jaxccp/ccp/solvers/apgd.py", "from ..cones import project\nfrom . import registry"),
        ("jaxccp/ccp/__init__.py", "from .solvers import apgd\nfrom ..math import safe"),
        ("jaxccp/dynamics/step.py", "from jaxccp.ccp.solvers import apgd\nimport jaxccp.math"),
        ("jaxccp/identify/cube/fit.py", "from ..problem import Problem\nfrom jaxccp import scenes"),
        ("jaxccp/__init__.py", "from .identify import fit\nfrom . import io"),
        ("jaxccp/cli.py", "from . import __version__\nfrom jaxccp.envs import registry"),
    ],
)
def test_checker_allows_what_points_down(path: str, source: str) -> None:
    assert offenders(source, path) == []
