"""Check sensors of a model file against MuJoCo's."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, State, Stop, accelerations, load, mean_acceleration

mujoco = pytest.importorskip("mujoco")
from experiments.mjcf import reference  # noqa: E402

MODEL = """
<mujoco>
  <compiler autolimits="true"/>
  <option magnetic="0.1 -0.3 0.5"/>
  <default><joint damping="0.3" armature="0.2" stiffness="2"/></default>
  <worldbody>
    <site name="hook" pos="0.1 0 2" euler="10 0 0"/>
    <camera name="eye" pos="0 0 3"/>
    <body name="base" pos="0 0 1" euler="0 0 30">
      <freejoint/>
      <geom name="block" type="box" size="0.1 0.2" fromto="0.1 0 -0.3 0.1 0 0.3"/>
      <body name="lid" pos="0 0 0.3" euler="0 40 0">
        <geom size="0.1" pos="0.1 0 0"/><site name="top" pos="0 0.1 0.1" euler="30 20 10"/>
      </body>
      <body name="limb" pos="0.2 0 0" euler="20 0 0">
        <joint name="ball" type="ball" pos="0.05 0 0.02"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0.1"/>
        <body name="tip" pos="0.3 0 0.1">
          <joint name="slide" type="slide" axis="1 2 0" ref="0.1" springref="0.3"/>
          <joint name="hinge" type="hinge" axis="0 1 1" ref="20"/>
          <geom name="tip" type="ellipsoid" size="0.05 0.1 0.2" euler="50 20 0"/>
          <site name="end" pos="0.1 0.1 0"/>
        </body>
      </body>
    </body>
    <body name="pendulum" pos="2 0 0">
      <joint name="capped" actuatorfrcrange="-1 1"/><geom name="bob" size="0.1" pos="0.3 0 0"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="sum"><joint joint="hinge" coef="2"/><joint joint="slide" coef="-1"/></fixed>
    <spatial name="rope"><site site="hook"/><site site="end"/><site site="top"/></spatial>
    <spatial name="round"><site site="hook"/><geom geom="bob"/><site site="top"/></spatial>
  </tendon>
  <actuator>
    <position name="servo" joint="slide" kp="30" kv="2" gear="2" forcerange="-1 1"/>
    <motor name="motor" joint="ball" gear="0 3 0"/>
    <position name="winch" tendon="sum" kp="5" kv="1" gear="2"/>
    <motor name="second" tendon="sum"/>
    <motor name="capped" joint="capped"/>
  </actuator>
  <sensor>
    <jointpos name="jp" joint="hinge"/><jointvel joint="slide"/>
    <jointpos name="cut" joint="hinge" cutoff="0.01"/>
    <ballquat joint="ball"/><ballangvel joint="ball"/>
    <tendonpos tendon="rope"/><tendonvel tendon="rope"/><tendonpos tendon="sum"/>
    <tendonactuatorfrc tendon="sum"/>
    <actuatorpos actuator="servo"/><actuatorvel actuator="servo"/><actuatorfrc actuator="servo"/>
    <actuatorpos actuator="motor"/><actuatorvel actuator="motor"/><actuatorfrc actuator="motor"/>
    <actuatorpos actuator="winch"/><actuatorvel actuator="winch"/><actuatorfrc actuator="winch"/>
    <framepos objtype="body" objname="base"/>
    <framepos objtype="xbody" objname="lid" reftype="site" refname="end"/>
    <framequat objtype="geom" objname="tip" reftype="body" refname="limb"/>
    <framequat objtype="geom" objname="block"/>
    <framexaxis objtype="site" objname="end"/><frameyaxis objtype="body" objname="tip"/>
    <framezaxis objtype="site" objname="end" reftype="xbody" refname="base"/>
    <framelinvel objtype="geom" objname="tip" reftype="site" refname="top"/>
    <framelinvel objtype="site" objname="top"/>
    <frameangvel objtype="xbody" objname="tip" reftype="geom" refname="block"/>
    <framelinacc objtype="body" objname="tip"/><frameangacc objtype="site" objname="end"/>
    <accelerometer name="imu" site="top"/><velocimeter site="end"/><gyro site="top"/>
    <magnetometer site="end"/>
    <subtreecom body="limb"/><subtreelinvel body="base"/><subtreeangmom body="limb"/>
    <subtreecom body="world"/>
    <clock/><e_kinetic/><e_potential/>

    <rangefinder name="ray" site="end"/>
    <tendonpos name="wound" tendon="round"/><subtreecom name="part" body="lid"/>
    <framepos name="seen" objtype="camera" objname="eye"/>
    <actuatorfrc name="capped" actuator="capped"/>
    <jointpos name="held" joint="hinge" interval="0.1" nsample="2"/>
  </sensor>
</mujoco>
"""
UNREAD = ("wound", "part", "seen", "capped", "held")


def test_sensors_are_those_of_mujoco() -> None:
    loaded, theirs = load(MODEL), reference.smooth(MODEL)
    for name in UNREAD:
        assert sum(f"sensor '{name}' (line" in line for line in loaded.sensors.unreadable) == 1, (
            name
        )
    assert len(loaded.sensors.unreadable) == len(UNREAD)

    @jax.jit
    def read(qpos: jax.Array, qvel: jax.Array, ctrl: jax.Array) -> tuple[dict, dict]:
        model, control = loaded.model, loaded.layout.control(ctrl)
        state = loaded.layout.state(model, loaded.state, qpos, qvel)
        body = accelerations(model, state, control).body
        values = loaded.sensors.values
        return values(model, state, control, body), values(model, state, control)

    data, rng = mujoco.MjData(theirs), np.random.default_rng(1)
    for _ in range(3):
        data.qpos[:], data.qvel[:], data.ctrl[:] = reference.random_state(theirs, rng, spread=1.5)
        mujoco.mj_forward(theirs, data)
        values_of, still = read(*map(jnp.asarray, (data.qpos, data.qvel, data.ctrl)))
        assert len(values_of) == theirs.nsensor - len(UNREAD)
        assert len(still) == len(values_of) - 3
        for k, name in enumerate(loaded.sensors.names):
            run = slice(theirs.sensor_adr[k], theirs.sensor_adr[k] + theirs.sensor_dim[k])
            expected, shown = np.array(data.sensordata[run]), values_of[name]
            if theirs.sensor_datatype[k] == int(mujoco.mjtDataType.mjDATATYPE_QUATERNION):
                expected *= np.sign(expected @ np.asarray(shown))  # q and −q are one rotation
            np.testing.assert_allclose(
                shown, expected, atol=1e-9 * max(1.0, np.abs(expected).max()), err_msg=name
            )
        assert abs(values_of["cut"][0]) == 0.01 < abs(values_of["jp"][0])


def test_sensors_follow_their_sites() -> None:
    """A site that moves on its body takes its sensors along."""
    loaded = load(
        RESTING.replace(
            "<accelerometer", '<framepos name="at" objtype="site" objname="imu"/><accelerometer'
        )
    )
    model, off = loaded.model, jnp.array([[0.01, 0.02, 0.03]])
    moved = replace(model, sites=replace(model.sites, position=model.sites.position + off))
    before, after = (loaded.sensors.values(m, loaded.state)["at"] for m in (model, moved))
    np.testing.assert_allclose(after - before, off[0], atol=1e-7)


@pytest.mark.parametrize("scenery", ["", 'rgba="1 1 1 0"'])
def test_range_finders_see_what_mujocos_do(scenery: str) -> None:
    """They pass the nodes of flexible bodies; of a mesh that touches nothing, and so is left out,
    the report says that they do not see it."""
    corners = " ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (0.1, 0.3))
    text = f"""<mujoco><asset><mesh name="cube" vertex="{corners}"/></asset><worldbody>
      <geom type="plane" size="2 2 1"/><body><site name="eye" pos="0 0 2" euler="180 0 0"/></body>
      <geom type="mesh" mesh="cube" contype="0" conaffinity="0" {scenery}/>
      <flexcomp name="rope" type="grid" dim="1" count="3 1 1" spacing=".1 .1 .1" pos="0 0 1"
        radius=".02" mass="1"><edge stiffness="300"/></flexcomp>
      </worldbody><sensor><rangefinder name="ray" site="eye"/></sensor></mujoco>"""
    theirs, loaded = mujoco.MjModel.from_xml_string(text), load(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    values = jax.jit(loaded.sensors.values)(loaded.model, loaded.state)
    assert values["ray"] == pytest.approx(2.0)
    assert data.sensordata[0] == pytest.approx(2.0 if scenery else 1.7)
    assert any("do not see it" in line for line in loaded.approximated) == (not scenery)


RESTING = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body pos="0 0 0.1"><freejoint/><geom size="0.1"/><site name="imu" euler="90 0 0"/></body>
  </worldbody>
  <sensor><accelerometer name="imu" site="imu"/></sensor>
</mujoco>
"""


def test_what_rests_feels_its_weight() -> None:
    """An accelerometer at rest measures gravity, along the site's y axis, from two states with the
    impulse of the contact between them."""
    loaded = load(RESTING)
    stepper = EulerImplicitLinearized(2e-3, stop=Stop(1e-11))

    @jax.jit
    def shown(before: State) -> jax.Array:
        after, _ = stepper.step(loaded.model, before)
        acceleration = mean_acceleration(before, after, stepper.h)
        return loaded.sensors.values(loaded.model, after, acceleration=acceleration)["imu"]

    np.testing.assert_allclose(shown(loaded.state), [0, 9.81, 0], atol=1e-8)
