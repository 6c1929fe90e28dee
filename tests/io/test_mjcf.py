"""Check model files against MuJoCo."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import State, accelerations, joint_motion, load
from jaxccp.collision.detect import detect
from jaxccp.collision.pairs import PAIRS
from jaxccp.dynamics.rows.limit import ball
from jaxccp.dynamics.rows.row import Step
from jaxccp.io import Loaded

mujoco = pytest.importorskip("mujoco")
from experiments.mjcf import reference  # noqa: E402

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"
ROBOTS = (pytest.param("arm", marks=pytest.mark.long), "four_bar")


class Robot:
    """A model here and in MuJoCo, and a function that computes everything compared, compiled
    once."""

    def __init__(self, source: Path | str) -> None:
        self.loaded: Loaded = load(source)
        self.theirs = reference.smooth(source)
        loaded = self.loaded

        def everything(qpos: jax.Array, qvel: jax.Array, ctrl: jax.Array) -> dict[str, Any]:
            layout, model = loaded.layout, loaded.model
            state = layout.state(model, loaded.state, qpos, qvel)
            motion = accelerations(model, state, layout.control(ctrl))
            return {
                "state": state,
                "coordinates": layout.coordinates(model, state),
                "qacc": layout.acceleration(state, motion),
                "sites": (*loaded.sites.poses(state), *loaded.sites.velocities(state)),
            }

        self.of = jax.jit(jax.vmap(everything))


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> tuple[Robot, list, dict]:
    """Return a model, three random states, and the quantities computed at them."""
    made = Robot(MODELS / f"{request.param}.xml")
    rng = np.random.default_rng(7)
    drawn = [reference.random_state(made.theirs, rng) for _ in range(3)]
    return made, drawn, made.of(*(jnp.asarray(np.stack(part)) for part in zip(*drawn, strict=True)))


def test_accelerations(robot: tuple[Robot, list, dict]) -> None:
    made, drawn, computed = robot
    for k, state in enumerate(drawn):
        expected = reference.accelerations(made.theirs, *state)
        np.testing.assert_allclose(
            computed["qacc"][k], expected, atol=1e-9 * np.abs(expected).max()
        )


def test_layout_goes_both_ways(robot: tuple[Robot, list, dict]) -> None:
    _, drawn, computed = robot
    for part in range(2):
        np.testing.assert_allclose(
            computed["coordinates"][part], [state[part] for state in drawn], atol=1e-12
        )


def test_poses_and_momentum(robot: tuple[Robot, list, dict]) -> None:
    """The centre of mass and its velocity, and the sites with theirs, agree with MuJoCo's."""
    made, drawn, computed = robot
    m, data = made.theirs, mujoco.MjData(made.theirs)
    moving = np.array(made.loaded.model.topology.free)
    mass = np.asarray(made.loaded.model.bodies.mass)[moving]
    for k, (qpos, qvel, _) in enumerate(drawn):
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(m, data)
        mujoco.mj_subtreeVel(m, data)
        assert mass.sum() == pytest.approx(m.body_subtreemass[0])
        state = jax.tree.map(lambda leaf, k=k: leaf[k], computed["state"])
        np.testing.assert_allclose(
            mass @ state.position[moving] / mass.sum(), data.subtree_com[0], atol=1e-12
        )
        np.testing.assert_allclose(
            mass @ state.velocity[moving] / mass.sum(), data.subtree_linvel[0], atol=1e-12
        )
        place, orientation, linear, angular = (part[k] for part in computed["sites"])
        np.testing.assert_allclose(place, data.site_xpos, atol=1e-12)
        for site in range(m.nsite):
            rotation, velocity = np.zeros(9), np.zeros(6)
            mujoco.mju_quat2Mat(rotation, np.array(orientation[site]))
            np.testing.assert_allclose(rotation, data.site_xmat[site], atol=1e-12)
            site_type = mujoco.mjtObj.mjOBJ_SITE
            mujoco.mj_objectVelocity(m, data, site_type, site, velocity, 0)
            np.testing.assert_allclose(angular[site], velocity[:3], atol=1e-11)
            np.testing.assert_allclose(linear[site], velocity[3:], atol=1e-11)


def test_keyframe_and_derivative_in_single_precision() -> None:
    with jax.enable_x64(False):
        loaded = load(MODELS / "arm.xml")

        def tool(qpos: jax.Array) -> tuple[jax.Array, State]:
            state = loaded.layout.state(loaded.model, loaded.state, qpos)
            return loaded.sites.poses(state)[0][loaded.sites.index("tool"), 2], state

        key = loaded.keyframes["bent"]
        slope, state = jax.jit(jax.grad(tool, has_aux=True))(jnp.asarray(key.qpos, float))
        named = loaded.keyframe("bent")
    m = reference.smooth(MODELS / "arm.xml")
    data, jacobian = mujoco.MjData(m), np.zeros((3, m.nv))
    mujoco.mj_resetDataKeyframe(m, data, 0)
    mujoco.mj_forward(m, data)
    mujoco.mj_jacSite(m, data, jacobian, None, 0)
    assert slope.dtype == jnp.float32
    np.testing.assert_allclose(slope, jacobian[2], atol=2e-6)
    np.testing.assert_allclose(state.position[1:7], named.position[1:7], atol=1e-6)
    np.testing.assert_allclose(key.ctrl, data.ctrl)
    with pytest.raises(ValueError, match=r"straight.*the file has bent"):
        loaded.keyframe("straight")


FLOATING = """
<mujoco>
  <option density="3" viscosity="0.2" wind="1 0.5 -2"/>
  <worldbody>
    <body pos="1 2 3" euler="20 40 60">
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0.2" euler="10 20 30"/>
      <body pos="0.3 0.2 0.1" euler="0 30 0"><geom type="capsule" size="0.05 0.2"/></body>
    </body>
    <body pos="0 0 5"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.05"/></body>
  </worldbody>
</mujoco>
"""


def test_free_bodies_in_a_fluid() -> None:
    """Free bodies in a fluid accelerate as in MuJoCo: bodies without joints, two of the file's in
    one, frames away from centres of mass."""
    made = Robot(FLOATING)
    assert made.loaded.model.topology.bodies == ("world", "body1", "body2")
    state = reference.random_state(made.theirs, np.random.default_rng(3))
    expected = reference.accelerations(made.theirs, *state)
    computed = made.of(*(jnp.asarray(part)[None] for part in state))
    np.testing.assert_allclose(computed["qacc"][0], expected, rtol=1e-10)
    np.testing.assert_allclose(computed["coordinates"][1][0], state[1], atol=1e-12)


MIXED = """
<mujoco>
  <compiler autolimits="true"/>
  <default>
    <joint damping="0.3" armature="0.2" stiffness="2"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0.1"/>
  </default>
  <worldbody>
    <site name="hook" pos="0.1 0 2"/>
    <body name="damped" pos="0 0 1" euler="0 0 30">
      <joint name="floating" type="free"/>
      <geom type="box" size="0.1 0.2" fromto="0.1 0 -0.3 0.1 0 0.3"/>
      <site name="top" pos="0 0 0.3"/>
      <body pos="0.2 0 0" euler="20 0 0">
        <joint name="ball" type="ball" pos="0.05 0 0.02"/>
        <geom/>
        <site name="middle" pos="0.2 0 0.05"/>
        <body pos="0.3 0 0.1">
          <joint name="slide" type="slide" axis="1 2 0" ref="0.1" springref="0.3"/>
          <joint name="hinge" type="hinge" axis="0 1 1" pos="0 0.1 0" ref="20" springref="50"/>
          <geom/>
          <body pos="0.3 0 0.1"><joint name="tip" axis="0 1 0" ref="-20"/><geom/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="tip" stiffness="3" springlength="0.2" damping="0.3" armature="0.4">
      <joint joint="tip" coef="2"/><joint joint="slide" coef="-1"/>
    </fixed>
    <spatial name="rope" stiffness="30" springlength="0.3" damping="0.5" armature="0.3">
      <site site="hook"/><site site="middle"/><site site="top"/>
    </spatial>
  </tendon>
  <actuator>
    <position joint="slide" kp="30" kv="2" gear="2" forcerange="-1 1"/>
    <motor joint="ball" gear="0 3 0"/>
    <general joint="hinge" gainprm="4" biasprm="1 -5 -0.5" biastype="affine" ctrlrange="-0.1 0.1"/>
    <motor tendon="rope" gear="3"/>
    <position tendon="tip" kp="5" kv="1" gear="2"/>
  </actuator>
  <equality><joint joint1="tip" joint2="hinge" polycoef="0 0.5 0.2 0 0"/></equality>
</mujoco>
"""


def test_every_kind_of_joint_and_tendon() -> None:
    """Accelerations far from the reference agree with MuJoCo's for every kind of joint and tendon.

    The model has a free joint with springs about a turned pose, a ball off its body's origin,
    references and springs that differ, a tendon over joints, one through sites, and joints that
    follow each other.
    """
    made = Robot(MIXED)
    rng = np.random.default_rng(5)
    state = reference.random_state(made.theirs, rng, spread=1.5)
    expected = reference.accelerations(made.theirs, *state)
    computed = made.of(*(jnp.asarray(part)[None] for part in state))
    np.testing.assert_allclose(computed["qacc"][0], expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(computed["coordinates"][1][0], state[1], atol=1e-12)
    same = np.abs(computed["coordinates"][0][0]) - np.abs(state[0])  # q and −q are one rotation
    np.testing.assert_allclose(same, 0, atol=1e-12)


FOUR_HINGES = """
<mujoco>
  <worldbody>
    <body><joint axis="1 0 0"/><joint axis="0 1 0"/><joint axis="0 0 1"/>
      <joint axis="0 0 1" pos="0.5 0 0" armature="0.1"/>
      <inertial pos="0.6 0.1 -0.3" mass="2" diaginertia="0.3 0.2 0.1"/></body>
  </worldbody>
</mujoco>
"""


def test_four_hinges_of_one_body() -> None:
    """Directions of four hinges are dependent, but the hinges are not."""
    made = Robot(FOUR_HINGES)
    state = reference.random_state(made.theirs, np.random.default_rng(5))
    expected = reference.accelerations(made.theirs, *state)
    computed = made.of(*(jnp.asarray(part)[None] for part in state))
    for part, own in zip(computed["coordinates"], state, strict=False):
        np.testing.assert_allclose(part[0], own, atol=1e-12)
    np.testing.assert_allclose(computed["qacc"][0], expected, atol=1e-9 * np.abs(expected).max())


def test_what_is_open_at_first_is_closed() -> None:
    """Loops that are open in a file are closed, by MuJoCo's own errors of the constraints.

    The file has a four-bar linkage with its pin apart, and a body far from what it is welded to,
    turned by 2 rad.
    """
    text = (MODELS / "four_bar.xml").read_text()
    opened = text.replace('name="rocker" pos="0.5 0 1"', 'name="rocker" pos="0.45 0 1"')
    ball = '<freejoint/><geom type="sphere" size="0.1"/>'
    adrift = f'<body name="hull" pos="3 1 2" euler="1 1 1">{ball}</body>'
    opened = opened.replace("</worldbody>", f"{adrift}</worldbody>")
    weld = '<weld name="mooring" body1="hull" relpose="1 2 0 0.5 0.5 0.5 -0.5"/></equality>'
    opened = opened.replace("</equality>", weld)
    loaded = load(opened)
    assert any("mooring" in line and "open at qpos0" in line for line in loaded.approximated)
    m = mujoco.MjModel.from_xml_string(opened)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    assert np.abs(data.efc_pos).max() > 1
    layout = jax.jit(loaded.layout.coordinates)
    data.qpos[:] = layout(loaded.model, loaded.state)[0]
    mujoco.mj_forward(m, data)
    assert np.abs(data.efc_pos).max() < 1e-9


SOCKETS = """
<mujoco>
  <worldbody>
    <body euler="10 20 30">
      <joint type="ball" range="0 50" margin="0.1" pos="0 0 0.2"/><geom size="0.1" pos="0.1 0 0"/>
      <body pos="0.3 0 0">
        <joint name="slide" type="slide" axis="0 0 1"/>
        <joint type="ball" range="0 20"/><geom size="0.1" pos="0.1 0 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_limits_of_balls() -> None:
    """Gaps and rates of balls beyond their limits agree with MuJoCo's, which keeps its margin
    apart."""
    loaded, m = load(SOCKETS), mujoco.MjModel.from_xml_string(SOCKETS)
    data = mujoco.MjData(m)
    rng = np.random.default_rng(2)
    for joint, angle in ((0, 1.1), (2, 2.9)):
        axis = rng.normal(size=3)
        orientation = data.qpos[m.jnt_qposadr[joint] :][:4]
        mujoco.mju_axisAngle2Quat(orientation, axis / np.linalg.norm(axis), angle)
    data.qvel[:] = rng.normal(size=m.nv)
    mujoco.mj_forward(m, data)

    @jax.jit
    def gaps_and_rates(qpos: jax.Array, qvel: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = loaded.layout.state(loaded.model, loaded.state, qpos, qvel)
        motion = joint_motion(loaded.model, state)
        limits = ball(Step(loaded.model, state, motion, 1.0, jnp.zeros(0)))
        return limits.bias, limits.velocity(state.twist)

    bias, rate = gaps_and_rates(jnp.asarray(data.qpos), jnp.asarray(data.qvel))
    recovery = np.asarray(loaded.model.contact.recovery_speed)
    gap = data.efc_pos - [0.1, 0.0]
    np.testing.assert_allclose(bias, np.maximum(gap, -recovery), atol=1e-12)
    assert gap.min() < -recovery < gap.max() < 0
    np.testing.assert_allclose(rate, data.efc_vel, atol=1e-12)


def test_a_limit_that_no_ball_reaches_is_none() -> None:
    # MuJoCo's angles of balls end at 180°, too.
    loaded = load(SOCKETS.replace("0 20", "0 190"))
    first = loaded.model.topology.linkage.balls
    np.testing.assert_allclose(loaded.model.axes.upper[first], [np.deg2rad(50) - 0.1])
    assert [line for line in loaded.approximated if "no ball reaches" in line]


CROWD = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" friction="0.2"/>
    <body name="a"><freejoint/>
      <geom name="a1" size="0.3" friction="0.5"/><geom name="a2" size="0.3" contype="2"/>
      <body name="merged"><geom name="a3" size="0.3" condim="1" friction="0"/></body>
      <body name="child"><joint axis="0 0 1"/><geom name="child" size="0.3"/>
        <body name="grandchild"><joint axis="1 0 0"/><geom name="grandchild" size="0.3"/></body>
      </body>
    </body>
    <body name="b"><freejoint/><geom name="b" size="0.3" conaffinity="3"/></body>
    <body name="c"><freejoint/><geom name="c" type="box" size="0.3 0.3 0.3" condim="1"/></body>
    <body name="d"><freejoint/>
      <geom name="d" size="0.3" priority="1" condim="4" friction="0.1 0.02 0.003"/>
    </body>
    <body name="ghost"><freejoint/>
      <geom name="ghost" size="0.3" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <contact>
    <exclude body1="b" body2="c"/>
    <pair geom1="a1" geom2="child" friction="1 1"/>
    <pair geom1="ghost" geom2="c" friction="0.7 0.6" condim="3"/>
  </contact>
</mujoco>
"""


def test_pairs_are_those_of_mujoco() -> None:
    """Pairs that may touch, and their friction, are those of MuJoCo, whose contacts name every pair
    because everything overlaps."""
    loaded, m = load(CROWD), mujoco.MjModel.from_xml_string(CROWD)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    expected = {
        tuple(sorted(map(int, contact.geom))): contact.friction[[0, 2, 3]]
        * (contact.dim > np.array([1, 3, 4]))
        for contact in data.contact
    }
    # Our shapes are the geoms that take part, in the file's order.
    taking_part = sorted({geom for pair in expected for geom in pair})
    contacts = detect(loaded.model, loaded.state)
    rows, coefficients_of, at = np.column_stack([contacts.friction, contacts.rolling]), {}, 0
    for group in loaded.model.topology.pairs:
        for a, b in zip(group.first, group.second, strict=True):
            coefficients_of[tuple(sorted((taking_part[a], taking_part[b])))] = rows[at]
            at += PAIRS[group.kinds].points
    assert coefficients_of.keys() == expected.keys() and len(coefficients_of) > 15
    for pair, coefficients in coefficients_of.items():
        np.testing.assert_allclose(coefficients, expected[pair], err_msg=f"{pair}")
    assert {tuple(row) for row in rows} >= {(0, 0, 0), (0.1, 0.02, 0), (0.7, 0, 0), (0.5, 0, 0)}
    (note,) = loaded.approximated
    assert "'ghost'" in note and "same in all directions" in note


def test_condim_gives_spinning_and_rolling_friction() -> None:
    """The condim of a geom sets its spinning and rolling friction; of a pair the larger one acts,
    as in MuJoCo."""
    loaded = load("""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body pos="0 0 1"><freejoint/><geom size="0.1" condim="6" friction="0.7 0.02 0.003"/></body>
      <body pos="1 0 1"><freejoint/><geom size="0.1" condim="4" friction="0.7 0.02 0.003"/></body>
    </worldbody></mujoco>""")
    assert loaded.model.topology.rolls
    np.testing.assert_allclose(
        loaded.model.shapes.rolling, [[0, 0], [0.02, 0.003], [0.02, 0]], rtol=1e-6
    )
