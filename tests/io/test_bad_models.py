"""Check that unusable model files are refused with clear messages, whatever is wrong with them."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from typer.testing import CliRunner

from jaxccp.cli import app
from jaxccp.io import InputError, UnsupportedError, load
from jaxccp.io.mjcf import loop_closing
from tests.io.mutations import mutations

pytest.importorskip("mujoco")

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"
Write = Callable[..., Path]


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
    "empty world": ("<mujoco/>", "no body besides the world; give it a body with a joint"),
    "nothing moves": (body(BALL), "none of its bodies can move; give it a body with a joint"),
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
        "(bolt|nut).*nothing closes it, 1 m or rad",
    ),
    "weld of what cannot move": (
        "<mujoco><worldbody><body name='arm'/><body><freejoint/>"
        f"{BALL}</body></worldbody>{WELD}</mujoco>",
        "'bolt' .line 1.*cannot move",
    ),
    "site nowhere": (
        body(f"<freejoint/>{BALL}<site pos='nan 0 0'/>"),
        "frame in body 'arm' .line 1. is not",
    ),
    "negative friction": (
        "<mujoco><worldbody><geom name='ice' type='plane' size='1 1 1' friction='-1 0 0'/>"
        f"<body><freejoint/>{BALL}</body></worldbody></mujoco>",
        "geom 'ice' .line 1.: friction must be finite and not negative",
    ),
    "not a number": (body(f"<joint axis='0 0 nan'/>{BALL}"), "joint 0 .line 1.: .*axis"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused(write: Write, case: str) -> None:
    text, message = BAD[case]
    file = write(text)
    with pytest.raises(InputError, match=f"(?s){message}") as caught:
        load(file)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("case", BAD)
def test_messages_speak_of_the_file(write: Write, case: str) -> None:
    """Messages speak of the file, not of the classes and methods with which it is read."""
    with pytest.raises(InputError) as caught:
        load(write(BAD[case][0]))
    assert not re.search(r"\b(add_\w+|Material|ConvexMesh|Actuator|line 0)\b", str(caught.value))


INNER = """<mujoco>
<worldbody>
<body name="arm" gravcomp="1">
<joint name="elbow"/><geom size="0.1"/><geom{extra} size="0.1" pos="0 0 1"/></body>
</worldbody>
</mujoco>"""


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("", r"body 'arm' \(parts/arm.xml, line 3\): gravity compensation"),
        (" sise='1'", r"attribute: 'sise'; Element 'geom', in parts/arm.xml, line 4; correct"),
        (
            " name='hand' type='mesh' mesh='m'",
            r"Element name 'hand', id 1, in parts/arm.xml, line 4",
        ),
        (" type='mesh' mesh='m'", r"'m' not found in geom 1; .*, in parts/arm.xml; correct"),
    ],
)
def test_included_files_are_named(write: Write, tmp_path: Path, extra: str, message: str) -> None:
    """Messages name an included file and its line, although MuJoCo reports line 0 for its contents;
    here one included file includes another.

    Args:
        write: fixture that writes a file.
        tmp_path: folder of the files.
        extra: attributes that are added to a geom of the included file.
        message: pattern of the expected message.
    """
    (tmp_path / "parts").mkdir()
    write(INNER.format(extra=extra), "parts/arm.xml")
    write("<mujoco><include file='parts/arm.xml'/></mujoco>", "all.xml")
    with pytest.raises(InputError, match=f"(?s){message}") as caught:
        load(write("<mujoco>\n<include file='all.xml'/>\n</mujoco>"))
    assert "line 0" not in str(caught.value)


def test_hulls_of_thousands_of_vertices_are_thinned(write: Write, tmp_path: Path) -> None:
    """A hull of thousands of vertices is thinned with a small, reported error; the distance of an
    ellipsoid from the remaining hull is known at every point."""
    z = np.linspace(-1, 1, 3000)
    azimuth = np.pi * (1 + np.sqrt(5)) * np.arange(len(z))
    sphere = (
        np.stack([np.cos(azimuth), np.sin(azimuth), 0 * z], axis=1) * np.sqrt(1 - z**2)[:, None]
    )
    half = np.array([0.4, 0.1, 0.2])
    points = half * (sphere + [0, 0, 1] * z[:, None])
    lines = "".join(f"v {x:.9f} {y:.9f} {z:.9f}\n" for x, y, z in points)
    faces = "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in _outward(points))
    (tmp_path / "egg.obj").write_text(lines + faces)
    (report,) = (
        loaded := load(
            write(
                "<mujoco><asset><mesh name='m' file='egg.obj'/></asset><worldbody>"
                "<geom type='plane' size='1 1 1'/><body><freejoint/>"
                "<geom name='egg' type='mesh' mesh='m'/></body></worldbody></mujoco>"
            )
        )
    ).approximated
    (corners,) = np.unique(np.asarray(loaded.model.shapes.hulls.vertices), axis=1)
    assert 300 < len(corners) <= 500
    match = re.search(r"'egg'.*has 3000 vertices, of which (\d+) are kept: it is (\S+) m", report)
    assert match and int(match[1]) == len(corners)
    # The faces' midpoints show how deep they cut into the ellipsoid, here in units of its axes.
    hull = ConvexHull(corners)
    lengths = np.sort(half)  # MuJoCo turns meshes so that the shortest is along x
    deepest = 1 - np.linalg.norm(corners[hull.simplices].mean(axis=1) / lengths, axis=1).min()
    assert 0 < deepest < 0.03
    assert 0 < float(match[2]) < 0.03 * half.max()


def _outward(points: np.ndarray) -> np.ndarray:
    """Return the triangles of the hull, counter-clockwise seen from outside."""
    hull = ConvexHull(points)
    a, b, c = (points[hull.simplices[:, i]] for i in range(3))
    out = np.einsum("fi,fi->f", np.cross(b - a, c - a), hull.equations[:, :3]) > 0
    return np.where(out[:, None], hull.simplices, hull.simplices[:, ::-1])


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
  <body name="eye"><joint name="socket" type="ball" range="0 40"/><geom size="0.1"/>
  <geom name="hills" type="hfield" hfield="hills"/></body>
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
<asset><hfield name="hills" nrow="2" ncol="2" size="1 1 1 1"/></asset>
</mujoco>
"""
NAMED = {
    "balloon": 5,
    "hills": 12,
    "rope": 15,
    "spring": 16,
    "pull": 20,
    "biceps": 21,
    "push": 22,
    "tie": 24,
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


def test_flexible_bodies_are_named_with_what_they_lack(write: Write) -> None:
    jelly = """<mujoco><worldbody>
      <flexcomp name="jelly" type="grid" count="2 2 2" spacing=".1 .1 .1" dim="3" mass="1"/>
      <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" dim="2" mass="1"/>
    </worldbody></mujoco>"""
    with pytest.raises(UnsupportedError) as caught:
        load(write(jelly))
    for name in ("jelly", "cloth"):
        message = rf"flexible body '{name}': it has no elasticity; give it <elasticity"
        assert re.search(message, str(caught.value))


def test_spoilt_files_raise_nothing_foreign(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        loop_closing, "with_checked_joint_coordinates", lambda model, state: state
    )  # compiles each time
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
    def refusal(*arguments: object) -> str:
        out = tmp_path / "out"
        result = CliRunner().invoke(app, ["simulate", *map(str, arguments), "--out", str(out)])
        assert result.exit_code == 2, result.output
        assert not out.exists()
        return result.stderr

    assert "already included" in refusal(write(BAD["cyclic include"][0]))
    assert "'rope' (line 15)" in refusal(write(UNSUPPORTED))
    assert "model files" in refusal("stack", "--init", "x.npz")
    assert "once" in refusal(MODELS / "arm.xml", "--batch", 2)
