"""Check which changed numbers model files get, and which are only said."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jaxccp import load
from jaxccp.io.mjcf.write.write import write_model

mujoco = pytest.importorskip("mujoco")

SPRUNG = """<mujoco><compiler angle="radian"/><default><joint springdamper="0.5 1"/></default>
<worldbody><body><joint name="a" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
  <body pos=".6 0 0"><joint name="b" type="slide" ref="0.2"/><geom size=".1"/></body></body>
</worldbody><tendon><fixed name="sum" stiffness="3"><joint joint="a" coef="1"/></fixed></tendon>
</mujoco>"""


def test_stiffness_outweighs_springdamper_and_limits_have_two_ends(tmp_path):
    """What a class says of springs does not replace the numbers; a limit at one end is only
    said."""
    loaded, out = load(SPRUNG), tmp_path / "sprung.xml"
    axes = loaded.model.axes
    axes = replace(
        axes,
        stiffness=axes.stiffness.at[0].mul(2.0),
        lower=axes.lower.at[1].set(-1.0),
        upper=axes.upper.at[1:].set(2.0),
    )
    model = replace(loaded.model, axes=axes)
    lines = write_model(loaded, model, loaded.layout, out, ("a --- remark",))
    assert lines == ("a --- remark", 'axes["sum"].upper is 2; the file has inf')
    before, m = mujoco.MjModel.from_xml_string(SPRUNG), mujoco.MjModel.from_xml_path(str(out))
    np.testing.assert_allclose(m.jnt_stiffness, before.jnt_stiffness * [2, 1], rtol=1e-12)
    np.testing.assert_allclose(m.dof_damping, before.dof_damping, rtol=1e-12)
    np.testing.assert_allclose(m.jnt_range[1], (-0.8, 2.2))
    assert [*m.jnt_limited, *m.tendon_limited] == [0, 1, 0]
    assert "a - - - remark" in out.read_text()


def test_changed_flexible_bodies_are_said(tmp_path):
    text = """<mujoco><worldbody><flexcomp name="jelly" type="grid" dim="3" count="2 2 2"
      spacing=".1 .1 .1" radius="0.01" mass="2"><elasticity young="2e4" poisson="0.3"/>
      </flexcomp></worldbody></mujoco>"""
    loaded, out = load(text), tmp_path / "jelly.xml"
    assert write_model(loaded, loaded.model, loaded.layout, out) == ()
    family: Any = loaded.model.families[0]
    elements = replace(family.elements, young=10.0 * family.elements.young)
    stiffer = replace(family, elements=elements)
    (line,) = write_model(loaded, replace(loaded.model, families=(stiffer,)), loaded.layout, out)
    young = float(family.elements.young)
    assert line == f"families[0].elements.young is {10 * young:.6g}; the file has {young:.6g}"
