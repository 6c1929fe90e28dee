"""README and docs are true: code prints what they say, what they name and link to is there."""

import re
from pathlib import Path
from pkgutil import resolve_name

import jax
import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = ROOT / "examples" / "ten_lines.py"

LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:jaxccp|tests|docs|examples|experiments)/[\w./-]*)`")
DOTTED = re.compile(r"`(jaxccp(?:\.\w+)+)")
BLOCK = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PLACEHOLDER = "NAME"

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks() -> list:
    """Every python block that is followed by its output."""
    return [
        pytest.param(code, output, id=f"{page.stem}-{index}")
        for page in PAGES
        for index, (code, output) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
    ]


def slug(heading: str) -> str:
    """The anchor that a heading gets."""
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
    for name in DOTTED.findall(text):
        resolve_name(name)


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
    """In JAX's default precision, as a reader would run it."""
    with jax.enable_x64(False):
        exec(compile(code, "<docs>", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == output
