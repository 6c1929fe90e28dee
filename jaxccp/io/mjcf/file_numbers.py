"""The numbers of a file that a changed model stands for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxccp.io.mjcf.bodies import Frames
from jaxccp.io.mjcf.elements import Elements
from jaxccp.io.mjcf.joints import BALL, FREE, HINGE, SLIDE
from jaxccp.io.mjcf.rigid_parts import Inertial, divided, inertial_of_pseudo
from jaxccp.io.mjcf.source import Source
from jaxccp.model.model import Model
from jaxccp.scene.frames import seen_from, to_matrix, to_quaternion
from jaxccp.sensors.coordinates import Coordinates

FORCES = {"damping": "dof_damping", "armature": "dof_armature", "friction": "dof_frictionloss"}
"""What acts along an axis, and MuJoCo's columns of degrees of freedom that have it."""
TENDON = {
    "stiffness": "tendon_stiffness",
    "damping": "tendon_damping",
    "armature": "tendon_armature",
    "friction": "tendon_frictionloss",
}
"""What acts along a tendon, and MuJoCo's columns that have it."""
COPIED = (
    *("body_pos", "body_quat", "body_mass", "body_ipos", "jnt_pos", "jnt_axis", "jnt_range"),
    *("jnt_stiffness", "qpos0", "qpos_spring", "dof_damping", "dof_armature", "dof_frictionloss"),
    *("dof_dampingpoly", "geom_pos", "geom_quat", "geom_size", "geom_friction", "site_pos"),
    *("site_quat", "tendon_stiffness", "tendon_damping", "tendon_armature", "tendon_frictionloss"),
    *("tendon_range", "tendon_lengthspring", "actuator_gainprm", "actuator_biasprm"),
    *("actuator_gear", "actuator_forcerange", "actuator_ctrlrange", "actuator_dynprm"),
)
"""MuJoCo's columns that can be written."""

Numbers = dict[str, Float[np.ndarray, "..."]]
"""By MuJoCo's names of columns; ``body_inertia`` has matrices in the axes of the body."""


@dataclass(frozen=True)
class Mechanism:
    """A model with its coordinates."""

    model: Model
    layout: Coordinates


def numbers_of(m: Any) -> Numbers:
    """Return the numbers of a compiled model that can be written."""
    out = {name: np.array(getattr(m, name), float) for name in COPIED if hasattr(m, name)}
    out["gravity"] = np.array(m.opt.gravity, float)
    axes = np.array([to_matrix(quaternion) for quaternion in m.body_iquat])
    out["body_inertia"] = np.einsum("bij,bj,bkj->bik", axes, m.body_inertia, axes)
    return out


class FileNumbers:
    """Computes a file's numbers from a model's; two models of one file can be compared by them."""

    def __init__(self, source: Source, elements: Elements, loaded: Mechanism) -> None:
        """Prepare the numbers.

        Args:
            source: the compiled file.
            elements: which parts of the model its elements are.
            loaded: the model as it was loaded.
        """
        self.source, self.elements, self.loaded = source, elements, loaded
        self.nominal = numbers_of(source.m)
        self.joints = self._joints()
        """Joint of the model that places each of the file's bodies with joints, by body."""

    def of(self, changed: Mechanism) -> Numbers:
        """Return the numbers of the file for a changed model: where it is as it was loaded, those
        that the file has."""
        out = {name: value.copy() for name, value in self.nominal.items()}
        out["gravity"] = self._changed(out["gravity"], lambda one: one.model.gravity, changed)
        shift = self._shifts(changed)
        self._inertias(out, changed, shift)
        self._geometry(out, changed, shift)
        self._forces(out, changed.model)
        self._tendons(out, changed.model)
        self._actuators(out, changed.model)
        self._surfaces(out, changed.model)
        return out

    def same(self, a: Any, b: Any) -> np.ndarray:
        """Return which numbers are equal but for rounding."""
        first, second = np.asarray(a, float), np.asarray(b, float)
        rounding = 64 * float(np.finfo(np.asarray(self.loaded.model.bodies.mass).dtype).eps)
        with np.errstate(invalid="ignore"):
            near = np.abs(first - second) <= rounding * np.maximum(1e-3, np.abs(first))
        return near | (first == second)

    def _changed(self, nominal: np.ndarray, numbers: Any, changed: Mechanism) -> np.ndarray:
        """Return a file's numbers, those that differ between the models being the changed one's."""
        before, after = numbers(self.loaded), np.asarray(numbers(changed), float)
        return np.where(self.same(before, after), nominal, after)

    def _joints(self) -> dict[int, int]:
        m, linkage = self.source.m, self.loaded.model.topology.linkage
        out = {}
        for body in np.flatnonzero((np.asarray(m.body_jntnum) > 0) & ~self.elements.nodes):
            name = self.elements.axes.names[m.jnt_dofadr[m.body_jntadr[body]]]
            if name:
                out[int(body)] = int(linkage.owner[linkage.axis(name)])
        return out

    def _shifts(self, changed: Mechanism) -> Float[np.ndarray, "nb 3"]:
        """Return how far each centre of mass is from where it was loaded, in the file's frame of
        the body: joints stay where they are on the body that they place, and free bodies' frames
        where their coordinates are."""
        shift = np.zeros((len(self.loaded.model.topology.bodies), 3))
        places = self.loaded.layout.places.free[2]
        shift[places] = np.asarray(changed.layout.centre) - np.asarray(self.loaded.layout.centre)
        for body, joint in self.joints.items():
            ours = int(self.elements.frames.body[body])
            anchors = (np.asarray(one.model.joints.anchor)[joint, 1] for one in (self.loaded, changed))
            before, after = anchors
            shift[ours] = before - after
        return np.where(np.abs(shift) > 1e-15, shift, 0.0)

    def _inertias(self, out: Numbers, changed: Mechanism, shift: np.ndarray) -> None:
        frames, m = self.elements.frames, self.source.m
        topology = self.loaded.model.topology
        for body in np.flatnonzero(topology.free):
            before, after = (
                (float(one.mass[body]), np.asarray(one.inertia, float)[body])
                for one in (self.loaded.model.bodies, changed.model.bodies)
            )
            still = self.same(before[0], after[0]) & self.same(shift[body], 0).all()
            scale = np.abs(before[1]).max()
            if still and self.same(before[1] / scale, after[1] / scale).all():
                continue
            parts = np.flatnonzero(frames.body == body)
            given: list[Inertial] = []
            for part in parts:
                turn = frames.rotation[part]
                inertia = turn @ self.nominal["body_inertia"][part] @ turn.T
                centre = frames.point(part, np.asarray(m.body_ipos[part]))
                given.append((float(m.body_mass[part]), centre, inertia))
            whole = before[0], np.zeros(3), before[1]
            found = divided(given, whole, (after[0], shift[body], after[1]))
            for part, matrix in zip(parts, found, strict=True):
                back = np.eye(4)
                back[:3, :3] = frames.rotation[part].T
                back[:3, 3] = -back[:3, :3] @ frames.position[part]
                mass, centre, inertia = inertial_of_pseudo(back @ matrix @ back.T)
                out["body_mass"][part], out["body_ipos"][part] = mass, centre
                out["body_inertia"][part] = inertia

    def _geometry(self, out: Numbers, changed: Mechanism, shift: np.ndarray) -> None:
        """Write where joints, geoms and sites are on their bodies."""
        frames, m = self.elements.frames, self.source.m
        moved = Frames(
            frames.body, frames.position - shift[frames.body], frames.rotation, frames.labels
        )
        for body, joint in self.joints.items():
            first = int(m.body_jntadr[body])
            if m.jnt_type[first] == FREE:
                continue
            before = _joint_geometry(self.source, self.loaded.model, frames, body, joint)
            after = _joint_geometry(self.source, changed.model, moved, body, joint)
            if not all(self.same(a, b).all() for a, b in zip(before[:2], after[:2], strict=True)):
                out["body_pos"][body], out["body_quat"][body] = after[:2]
            count = int(m.body_jntnum[body])
            for place, (old, new) in enumerate(zip(before[2:], after[2:], strict=True)):
                column = ("jnt_axis", "jnt_pos")[place]
                rows = out[column][first : first + count]
                rows[:] = np.where(self.same(old, new), rows, new)
        for kind, table, ours in (
            ("geom", "shapes", self.elements.shapes),
            ("site", "sites", {site: site for site in range(m.nsite)}),
        ):
            holder = getattr(m, f"{kind}_bodyid")
            for index, row in ours.items():
                body = int(holder[index])
                poses = [
                    seen_from(
                        (at.position[body], to_quaternion(at.rotation[body])),
                        (
                            np.asarray(getattr(one.model, table).position, float)[row],
                            np.asarray(getattr(one.model, table).quaternion, float)[row],
                        ),
                    )
                    for one, at in ((self.loaded, frames), (changed, moved))
                ]
                if not self.same(poses[0][0], poses[1][0]).all():
                    out[f"{kind}_pos"][index] = poses[1][0]
                if not self.same(poses[0][1], poses[1][1]).all():
                    out[f"{kind}_quat"][index] = poses[1][1]

    def _forces(self, out: Numbers, changed: Model) -> None:
        """Write what acts along joints; those of several axes have the mean of what these have."""
        m, names = self.source.m, self.elements.axes.names
        linkage = self.loaded.model.topology.linkage
        before, after = self.loaded.model.axes, changed.axes
        for joint in range(m.njnt):
            dof, at = int(m.jnt_dofadr[joint]), int(m.jnt_qposadr[joint])
            width = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}[int(m.jnt_type[joint])]
            if not names[dof]:
                continue
            axes = [linkage.axis(name) for name in names[dof : dof + width]]

            def number(name: str, axes: list[int] = axes) -> np.ndarray | None:
                old, new = (np.asarray(getattr(one, name), float)[axes] for one in (before, after))
                return None if self.same(old, new).all() else new.mean(axis=0)

            for name, column in FORCES.items():
                if (value := number(name)) is not None:
                    out[column][dof : dof + width] = value
            if (value := number("stiffness")) is not None:
                out["jnt_stiffness"][joint] = value
            if (value := number("damping_polynomial")) is not None and "dof_dampingpoly" in out:
                out["dof_dampingpoly"][dof : dof + width] = value
            if width == 1 and (value := number("rest")) is not None:
                out["qpos_spring"][at] = value + m.qpos0[at]
            margin = float(m.jnt_margin[joint])
            reference = float(m.qpos0[at]) if width == 1 else 0.0
            if width < 6 and (value := number("upper", axes[:1])) is not None:
                out["jnt_range"][joint, 1] = value + margin + reference
            if width == 1 and (value := number("lower")) is not None:
                out["jnt_range"][joint, 0] = value - margin + reference

    def _tendons(self, out: Numbers, changed: Model) -> None:
        linkage = self.loaded.model.topology.linkage
        before, after = self.loaded.model.axes, changed.axes
        for tendon, name in self.elements.tendons.items():
            row = len(linkage.axes) + linkage.tendon(name)
            margin = float(self.source.m.tendon_margin[tendon])
            written = [(column, field, tendon, 0.0) for field, column in TENDON.items()]
            written += [
                ("tendon_lengthspring", "rest", tendon, 0.0),
                ("tendon_range", "lower", (tendon, 0), -margin),
                ("tendon_range", "upper", (tendon, 1), margin),
            ]
            for column, field, place, added in written:
                old, new = (float(getattr(one, field)[row]) for one in (before, after))
                if not self.same(old, new):
                    out[column][place] = new + added

    def _actuators(self, out: Numbers, changed: Model) -> None:
        m, before, after = self.source.m, self.loaded.model.actuators, changed.actuators
        for row, index in enumerate(self.elements.driven):

            def number(name: str, row: int = row) -> np.ndarray | None:
                old, new = (np.asarray(getattr(one, name), float)[row] for one in (before, after))
                return None if self.same(old, new).all() else new

            gear, joint = number("gear"), int(m.actuator_trnid[index, 0])
            if gear is not None:
                acting = np.flatnonzero(m.actuator_gear[index])
                out["actuator_gear"][index, acting[0] if len(acting) else 0] = gear
            if (gain := number("gain")) is not None:
                out["actuator_gainprm"][index, 0] = gain
            bias = [number(name) for name in ("offset", "stiffness", "damping")]
            if any(one is not None for one in (*bias, gear)):
                offset, stiffness, damping = (
                    float(np.asarray(getattr(after, name))[row])
                    for name in ("offset", "stiffness", "damping")
                )
                trn = self.source.mujoco.mjtTrn
                along = int(m.actuator_trntype[index]) != int(trn.mjTRN_TENDON)
                if along and m.jnt_type[joint] in (HINGE, SLIDE):
                    # The file's coordinate is that of the model and qpos0.
                    start = float(m.qpos0[m.jnt_qposadr[joint]])
                    offset += stiffness * float(after.gear[row]) * start
                out["actuator_biasprm"][index, :3] = offset, -stiffness, -damping
            for name, column in (
                ("force_limits", "actuator_forcerange"),
                ("control_limits", "actuator_ctrlrange"),
            ):
                if (value := number(name)) is not None:
                    out[column][index] = value
        known, later = self.loaded.model.activations, changed.activations
        if known is not None and later is not None:
            for place, row in enumerate(known.actuators):
                value = float(later.time_constant[place])
                if not self.same(float(known.time_constant[place]), value):
                    out["actuator_dynprm"][self.elements.driven[row], 0] = value

    def _surfaces(self, out: Numbers, changed: Model) -> None:
        """Write sizes and friction of geoms."""
        before, after = self.loaded.model.shapes, changed.shapes
        kinds = self.loaded.model.topology.shapes
        for geom, row in self.elements.shapes.items():
            for place in range(3):
                values = [float(one.size[row, place]) for one in (before, after)]
                column = SIZES.get(kinds[row], {}).get(place)
                if column is not None and not self.same(*values):
                    out["geom_size"][geom, column] = values[1]
            radii = [float(one.radius[row]) for one in (before, after)]
            if kinds[row] in ROUND and not self.same(*radii):
                out["geom_size"][geom, 0] = radii[1]
            friction = [
                np.array([float(one.friction[row]), *np.asarray(one.rolling[row], float)])
                for one in (before, after)
            ]
            out["geom_friction"][geom] = np.where(
                self.same(*friction), out["geom_friction"][geom], friction[1]
            )


SIZES = {
    "box": {0: 0, 1: 1, 2: 2},
    "ellipsoid": {0: 0, 1: 1, 2: 2},
    "capsule": {2: 1},
    "cylinder": {2: 1},
}
"""Column of a geom's size that each number of a shape's size is, by kind."""
ROUND = ("sphere", "capsule", "cylinder")
"""Kinds whose radius is the first number of the geom's size."""


def _joint_geometry(
    source: Source, model: Model, frames: Frames, body: int, joint: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return position and orientation of a body in its parent, and the axis and place of each of
    its joints.

    Args:
        source: the compiled file.
        model: whose joint it is.
        frames: of the file's bodies on those of the model.
        body: of the file.
        joint: of the model, that places it.
    """
    m, linkage = source.m, model.topology.linkage
    parent, first = int(m.body_parentid[body]), int(m.body_jntadr[body])
    count = int(m.body_jntnum[body])
    anchor = np.asarray(model.joints.anchor, float)[joint]
    turn = np.array([to_matrix(one) for one in np.asarray(model.joints.frame, float)[joint]])
    # Of the file's frame of the body on the frame of the joint, then on the parent.
    arm, facing = frames.position[body] - anchor[1], frames.rotation[body]
    facing = turn[0] @ turn[1].T @ facing
    place = anchor[0] + turn[0] @ turn[1].T @ arm
    outer = frames.rotation[parent]
    position = outer.T @ (place - frames.position[parent])
    quaternion = to_quaternion(outer.T @ facing)
    directions, points = np.array(m.jnt_axis[first : first + count]), np.zeros((count, 3))
    points[:] = m.jnt_pos[first : first + count]
    inner = frames.rotation[body].T
    axis = int(linkage.slots[joint, 0])
    for row in range(count):
        kind = int(m.jnt_type[first + row])
        if kind in (HINGE, SLIDE):
            directions[row] = inner @ turn[1] @ np.asarray(model.axes.direction, float)[axis]
        if kind == HINGE:
            offset = anchor[1] + turn[1] @ np.asarray(model.axes.point, float)[axis]
            points[row] = inner @ (offset - frames.position[body])
        if kind == BALL:
            points[row] = inner @ (anchor[1] - frames.position[body])
        axis += 3 if kind == BALL else 1
    return position, quaternion, directions, points
