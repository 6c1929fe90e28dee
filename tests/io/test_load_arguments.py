"""Check the arguments of ``load``: paths, strings of XML, MuJoCo's models and specifications."""

import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxccp import load
from jaxccp.io import InputError, Loaded

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco model="toy">
<option timestep="0.004"/>
<worldbody>
  <geom type="plane" size="1 1 1"/>
  <body name="arm"><joint name="hinge" axis="0 1 0"/>
    <geom size=".1" pos=".5 0 0" margin="0.01"/><site name="tip"/></body>
</worldbody>
<tendon><fixed name="rope" stiffness="3"><joint joint="hinge" coef="2"/></fixed></tendon>
<actuator><motor name="pull" tendon="rope"/></actuator>
<sensor><jointpos name="angle" joint="hinge"/></sensor>
<keyframe><key name="up" qpos="0.5"/></keyframe>
</mujoco>"""


def form(kind: str, folder: Path) -> Any:
    """Return the same model in the form of the given kind."""
    path = folder / "toy.xml"
    path.write_text(TEXT)
    spec = mujoco.MjSpec.from_string(TEXT)
    forms = {"path": path, "name": str(path), "string": TEXT, "indented": f"\ufeff\n {TEXT}"}
    return (forms | {"MjSpec": spec, "MjModel": spec.compile()})[kind]


REPORTED = {
    "path": ("MJCF file {}/toy.xml", "(line 6)"),
    "name": ("MJCF file {}/toy.xml", "(line 6)"),
    "string": ("MJCF string", "(line 6)"),
    "indented": ("MJCF string", "(line 7)"),
    "MjSpec": ("MjSpec 'toy'", "(line 6)"),
    "MjModel": ("MjModel 'toy'", "(body 'arm')"),
}
"""Name of the source in messages, and the place that they give for the ball."""


@pytest.mark.parametrize("kind", REPORTED)
def test_the_same_model_in_every_form(tmp_path: Path, kind: str) -> None:
    source, where = REPORTED[kind]
    loaded: Loaded = load(form(kind, tmp_path))
    assert loaded.source == source.format(tmp_path)
    (margin,) = loaded.approximated
    assert margin.startswith(f"geom 1 {where}: margin")
    assert loaded.timestep == 0.004 and list(loaded.keyframes) == ["up"]
    assert loaded.model.topology.bodies == ("world", "arm")
    assert loaded.sites.index("tip") == 0 and loaded.sensors.names == ("angle",)
    file = load(form("path", tmp_path))
    same = jax.tree.map(lambda a, b: bool(np.array_equal(a, b)), loaded.model, file.model)
    assert all(jax.tree.leaves(same))


def test_a_specification_stays_as_it_is() -> None:
    """A specification is compiled as a copy, meshes included, and a later change of it is read
    anew."""
    spec = mujoco.MjSpec.from_string(TEXT)
    before = spec.to_xml()
    load(spec)
    assert spec.to_xml() == before
    spec.option.timestep = 0.001
    assert load(spec).timestep == 0.001


WRONG = {
    "no element": (TEXT.replace("<site", "<sight"), "'sight', line 6"),
    "no attribute": (TEXT.replace("margin", "margn"), "'margn'; Element 'geom', line 6"),
    "no XML": (TEXT.replace("</body>", ""), "Line number=5"),
    "muscle": (TEXT.replace("<motor", '<muscle lengthrange="0 1"'), r"actuator 'pull' \(line 9\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_strings_have_lines_too(case: str) -> None:
    text, message = WRONG[case]
    with pytest.raises(InputError, match=f"(?s)^MJCF string: .*{message}"):
        load(text)


def test_strings_include_files_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inside = '<mujoco>\n<worldbody>\n<geom sise="1"/>\n</worldbody>\n</mujoco>'
    Path("part.xml").write_text(inside)
    with pytest.raises(InputError, match=r"^MJCF string: .*'geom', in part.xml, line 3"):
        load("<mujoco><include file='part.xml'/></mujoco>")


def test_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy.xml").write_text(TEXT)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load("~/toy.xml").model.topology.linkage.axes == ("hinge",)


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no model, but of type dict; give a path, a string of"):
        load({})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"cannot be read \(File name too long"):
        load("robot" * 1000)
    with pytest.raises(InputError, match="is no file"):
        load(str(tmp_path / "gone.xml"))
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"^MjSpec .*: has no body besides the world"):
        load(mujoco.MjSpec())
    assert not os.listdir(tmp_path)


def test_compiled_models_do_not_tell_all() -> None:
    jelly = """<mujoco><worldbody>
      <flexcomp name="jelly" type="grid" dim="3" count="2 2 2" spacing=".1 .1 .1" mass="1">
        <elasticity young="4e4" poisson="0.3"/></flexcomp></worldbody></mujoco>"""
    with pytest.raises(InputError, match="'jelly': a compiled model does not tell all of it; load"):
        load(mujoco.MjModel.from_xml_string(jelly))


def test_shapes_have_the_names_of_geoms() -> None:
    """Shapes have the names of their geoms; those without one have a builder's default name that no
    other shape has."""
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body pos="0 0 1"><freejoint/><geom size=".1"/><geom name="shape1" size=".1" pos=".1 0 0"/>
    </body></worldbody></mujoco>"""
    assert load(text).model.topology.shape_names == ("floor", "shape1", "shape2")
