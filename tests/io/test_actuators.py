"""Check limits on sums of actuator forces, disabled groups and plugins against MuJoCo."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import ModelBuilder, accelerations, load, motor, position_servo
from jaxccp.io.mjcf.import_report import UnsupportedError
from jaxccp.model.actuators.activation import advance_activations
from jaxccp.model.joints import Revolute
from jaxccp.model.shapes import Sphere
from tests.io.smooth_accelerations import smooth_accelerations

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco>{extension}<option>{flags}</option><worldbody>
<body><joint name="a" axis="0 1 0" {joint}/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="1"/>
  <body pos=".3 0 0"><joint name="b" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass=".5"/></body></body></worldbody>
<tendon><fixed name="t" {tendon}><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/></fixed>
</tendon><actuator>{actuators}</actuator></mujoco>"""
LIMIT = 'actuatorfrcrange="-.5 .5"'
MOTORS = '<motor joint="b"/><motor tendon="t" gear="20"/>'
"""Two motors with transmissions of different kinds: on joint 1 and on tendon 0."""


def arm(actuators: str, joint="", tendon="", option="", extension="") -> str:
    """Return the XML of an arm of two links.

    Args:
        actuators: elements of the actuators.
        joint: attributes of the first joint.
        tendon: attributes of the tendon.
        option: attributes of the option element.
        extension: element of extensions.
    """
    return ARM.format(
        actuators=actuators, joint=joint, tendon=tendon, flags="", extension=extension
    ).replace("<option>", f"<option {option}>")


@pytest.mark.parametrize(
    ("actuators", "joint", "tendon", "option", "control"),
    [
        ('<motor tendon="t" gear="20"/>', LIMIT, "", "", [1.0]),
        (MOTORS + '<motor joint="a" gear="3"/>', LIMIT, "", "", [1.0, -0.3, 0.5]),
        (MOTORS + '<motor tendon="t"/>', LIMIT, 'actuatorfrcrange="-.3 .3"', "", [1.0, -0.7, -0.5]),
        ('<motor tendon="t" gear="20"/>', "", 'actuatorfrcrange="-.3 .3"', "", [1.0]),
        ('<position joint="a" kp="10"/><motor joint="b"/>', LIMIT, "", "", [1.0, -0.3]),
        (
            '<motor joint="b" group="1"/><motor joint="a" gear="3"/>'
            '<position joint="b" kp="10" group="4"/>',
            *("", "", 'actuatorgroupdisable="1 4"', [1.0, -0.3, -0.5]),
        ),
        (
            '<motor tendon="t" forcerange="-5 5"/><motor tendon="t"/>',
            *("", 'actuatorfrcrange="-50 50"', "", [100.0, 1.0]),
        ),
        (
            '<position joint="a" kp="10"/><motor joint="a" group="1"/>',
            *(LIMIT, "", 'actuatorgroupdisable="1"', [1.0, 3.0]),
        ),
    ],
    ids=["tendon", "sum", "tendons", "scaled", "single", "disabled", "order", "other mode"],
)
def test_limits_of_sums_and_disabled_groups(actuators, joint, tendon, option, control):
    text = arm(actuators, joint, tendon, option)
    reference = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(reference)
    data.ctrl = control
    mujoco.mj_forward(reference, data)
    loaded = load(text)
    assert not loaded.approximated
    qacc = smooth_accelerations(loaded)(data.qpos, ctrl=np.array(control))
    np.testing.assert_allclose(qacc, data.qacc, rtol=1e-9)


PULLEY = """<mujoco><worldbody><site name="wall" pos=".5 0 2"/><site name="top" pos="0 0 3"/>
<body pos="0 0 1"><joint name="a" axis="0 1 0" actuatorfrcrange="-1 1"/>
  <geom size=".1" pos=".3 0 0"/><site name="upper" pos=".3 0 0"/>
  <body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
    <site name="lower" pos=".3 0 .1"/></body></body></worldbody>
<tendon><spatial name="t">{sites}</spatial></tendon><actuator><motor tendon="t"/></actuator>
</mujoco>"""


@pytest.mark.parametrize("sites", ["wall upper", "upper wall lower", "upper lower", "wall top"])
def test_limits_of_joints_that_spatial_tendons_cross_are_refused(sites):
    """They are refused where MuJoCo's limit acts, and only there."""
    text = PULLEY.format(sites="".join(f'<site site="{site}"/>' for site in sites.split()))
    forces = []
    for file in (text, text.replace('actuatorfrcrange="-1 1"', "")):
        data = mujoco.MjData(reference := mujoco.MjModel.from_xml_string(file))
        data.ctrl = -50.0
        mujoco.mj_forward(reference, data)
        forces.append(data.qfrc_actuator[0])
    loaded = load(text, allow_unsupported=True)
    limited = abs(forces[0] - forces[1]) > 1e-6
    assert len(loaded.ignored) == limited
    if limited:
        with pytest.raises(UnsupportedError, match=r"joint 'a' .*actuatorfrcrange.*actuator 0 "):
            load(text)


def test_disabled_activations_stay():
    """Activations of disabled actuators stay, within their limits."""
    actuators = (
        '<intvelocity joint="a" kp="3" actrange="-1 1" group="2"/>'
        '<general joint="a" dyntype="filter" dynprm=".1" group="2"/>'
        '<general joint="b" dyntype="filter" dynprm=".1"/>'
    )
    text = arm(actuators, option='actuatorgroupdisable="2" timestep="0.01"')
    reference = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(reference)
    data.act[:], data.ctrl[:] = (5.0, 0.2, 0.2), 1.0
    loaded = load(text)
    model, state = loaded.model, loaded.layout.with_activation(loaded.state, jnp.asarray(data.act))
    control = loaded.layout.control(jnp.asarray(data.ctrl))
    mujoco.mj_step(reference, data)
    after = advance_activations(model.actuators, model.activations, state, control, 0.01)
    activation = np.asarray(after.activation)
    np.testing.assert_allclose(activation, data.act, rtol=1e-12)
    np.testing.assert_allclose(activation, [1.0, 0.2, 0.28], rtol=1e-12)
    assert not loaded.approximated


BALL = """<mujoco><worldbody><body><joint name="ball" type="ball"/><geom size=".1"/></body>
<body pos="1 0 0"><joint name="hinge"/><geom size=".1"/></body></worldbody>
<actuator>{}</actuator></mujoco>"""
SERVO = '<general joint="ball" gear="0 0 1" biastype="affine" gainprm="1" biasprm="{}" {}/>'


@pytest.mark.parametrize(
    ("actuator", "wraps"),
    [
        ('<position joint="ball" kp="1" gear="0 0 1"/>', True),
        ('<intvelocity joint="ball" kp="1" gear="0 0 1" actrange="-9 9"/>', True),
        (SERVO.format("0 -1 -1", ""), True),
        (SERVO.format("0 -2", ""), False),
        (SERVO.format("0 -1", 'dyntype="filter" dynprm="1"'), False),
        ('<motor joint="ball" gear="0 0 1"/>', False),
        ('<position joint="hinge" kp="1"/>', False),
    ],
)
def test_setpoints_of_balls_that_wrap_are_listed(actuator, wraps):
    """A setpoint of 4 rad is one of 4 − 2π for MuJoCo; the approximation is listed only then."""
    reference = mujoco.MjModel.from_xml_string(text := BALL.format(actuator))
    if not hasattr(reference, "actuator_outadr"):
        pytest.skip("setpoints do not wrap in this version of MuJoCo")
    data = mujoco.MjData(reference)
    data.ctrl[:] = 4.0
    data.act[:] = 4.0
    mujoco.mj_forward(reference, data)
    assert data.actuator_force[0] == pytest.approx(4.0 - 2.0 * np.pi * wraps)
    listed = "\n".join(load(text).approximated)
    assert ("setpoint does not wrap" in listed) == wraps


def test_numbers_of_actuators_after_one_with_several_outputs():
    """Gears and limits of controls are those of the actuator, not of its number."""
    text = """<mujoco><worldbody><body><joint name="ball" type="ball"/><geom size=".1"/></body>
    <body pos="1 0 0"><joint name="hinge"/><geom size=".1"/></body></worldbody><actuator>
    <orientation joint="ball" kp="1"/><motor joint="hinge" gear="50" ctrlrange="-2 2"/></actuator>
    </mujoco>"""
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("this version of MuJoCo has no actuators with several outputs")
    actuators = load(text, allow_unsupported=True).model.actuators
    assert float(actuators.gear[0]) == 50.0
    assert np.asarray(actuators.control_limits[0]).tolist() == [-2.0, 2.0]


def test_servos_that_share_a_limit_are_refused():
    text = arm('<position joint="a" kp="10"/><motor joint="a"/>', LIMIT)
    with pytest.raises(ValueError, match=r"limit of their sum.*depends on the motion"):
        load(text)


def test_plugins_are_refused_by_name_and_line():
    extension = '<extension><plugin plugin="mujoco.pid"/></extension>'
    text = arm('<plugin joint="a" plugin="mujoco.pid"/>', extension=extension)
    with pytest.raises(UnsupportedError, match=r"line \d+.*mujoco\.pid is not supported"):
        load(text)


def test_builder_limits_sums():
    builder = ModelBuilder(gravity=(0, 0, 0))
    body = builder.add_solid(Sphere(0.1), 1.0)
    builder.add_joint(Revolute(), 0, body, name="hinge")
    builder.add_actuator(motor(gear=2.0), "hinge")
    builder.add_actuator(motor(), "hinge")
    builder.limit_actuators("hinge", (-1.0, 1.0))
    model, state = builder.build()
    inertia = float(model.bodies.inertia[body, 2, 2])
    for control, torque in (([3.0, 1.0], 1.0), ([0.3, -0.2], 0.4), ([-1.0, 1.5], -0.5)):
        motion = accelerations(model, state, jnp.asarray(control))
        assert float(motion.axis[0]) == pytest.approx(torque / inertia)
    with pytest.raises(ValueError, match="limits of 'hinge'"):
        builder.limit_actuators("hinge", (1.0, -1.0))
    builder.add_actuator(position_servo(3.0), "hinge")
    with pytest.raises(ValueError, match="limit of their sum"):
        builder.build()


def test_a_limit_beyond_those_of_the_actuator_is_its_nearest_bound():
    """The force of the actuator is limited first, then that of the joint, as in MuJoCo."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    body = builder.add_solid(Sphere(0.1), 1.0)
    builder.add_joint(Revolute(), 0, body, name="hinge")
    builder.add_actuator(motor(force_limits=(5.0, 10.0)), "hinge")
    builder.limit_actuators("hinge", (-1.0, 1.0))
    model, state = builder.build()
    motion = accelerations(model, state, jnp.zeros(1))
    assert float(motion.axis[0]) == pytest.approx(1.0 / float(model.bodies.inertia[body, 2, 2]))
