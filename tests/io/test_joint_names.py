"""Check that axes have the names of the file's joints, also where a body has several."""

import numpy as np
import pytest

import jaxccp
from jaxccp.identify import Problem, Simulate, read, recording
from jaxccp.scene.builder import ModelBuilder

SKATE = """<mujoco><worldbody><body name="skate">
  <joint name="rootx" type="slide" axis="1 0 0" damping="0.1"/>
  <joint type="slide" axis="0 1 0"/>
  <joint name="rooty" type="hinge" axis="0 0 1"/>
  <geom size="0.1"/>
  <body name="mast" pos="0 0 0.2">
    <joint name="lift" type="slide" axis="0 0 1"/><joint name="neck" type="ball"/>
    <geom size="0.1" pos="0.1 0 0"/>
    <body name="tip" pos="0 0 0.2"><joint name="skate" axis="0 1 0"/><geom size="0.05"/></body>
  </body>
</body></worldbody><actuator><motor name="push" joint="rootx"/></actuator></mujoco>"""


@pytest.fixture(scope="module")
def skate():
    return jaxccp.load(SKATE)


def test_axes_have_the_names_of_the_joints(skate) -> None:
    linkage = skate.model.topology.linkage
    assert " ".join(linkage.axes) == "rootx skate.1 rooty lift neck.0 neck.1 neck.2 skate"
    assert linkage.joints == ("skate", "mast", "skate+")
    assert linkage.axes[linkage.actuated[0]] == "rootx"


def test_recordings_parameters_and_readers_take_joint_names(skate, tmp_path) -> None:
    time = 0.1 * np.arange(4)
    logs = [recording(time, position={"rootx": time, "skate": 0 * time})]
    problem = Problem(skate, logs, ['axes["root?"].damping'], Simulate(segment=0.1))
    assert problem.names == ('axes["rootx"].damping', 'axes["rooty"].damping')
    np.savez(tmp_path / "log.npz", time=time, q=np.stack([time, time], axis=1))
    (log,) = read(tmp_path / "log.npz", skate, joints=["rooty", "rootx"])
    assert [channel.name for channel in log.channels] == ['position["rooty"]', 'position["rootx"]']


def test_names_of_axes_are_checked() -> None:
    builder = ModelBuilder()
    first, second = (builder.add_body(1.0, (1.0, 1.0, 1.0)) for _ in range(2))
    joint = jaxccp.Universal(jaxccp.Hinge((1, 0, 0)), jaxccp.Hinge((0, 1, 0)))
    with pytest.raises(ValueError, match="1 names are given for 2 axes"):
        builder.add_joint(joint, 0, first, axes=("roll",))
    builder.add_joint(joint, 0, first, axes=("roll", "pitch"))
    with pytest.raises(ValueError, match="axis 'roll': the name is taken"):
        builder.add_joint(joint, first, second, axes=("yaw", "roll"))
    builder.add_joint(joint, first, second, name="wrist")
    model, _ = builder.build()
    assert model.topology.linkage.axes == ("roll", "pitch", "wrist.0", "wrist.1")
