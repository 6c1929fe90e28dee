"""Check what can be done with nodes of flexible bodies in model files, and what is refused."""

import re

import numpy as np
import pytest

from jaxccp.flexible import NodalFamily
from jaxccp.io import UnsupportedError, load
from tests.io.test_flexible_models import BALL, LINE, SHEET, SOLID, scattered, world

mujoco = pytest.importorskip("mujoco")


def test_a_node_can_be_connected_to_a_body():
    tied = '<equality><connect body1="ball" body2="jelly_0" anchor="-.15 -.1 -.1"/></equality>'
    ball = BALL.replace('size="0.1"', 'size="0.02" contype="0" conaffinity="0"')
    loaded = load(world(ball + SOLID.format(""), after=tied))
    joint = loaded.model.topology.linkage.bodies
    names = loaded.model.topology.bodies
    assert [[names[body] for body in pair] for pair in joint.tolist()] == [["ball", "jelly.0"]]
    welded = tied.replace("connect", "weld")
    with pytest.raises(UnsupportedError, match=r"'jelly_0'.* a node, which does not turn; connect"):
        load(world(ball + SOLID.format(""), after=welded))


REFUSED = {
    "rigid": (
        SOLID.replace("flexcomp", 'flexcomp rigid="true"', 1).replace(
            '</flexcomp rigid="true"', "</flexcomp"
        ),
        "'jelly': it is rigid; make it a geom",
    ),
    "interpolated": (
        SOLID.replace('dim="3"', 'dim="3" dof="trilinear"'),
        "'jelly': .*interpolated",
    ),
    "radial": (SOLID.replace('dim="3"', 'dim="3" dof="radial"'), "'jelly': node 1 is on .*slide"),
    "carried": (
        f'<body name="cart"><joint type="slide"/><geom size=".1"/>{SOLID}</body>',
        "'jelly': node 0 is on body 'jelly_0'.*pin nodes to what is fixed",
    ),
    "turned": (
        f'<body name="stand" quat="1 1 0 0">{SOLID}</body>',
        "'jelly': node 0 .*axes are not the world's; turn the flexcomp",
    ),
    "inelastic": (
        SOLID.replace("<elasticity", "<!--").replace('damping="0.01"/>', "-->"),
        "no elasticity",
    ),
    "bending": (SHEET.replace("stretch", "both"), "'cloth': sheets that resist bending"),
    "only bending": (SHEET.replace("stretch", "bend"), "'cloth': .*; give it elastic2d=.stretch"),
    "slack": (LINE.replace('stiffness="300"', ""), "'rope': its edges have no stiffness"),
    "rigid edges": (
        re.sub("<elasticity.*?/>", '<edge equality="true"/>', SHEET, flags=re.DOTALL),
        "type flex are not supported",
    ),
    "all pinned": (LINE.replace("{}", '<pin id="0 1 2 3 4 5"/>'), "'rope': it is rigid"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_name(case):
    text, message = REFUSED[case]
    text = world(text.format("") + BALL)
    with pytest.raises(UnsupportedError, match=message):
        load(text)
    left = load(text, allow_unsupported=True)
    assert not left.model.families and any("flex" in line for line in left.ignored)


@pytest.mark.parametrize("text", [SOLID, SHEET, LINE], ids=["solid", "sheet", "line"])
def test_disabled_springs_and_dampers(text):
    """Without springs MuJoCo leaves the elasticity out, and without dampers the damping alone."""
    text = world(text.format("") + BALL, "<option timestep='1e-7'><flag {}='disable'/></option>")
    with pytest.raises(UnsupportedError, match="elasticity are disabled; take out the flag"):
        load(text.format("spring"))
    (family,) = load(text.format("damper")).model.families
    assert isinstance(family, NodalFamily)
    numbers = vars(family.elements)
    assert numbers["resistance" if "resistance" in numbers else "retardation"] == 0
    for flag, forces in (("spring", (False, True)), ("damper", (True, False))):
        m = mujoco.MjModel.from_xml_string(text.format(flag))
        still, moving = (scattered(m, 0.02, speed).qfrc_passive for speed in (0.0, 0.3))
        assert (bool(still.any()), bool((moving != still).any())) == forces


def test_sensors_do_not_count_masses_of_flexible_bodies():
    sensor = (
        '<sensor><subtreecom body="world"/><framepos objtype="body" objname="jelly_0"/></sensor>'
    )
    loaded = load(world(SOLID.format("") + BALL, after=sensor))
    assert len(loaded.sensors.unreadable) == 1 and "flexible" in loaded.sensors.unreadable[0]
    shown = loaded.sensors.values(loaded.model, loaded.state)
    np.testing.assert_allclose(next(iter(shown.values())), [-0.15, -0.1, 1.9], atol=1e-14)


def test_the_fluid_is_told_not_to_act():
    text = world(SOLID.format(""), '<option density="1.2" viscosity="0"/>')
    with pytest.raises(UnsupportedError, match="fluid: it does not resist flexible bodies"):
        load(text)


NODE = """<body name="n{0}" pos="{1}">
  <inertial pos="0 0 0" mass="{2}" diaginertia="1e-3 1e-3 1e-3"/>
  <joint name="x{0}" type="slide" axis="1 0 0"/><joint name="y{0}" type="slide" axis="0 1 0"/>
  <joint name="z{0}" type="slide" axis="0 0 1"/></body>"""
PLACES = "0 0 1", ".1 0 1", "0 .1 1", "0 0 1.1"
TETRAHEDRON = """<deformable>
  <flex name="tet" dim="3" body="n0 n1 n2 n3" element="0 1 2 3" radius="0.01">
  <elasticity young="1e4" poisson="0.2"/></flex></deformable>"""
ROPE = """<deformable><flex name="rope" dim="1" body="{}" vertex="{}" element="0 1 1 2">
  <edge stiffness="10"/></flex></deformable>"""
AFTER = {
    "motor": '<actuator><motor name="on" joint="x1"/></actuator>',
    "tendon": '<tendon><fixed name="on" stiffness="1"><joint joint="x1" coef="1"/></fixed>'
    "</tendon>",
    "coupling": '<equality><joint name="on" joint1="x1" joint2="x2"/></equality>',
}


def test_a_deformable_flex_is_read_as_a_flexcomp():
    """A flex of named bodies with different masses is read, and what acts along the slides of its
    nodes is refused."""
    nodes = "".join(NODE.format(i, at, 0.1 + 0.1 * i) for i, at in enumerate(PLACES))
    sensor = (
        '<sensor><jointpos name="p" joint="x1"/>'
        '<framepos name="at" objtype="body" objname="n3"/></sensor>'
    )
    loaded = load(world(nodes, after=TETRAHEDRON + sensor))
    (family,) = loaded.model.families
    assert isinstance(family, NodalFamily)
    mass = np.diag(family.inertia())[loaded.layout.places.nodes[3, ::3]]
    np.testing.assert_allclose(mass, [0.1, 0.2, 0.3, 0.4], rtol=1e-12)
    assert "slides of nodes" in loaded.sensors.unreadable[0]
    shown = loaded.sensors.values(loaded.model, loaded.state)
    np.testing.assert_allclose(shown["at"], [0, 0, 1.1], atol=1e-14)
    for after in AFTER.values():
        with pytest.raises(UnsupportedError, match=r"'on'.*nodes of flexible bodies cannot"):
            load(world(nodes, after=TETRAHEDRON + after))


@pytest.mark.parametrize(
    ("bodies", "offset"), [("n0 n1 n1", "0 .1 0"), ("n0 n1 n2", "0 .1 0")], ids=["shared", "off"]
)
def test_vertices_beside_their_bodies_are_refused(bodies, offset):
    """Two vertices of one body would be two nodes, each with all of its mass."""
    nodes = "".join(NODE.format(i, at, 0.1) for i, at in enumerate(PLACES[:3]))
    text = world(nodes, after=ROPE.format(bodies, f"0 0 0 0 0 0 {offset}"))
    with pytest.raises(
        UnsupportedError, match=r"'rope': node . is on body .*body of its own; give"
    ):
        load(text)
    (family,) = load(text.replace("n1 n1", "n1 n2").replace('.1 0"', '0 0"')).model.families
    assert isinstance(family, NodalFamily)
    np.testing.assert_allclose(np.diag(family.inertia()), 0.1)
