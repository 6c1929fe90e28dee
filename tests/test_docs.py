"""Check that README and docs are true: code prints what they say, and what they name and link to
exists."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import jax
import pytest
from typer.testing import CliRunner

import jaxccp
from jaxccp.cli import app
from jaxccp.cli.commands import identify, simulate, solve

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = ROOT / "examples" / "ten_lines.py"

LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:jaxccp|tests|docs|examples|experiments)/[\w./-]*)`")
MODULE = re.compile(r"`(\w+/[\w/]+\.py)`")
DOTTED = re.compile(r"`(jaxccp(?:\.\w+)+)")
BLOCK = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SOLVED = re.compile(r"^\$ jaxccp (solve [^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PLACEHOLDER = "NAME"

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks() -> list:
    """Return every python block that is followed by its output."""
    return [
        pytest.param(code, output, id=f"{page.stem}-{index}")
        for page in PAGES
        for index, (code, output) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
    ]


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {slug(h) for h in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)}


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        assert not anchor or anchor in anchors(target), f"{page.name}: no heading for {link}"


@every_page
def test_named_files_and_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for path in PATH.findall(text):
        assert PLACEHOLDER in path or (ROOT / path).exists(), f"{page.name} names {path}"
    for path in MODULE.findall(text):
        present = any((folder / path).exists() for folder in (ROOT, ROOT / "jaxccp"))
        assert PLACEHOLDER in path or present, f"{page.name} names {path}"
    for name in DOTTED.findall(text):
        # A module may be the adapter of a package that is not there for this Python.
        if not (ROOT / name.replace(".", "/")).with_suffix(".py").exists():
            resolve_name(name)


def test_names_are_reached_by_import_jaxccp_alone() -> None:
    """Names of the package and of its packages, such as `jaxccp.testing.check_gradients`, need no
    other import; deeper modules are imported by their names."""
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    names = sorted(name for name in {*DOTTED.findall(text)} if name.count(".") <= 2)
    assert len(names) > 50
    code = (
        "import functools, sys, jaxccp\n"
        "for name in sys.argv[1:]: functools.reduce(getattr, name.split('.')[1:], jaxccp)"
    )
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_readme_shows_the_example() -> None:
    codes = re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.M)
    assert codes == [EXAMPLE.read_text(encoding="utf-8")]


def test_every_python_block_is_run() -> None:
    count = sum(page.read_text(encoding="utf-8").count("```python\n") for page in PAGES)
    assert len(blocks()) == count


@pytest.mark.slow
@pytest.mark.parametrize(("code", "output"), blocks())
def test_code_prints_what_it_says(
    code: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code prints what the page says, in JAX's default precision, as a reader would run it.

    Args:
        code: the python block.
        output: the text block after it.
        capsys: captured output.
    """
    with jax.enable_x64(False):
        exec(compile(code, "<docs>", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == output


def test_readme_commands_find_their_files() -> None:
    """Commands name files of a fresh clone, or what an earlier command has written to its --out."""
    written: list[str] = []
    commands = [
        shlex.split(line.removeprefix("$ "), comments=True)
        for block in SHELL.findall(README.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line.removeprefix("$ ").startswith("jaxccp ")
    ]
    assert {command[1] for command in commands} == {
        "simulate",
        "solve",
        "identify",
        "view",
        "check-gradients",
    }
    for command in commands:
        for word in command[2:]:
            if word.endswith((".npz", ".json", ".xml", ".urdf")):
                available = (ROOT / word).exists() or word.startswith(tuple(written))
                assert available, f"{shlex.join(command)}: no {word} in a fresh clone"
        written += [f"{command[command.index('--out') + 1]}/"] if "--out" in command else []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_quick_part_names_files_that_are_there() -> None:
    shown = subprocess.run(["make", "-n", "quick"], cwd=ROOT, capture_output=True, text=True)
    named = re.findall(r"\btests/\S+", shown.stdout)
    assert len(named) > 10
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("command", [simulate, solve, identify])
def test_readme_tells_the_defaults(command: Callable) -> None:
    """README gives the defaults of each command; ``simulate`` chooses its solver by its input, as
    its help says."""
    row = re.compile(rf"^\| `{command.__name__}[^`]*` \| `(\w+)` \| `([\w-]+)`.*? \| (\d+)", re.M)
    rows = row.findall(README.read_text(encoding="utf-8"))
    defaults = {n: p.default for n, p in signature(command).parameters.items()}
    assert rows
    for law, solver, bits in rows:
        assert (law, int(bits)) == (defaults["law"], defaults["precision"])
        assert solver == defaults["solver"] or command is simulate
    if command is simulate:
        assert [solver for _, solver, _ in rows] == ["apgd", "gradient-newton"]


@pytest.mark.slow
def test_readme_solves_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints the lines of README, apart from timings and what rounding can change."""
    monkeypatch.chdir(ROOT)
    [(command, output)] = SOLVED.findall(README.read_text(encoding="utf-8"))
    result = CliRunner().invoke(app, [*shlex.split(command), "--cache", "off"])
    assert result.exit_code == 0, result.output

    def converged(text: str) -> list[list[str]]:
        return [line.split()[:3] for line in text.splitlines() if " converged " in line]

    assert converged(result.stdout) == converged(output) != []


def test_every_public_name_is_listed() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(\w+)`", page)) - {"qpos", "qvel"}
    assert listed == set(jaxccp.__all__)
