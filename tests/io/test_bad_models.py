"""Model files that cannot be used: clear refusals, whatever is wrong with them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jaxccp.cli import app
from jaxccp.io import InputError, UnsupportedError, load
from jaxccp.io.mjcf import closing
from tests.io.mutations import mutations

pytest.importorskip("mujoco")

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(text: str, name: str = "model.xml") -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return to


def body(inside: str, after: str = "") -> str:
    return f"<mujoco><worldbody><body name='arm'>{inside}</body></worldbody>{after}</mujoco>"


BALL = "<geom size='0.1'/>"
WELD = "<equality><weld name='bolt' body1='arm' relpose='0 0 1 1 0 0 0'/></equality>"

BAD = {
    "nothing": ("", "empty file"),
    "no xml": ("robot", "parse"),
    "empty world": ("<mujoco/>", "no body besides the world"),
    "unknown element": (body(f"{BALL}<spring/>"), "'spring', line 1"),
    "massless": (body("<joint/>"), "mass and inertia of moving bodies.*'arm'"),
    "missing mesh": (
        body("<geom type='mesh' mesh='m'/>", "<asset><mesh name='m' file='gone.stl'/></asset>"),
        "gone.stl",
    ),
    "cyclic include": ("<mujoco><include file='model.xml'/></mujoco>", "already included"),
    "two equal axes": (body(f"<joint name='a'/><joint name='b'/>{BALL}"), "'arm'.*depend on each"),
    "no room": (
        body(f"<joint name='stiff' limited='true' range='0 1' margin='0.6'/>{BALL}"),
        "'stiff' .line 1.*no room",
    ),
    "contradictory welds": (
        body(f"<freejoint/>{BALL}", WELD + WELD.replace("bolt", "nut").replace("1 1", "3 1")),
        "(bolt|nut).*nothing closes it, 2 m or rad",
    ),
    "weld of what cannot move": (
        "<mujoco><worldbody><body name='arm'/><body><freejoint/>"
        f"{BALL}</body></worldbody>{WELD}</mujoco>",
        "'bolt' .line 1.*cannot move",
    ),
    "site nowhere": (body(f"<freejoint/>{BALL}<site pos='nan 0 0'/>"), "frame in body 1"),
    "not a number": (body(f"<joint axis='0 0 nan'/>{BALL}"), "joint 0 .line 1.: .*axis"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused(write: Write, case: str) -> None:
    text, said = BAD[case]
    file = write(text)
    with pytest.raises(InputError, match=f"(?s){said}") as caught:
        load(file)
    assert str(file) in str(caught.value)


def test_no_such_file_and_no_mujoco(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is no file"):
        load(tmp_path / "gone.xml")
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(InputError, match=r"jaxccp\[mjcf\]"):
        load(MODELS / "arm.xml")


UNSUPPORTED = """<mujoco>
<compiler autolimits="true"/>
<worldbody>
  <site name="hook"/>
  <body name="balloon" gravcomp="1">
    <freejoint/>
    <geom size="0.1"/>
    <site name="end"/>
  </body>
  <body name="arm"><joint name="hinge"/><geom name="drum" size="0.1"/></body>
  <body name="eye"><joint name="socket" type="ball" range="0 40"/><geom size="0.1"/></body>
</worldbody>
<tendon>
  <spatial name="rope"><site site="hook"/><geom geom="drum"/><site site="end"/></spatial>
  <fixed name="spring" stiffness="3" springlength="0 1"><joint joint="hinge" coef="2"/></fixed>
  <fixed name="ruler"><joint joint="hinge" coef="2"/></fixed>
</tendon>
<actuator>
  <motor name="pull" tendon="rope"/>
  <muscle name="biceps" joint="hinge" lengthrange="0 1"/>
  <general name="push" joint="hinge" biastype="affine" biasprm="0 3 0"/>
</actuator>
<equality><tendon name="tie" tendon1="ruler" tendon2="spring"/></equality>
</mujoco>
"""
NAMED = {
    "balloon": 5,
    "rope": 14,
    "spring": 15,
    "pull": 19,
    "biceps": 20,
    "push": 21,
    "tie": 23,
}


def test_unsupported_elements_are_named_or_left_out(write: Write) -> None:
    file = write(UNSUPPORTED)
    with pytest.raises(UnsupportedError, match="--allow-unsupported") as caught:
        load(file)
    for name, line in NAMED.items():
        assert f"'{name}' (line {line})" in str(caught.value)
    assert "ruler" not in str(caught.value)
    loaded = load(file, allow_unsupported=True)
    assert len(loaded.ignored) == len(NAMED)
    assert loaded.model.topology.linkage.actuators == ()


def test_spoilt_files_raise_nothing_foreign(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "closed", lambda model, state: state)  # compiles each time
    outcomes = {"loaded": 0, "refused": 0}
    for seed, path in enumerate(sorted(MODELS.glob("*.xml"))):
        for text in mutations(path.read_text(encoding="utf-8"), seed, 40):
            try:
                load(write(text), allow_unsupported=True)
                outcomes["loaded"] += 1
            except InputError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 5, outcomes


def test_command_says_so_and_exits_with_2(write: Write, tmp_path: Path) -> None:
    def said(*arguments: object) -> str:
        out = tmp_path / "out"
        result = CliRunner().invoke(app, ["simulate", *map(str, arguments), "--out", str(out)])
        assert result.exit_code == 2, result.output
        assert not out.exists()
        return result.stderr

    assert "already included" in said(write(BAD["cyclic include"][0]))
    assert "'rope' (line 14)" in said(write(UNSUPPORTED))
    assert "model files" in said("stack", "--init", "x.npz")
    assert "once" in said(MODELS / "arm.xml", "--batch", 2)
