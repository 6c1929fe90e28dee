"""Couplings of the joints of a URDF that mimic others."""

from typing import Any

import numpy as np

from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.urdf.meshes import UrdfText


def couple_mimics(spec: Any, mujoco: Any, urdf: UrdfText, report: ImportReport) -> None:
    """Add an equality constraint for each joint that mimics another, unless MuJoCo's parser, which
    does so from one of its versions on, has added it.

    Args:
        spec: MuJoCo's specification of the URDF.
        mujoco: the package.
        urdf: the joints with a single axis, and which of them mimic others.
        report: lists joints that mimic none with a single axis, and are not coupled.
    """
    coupled = {equality.name1 for equality in spec.equalities}
    for joint, mimic in urdf.mimics.items():
        driver = mimic.get("joint", "")
        if driver not in urdf.joints:
            what = f"mimics {driver!r}, which is no joint with a single axis: it moves by itself"
            report.approximate(f"joint {joint!r}", what)
        elif joint not in coupled:
            equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=joint, name2=driver)
            data = np.array(equality.data)
            slope = float(mimic.get("multiplier", 1.0))
            data[:5] = [float(mimic.get("offset", 0.0)), slope, 0.0, 0.0, 0.0]
            equality.data = data
