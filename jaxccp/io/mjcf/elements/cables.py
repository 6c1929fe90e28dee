"""Cables of a file: chains of bodies between whose links MuJoCo's plugin mujoco.elasticity.cable
bends and twists the balls.

The torque of a ball, in the axes of the link that it carries, x along the cable, is −k (φ − φ₀) of
the rotation vector φ between the links, with

    k = (G J, E I_y, E I_z) / l,

twisting modulus G ("twist"), bending modulus E ("bend"), the moments of area of the link's first
geom, and the distance l of the two links' frames.
"""

from math import pi

import numpy as np

from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport

PLUGIN = "mujoco.elasticity.cable"
BALL = 1
"""MuJoCo's type of a ball joint."""
Springs = dict[int, tuple[float, float, float]]
"""Stiffness of ball joints about x, y and z [N m/rad], by the file's number of the joint."""


def is_link(source: Source, body: int) -> bool:
    """Tell whether a body is a link of a cable."""
    m = source.m
    if not len(m.body_plugin) or m.body_plugin[body] < 0:
        return False
    return source.plugin(int(m.body_plugin[body]))[0] == PLUGIN


def read_cables(source: Source, report: ImportReport) -> Springs:
    """Return the springs of all cables; the report gets links that are left out or whose bending
    differs, with the reason.

    Raises:
        InputError: the model was given compiled and has plugins.
    """
    m = source.m
    springs: Springs = {}
    if not source.has_passive_forces:
        return springs
    for body in range(1, m.nbody):
        parent = int(m.body_parentid[body])
        if not is_link(source, body) or not is_link(source, parent):
            continue
        if m.body_plugin[body] != m.body_plugin[parent]:
            continue
        label = source.label("body", body)
        joints = np.flatnonzero(np.asarray(m.jnt_bodyid) == body)
        if len(joints) != 1 or m.jnt_type[joints[0]] != BALL:
            report.ignore(label, "a link of a cable needs one ball joint", "give it one")
            continue
        bent = abs(abs(m.body_quat[body][0]) - 1.0) > 1e-9
        config = source.plugin(int(m.body_plugin[body]))[1]
        if bent and config.get("flat") == "true":
            what = 'a bent cable that would be straight (flat="true") is not supported'
            report.ignore(label, what, "start it straight")
            continue
        if bent:
            report.approximate(
                label,
                "the cable is relaxed as it starts, and turns about the axes of the link there; "
                "MuJoCo's torque differs by the bend at the link times the turn",
            )
        geom = int(m.body_geomadr[body])
        section = _moments(source, geom) if geom >= 0 else None
        if section is None:
            what = "the first geom of a link must be a capsule, a cylinder or a box"
            report.ignore(label, what, "give it such a geom, or take the plugin out")
            continue
        twist, bend = (float(config.get(key) or 0.0) for key in ("twist", "bend"))
        length = float(np.linalg.norm(m.body_pos[body]))
        moduli = twist, bend, bend
        k = [modulus * moment / length for modulus, moment in zip(moduli, section, strict=True)]
        springs[int(joints[0])] = (k[0], k[1], k[2])
    return springs


def _moments(source: Source, geom: int) -> tuple[float, float, float] | None:
    """Return the torsion constant, and the second moments of area about y and z, of a link's
    section [m⁴]."""
    m, kinds = source.m, source.mujoco.mjtGeom
    kind, size = int(m.geom_type[geom]), np.asarray(m.geom_size[geom], float)
    if kind in (int(kinds.mjGEOM_CAPSULE), int(kinds.mjGEOM_CYLINDER)):
        moment = pi * size[0] ** 4 / 4
        return 2 * moment, moment, moment
    if kind == int(kinds.mjGEOM_BOX):
        # Half of height and width (y, z); the torsion constant of a bar is Roark's.
        h, w = size[1], size[2]
        a, b = max(h, w), min(h, w)
        torsion = a * b**3 * (16 / 3 - 3.36 * b / a * (1 - b**4 / a**4 / 12))
        return torsion, (2 * w) ** 3 * 2 * h / 12, (2 * h) ** 3 * 2 * w / 12
    return None
