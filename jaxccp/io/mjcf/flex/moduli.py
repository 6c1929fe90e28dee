"""Moduli that MuJoCo's forces of a flexible body have.

Forces of Saint-Venant and Kirchhoff's law are linear in Lamé's constants, which are fitted to the
forces that MuJoCo has at displaced nodes. They are not those that follow from the file's Young's
modulus and Poisson's ratio: in MuJoCo 3.17 the first constant of solids is twice as large, and
sheets have a quarter of the second and half of the first constant of solids.
"""

import numpy as np
from jaxtyping import Float

from jaxccp.flexible.membrane import Membrane
from jaxccp.flexible.nodal import NodalFamily
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.flex.flexes import Flex

DISPLACED = 0.02
"""Displacements at which forces are compared, relative to the shortest edge."""
FORCE_TOLERANCE = 1e-3
"""Largest accepted relative difference from MuJoCo's forces."""


def fitted_moduli(source: Source, flex: Flex, family: NodalFamily) -> tuple[float, float]:
    """Return Young's modulus [Pa] and Poisson's ratio for which a solid, or a sheet in plane
    stress, has MuJoCo's forces.

    Args:
        source: the file.
        flex: a solid or a sheet.
        family: family of the flexible body, with any moduli.

    Raises:
        ValueError: no moduli give these forces.
    """
    corner = flex.position[flex.element]
    edge = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).min()
    direction = np.random.default_rng(0).uniform(-1.0, 1.0, flex.position.shape)
    shift = DISPLACED * edge * np.where(flex.fixed[:, None], 0.0, direction)
    target = _mujocos(source, flex, shift)[~flex.fixed].reshape(-1)
    parts = _by_constant(flex, family, shift)[:, ~flex.fixed].reshape(2, -1)
    (mu, lam), *_ = np.linalg.lstsq(parts.T, target, rcond=None)
    rest = np.abs(parts.T @ [mu, lam] - target).max()
    if not (mu > 0 and rest < FORCE_TOLERANCE * np.abs(target).max()):
        raise ValueError(
            f"{flex.label}: MuJoCo's forces are not those of Saint-Venant and Kirchhoff's law, but "
            f"differ by {rest:.3g} N: take out what else acts on its nodes"
        )
    first = max(lam, 0.0)
    poisson = first / (first + 2 * mu) if flex.dimension == 2 else first / (2 * (first + mu))
    return float(2 * mu * (1 + poisson)), float(poisson)


def _mujocos(
    source: Source, flex: Flex, shift: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "n 3"]:
    """Return MuJoCo's forces on displaced nodes at rest [N]; 0 on fixed nodes."""
    m, mujoco = source.m, source.mujoco
    data = mujoco.MjData(m)
    first = np.where(flex.fixed, 0, np.asarray(m.body_jntadr)[flex.body])
    joints = first[:, None] + np.arange(3)
    joints = np.where(flex.fixed[:, None], 0, joints)
    at, dof = np.asarray(m.jnt_qposadr)[joints], np.asarray(m.jnt_dofadr)[joints]
    free = ~flex.fixed
    data.qpos[at[free]] = np.asarray(m.qpos0)[at[free]] + shift[free]
    for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_flex, mujoco.mj_passive):
        stage(m, data)
    force = np.asarray(data.qfrc_passive)[dof]
    return np.where(flex.fixed[:, None], 0.0, force)


def _by_constant(
    flex: Flex, family: NodalFamily, shift: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "2 n 3"]:
    """Return the forces on the nodes per unit of Lamé's second and first constant [N/Pa]."""
    points = family.elements.points()
    slopes = np.asarray(points.gradients, float)[:, 0]
    volume = np.asarray(points.weights, float)[:, 0]
    if isinstance(family.elements, Membrane):
        volume = volume * float(family.elements.thickness)
    y = np.einsum("emk,ekc->emc", slopes, (flex.position + shift)[family.layout.rows])
    strain = 0.5 * (np.einsum("emc,enc->emn", y, y) - np.eye(flex.dimension))
    trace = np.trace(strain, axis1=1, axis2=2)[:, None, None] * np.eye(flex.dimension)
    forces = []
    for stress in (2 * strain, trace):
        total = np.zeros(shift.shape)
        force = -np.einsum("e,emk,emn,enc->ekc", volume, slopes, stress, y)
        np.add.at(total, family.layout.rows, force)
        forces.append(total)
    return np.stack(forces)
