"""Read the impacts of the ellipse as recordings, and build models of the rig."""

from pathlib import Path

import numpy as np

import jaxccp
from jaxccp.identify import Recording, recording

MASS, INERTIA = 0.0364, 3.885e-4 * 0.0364
"""Mass [kg] and inertia [kg m²] of the modelled ellipse; the norm of errors has this inertia."""
AXES = "x", "y", "theta"
"""Names of the coordinates, in the order of the columns of the file."""
FLOOR = """<joint name="floor" axis="0 1 0" pos="0 0 .05" armature="7e-3"/>
  <inertial pos="0 0 .05" mass="1e-6" diaginertia="1e-9 1e-9 1e-9"/>"""
RIG = """<mujoco><compiler angle="radian"/><worldbody>
<body name="floor" pos="0 0 -.05">{floor}
  <geom type="box" size="1 .1 .05" friction=".18 0 0"/></body>
<body name="ellipse"><joint name="x" type="slide" axis="1 0 0"/>
  <joint name="y" type="slide" axis="0 0 1"/><joint name="theta" axis="0 -1 0"/>
  <inertial pos="0 0 0" mass="{mass}" diaginertia="1e-5 {inertia} 1e-5"/>
  <geom type="ellipsoid" size=".035 .01 .025" friction=".18 0 0"/></body>
</worldbody></mujoco>"""


def rig(pivots: bool):
    """Return the ellipse over a floor that is fixed, or that turns about a line at its surface."""
    return jaxccp.load(RIG.format(floor=FLOOR if pivots else "", mass=MASS, inertia=INERTIA))


def read(path: Path) -> list[Recording]:
    """Return the impacts of a file that have no flag set.

    Args:
        path: npz with ``ids`` (n), ``q`` and ``v`` (2n, 3), ``flags`` (n, 6) and ``dt`` [s].
    """
    data = np.load(path)
    plain = np.asarray(data["flags"]).sum(axis=1) == 0
    time = np.array([0.0, float(data["dt"])])
    q, v = (np.asarray(data[name], float).reshape(-1, 2, 3)[plain] for name in "qv")
    return [
        recording(
            time,
            f"impact {number}",
            position=dict(zip(AXES, place.T, strict=True)),
            rate=dict(zip(AXES, speed.T, strict=True)),
        )
        for number, place, speed in zip(np.asarray(data["ids"])[plain], q, v, strict=True)
    ]
