"""Test that robots held by their servos are solved in single precision, by default."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, load, rollout

pytest.importorskip("mujoco")
STEPS = 60
"""Steps of 2 ms."""
COPIES = 64


def quadruped() -> str:
    """Return a trunk on four legs of three joints, with spheres for feet."""
    legs = actuators = ""
    for n, x, y in (("fl", 1, 1), ("fr", 1, -1), ("rl", -1, 1), ("rr", -1, -1)):
        common = 'armature=".005" damping=".5" frictionloss=".2"'
        legs += f"""<body name="{n}" pos="{0.19 * x} {0.05 * y} 0">
          <joint name="{n}0" axis="1 0 0" range="-.86 .86" {common}/>
          <geom type="sphere" size=".04" mass=".7" contype="0" conaffinity="0"/>
          <body pos="0 {0.08 * y} 0"><joint name="{n}1" axis="0 1 0" range="-.7 4.5" {common}/>
          <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass="1" contype="0"
            conaffinity="0"/>
          <body pos="0 0 -.2"><joint name="{n}2" axis="0 1 0" range="-2.8 -.9" {common}/>
          <geom type="capsule" fromto="0 0 0 0 0 -.2" size=".01" mass=".15" contype="0"
            conaffinity="0"/>
          <geom type="sphere" pos="0 0 -.2" size=".02" mass=".02" friction=".8"/>
          </body></body></body>"""
        for joint in range(3):
            actuators += f'<position joint="{n}{joint}" kp="60" forcerange="-24 24"/>'
    pose = " ".join(4 * ["0 .9 -1.8"])
    return _file(
        f"""<body pos="0 0 .27"><freejoint/><geom type="box" size=".19 .05 .06" mass="5"
          contype="0" conaffinity="0"/>{legs}</body>""",
        actuators,
        f"0 0 .27 1 0 0 0 {pose}",
        pose,
    )


def biped() -> str:
    """Return a trunk on two legs of four joints, with boxes for feet."""
    legs = actuators = ""
    for n, y in (("l", 1), ("r", -1)):
        common = 'armature=".02" damping="1"'
        legs += f"""<body pos="0 {0.1 * y} -.1"><joint name="{n}0" axis="1 0 0" {common}/>
          <joint name="{n}1" axis="0 1 0" {common}/>
          <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".05" mass="4" contype="0"
            conaffinity="0"/>
          <body pos="0 0 -.35"><joint name="{n}2" axis="0 1 0" {common}/>
          <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04" mass="2" contype="0"
            conaffinity="0"/>
          <body pos="0 0 -.35"><joint name="{n}3" axis="0 1 0" {common}/>
          <geom type="box" size=".1 .05 .02" pos=".03 0 -.03" mass=".8"/>
          </body></body></body>"""
        for joint in range(4):
            actuators += f'<position joint="{n}{joint}" kp="300" kv="5" forcerange="-150 150"/>'
    pose = " ".join(2 * ["0 -.2 .4 -.2"])
    return _file(
        f"""<body pos="0 0 .84"><freejoint/><geom type="box" size=".1 .15 .2" pos="0 0 .2"
          mass="15" contype="0" conaffinity="0"/>{legs}</body>""",
        actuators,
        f"0 0 .84 1 0 0 0 {pose}",
        pose,
    )


def hand() -> str:
    """Return three fingers of two joints that hold a ball between them."""
    fingers = actuators = ""
    for k in range(3):
        angle = 2 * np.pi * k / 3
        common = 'armature=".001" damping=".03"'
        fingers += f"""<body pos="{0.08 * np.cos(angle)} {0.08 * np.sin(angle)} .2"
            euler="0 0 {angle}">
          <joint name="f{k}0" axis="0 1 0" {common}/>
          <geom type="capsule" fromto="0 0 0 0 0 -.06" size=".008" mass=".03" contype="0"
            conaffinity="0"/>
          <body pos="0 0 -.06"><joint name="f{k}1" axis="0 1 0" {common}/>
          <geom type="capsule" fromto="0 0 0 0 0 -.05" size=".01" mass=".02" friction="1"/>
          </body></body>"""
        actuators += "".join(
            f'<position joint="f{k}{joint}" kp="3" forcerange="-1 1"/>' for joint in range(2)
        )
    rest, squeeze = " ".join(3 * ["0 .35"]), " ".join(3 * ["0 .9"])
    return _file(
        f"""{fingers}<body pos="0 0 .1"><freejoint/>
          <geom type="sphere" size=".05" mass=".1" friction="1"/></body>""",
        actuators,
        f"{rest} 0 0 .1 1 0 0 0",
        squeeze,
    )


def _file(bodies: str, actuators: str, qpos: str, ctrl: str) -> str:
    return f"""<mujoco><compiler angle="radian"/><option timestep=".002"/><worldbody>
      <geom type="plane" size="5 5 1"/>{bodies}</worldbody><actuator>{actuators}</actuator>
      <keyframe><key name="home" qpos="{qpos}" ctrl="{ctrl}"/></keyframe></mujoco>"""


@pytest.mark.parametrize("robot", [quadruped, biped, hand])
def test_every_step_is_solved(robot, optimised):
    """Every step is solved for a few commands; on some of them rounding leaves more than on
    most."""
    with jax.enable_x64(False):
        loaded = load(robot())
        state = loaded.keyframe("home")
        ctrl = loaded.layout.control(jnp.asarray(loaded.keyframes["home"].ctrl, jnp.float32))
        stepper = EulerImplicitLinearized(loaded.timestep)
        factors = 1.0 + 1e-3 * jax.random.normal(jax.random.key(0), (COPIES, 1, 1))
        controls = factors * jnp.broadcast_to(ctrl, (STEPS, *ctrl.shape))
        run = jax.jit(jax.vmap(lambda u: rollout(loaded.model, state, stepper, STEPS, None, u)))
        final, trajectory = run(controls)
    assert final.position.dtype == jnp.float32
    report = trajectory.report
    assert np.asarray(report.contacts).max() >= 3
    assert not np.asarray(report.solver.status).any()
    assert np.asarray(report.solver.residual_ccp).max() < 1e-4
    assert np.asarray(report.solver.iterations).mean() < 100
