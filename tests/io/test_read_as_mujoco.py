"""Test elements of files that were read otherwise than MuJoCo reads them, or not at all."""

import numpy as np
import pytest

from jaxccp import ModelBuilder, Plane, Sensor, Site, Sphere, attach_sensors, load
from jaxccp.sensors import ContactSelection

mujoco = pytest.importorskip("mujoco")

FREE_BALL = '<body pos="2 0 1"><freejoint/><geom size=".1"/></body>'


def test_masses_of_motion_capture_are_no_part_of_a_subtree() -> None:
    """Sensors of subtrees with motion capture, which is fixed here, are named as unreadable."""
    loaded = load(
        f"""<mujoco><worldbody><body name="hand" mocap="true"><geom size=".1" mass="3"/></body>
        {FREE_BALL}</worldbody><sensor><subtreecom body="hand"/><subtreecom body="world"/>
        </sensor></mujoco>"""
    )
    assert len(loaded.sensors.unreadable) == 2


def test_gears_beyond_the_three_of_a_ball_drive_nothing_else() -> None:
    text = """<mujoco><worldbody><body><joint name="b" type="ball"/><geom size=".1"/>
        <body pos="0 0 1"><joint name="j"/><geom size=".1"/></body></body></worldbody>
        <actuator><motor joint="b" gear="{gear}"/></actuator></mujoco>"""
    loaded = load(text.format(gear="0 1 0 7 0 0"))
    linkage = loaded.model.topology.linkage
    assert [linkage.axes[axis] for axis in linkage.actuated] == ["b.1"]
    dead = load(text.format(gear="0 0 0 1 0 0"), allow_unsupported=True)
    assert not len(dead.model.topology.linkage.actuators) and len(dead.ignored) == 1


def test_servos_of_free_joints_are_refused() -> None:
    """MuJoCo's length of an actuator is 0 there, so that a servo has nothing to pull back to, and a
    sensor of it nothing to read."""
    text = """<mujoco><worldbody><body><joint name="j" type="free" damping="1"/><geom size=".1"/>
        </body></worldbody><actuator><position joint="j" gear="0 0 1 0 0 0" kp="10"/>
        <motor name="lift" joint="j" gear="0 0 1 0 0 0"/></actuator>
        <sensor><actuatorpos actuator="lift"/><actuatorvel actuator="lift"/></sensor></mujoco>"""
    loaded = load(text, allow_unsupported=True)
    assert len(loaded.ignored) == 1 and "no length" in loaded.ignored[0]
    assert len(loaded.sensors.unreadable) == 1 and "no length" in loaded.sensors.unreadable[0]
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    data.qpos[2] = data.qvel[2] = 1.0
    mujoco.mj_forward(m, data)
    assert data.sensordata.tolist() == [0, 1]


def test_names_that_elements_without_one_would_have() -> None:
    loaded = load(
        """<mujoco><worldbody>
        <body name="body2"><joint name="j"/><geom size=".1"/></body>
        <body pos="1 0 0"><joint name="k"/><geom size=".1"/></body></worldbody>
        <tendon><fixed name="tendon1"><joint joint="j" coef="1"/></fixed>
        <fixed limited="true" range="0 1"><joint joint="k" coef="1"/></fixed>
        <fixed limited="true" range="0 1"><joint joint="j" coef="1"/></fixed></tendon>
        <actuator><motor name="actuator1" joint="j"/><motor joint="k"/></actuator></mujoco>"""
    )
    topology = loaded.model.topology
    assert topology.bodies == ("world", "body2", "body2+")
    assert topology.linkage.actuators == ("actuator1", "actuator1+")


def test_names_of_the_file_are_kept_where_others_would_have_them() -> None:
    loaded = load(
        """<mujoco><worldbody><site/><site name="site 0"/>
        <body><joint/><geom size=".1"/></body>
        <body pos="1 0 0"><joint name="joint0"/><geom size=".1"/></body>
        <body pos="2 0 0"><joint name="equality 2"/><geom size=".1"/></body></worldbody>
        <tendon><fixed name="joint0" limited="true" range="0 1"><joint joint="joint0" coef="1"/>
        </fixed><fixed name="joint0+" limited="true" range="0 1"><joint joint="joint0" coef="1"/>
        </fixed></tendon>
        <equality><joint joint1="joint0"/><joint name="0" joint1="joint0"/>
        <joint joint1="equality 2"/></equality>
        <sensor><clock/><clock name="sensor 0"/></sensor>
        <keyframe><key time="1"/><key name="0" time="2"/></keyframe></mujoco>"""
    )
    linkage = loaded.model.topology.linkage
    assert linkage.axes == linkage.joints == ("joint0+", "joint0", "equality 2")
    assert linkage.routing.tendons == (
        "joint0++",
        "joint0+++",
        "equality 0+",
        "equality 0",
        "equality 2+",
    )
    assert loaded.sites.names == ("site 0+", "site 0")
    assert tuple(loaded.sensors.names) == ("sensor 0+", "sensor 0")
    assert {name: key.time for name, key in loaded.keyframes.items()} == {"0+": 1.0, "0": 2.0}


@pytest.mark.parametrize("attribute", ['maxhullvert="12"', ""])
def test_hulls_of_meshes_are_those_of_mujoco(attribute: str) -> None:
    """The hull ends in every direction where MuJoCo's does, also with few vertices: these are the
    distances from spheres so far away that only their direction counts."""
    random = np.random.default_rng(0)
    points = random.standard_normal((60, 3))
    points *= 0.1 / np.linalg.norm(points, axis=1)[:, None]
    text = f"""<mujoco><asset><mesh name="first" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
        <mesh name="m" vertex="{" ".join(map(str, points.ravel()))}" {attribute}/></asset>
        <worldbody><geom type="mesh" mesh="first" pos="0 0 9"/>
        <body mocap="true"><geom name="probe" size=".01"/></body>
        <body><freejoint/><geom name="stone" type="mesh" mesh="m"/></body></worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    data, far = mujoco.MjData(m), 1e3
    loaded = load(text)
    hull = np.asarray(loaded.model.shapes.hulls.vertices)[-1]
    extents = []
    for direction in random.standard_normal((20, 3)):
        direction /= np.linalg.norm(direction)
        data.mocap_pos[0] = far * direction
        mujoco.mj_forward(m, data)
        ids = m.geom("probe").id, m.geom("stone").id
        theirs = far - 0.01 - mujoco.mj_geomDistance(m, data, *ids, 2 * far, None)
        local = data.geom("stone").xmat.reshape(3, 3).T @ direction
        centre = direction @ data.geom("stone").xpos
        extents.append([centre + (hull @ local).max(), theirs])
    ours, expected = np.transpose(extents)
    np.testing.assert_allclose(ours, expected, atol=2e-5)


def test_a_dead_band_without_springs_is_no_obstacle() -> None:
    loaded = load(
        """<mujoco><option><flag spring="disable"/></option><worldbody>
        <body><joint name="j"/><geom size=".1"/></body></worldbody>
        <tendon><fixed name="t" stiffness="5" springlength="0 1" damping="2">
        <joint joint="j" coef="1"/></fixed></tendon></mujoco>"""
    )
    assert loaded.ignored == () and loaded.model.topology.linkage.routing.tendons == ("t",)


@pytest.mark.parametrize("mask", [np.array([False, True]), [2], [0, 0, 1]])
def test_masks_of_contact_sensors_have_an_entry_for_each_shape(mask: object) -> None:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), name="floor")
    for name in "ab":
        builder.add_solid(Sphere(0.1), 1.0, position=(0, 0, 0.1), name=name)
    model, _ = builder.build()
    counts = ContactSelection(mask, None, None, ("found",), "netforce", 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"first must be a mask .* floor, "):
        attach_sensors(model, {"touch": Sensor("contact", Site(1), counts=counts)})


@pytest.mark.parametrize(
    ("option", "joint"),
    [
        ('gravity="0 0 0"><flag', "<joint/>"),
        ('><flag gravity="disable"', "<joint/>"),
        ('><flag spring="disable" damper="disable"', "<joint/>"),
        ("><flag", ""),
    ],
)
def test_gravity_compensation_without_effect_is_no_obstacle(option: str, joint: str) -> None:
    text = f"""<mujoco><option {option}/></option><worldbody>
        <body gravcomp="1">{joint}<geom size=".1" pos=".2 0 0"/></body>
        <body pos="1 0 1"><joint actuatorgravcomp="true"/><geom size=".1" pos=".2 0 0"/></body>
        </worldbody></mujoco>"""
    m = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    assert not data.qfrc_gravcomp.any()
    assert load(text).ignored == ()
