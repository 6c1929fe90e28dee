"""MuJoCo on the same tosses, with parameters found by derivative-free search on this data."""

import importlib

import numpy as np

from jaxccp.identify.evaluate import Errors
from jaxccp.identify.toss_segments import FIRST
from jaxccp.io.tosses import Tosses
from jaxccp.scene.cube_toss import INERTIA, MASS, WIDTH

SUBSTEPS = 8
FRICTION, TIME_CONSTANT, DAMPING_RATIO, GROUND = 0.181, 0.007, 0.93, 0.0008
XML = """<mujoco>
  <option timestep="{step}" integrator="implicitfast" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="5 5 1" pos="0 0 {ground}" friction="{friction} 0 0"
          solref="{constant} {ratio}" priority="1" condim="3"/>
    <body>
      <freejoint/>
      <inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>
      <geom type="box" size="{half} {half} {half}"/>
    </body>
  </worldbody>
</mujoco>"""


def mujoco_errors(tosses: Tosses) -> Errors:
    """Errors as :class:`jaxccp.identify.Evaluator` defines them."""
    mujoco = importlib.import_module("mujoco")

    model = mujoco.MjModel.from_xml_string(
        XML.format(
            step=tosses.dt / SUBSTEPS,
            ground=GROUND,
            friction=FRICTION,
            constant=TIME_CONSTANT,
            ratio=DAMPING_RATIO,
            mass=MASS,
            inertia=INERTIA,
            half=WIDTH / 2,
        )
    )
    data = mujoco.MjData(model)
    position, rotation = [], []
    for first, length in zip(tosses.starts, tosses.lengths, strict=True):
        start, end = int(first) + FIRST, int(first + length)
        mujoco.mj_resetData(model, data)
        data.qpos[:3], data.qpos[3:] = tosses.position[start], tosses.quaternion[start]
        data.qvel[:3] = tosses.velocity[start]
        # MuJoCo's angular velocity is in body axes.
        body = np.zeros(3)
        back = tosses.quaternion[start] * np.array([1.0, -1.0, -1.0, -1.0])
        mujoco.mju_rotVecQuat(body, tosses.angular_velocity[start], back)
        data.qvel[3:] = body
        away, turned = [], []
        for sample in range(start + 1, end):
            for _ in range(SUBSTEPS):
                mujoco.mj_step(model, data)
            away.append(np.linalg.norm(data.qpos[:3] - tosses.position[sample]) / WIDTH)
            cosine = min(1.0, abs(float(data.qpos[3:] @ tosses.quaternion[sample])))
            turned.append(np.degrees(2 * np.arccos(cosine)))
        position.append(np.mean(away))
        rotation.append(np.mean(turned))
    return Errors(np.array(position), np.array(rotation))
