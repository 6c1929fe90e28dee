"""Flexible bodies of a file (MuJoCo's flexes), and the reasons why some are not supported."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport

SLIDE = 2
"""MuJoCo's type of a slide joint."""
BENDING, STRETCHING, BOTH = 1, 2, 3
"""MuJoCo's values of ``elastic2d``: bending, stretching, or both."""
JOINT_FORCES = ("dof_damping", "dof_dampingpoly", "dof_armature", "dof_frictionloss")
"""Columns that must be 0 for the joints of nodes, since families do not have such forces."""
Refusal = tuple[str, str]
"""Reason why a flexible body is not supported, and a remedy."""


@dataclass(frozen=True)
class Flex:
    """A flexible body of a file; its nodes slide freely in the world or are fixed."""

    index: int
    """The file's number of the flexible body."""
    label: str
    """Label of the flexible body, for messages."""
    name: str
    """The file's name of the flexible body."""
    body: Int[np.ndarray, " n"]
    """The file's body of each node."""
    position: Float[np.ndarray, "n 3"]
    """Position of each node at ``qpos0``, in world axes [m]."""
    element: Int[np.ndarray, "e k"]
    """Nodes of each element: two of a line, three of a sheet, four of a solid."""
    fixed: Bool[np.ndarray, " n"]
    """Mask of the fixed nodes."""
    mass: Float[np.ndarray, " n"]
    """Mass of each node [kg]; for fixed nodes, which have no mass in the file, the mean of the
    others."""

    @property
    def dimension(self) -> int:
        """Dimension of the elements: 1, 2 or 3."""
        return self.element.shape[1] - 1


def node_bodies(source: Source) -> Bool[np.ndarray, " nb"]:
    """Return the mask of the file's bodies that are only nodes of flexible bodies.

    They slide relative to the world, and have no geoms, sites or child bodies.
    """
    m = source.m
    named = np.concatenate([m.flex_vertbodyid, m.flex_nodebodyid])
    nodes = np.zeros(m.nbody, bool)
    nodes[named[named > 0]] = True
    slides = np.zeros(m.nbody, int)
    np.add.at(slides, m.jnt_bodyid, np.where(np.asarray(m.jnt_type) == SLIDE, 1, 100))
    fixed = np.asarray(m.body_weldid)[m.body_parentid] == 0
    nodes &= (slides > 0) & (slides < 100) & fixed & (np.asarray(m.body_geomnum) == 0)
    nodes[m.site_bodyid] = False
    nodes[np.asarray(m.body_parentid)[1:]] = False
    return nodes


def read_flexes(source: Source, report: ImportReport) -> list[Flex]:
    """Return the flexible bodies that are supported; the report gets the others, with reasons.

    Raises:
        InputError: the model was given compiled, without its specification.
    """
    m, mujoco = source.m, source.mujoco
    if not m.nflex:
        return []
    data = mujoco.MjData(m)
    mujoco.mj_kinematics(m, data)
    nodes = node_bodies(source)
    flexes = []
    for index in range(m.nflex):
        label = f"flexible body {source.name('flex', index) or index!r}"
        refused = _node_refusal(source, index, nodes) or _elasticity_refusal(source, index)
        if refused:
            report.ignore(label, *refused)
            continue
        flexes.append(_flex(source, index, label, data))
        _note_approximations(source, index, label, report)
    return flexes


def _flex(source: Source, index: int, label: str, data) -> Flex:
    m = source.m
    vertices = slice(m.flex_vertadr[index], m.flex_vertadr[index] + m.flex_vertnum[index])
    body, offset = np.array(m.flex_vertbodyid[vertices]), np.array(m.flex_vert[vertices])
    rotation = np.asarray(data.xmat).reshape(-1, 3, 3)[body]
    position = np.asarray(data.xpos)[body] + np.einsum("nij,nj->ni", rotation, offset)
    width, start = int(m.flex_dim[index]) + 1, int(m.flex_elemdataadr[index])
    element = np.array(m.flex_elem[start : start + width * m.flex_elemnum[index]])
    fixed = np.asarray(m.body_weldid)[body] == 0
    mass = np.where(fixed, 0.0, np.asarray(m.body_mass)[body])
    mass = np.where(fixed, mass.sum() / max(np.sum(~fixed), 1), mass)
    name = source.name("flex", index) or f"flex{index}"
    return Flex(
        index=index,
        label=label,
        name=name,
        body=body,
        position=position,
        element=element.reshape(-1, width),
        fixed=fixed,
        mass=mass,
    )


def _node_refusal(source: Source, index: int, nodes: Bool[np.ndarray, " nb"]) -> Refusal | None:
    """Return the reason why the nodes of a flex cannot be those of a family, and a remedy; None if
    they can."""
    m = source.m
    if m.flex_rigid[index]:
        return "it is rigid", "make it a geom of type mesh"
    if m.flex_interp[index]:
        return "its vertices are interpolated between a few nodes", 'give it dof="full"'
    start = int(m.flex_vertadr[index])
    vertices = np.bincount(np.maximum(m.flex_vertbodyid, 0), minlength=m.nbody)
    for vertex, body in enumerate(m.flex_vertbodyid[start : start + m.flex_vertnum[index]]):
        if m.body_weldid[body] == 0:
            continue
        where = f"node {vertex} is on {source.label('body', int(body))}"
        if vertices[body] > 1 or np.any(m.flex_vert[start + vertex]):
            return (
                f"{where}, not at the frame of a body of its own",
                "give each vertex that moves a body with three slide joints",
            )
        joints = np.flatnonzero(np.asarray(m.jnt_bodyid) == body)
        axes = np.asarray(m.jnt_axis)[joints]
        if not nodes[body] or len(joints) != 3:
            return (
                f"{where}, which does more than slide along three axes against the world",
                "pin nodes to what is fixed, let the others be free, and connect what they carry "
                "by ModelBuilder.add_joint",
            )
        if np.abs(axes - np.eye(3)).max() > 1e-9 or not _is_axis_aligned(source, int(body)):
            return f"{where}, whose axes are not the world's", "turn the flexcomp, not its parent"
        dofs = np.asarray(m.jnt_dofadr)[joints]
        columns = {name: source.column(name) for name in JOINT_FORCES}
        forces = [name for name, column in columns.items() if len(column) and np.any(column[dofs])]
        if np.any(m.jnt_stiffness[joints]):
            forces.append("jnt_stiffness")
        if np.any(m.jnt_limited[joints]):
            forces.append("jnt_limited")
        if forces:
            what = " and ".join(name.split("_")[1] for name in forces)
            return f"{where}, whose joints have {what}", "give its elements damping instead"
    return None


def _is_axis_aligned(source: Source, body: int) -> bool:
    """Tell whether the axes of a body are parallel to the world's."""
    m = source.m
    while body:
        if abs(abs(m.body_quat[body][0]) - 1.0) > 1e-12:
            return False
        body = int(m.body_parentid[body])
    return True


def _elasticity_refusal(source: Source, index: int) -> Refusal | None:
    """Return the reason why the elasticity is not supported, and a remedy; None if it is."""
    m, specification = source.m, source.element("flex", index)
    dimension, young = int(m.flex_dim[index]), specification.young > 0
    if source.is_disabled("SPRING", "PASSIVE"):
        return "its springs or its elasticity are disabled", "take out the flag"
    if dimension == 1:
        if young:
            return "lines that resist bending are not supported", "make it a composite cable"
        if not m.flex_edgestiffness[index] > 0:
            return "its edges have no stiffness", 'give it <edge stiffness="…"/>'
        return None
    if not young:
        return "it has no elasticity", 'give it <elasticity young="…"/>'
    if dimension == 2 and specification.elastic2d in (BENDING, BOTH):
        return (
            "sheets that resist bending are not supported",
            'give it elastic2d="stretch", or build it by ModelBuilder.add_shell',
        )
    if dimension == 2 and specification.elastic2d != STRETCHING:
        return "its elasticity does not act", 'give it elastic2d="stretch"'
    if m.flex_edgedamping[index]:
        return "edges with damping beside elasticity are not supported", "give elasticity damping"
    return None


def _note_approximations(source: Source, index: int, label: str, report: ImportReport) -> None:
    m = source.m
    if not (m.flex_contype[index] or m.flex_conaffinity[index]):
        return
    report.approximate(
        label,
        f"touches by spheres of {m.flex_radius[index]:g} m at its nodes, so that what is smaller "
        "than its elements may pass, and not itself",
    )
    if m.flex_margin[index] or m.flex_gap[index]:
        report.approximate(label, "margin and gap are 0 here: surfaces touch when they meet")
