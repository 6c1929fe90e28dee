"""Check URDF files of the kinds that robots come with, against MuJoCo where it can read them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxccp import load
from jaxccp.io import InputError, UnsupportedError
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.urdf.meshes import aliased
from jaxccp.io.mjcf.urdf.mimics import couple_mimics
from tests.io.smooth_accelerations import smooth_accelerations

mujoco = pytest.importorskip("mujoco")

INERTIAL = """<inertial><origin xyz="0.1 0 0.02" rpy="0.3 0 0.1"/><mass value="{0}"/>
  <inertia ixx="{1}" iyy="{2}" izz="{3}" ixy="0" ixz="0" iyz="0"/></inertial>"""
HEAVY = INERTIAL.format(2, 0.02, 0.03, 0.04)
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>
  <origin xyz="0.3 0 0" rpy="0 0.2 0"/><axis xyz="0 1 0"/>{4}</joint>"""
LIMIT = '<limit lower="-1" upper="1.5" effort="{}" velocity="2"/><dynamics damping="0.1"/>'
HINGE = JOINT.format("hip", "revolute", "base", "leg", LIMIT.format(5))
SLIDE = JOINT.format("slider", "prismatic", "leg", "foot", LIMIT.format(40))

Write = Callable[..., Path]


def link(name: str, inside: str = "") -> str:
    return f'<link name="{name}">{inside}</link>'


def mesh(uri: str, tag: str = "collision", attributes: str = "") -> str:
    return f'<{tag}><geometry><mesh filename="{uri}"{attributes}/></geometry></{tag}>'


def box(half: float) -> str:
    """Return the text of an OBJ file of a cube."""
    corners = np.stack(np.meshgrid(*[[-half, half]] * 3, indexing="ij"), -1).reshape(-1, 3)
    faces = ("1 2 4 3", "5 7 8 6", "1 5 6 2", "3 4 8 7", "1 3 7 5", "2 6 8 4")
    return "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "".join(f"f {f}\n" for f in faces)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)

    def to(*elements: str, name: str = "work/leg.urdf") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(elements)
        path.write_text(f'<robot name="leg">\n{text}\n</robot>' if name.endswith("urdf") else text)
        return path

    return to


BALL = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'


def arm(*shapes: str, leg: str = HEAVY, base: str = BALL) -> tuple[str, ...]:
    """Return the elements of a base that can touch the leg, which has the given shapes."""
    return link("base", base), link("leg", leg + "".join(shapes)), link("foot", HEAVY), HINGE, SLIDE


def test_motion_is_that_of_mujoco(write: Write) -> None:
    """A leg that MuJoCo reads by itself moves as in MuJoCo, and the report says that its base is
    bolted."""
    path = write(*arm())
    loaded, theirs = load(path), mujoco.MjModel.from_xml_path(str(path))
    assert loaded.source == f"URDF file {path}"
    assert len(loaded.approximated) == 1 and "'base': bolted" in loaded.approximated[0]
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = [0.7, 0.3], [2.0, -1.0]
    mujoco.mj_forward(theirs, data)
    ours = smooth_accelerations(loaded)(data.qpos, data.qvel)
    np.testing.assert_allclose(ours, data.qacc_smooth, rtol=1e-10)


PLACES = {
    "a folder above of its name": ("legs/meshes", "legs/urdf", "package://legs/meshes/foot.obj"),
    "three slashes": ("legs/meshes", "legs/urdf", "package:///legs/meshes/foot.obj"),
    "a folder beside one above": ("legs/meshes", "robots/urdf", "package://legs/meshes/foot.obj"),
    "package.xml": ("checkout/meshes", "checkout/urdf", "package://legs/meshes/foot.obj"),
    "relative": ("legs/meshes", "legs/urdf", "../meshes/foot.obj"),
    "listed": ("far/legs/meshes", "robots", "package://legs/meshes/foot.obj"),
    "listed itself": ("far/other/meshes", "robots", "package://legs/meshes/foot.obj"),
}
"""Folder of the mesh, folder of the URDF, and the URI of the mesh in the URDF."""


@pytest.mark.parametrize("case", PLACES)
def test_packages_are_searched_for(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    folder, urdf_folder, uri = PLACES[case]
    write(box(0.1), name=f"{folder}/foot.obj")
    write("<package><name>legs</name></package>", name="checkout/package.xml")
    write("<package><name>legs</name></package>", name="far/other/package.xml")
    if case != "package.xml":
        (tmp_path / "checkout/package.xml").unlink()
    path = write(*arm(mesh(uri)), name=f"{urdf_folder}/leg.urdf")
    if case.startswith("listed"):
        with pytest.raises(UnsupportedError) as caught:
            load(path)
        message = f"(line 4): there is no package 'legs' in {tmp_path}/robots and the folders above"
        assert f"collision mesh {uri} of link 'leg' {message}" in str(caught.value)
        assert "packages={'legs': folder} (--package legs=DIR)" in str(caught.value)
        packages = {"legs": (tmp_path / folder).parent}
        assert load(path, packages=packages).model.topology.shapes == ("sphere", "convex")
        listed = tmp_path / ("far" if case == "listed" else "far/other")
        monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path}/gone:{listed}")
    assert load(path).model.topology.shapes == ("sphere", "convex")


def test_meshes_of_one_name_stay_apart(write: Write) -> None:
    """Meshes that differ only in folder or scale stay distinct, although MuJoCo takes the first for
    both."""
    for half in (1, 2):
        write(box(0.1 * half), name=f"work/{half}/part.obj")
    wide, deep = ' scale="3 1 1"', ' scale="1 4 1"'
    shapes = mesh("1/part.obj"), mesh("2/part.obj"), mesh("2/part.obj", attributes=wide)
    loaded = load(write(*arm(*shapes, mesh("1/part.obj", attributes=deep))))
    corners = np.asarray(loaded.model.shapes.hulls.vertices)
    extents = sorted(tuple(np.sort(np.ptp(hull, axis=0)).round(6)) for hull in corners)
    assert extents == [(0.2, 0.2, 0.2), (0.2, 0.2, 0.8), (0.4, 0.4, 0.4), (0.4, 0.4, 1.2)]


def test_meshes_that_cannot_be_read(write: Write) -> None:
    """Visual meshes that cannot be read are listed; collision meshes are refused with the remedy,
    or left out."""
    text = "solid cube\n" + "facet normal 0 0 1\n" * 20
    write(text, name="work/text.stl")
    write("", name="work/hip.dae")
    visuals = mesh("hip.dae", "visual") + mesh("gone.stl", "visual")
    path = write(*arm(mesh("hip.dae"), mesh("gone.obj"), mesh("text.stl"), visuals))
    with pytest.raises(UnsupportedError) as caught:
        load(path)
    for message in (
        "hip.dae of link 'leg' (line 4): MuJoCo reads no .dae; convert it to binary STL or OBJ",
        f"gone.obj of link 'leg' (line 4): there is no file {path.parent}/gone.obj; put it there",
        "text.stl of link 'leg' (line 4): MuJoCo reads binary STL only, and this is text; convert",
    ):
        assert f"collision mesh {message}" in str(caught.value)
    loaded = load(path, allow_unsupported=True)
    assert len(loaded.ignored) == 3 and loaded.model.topology.shapes == ("sphere",)
    listed = "\n".join(loaded.approximated)
    assert "visual meshes hip.dae: left out: MuJoCo reads no .dae" in listed
    assert "visual meshes gone.stl: left out: there is no file" in listed


def test_shown_meshes_are_left_out_too(write: Write) -> None:
    """Visual meshes that cannot be read are left out even where MuJoCo is told to keep visuals."""
    write("", name="work/hip.dae")
    keep = '<mujoco><compiler discardvisual="false"/></mujoco>'
    loaded = load(write(keep, *arm(mesh("hip.dae", "visual"))))
    assert any("hip.dae: left out" in line for line in loaded.approximated)


def test_compiler_settings_of_the_file_hold(write: Write) -> None:
    write(box(0.1), name="assets/foot.obj")
    setting = '<mujoco><compiler strippath="true" meshdir="../assets"/></mujoco>'
    loaded = load(write(setting, *arm(mesh("package://unknown/foot.obj"))))
    assert loaded.model.topology.shapes == ("sphere", "convex")


def test_floating(write: Write) -> None:
    """A floating base falls freely above the ground."""
    base = HEAVY.replace('value="2"', 'value="7"')
    path = write(*arm(base=base))
    loaded, bolted = load(path, floating=True), load(path)
    assert (loaded.layout.places.nq, bolted.layout.places.nq) == (9, 2)
    assert loaded.approximated == () and len(bolted.approximated) == 1
    qpos = np.concatenate([[0, 0, 1, 1, 0, 0, 0], np.zeros(2)])
    fall = smooth_accelerations(loaded)(qpos)
    np.testing.assert_allclose(fall, [0, 0, -9.81, 0, 0, 0, 0, 0], atol=1e-12)
    anchored = link("world"), *arm(), JOINT.format("bolt", "fixed", "world", "base", "")
    assert load(write(*anchored)).approximated == ()
    adrift = link("world"), *arm(base=base), JOINT.format("none", "floating", "world", "base", "")
    with pytest.raises(InputError, match="no link is bolted to the world; leave it out"):
        load(write(*adrift), floating=True)
    with pytest.raises(InputError, match=r"no body besides the world;.*floating=True"):
        load(write(link("base", HEAVY)))


MIMIC = JOINT.format("twin", "revolute", "leg", "toe", LIMIT.format(5) + '<mimic joint="hip"/>')


def test_torque_actuators(write: Write) -> None:
    """Each joint that mimics none has one actuator, limited to its effort, and unlimited where it
    has no effort limit."""
    wheel = JOINT.format("axle", "continuous", "leg", "wheel", "")
    path = write(*arm(), link("toe", HEAVY), link("wheel", HEAVY), MIMIC, wheel)
    loaded = load(path, actuators="torque")
    assert loaded.model.topology.linkage.actuators == ("hip", "slider", "axle")
    assert sum("motor 'axle': its joint has no effort" in x for x in loaded.approximated) == 1
    plain = load(write(*arm()), actuators="torque")
    rest, qacc = (np.zeros(2), np.zeros(2)), smooth_accelerations(plain)
    free = qacc(*rest, np.zeros(2))
    inside = qacc(*rest, np.array([5.0, 0])) - free
    saturated = qacc(*rest, np.array([50.0, 0])) - free
    np.testing.assert_allclose(saturated, inside, rtol=1e-12)
    theirs = mujoco.MjModel.from_xml_path(str(path.parent / "leg.urdf"))
    data = mujoco.MjData(theirs)
    data.qfrc_applied[:] = [5, 0]
    mujoco.mj_forward(theirs, data)
    np.testing.assert_allclose(free + inside, data.qacc_smooth, atol=1e-10)


def test_position_actuators(write: Write) -> None:
    """Servos exert all their effort at the documented errors and proportionally less below, and are
    critically damped."""
    path = write(*arm())
    loaded = load(path, actuators="position")
    rest, qacc = (np.zeros(2), np.zeros(2)), smooth_accelerations(loaded)
    free = qacc(*rest, np.zeros(2))
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    before = data.qacc_smooth.copy()
    for ctrl, force in [((0.04, 0), (2, 0)), ((0.5, 0), (5, 0)), ((0, -0.005), (0, -20))]:
        data.qfrc_applied[:] = force
        mujoco.mj_forward(theirs, data)
        np.testing.assert_allclose(
            qacc(*rest, np.array(ctrl, float)) - free, data.qacc_smooth - before, atol=1e-10
        )
    # Critically damped: 2 √(k m) per rate, with the hip's inertia m.
    inertia = np.zeros(2)
    mujoco.mj_mulM(theirs, data, inertia, np.array([1.0, 0]))
    data.qvel[:] = [0.05, 0]
    data.qfrc_applied[:] = [-2 * np.sqrt(50 * inertia[0]) * 0.05, 0]
    mujoco.mj_forward(theirs, data)
    damped = qacc(np.zeros(2), data.qvel, np.zeros(2))
    np.testing.assert_allclose(damped, data.qacc_smooth, atol=1e-10)
    bad = write(
        *arm(), link("wheel", HEAVY), JOINT.format("axle", "continuous", "leg", "wheel", "")
    )
    with pytest.raises(InputError, match=r"no effort limit.* of axle; give <limit effort"):
        load(bad, actuators="position")


LIMITS = {
    "continuous": ("continuous", 'lower="-1" upper="1"', None, 0),
    "both": ("revolute", 'lower="-1" upper="1"', (-1, 1), 0),
    "lower": ("revolute", 'lower="-2"', (-2, 0), 0),
    "upper": ("prismatic", 'upper="2"', (0, 2), 0),
    "equal": ("revolute", 'lower="0" upper="0"', None, 1),
    "none": ("prismatic", "", None, 1),
    "reversed": ("revolute", 'lower="1" upper="-1"', None, 1),
    "above": ("revolute", 'lower="1"', None, 1),
}
"""Type of a joint, its limits in the file, what these mean, and how many lines report it."""


@pytest.mark.parametrize("case", LIMITS)
def test_limits_are_those_of_urdf(write: Write, case: str) -> None:
    """Continuous joints have no limits, nor have servos' controls then; a limit that is not given
    is 0, and equal and reversed limits are reported."""
    kind, limits, expected, lines = LIMITS[case]
    limit = f'<limit effort="5" velocity="2" {limits}/>'
    hip = JOINT.format("hip", kind, "base", "leg", limit)
    loaded = load(write(link("base"), link("leg", HEAVY), hip), actuators="position")
    assert sum("joint 'hip'" in line for line in loaded.approximated) == lines
    model = loaded.model
    bounds = float(model.axes.lower[0]), float(model.axes.upper[0])
    assert bounds == (expected or (-np.inf, np.inf))
    np.testing.assert_array_equal(model.actuators.control_limits[0], bounds)


def test_options_go_with_urdf(tmp_path: Path) -> None:
    model = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    every: list[Any] = [{"floating": True}, {"actuators": "torque"}, {"packages": {"a": tmp_path}}]
    for options in every:
        with pytest.raises(InputError, match=f"{next(iter(options))} can be said of a URDF only"):
            load(model, **options)
    with pytest.raises(InputError, match="gone: is no folder, of package 'a'"):
        load(model, packages={"a": tmp_path / "gone"})
    with pytest.raises(InputError, match="actuators: 'muscle' is not one of position, torque"):
        load("<robot name='leg'/>", actuators="muscle")  # type: ignore[arg-type]


def test_mimics_are_coupled_whatever_mujoco_reads(write: Write) -> None:
    """MuJoCo's parser leaves ``mimic`` out in its versions before 2026-09: here it gets a file
    without. One that it read itself is not coupled twice."""
    tag = '<mimic joint="hip" multiplier="-2" offset="0.3"/>'
    text = write(*arm(), link("toe", HEAVY), MIMIC.replace('<mimic joint="hip"/>', tag)).read_text()
    report = ImportReport()
    for given in (text, text.replace(tag, "")):
        spec = mujoco.MjSpec.from_string(given)
        couple_mimics(spec, mujoco, aliased(text.encode()), report)
        (equality,) = spec.equalities
        assert (equality.name1, equality.name2) == ("twin", "hip")
        np.testing.assert_array_equal(equality.data[:5], [0.3, -2.0, 0.0, 0.0, 0.0])
        model = spec.compile()
        data = mujoco.MjData(model)
        # q(twin) = 0.3 - 2 q(hip): no force where that holds.
        data.qpos[[model.joint(name).qposadr[0] for name in ("hip", "twin")]] = [0.2, -0.1]
        mujoco.mj_forward(model, data)
        assert (model.neq, data.ne) == (1, 1) and abs(data.efc_pos[0]) < 1e-12
    assert not report.approximated
    loose = write(*arm(), link("toe", HEAVY), MIMIC.replace('joint="hip"', 'joint="hop"'))
    lines = load(loose).approximated
    assert any("joint 'twin': mimics 'hop', which is no joint" in line for line in lines)


def test_xacro_is_not_read_as_urdf(write: Write) -> None:
    """What it would expand to would be missing without a word."""
    assert load(write(*arm()).read_text().replace("<robot", '<robot xmlns:xacro="x"'))
    path = write(*arm(), '<xacro:arm prefix="left"/>', "<xacro:if value='1'/>")
    with pytest.raises(InputError, match=r"is xacro .*line 11: <xacro:arm>\); expand it"):
        load(path.read_text().replace("<robot", '<robot xmlns:xacro="x"'))


def test_what_mujoco_warns_of_is_listed(write: Write) -> None:
    loaded = load(write(*arm(), link("toe", HEAVY), MIMIC.replace("revolute", "planar")))
    assert any("MuJoCo warns: <mimic> on joint 'twin'" in line for line in loaded.approximated)
