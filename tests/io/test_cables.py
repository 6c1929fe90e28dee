"""Check cables of model files: chains of links whose ball joints bend and twist."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxccp import equilibrium
from jaxccp.io import UnsupportedError, load
from jaxccp.io.mjcf import Loaded
from tests.io.smooth_accelerations import smooth_accelerations

mujoco = pytest.importorskip("mujoco")

CABLE = """<mujoco><extension><plugin plugin="mujoco.elasticity.cable"/></extension><worldbody>
  <composite prefix="c" type="cable" curve="{curve}" count="{count} 1 1" size="{size}"
    offset="0 0 1" initial="none"><plugin plugin="mujoco.elasticity.cable">
    <config key="twist" value="{twist}"/><config key="bend" value="{bend}"/>{more}</plugin>
    <joint kind="main" damping="0.01"/><geom {geom} density="1000"/></composite>
  </worldbody></mujoco>"""
ROUND = {
    "curve": "s",
    "size": "1",
    "count": 5,
    "twist": "7e8",
    "bend": "1e9",
    "geom": 'type="capsule" size="0.01"',
    "more": "",
}
SECTIONS = {
    "round": {},
    "flat": {"geom": 'type="box" size="0.05 0.02 0.008"', "twist": "1e9", "bend": "2e9"},
}


def cable_text(**changed) -> str:
    return CABLE.format(**ROUND | changed)


@pytest.fixture(params=SECTIONS)
def cable(request) -> tuple[Loaded, Any]:
    text = cable_text(**SECTIONS[request.param])
    return load(text), mujoco.MjModel.from_xml_string(text)


def test_forces_are_mujocos_to_second_order_in_the_bend(cable):
    loaded, m = cable
    qacc = smooth_accelerations(loaded)
    differences = []
    for size in (1e-3, 1e-4):
        data = mujoco.MjData(m)
        direction = np.random.default_rng(0).normal(size=m.nv)
        mujoco.mj_integratePos(m, data.qpos, size * direction, 1.0)
        mujoco.mj_forward(m, data)
        differences.append(np.abs(qacc(data.qpos) - data.qacc_smooth).max())
        assert differences[-1] < 3 * size * np.abs(data.qacc_smooth).max()
    assert differences[1] < 0.02 * differences[0]


def test_rest_of_a_cantilever_is_mujocos():
    """No net force acts along MuJoCo's joints in the computed state of rest, where the cable bends
    in one plane."""
    loaded, m = load(cable_text()), mujoco.MjModel.from_xml_string(cable_text())
    state = jax.jit(lambda: equilibrium(loaded.model, loaded.state, tolerance=1e-12).state)()
    data = mujoco.MjData(m)
    data.qpos[:] = loaded.layout.coordinates(loaded.model, state)[0]
    mujoco.mj_forward(m, data)
    assert 0.02 < 1.0 - data.xipos[-1, 2] < 0.1
    weight = np.abs(data.qfrc_bias).max()
    np.testing.assert_allclose(data.qfrc_passive, data.qfrc_bias, atol=1e-9 * weight)


@pytest.mark.long
def test_derivatives_of_the_sag_by_stiffness():
    loaded = load(cable_text())
    last = loaded.model.topology.body("cB_last")

    @jax.jit
    def sag(scale):
        axes = replace(loaded.model.axes, stiffness=scale * loaded.model.axes.stiffness)
        rest = equilibrium(replace(loaded.model, axes=axes), loaded.state)
        return 1.0 - rest.state.position[last, 2]

    central = (sag(1.0 + 1e-4) - sag(1.0 - 1e-4)) / 2e-4
    np.testing.assert_allclose(jax.grad(sag)(1.0), central, rtol=1e-6)
    np.testing.assert_allclose(central, -sag(1.0), rtol=0.05)


def test_a_bent_cable_is_relaxed_as_it_starts():
    bent = {"curve": "cos(s) sin(s) s", "size": "1 0.2 0.3"}
    loaded = load(cable_text(**bent))
    assert any("relaxed as it starts" in line for line in loaded.approximated)
    state = loaded.state
    np.testing.assert_allclose(state.joint_positions, 0.0, atol=1e-12)
    flat = '<config key="flat" value="true"/>'
    with pytest.raises(
        UnsupportedError, match=r"'cB_1'.*that would be straight.*start it straight"
    ):
        load(cable_text(**bent, more=flat))
    assert load(cable_text(more=flat)).model.axes.stiffness.max() > 0


LINKS = """<mujoco><extension><plugin plugin="mujoco.elasticity.cable"><instance name="soft">
  <config key="twist" value="1e6"/><config key="bend" value="1e6"/></instance></plugin></extension>
  <worldbody><body name="a"><plugin instance="soft"/><geom size="0.01 0.1" type="capsule"/>
    <body name="b" pos="0.1 0 0"><plugin instance="soft"/>{}</body></body></worldbody></mujoco>"""
UNSUITABLE = {
    "an ellipsoid": ('<joint type="ball"/><geom type="ellipsoid" size=".1 .1 .1"/>', "a capsule"),
    "a hinge": ('<joint type="hinge"/><geom size=".1"/>', "needs one ball joint; give it one"),
}


@pytest.mark.parametrize("case", UNSUITABLE)
def test_links_of_other_kinds_are_refused(tmp_path: Path, case):
    inside, message = UNSUITABLE[case]
    path = tmp_path / "links.xml"
    path.write_text(LINKS.format(inside), encoding="utf-8")
    with pytest.raises(UnsupportedError, match=rf"'b'.*{message}"):
        load(path)


def test_cables_bend_where_springs_of_joints_are_disabled():
    """MuJoCo leaves the plugin out only where it has no passive forces at all."""
    for flag, bends in (('spring="disable"', True), ('spring="disable" damper="disable"', False)):
        option = f"<option><flag {flag}/></option><worldbody>"
        text = cable_text().replace("<worldbody>", option)
        m = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(m)
        mujoco.mj_integratePos(m, data.qpos, np.full(m.nv, 1e-3), 1.0)
        mujoco.mj_forward(m, data)
        assert bool(data.qfrc_passive.any()) == bends
        assert bool(load(text).model.axes.stiffness.any()) == bends
