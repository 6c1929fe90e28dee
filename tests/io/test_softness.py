"""Check the depth to which bodies sink into soft contacts of a file, against MuJoCo."""

import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, load, rollout

mujoco = pytest.importorskip("mujoco")

MODEL = """
<mujoco>
  <option cone="{cone}"/>
  <default><geom solimp="{least} {most} 0.001" friction="0.5 0 0"
    contype="0"/></default>
  <worldbody>
    <geom type="plane" size="1 1 1" contype="1"/>
    <body pos="0 0 0.1"><freejoint/><geom size="0.1" mass="2"/></body>
    <body pos="1 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="3"/></body>
    <body pos="2 0 0.1"><freejoint/>
      <geom size="0.1" mass="0.5" solref="-5000 -100" priority="1"/></body>
  </worldbody>
</mujoco>
"""


def sunk(cone: str, minimum: float, maximum: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the depth of each body at rest [m], here and in MuJoCo.

    Args:
        cone: MuJoCo's friction cone, "elliptic" or "pyramidal".
        minimum: impedance at no depth.
        maximum: impedance at a depth of 1 mm.
    """
    text = MODEL.format(cone=cone, least=minimum, most=maximum)
    loaded = load(text, softness=True)
    assert not loaded.approximated
    final, _ = rollout(loaded.model, loaded.state, EulerImplicitLinearized(0.01), 100)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for _ in range(1000):
        mujoco.mj_step(model, data)
    return 0.1 - np.asarray(final.position[1:, 2]), 0.1 - data.qpos[2::7]


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_depth_at_constant_impedance(cone: str) -> None:
    ours, theirs = sunk(cone, 0.9, 0.9)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert theirs[0] == pytest.approx((3.924e-4 if cone == "elliptic" else 6.131e-5), rel=1e-3)


def test_depth_at_the_default_impedance() -> None:
    """Bodies sink at least as deep as in MuJoCo, whose impedance grows by 6 % over the first
    millimetre; here it is that at no depth."""
    ours, theirs = sunk("elliptic", 0.9, 0.95)
    np.testing.assert_allclose(ours, theirs, rtol=0.25)
    assert np.all(ours >= theirs)


UNUSUAL = """<mujoco><option cone="elliptic"/><default><geom solimp=".9 .9 .001" {}/></default>
<worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 .1"><freejoint/><geom size=".1" mass="2"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    "numbers", ['solref=".02 0"', 'solref="0 1"', 'solref="-1000 1"', 'solimp=".5 .9 0"']
)
def test_depth_of_unusual_numbers(numbers: str) -> None:
    """A ball's weight presses it to MuJoCo's depth with numbers of both signs, which stand for the
    default, and with an impedance that changes over no width."""
    text = UNUSUAL.format(numbers)
    if "solimp" in numbers:
        text = text.replace('solimp=".9 .9 .001" ', "")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.set_mju_user_warning(lambda _: None)  # It warns in each step.
    try:
        mujoco.mj_step(model, data, 1000)
    finally:
        mujoco.set_mju_user_warning(None)
    depth = float(load(text, softness=True).model.shapes.compliance.sum()) * 2.0 * 9.81
    assert depth == pytest.approx(0.1 - data.qpos[2], rel=1e-5)


def test_contacts_are_rigid_unless_asked() -> None:
    text = MODEL.format(cone="elliptic", least=0.9, most=0.95)
    assert not np.any(load(text).model.shapes.compliance)


def test_pairs_that_differ_are_told() -> None:
    """A softness of one pair alone is reported, because compliance belongs to surfaces here."""
    text = MODEL.format(cone="elliptic", least=0.9, most=0.95)
    pair = '<contact><pair geom1="a" geom2="b" solref="0.1 1"/></contact></mujoco>'
    text = text.replace('size="0.1" mass="2"', 'name="a" size="0.1" mass="2"')
    text = text.replace('type="box"', 'name="b" type="box"').replace("</mujoco>", pair)
    assert any("softness: of 1 of" in line for line in load(text, softness=True).approximated)
