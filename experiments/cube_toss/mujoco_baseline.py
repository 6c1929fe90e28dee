"""Simulate the same tosses in MuJoCo, with parameters from a derivative-free search on them."""

import importlib
from collections.abc import Sequence

import numpy as np

from jaxccp.identify.case import subject_of
from jaxccp.identify.cube.errors import Errors
from jaxccp.identify.cube.fit import Cube, CubeSettings, interval
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.simulation.toss_simulation import FIRST
from jaxccp.scenes.cube_toss import INERTIA, MASS, WIDTH

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


def mujoco_errors(tosses: Sequence[Recording]) -> Errors:
    """Return MuJoCo's errors on whole tosses, from the same initial states as jaxccp.

    Args:
        tosses: recordings of the cube.
    """
    mujoco = importlib.import_module("mujoco")
    dt = interval(tosses)
    model = mujoco.MjModel.from_xml_string(
        XML.format(
            step=dt / SUBSTEPS,
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
    longest = max(len(toss.time) for toss in tosses)
    plan = CubeSettings().residual(dt, longest)
    starts = plan.plan(subject_of(Cube.nominal(), tosses), tosses).batch.segments
    position, rotation = [], []
    for toss, qpos, qvel in zip(tosses, *starts.start[:2], strict=True):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = qpos, qvel
        away, angle = [], []
        for pose in np.asarray(toss.channels[0].values)[FIRST + 1 :]:
            for _ in range(SUBSTEPS):
                mujoco.mj_step(model, data)
            away.append(np.linalg.norm(data.qpos[:3] - pose[:3]) / WIDTH)
            cosine = min(1.0, abs(float(data.qpos[3:] @ pose[3:])))
            angle.append(np.degrees(2 * np.arccos(cosine)))
        position.append(np.mean(away))
        rotation.append(np.mean(angle))
    return Errors(np.array(position), np.array(rotation))
