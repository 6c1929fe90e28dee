"""Numbers of a file, computed from a changed model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxccp.io.mjcf.elements.actuators import first_rows
from jaxccp.io.mjcf.elements.bodies import BodyMap
from jaxccp.io.mjcf.elements.joints import BALL, FREE, HINGE, SLIDE
from jaxccp.io.mjcf.elements.registry import Elements
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.write.file_forces import (
    ModelChange,
    Numbers,
    equal,
    write_actuators,
    write_forces,
    write_tendons,
)
from jaxccp.io.mjcf.write.rigid_parts import Inertial, divide_inertia, inertial_of_pseudo
from jaxccp.model.model import Model
from jaxccp.scene.frames import relative_frame, to_matrix, to_quaternion
from jaxccp.sensors.coordinates.coordinates import Coordinates

COPIED = (
    *("body_pos", "body_quat", "body_mass", "body_ipos", "jnt_pos", "jnt_axis", "jnt_range"),
    *("jnt_stiffness", "qpos0", "qpos_spring", "dof_damping", "dof_armature", "dof_frictionloss"),
    *("dof_dampingpoly", "geom_pos", "geom_quat", "geom_size", "geom_friction", "site_pos"),
    *("site_quat", "tendon_stiffness", "tendon_damping", "tendon_dampingpoly", "tendon_armature"),
    *("tendon_frictionloss", "tendon_range", "tendon_lengthspring", "actuator_gainprm"),
    *("actuator_biasprm", "actuator_gear", "actuator_forcerange", "actuator_ctrlrange"),
    "actuator_dynprm",
)
"""MuJoCo's columns that can be written."""


SIZES: dict[str, dict[int, int]] = {
    "sphere": {3: 0},
    "plane": {},
    "box": {0: 0, 1: 1, 2: 2},
    "capsule": {3: 0, 2: 1},
    "cylinder": {3: 0, 2: 1},
    "ellipsoid": {0: 0, 1: 1, 2: 2},
    "convex": {},
    "height_field": {},
}
"""For each kind of shape, the column of the geom's size for each number of the shape: those of its
size, then its radius. Numbers of tables and of shapes that no geom has are not written."""


@dataclass(frozen=True)
class ModelWithLayout:
    """A model with the layout of its coordinates."""

    model: Model
    """The model."""
    layout: Coordinates
    """Layout of the model's coordinates."""


def numbers_of(m: Any) -> Numbers:
    """Return the numbers of a compiled model that can be written to a file."""
    out = {name: np.array(getattr(m, name), float) for name in COPIED if hasattr(m, name)}
    # The model's actuators have one control and one output each.
    for name, address in (("gear", "outadr"), ("ctrlrange", "ctrladr")):
        rows = first_rows(m, address)
        out[f"actuator_{name}"] = out[f"actuator_{name}"].take(rows, axis=0, mode="clip")
    out["gravity"] = np.array(m.opt.gravity, float)
    axes = np.array([to_matrix(quaternion) for quaternion in m.body_iquat])
    out["body_inertia"] = np.einsum("bij,bj,bkj->bik", axes, m.body_inertia, axes)
    return out


class FileNumbers:
    """Converts the numbers of a model to those of its file, so that two models of one file can be
    compared."""

    def __init__(self, source: Source, elements: Elements, loaded: ModelWithLayout) -> None:
        """Prepare the conversion for a file and the model loaded from it.

        Args:
            source: the compiled file.
            elements: parts of the model for the elements of the file.
            loaded: the model as it was loaded.
        """
        self.source, self.elements, self.loaded = source, elements, loaded
        self.nominal = numbers_of(source.m)
        self.joints = self._joints()
        """Joint of the model that places each of the file's bodies with joints, by body."""

    def of(self, changed: ModelWithLayout) -> Numbers:
        """Return the file's numbers for a changed model; where the model is unchanged, they are
        those of the file."""
        out = {name: value.copy() for name, value in self.nominal.items()}
        before, after = self.loaded.model.gravity, np.asarray(changed.model.gravity, float)
        out["gravity"] = np.where(self.same(before, after), out["gravity"], after)
        shift = self._shifts(changed)
        self._inertias(out, changed, shift)
        self._geometry(out, changed, shift)
        two = ModelChange(self.loaded.model, changed.model)
        write_forces(out, self.source, self.elements, two)
        write_tendons(out, self.source, self.elements, two)
        write_actuators(out, self.source, self.elements, two)
        self._surfaces(out, changed.model)
        return out

    def same(self, a: Any, b: Any) -> np.ndarray:
        """Return the mask of numbers that are equal up to rounding in the model's precision."""
        return equal(a, b, np.asarray(self.loaded.model.bodies.mass).dtype)

    def _joints(self) -> dict[int, int]:
        m, linkage = self.source.m, self.loaded.model.topology.linkage
        out = {}
        for body in np.flatnonzero((np.asarray(m.body_jntnum) > 0) & ~self.elements.nodes):
            name = self.elements.axes.names[m.jnt_dofadr[m.body_jntadr[body]]]
            if name:
                out[int(body)] = int(linkage.owner[linkage.axis(name)])
        return out

    def _shifts(self, changed: ModelWithLayout) -> Float[np.ndarray, "nb 3"]:
        """Return the shift of each centre of mass since loading, in the file's frame of the body
        [m].

        It is relative to the joint that places the body; for free bodies, to the frame of their
        coordinates.
        """
        shift = np.zeros((len(self.loaded.model.topology.bodies), 3))
        places = self.loaded.layout.places.free[2]
        shift[places] = np.asarray(changed.layout.centre) - np.asarray(self.loaded.layout.centre)
        for body, joint in self.joints.items():
            model_body = int(self.elements.body_map.body[body])
            before, after = self.loaded.model.joints.anchor, changed.model.joints.anchor
            shift[model_body] = np.asarray(before)[joint, 1] - np.asarray(after)[joint, 1]
        return np.where(np.abs(shift) > 1e-15, shift, 0.0)

    def _inertias(self, out: Numbers, changed: ModelWithLayout, shift: np.ndarray) -> None:
        body_map, m = self.elements.body_map, self.source.m
        topology = self.loaded.model.topology
        for body in np.flatnonzero(topology.free):
            before, after = (
                (float(bodies.mass[body]), np.asarray(bodies.inertia, float)[body])
                for bodies in (self.loaded.model.bodies, changed.model.bodies)
            )
            still = self.same(before[0], after[0]) & self.same(shift[body], 0).all()
            scale = np.abs(before[1]).max()
            if still and self.same(before[1] / scale, after[1] / scale).all():
                continue
            parts = np.flatnonzero(body_map.body == body)
            inertials: list[Inertial] = []
            for part in parts:
                rotation = body_map.rotation[part]
                inertia = rotation @ self.nominal["body_inertia"][part] @ rotation.T
                centre = body_map.point(int(part), np.asarray(m.body_ipos[part]))
                inertials.append((float(m.body_mass[part]), centre, inertia))
            total = before[0], np.zeros(3), before[1]
            shares = divide_inertia(inertials, total, (after[0], shift[body], after[1]))
            for part, matrix in zip(parts, shares, strict=True):
                back = np.eye(4)
                back[:3, :3] = body_map.rotation[part].T
                back[:3, 3] = -back[:3, :3] @ body_map.position[part]
                mass, centre, inertia = inertial_of_pseudo(back @ matrix @ back.T)
                out["body_mass"][part], out["body_ipos"][part] = mass, centre
                out["body_inertia"][part] = inertia

    def _geometry(self, out: Numbers, changed: ModelWithLayout, shift: np.ndarray) -> None:
        """Write the poses of joints, geoms and sites on their bodies."""
        body_map, m = self.elements.body_map, self.source.m
        position = body_map.position - shift[body_map.body]
        map_after = replace(body_map, position=position)
        for body, joint in self.joints.items():
            first = int(m.body_jntadr[body])
            if m.jnt_type[first] == FREE:
                continue
            before = _joint_geometry(self.source, self.loaded.model, body_map, body, joint)
            after = _joint_geometry(self.source, changed.model, map_after, body, joint)
            if not all(self.same(a, b).all() for a, b in zip(before[:2], after[:2], strict=True)):
                out["body_pos"][body], out["body_quat"][body] = after[:2]
            count = int(m.body_jntnum[body])
            for place, (old, new) in enumerate(zip(before[2:], after[2:], strict=True)):
                column = ("jnt_axis", "jnt_pos")[place]
                rows = out[column][first : first + count]
                rows[:] = np.where(self.same(old, new), rows, new)
        for kind, table, table_rows in (
            ("geom", "shapes", self.elements.shapes),
            ("site", "sites", {site: site for site in range(m.nsite)}),
        ):
            holder = getattr(m, f"{kind}_bodyid")
            for index, row in table_rows.items():
                body = int(holder[index])
                poses = [
                    relative_frame(
                        (at.position[body], to_quaternion(at.rotation[body])),
                        (
                            np.asarray(getattr(mechanism.model, table).position, float)[row],
                            np.asarray(getattr(mechanism.model, table).quaternion, float)[row],
                        ),
                    )
                    for mechanism, at in ((self.loaded, body_map), (changed, map_after))
                ]
                if not self.same(poses[0][0], poses[1][0]).all():
                    out[f"{kind}_pos"][index] = poses[1][0]
                if not self.same(poses[0][1], poses[1][1]).all():
                    out[f"{kind}_quat"][index] = poses[1][1]

    def _surfaces(self, out: Numbers, changed: Model) -> None:
        """Write sizes and friction of geoms."""
        before, after = self.loaded.model.shapes, changed.shapes
        kinds = self.loaded.model.topology.shapes
        for geom, row in self.elements.shapes.items():
            sizes = [np.append(shapes.size[row], shapes.radius[row]) for shapes in (before, after)]
            for place, column in SIZES[kinds[row]].items():
                if not self.same(sizes[0][place], sizes[1][place]):
                    out["geom_size"][geom, column] = sizes[1][place]
            friction = [
                np.array([float(shapes.friction[row]), *np.asarray(shapes.rolling[row], float)])
                for shapes in (before, after)
            ]
            out["geom_friction"][geom] = np.where(
                self.same(*friction), out["geom_friction"][geom], friction[1]
            )


def _joint_geometry(
    source: Source, model: Model, body_map: BodyMap, body: int, joint: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the pose of a body in its parent, and the axis and position of each of its joints.

    Args:
        source: the compiled file.
        model: whose joint it is.
        body_map: places of the file's bodies in the model.
        body: number of the body in the file.
        joint: index of the model's joint that places the body.
    """
    m, linkage = source.m, model.topology.linkage
    parent, first = int(m.body_parentid[body]), int(m.body_jntadr[body])
    count = int(m.body_jntnum[body])
    anchor = np.asarray(model.joints.anchor, float)[joint]
    rotation = np.array(
        [to_matrix(frame) for frame in np.asarray(model.joints.frame, float)[joint]]
    )
    # Pose of the file's body frame relative to the frame of the joint, then to the parent.
    arm, orientation = body_map.position[body] - anchor[1], body_map.rotation[body]
    orientation = rotation[0] @ rotation[1].T @ orientation
    place = anchor[0] + rotation[0] @ rotation[1].T @ arm
    outer = body_map.rotation[parent]
    position = outer.T @ (place - body_map.position[parent])
    quaternion = to_quaternion(outer.T @ orientation)
    directions, points = np.array(m.jnt_axis[first : first + count]), np.zeros((count, 3))
    points[:] = m.jnt_pos[first : first + count]
    inner = body_map.rotation[body].T
    axis = int(linkage.slots[joint, 0])
    for row in range(count):
        kind = int(m.jnt_type[first + row])
        if kind in (HINGE, SLIDE):
            directions[row] = inner @ rotation[1] @ np.asarray(model.axes.direction, float)[axis]
        if kind == HINGE:
            offset = anchor[1] + rotation[1] @ np.asarray(model.axes.point, float)[axis]
            points[row] = inner @ (offset - body_map.position[body])
        if kind == BALL:
            points[row] = inner @ (anchor[1] - body_map.position[body])
        axis += 3 if kind == BALL else 1
    return position, quaternion, directions, points
