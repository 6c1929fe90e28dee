"""Check models written back to files, by MuJoCo's accelerations and their own numbers."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import Parameter, inertial_of
from jaxccp.identify.case import subject_of
from jaxccp.identify.parameters.parameter import ParameterSet
from jaxccp.identify.parameters.structure import with_required_rows
from jaxccp.io import InputError
from jaxccp.io.mjcf.write.rigid_parts import divide_inertia, inertial_of_pseudo, pseudo_inertia
from jaxccp.io.mjcf.write.write import write_model
from jaxccp.io.mjcf.write.write_urdf import write_urdf
from tests.io.smooth_accelerations import smooth_accelerations

mujoco = pytest.importorskip("mujoco")
ARM = Path(__file__).resolve().parents[2] / "examples" / "models" / "arm.xml"
FORCES = ("damping", "armature", "stiffness", "rest", "friction", "lower")
AXES = [f"axes[*].{name}" for name in FORCES]
ACTUATORS = [f"actuators[*].{name}" for name in ("gain", "offset", "stiffness", "damping", "gear")]
PLACES = ["sites[*].position", "joints[*].anchor"]


def changed(loaded, paths, seed=0):
    """Return the subject with all inertias and the given parameters changed from those loaded.

    Args:
        loaded: the loaded model.
        paths: paths of the parameters.
        seed: seed of the random changes.
    """
    subject, random = subject_of(loaded, []), np.random.default_rng(seed)
    parameters = ParameterSet([inertial_of("*"), *map(Parameter, paths)], subject)
    subject = with_required_rows(subject, parameters)
    initial = parameters.column("initial")
    step = random.uniform(0.02, 0.1, len(initial))
    return parameters.apply(
        subject, jnp.asarray(initial + np.where(initial == 0, step, initial * step))
    )


def worst_acceleration(subject, m, seed=1):
    """Return the largest difference from MuJoCo's smooth accelerations at random states, relative
    to the largest of these.

    Args:
        subject: the changed model.
        m: MuJoCo's model of the file written.
        seed: seed of the random states.
    """
    data, random = mujoco.MjData(m), np.random.default_rng(seed)
    places, expected = [], []
    for _ in range(3):
        data.qpos = m.qpos0
        mujoco.mj_integratePos(m, data.qpos, 0.3 * random.standard_normal(m.nv), 1.0)
        data.qvel, data.ctrl = 0.5 * random.standard_normal(m.nv), random.uniform(-0.5, 0.5, m.nu)
        mujoco.mj_forward(m, data)
        places.append([np.array(array) for array in (data.qpos, data.qvel, data.ctrl)])
        expected.append(np.array(data.qacc_smooth))

    qacc = jax.vmap(smooth_accelerations(subject))
    computed = qacc(*(np.array(array) for array in zip(*places, strict=True)))
    expected = np.array(expected)
    return np.abs(np.asarray(computed) - expected).max() / np.abs(expected).max()


def test_arm_is_written_whole(tmp_path):
    loaded = load(ARM)
    numbers = [*AXES, *ACTUATORS, *PLACES, "shapes[*].position", "axes[*].upper", "gravity"]
    subject = changed(loaded, numbers)
    out = tmp_path / "out" / "arm.xml"
    assert write_model(loaded, subject.model, subject.layout, out) == ()
    assert worst_acceleration(subject, mujoco.MjModel.from_xml_path(str(out))) < 1e-10
    again = load(out)
    for name in FORCES:
        first, second = (getattr(source.model.axes, name) for source in (subject, again))
        np.testing.assert_allclose(np.asarray(first), np.asarray(second), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(again.model.bodies.inertia, subject.model.bodies.inertia, atol=1e-12)
    assert "Seven hinges as a human arm has them" in out.read_text()


@pytest.mark.parametrize("robot", ["tx40/tx40_coupled", "tiago/tiago"])
def test_robots_are_written_whole(robot, shared_data, tmp_path):
    loaded = load(shared_data / "robots" / f"{robot}.xml", allow_unsupported=True)
    subject = changed(loaded, [*AXES[:5], "actuators[*].gear", "gravity"])
    out = tmp_path / "robot.xml"
    assert write_model(loaded, subject.model, subject.layout, out) == ()
    assert worst_acceleration(subject, mujoco.MjModel.from_xml_path(str(out))) < 1e-9


MANY = """<mujoco model="many"><compiler angle="degree" eulerseq="zyx" meshdir="parts"
  inertiafromgeom="true" settotalmass="9"/>
<asset><mesh name="lump" file="lump.obj"/></asset>
<default>
  <default class="strong"><position kp="30" kv="2"/><joint damping="0.3"/></default></default>
<worldbody>
  <frame pos="0 0 1" euler="10 0 20"><body name="a" pos=".1 0 0">
    <frame pos="0 .2 0" euler="0 30 0">
      <joint name="j" class="strong" axis="0 1 0" range="-40 50" limited="true" springref="30"
        stiffness="1" ref="5"/>
      <geom name="bar" type="capsule" fromto="0 0 0 .3 0 0.1" size=".02" friction="0.7 0.01"/>
      <site name="mark" euler="0 90 0" pos="0 .1 0"/></frame>
    <geom type="mesh" mesh="lump" pos=".1 .2 .3"/>
    <body name="b" pos="0 0 .3" axisangle="1 0 0 40"><joint name="ball" type="ball" damping=".2"/>
      <geom name="egg" type="ellipsoid" size=".1 .2 .15"/>
      <body name="c" pos="0 0 .2"><geom type="box" size=".05 .06 .07"/><site name="tip"/></body>
    </body></body></frame>
  <include file="more.xml"/>
</worldbody>
<tendon>
  <fixed name="pull" stiffness="3" damping=".2"><joint joint="j" coef="1.5"/></fixed>
  <spatial name="rope" stiffness="20" springlength=".3">
    <site site="mark"/><site site="tip"/></spatial>
</tendon>
<actuator><position name="servo" class="strong" joint="j"/>
  <motor tendon="pull" gear="2"/></actuator>
</mujoco>"""
INCLUDED = """<mujocoinclude><body name="loose" pos="2 0 1"><freejoint/>
  <geom name="roll" type="cylinder" size=".1 .2" pos=".03 0 0"/>
  <site name="s" pos=".1 0 0"/></body>
  <body name="rod" pos="3 0 1"><joint type="free" damping="0.1"/>
    <geom type="sphere" size=".1"/></body>
</mujocoinclude>"""
TETRAHEDRON = "v 0 0 0\nv .2 0 0\nv 0 .3 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def many(tmp_path):
    folder = tmp_path / "model"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts" / "lump.obj").write_text(TETRAHEDRON)
    (folder / "more.xml").write_text(INCLUDED)
    (folder / "many.xml").write_text(MANY)
    return folder / "many.xml"


def test_frames_classes_files_and_tendons(many, tmp_path):
    """A file with degrees, frames inside bodies, orientations of all notations, a mesh and an
    included file is written back; sizes change implied masses, which settotalmass would scale."""
    loaded = load(many)
    kinds = loaded.model.topology.shapes
    bar, egg, roll = (kinds.index(kind) for kind in ("capsule", "ellipsoid", "cylinder"))
    places = [f"shapes[{row}].position" for row in range(len(kinds))]
    sizes = [f"shapes[{egg}].size", f"shapes[{bar}].radius", f"shapes[{roll}].radius"]
    limits = ['axes["j"].upper']
    # A rope's points are sites, and a free joint's frame is the world's.
    anchors = [f'joints["{name}"].anchor' for name in ("j", "ball")]
    paths = [
        *AXES[:5],
        *anchors,
        'sites["s"].position',
        *places,
        *sizes,
        "actuators[*].gain",
        "gravity",
    ]
    subject = changed(loaded, [*paths, *limits])
    # A ball has one number for its three axes, and rest of a ball is nothing.
    axes = subject.model.axes
    ball = [loaded.model.topology.linkage.axis(f"ball.{k}") for k in range(3)]
    rod = [
        k for k, name in enumerate(loaded.model.topology.linkage.axes) if name.startswith("joint")
    ]
    for name in FORCES[:5]:
        numbers = np.array(getattr(axes, name))
        for rows in (ball, rod):
            numbers[rows] = 0.0 if name == "rest" else numbers[rows[0]]
        axes = replace(axes, **{name: jnp.asarray(numbers)})
    subject = replace(subject, model=replace(subject.model, axes=axes))
    out = tmp_path / "elsewhere" / "many.xml"
    assert write_model(loaded, subject.model, subject.layout, out) == ()
    assert worst_acceleration(subject, mujoco.MjModel.from_xml_path(str(out))) < 1e-10
    sites = replace(subject.model.sites, position=subject.model.sites.position + 0.1)
    messages = write_model(loaded, replace(subject.model, sites=sites), subject.layout, out)
    assert [line.split(" is ")[0] for line in messages] == ["tendons.point[0]", "tendons.point[1]"]


def test_nothing_is_written_that_did_not_change(many, tmp_path):
    loaded = load(many)
    out = tmp_path / "same.xml"
    assert write_model(loaded, loaded.model, loaded.layout, out) == ()
    numbers = {"pos", "size", "fromto", "kp", "stiffness", "mass", "euler", "damping", "range"}

    def written(text):
        return [
            (
                element.tag,
                {name: value for name, value in element.attrib.items() if name in numbers},
            )
            for element in ElementTree.fromstring(text).iter()
            if element.tag not in ("include", "mujocoinclude", "mujoco")
        ]

    assert written(out.read_text()) == written(MANY.replace('<include file="more.xml"/>', INCLUDED))


def test_what_the_file_cannot_say_is_said(tmp_path):
    loaded = load(ARM)
    model = loaded.model
    shapes = replace(model.shapes, restitution=model.shapes.restitution.at[2].set(0.4))
    axes = replace(model.axes, stribeck_friction=model.axes.stribeck_friction.at[1].set(0.07))
    contact = replace(model.contact, min_bounce_speed=jnp.asarray(0.5))
    out = tmp_path / "arm.xml"
    model = replace(model, shapes=shapes, axes=axes, contact=contact)
    messages = write_model(loaded, model, loaded.layout, out, ("a -- remark",))
    text = " ".join(messages)
    for word in ("stribeck_friction is 0.07", "restitution is 0.4", "min_bounce_speed is 0.5"):
        assert word in text
    assert len(messages) == 4
    assert all(line.replace("--", "- -") in out.read_text() for line in messages)
    load(out)


def test_parts_of_a_body_stay_physical():
    random = np.random.default_rng(0)

    def body():
        root = random.normal(size=(4, 4)) * [[1], [1], [1], [3]]
        return inertial_of_pseudo(root @ root.T)

    parts = [body() for _ in range(3)]
    before = inertial_of_pseudo(np.sum([pseudo_inertia(part) for part in parts], axis=0))
    after = body()
    pseudo_inertias = divide_inertia(parts, before, after)
    np.testing.assert_allclose(sum(pseudo_inertias), pseudo_inertia(after), atol=1e-12)
    for matrix in pseudo_inertias:
        assert np.linalg.eigvalsh(matrix)[0] > -1e-12
    same = divide_inertia(parts, before, before)
    for part, matrix in zip(parts, same, strict=True):
        np.testing.assert_allclose(matrix, pseudo_inertia(part), atol=1e-11)


def test_what_cannot_be_written_is_refused(tmp_path):
    spec = mujoco.MjSpec.from_file(str(ARM))
    loaded = load(spec)
    with pytest.raises(InputError, match="MjSpec cannot be written back; load the file"):
        write_model(loaded, loaded.model, loaded.layout, tmp_path / "arm.xml")
    copy = tmp_path / "arm.xml"
    copy.write_text(ARM.read_text())
    loaded = load(copy)
    copy.write_text(
        "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    with pytest.raises(InputError, match=r"another mechanism.*load it again"):
        write_model(loaded, loaded.model, loaded.layout, tmp_path / "out.xml")
    with pytest.raises(InputError, match="is no URDF"):
        write_urdf(load(ARM), loaded.model, loaded.layout, tmp_path / "out.urdf")


INERTIAL = """<inertial><origin xyz="0.1 0 0.02" rpy="0.3 0 0.1"/><mass value="{0}"/>
  <inertia ixx="{1}" iyy="{2}" izz="{3}" ixy="0" ixz="0" iyz="0"/></inertial>"""
URDF = f"""<robot name="leg"><!-- a leg --><link name="base"/>
<link name="thigh">{INERTIAL.format(2, 0.02, 0.03, 0.04)}
  <collision><geometry><mesh filename="lump.obj"/></geometry></collision></link>
<link name="pad">{INERTIAL.format(0.5, 0.002, 0.003, 0.004)}</link>
<link name="shin">{INERTIAL.format(1, 0.02, 0.03, 0.04)}
  <collision><geometry><cylinder radius="0.03" length="0.2"/></geometry></collision></link>
<joint name="hip" type="revolute"><parent link="base"/><child link="thigh"/>
  <origin xyz="0.3 0 0" rpy="0.1 0.2 0.4"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1.5" effort="5" velocity="2"/><dynamics damping="0.1"/></joint>
<joint name="fix" type="fixed"><parent link="thigh"/><child link="pad"/>
  <origin xyz="0 0 0.2" rpy="0.5 0 0"/></joint>
<joint name="knee" type="prismatic"><parent link="pad"/><child link="shin"/>
  <origin xyz="0.3 0 0" rpy="0 0.2 0"/><axis xyz="1 0 0"/>
  <limit lower="-1" upper="1.5" effort="5" velocity="2"/><dynamics damping="0.1"/>
</joint></robot>"""


def test_urdf_is_written_as_both(tmp_path):
    """A URDF is written back as URDF and as MJCF; armature and gravity can be written only as
    MJCF."""
    folder = tmp_path / "robot"
    folder.mkdir()
    (folder / "lump.obj").write_text(TETRAHEDRON)
    (folder / "leg.urdf").write_text(URDF)
    loaded = load(folder / "leg.urdf", floating=True, actuators="torque")
    subject = changed(loaded, ["axes[*].damping", "axes[*].friction", "axes[*].upper"])
    out = tmp_path / "out" / "leg"
    for write, ending in ((write_model, ".xml"), (write_urdf, ".urdf")):
        path = out.with_suffix(ending)
        assert write(loaded, subject.model, subject.layout, path) == ()
        if ending == ".xml":
            assert worst_acceleration(subject, mujoco.MjModel.from_xml_path(str(path))) < 1e-9
    assert "a leg" in path.read_text()
    again = load(path, floating=True, actuators="torque").model
    np.testing.assert_allclose(again.bodies.inertia, subject.model.bodies.inertia, atol=1e-12)
    np.testing.assert_allclose(again.joints.anchor, subject.model.joints.anchor, atol=1e-12)
    further = replace(
        subject.model,
        gravity=jnp.asarray([0.0, 0, -9]),
        axes=replace(subject.model.axes, armature=subject.model.axes.armature + 0.1),
    )
    messages = write_urdf(loaded, further, subject.layout, path)
    assert sum("armature" in line for line in messages) == 2
    assert any("gravity is (0, 0, -9)" in line for line in messages)
    assert write_model(loaded, further, subject.layout, out.with_suffix(".xml")) == ()


def test_a_urdf_elsewhere_finds_meshes_in_the_folder_of_its_compiler(tmp_path):
    """Paths of meshes are resolved by ``meshdir`` and ``strippath``, as when the file is read."""
    folder = tmp_path / "robot"
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / "lump.obj").write_text(TETRAHEDRON)
    setting = '<mujoco><compiler meshdir="assets" strippath="true"/></mujoco></robot>'
    text = URDF.replace("lump.obj", "package://unknown/lump.obj").replace("</robot>", setting)
    (folder / "leg.urdf").write_text(text)
    loaded, path = load(folder / "leg.urdf", floating=True), tmp_path / "out" / "leg.urdf"
    write_urdf(loaded, loaded.model, loaded.layout, path)
    assert f'filename="{(folder / "assets" / "lump.obj").resolve()}"' in path.read_text()
