"""Numbers written into a document where they differ."""

from collections.abc import Callable
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from jaxccp.io.mjcf.elements.joints import BALL, HINGE, SLIDE
from jaxccp.io.mjcf.files.document import Document, drop, local, sections, set_numbers
from jaxccp.io.mjcf.write.file_numbers import Numbers, numbers_of
from jaxccp.scene.frames import IDENTITY, ORIGIN, relative_frame

ROUNDS = 5
"""Maximum number of times that a document is compiled and corrected, since inertias depend on sizes
and settings."""
ROUNDING = 1e-14
"""Relative difference up to which numbers count as equal."""
LEVEL = (ORIGIN, IDENTITY)
"""Identity pose: position 0 and quaternion (1, 0, 0, 0)."""
ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
SHORTCUTS = ("kp", "kv", "dampratio", "timeconst", "inheritrange", "diameter", "area", "bias")
"""Attributes of ``<position>`` and similar shortcuts that ``<general>`` expresses by others."""


def patch(document: Document, target: Numbers) -> None:
    """Change a document so that it compiles to given numbers.

    Args:
        document: the document, changed in place.
        target: numbers by MuJoCo's columns, in the order of the source.
    """
    for _ in range(ROUNDS):
        writer = _Writer(document, target)
        if not writer.write():
            return
        document.model = document.compiled()


class _Writer:
    """Compares a compiled document with its target, and corrects the XML."""

    def __init__(self, document: Document, target: Numbers) -> None:
        self.document, self.target, self.m = document, target, document.model
        self.present = numbers_of(self.m)
        self.degrees = _in_degrees(document)
        self.sprung = any("springdamper" in element.attrib for element in document.root.iter())
        self.changes = 0

    def write(self) -> int:
        """Write the numbers that differ; return how many attributes were written."""
        root = self.document.root
        if not _equal(self.present["gravity"], self.target["gravity"]):
            for option in sections(root, "option"):
                self._set(option, "gravity", self.target["gravity"])
        every: dict[str, Callable[[Element, int, int], None]] = {
            "body": self._body,
            "joint": self._joint,
            "geom": self._geom,
            "site": self._site,
            "tendon": self._tendon,
            "actuator": self._actuator,
        }
        for kind, write in every.items():
            for index in range(len(self.document.names[kind])):
                element, place = (
                    self.document.element(kind, index),
                    self.document.place(kind, index),
                )
                if element is not None and place >= 0:
                    write(element, index, place)
        return self.changes

    def _set(self, element: Element, name: str, values: Any) -> None:
        set_numbers(element, name, values)
        self.changes += 1

    def _set_trimmed(self, element: Element, name: str, column: str, index: int) -> None:
        """Write the numbers of a column up to the last one that is not 0 in the target or in the
        document."""
        value = self.target[column][index]
        place = self.document.place("actuator", index)
        used = np.flatnonzero((value != 0) | (self.present[column][place] != 0))
        self._set(element, name, value[: used[-1] + 1 if len(used) else 1])

    def _set_range(self, element: Element, name: str, values: np.ndarray) -> None:
        """Write a range with two finite ends; a range with an open end cannot be written."""
        if np.isfinite(values).all():
            self._set(element, f"{name}range", values)
            element.set(f"{name}limited", "true")

    def _differs(self, column: str, index: Any, place: Any) -> bool:
        return column in self.target and not _equal(
            self.present[column][place], self.target[column][index]
        )

    def _pose(self, element: Element, kind: str, index: int, place: int) -> bool:
        """Write the pose of an element if it differs; return whether it did."""
        columns = f"{kind}_pos", f"{kind}_quat"
        if not any(self._differs(column, index, place) for column in columns):
            return False
        self._write_pose(element, kind, index, place)
        return True

    def _write_pose(self, element: Element, kind: str, index: int, place: int) -> None:
        pose = self.target[f"{kind}_pos"][index], self.target[f"{kind}_quat"][index]
        kinds = self.document.mujoco.mjtGeom
        if kind == "geom" and self.m.geom_type[place] == int(kinds.mjGEOM_MESH):
            # MuJoCo gives poses of meshes relative to the principal axes of their volume.
            mesh = int(self.m.geom_dataid[place])
            inner = self.m.mesh_pos[mesh], self.m.mesh_quat[mesh]
            pose = _product(pose, relative_frame(inner, LEVEL))
        position, quaternion = local(self.document.frame(element), pose)
        drop(element, *ORIENTATIONS, "fromto")
        self._set(element, "pos", position)
        self._set(element, "quat", quaternion)

    def _body(self, element: Element, index: int, place: int) -> None:
        self._pose(element, "body", index, place)
        columns = ("body_mass", "body_ipos", "body_inertia")
        if not index or not any(self._differs(column, index, place) for column in columns):
            return
        for compiler in sections(self.document.root, "compiler"):
            # Each of these settings would change the written masses.
            drop(compiler, "settotalmass", "boundmass", "boundinertia", "balanceinertia")
            if compiler.get("inertiafromgeom") == "true":
                drop(compiler, "inertiafromgeom")
        inertial = element.find("inertial")
        if inertial is None:
            inertial = SubElement(element, "inertial")
            element.remove(inertial)
            element.insert(0, inertial)
        drop(inertial, *ORIENTATIONS, "diaginertia")
        mass, centre, inertia = (self.target[column][index] for column in columns)
        self._set(inertial, "mass", mass)
        self._set(inertial, "pos", centre)
        if inertia.any():
            inertia = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
            self._set(inertial, "fullinertia", inertia)
        else:
            drop(inertial, "fullinertia")
            self._set(inertial, "diaginertia", np.zeros(3))

    def _joint(self, element: Element, index: int, place: int) -> None:
        if element.tag == "freejoint":
            return
        m, target = self.m, self.target
        dof, at = int(m.jnt_dofadr[place]), int(m.jnt_qposadr[place])
        turns, single = m.jnt_type[place] in (BALL, HINGE), m.jnt_type[place] in (SLIDE, HINGE)
        unit = 180.0 / np.pi if self.degrees and turns else 1.0
        for column, name in (("jnt_pos", "pos"), ("jnt_axis", "axis")):
            if self._differs(column, index, place):
                outer = self.document.frame(element)
                value = target[column][index]
                if outer is not None:
                    start = (outer[0] if name == "pos" else ORIGIN, outer[1])
                    value = relative_frame(start, (value, IDENTITY))[0]
                self._set(element, name, value)
        columns = (("jnt_stiffness", index, place), ("dof_damping", dof, dof))
        if self.sprung and any(self._differs(*column) for column in columns):
            # It would replace the stiffness and the damping, also where a class has it.
            self._set(element, "springdamper", np.zeros(2))
        self._damping(element, "dof", dof, dof)
        for column, name in (("dof_armature", "armature"), ("dof_frictionloss", "frictionloss")):
            if self._differs(column, dof, dof):
                self._set(element, name, target[column][dof])
        if self._differs("jnt_stiffness", index, place):
            self._set(element, "stiffness", target["jnt_stiffness"][index])
        if single:
            if self._differs("qpos0", at, at):
                self._set(element, "ref", unit * target["qpos0"][at])
            if self._differs("qpos_spring", at, at):
                self._set(element, "springref", unit * target["qpos_spring"][at])
        if self._differs("jnt_range", index, place):
            self._set_range(element, "", unit * target["jnt_range"][index])

    def _geom(self, element: Element, index: int, place: int) -> None:
        posed = self._pose(element, "geom", index, place)
        sized = self.m.geom_dataid[place] < 0
        if sized and (posed or self._differs("geom_size", index, place)):
            if not posed:
                self._write_pose(element, "geom", index, place)
            count = SIZES[int(self.m.geom_type[place])]
            self._set(element, "size", self.target["geom_size"][index][:count])
        if self._differs("geom_friction", index, place):
            self._set(element, "friction", self.target["geom_friction"][index])

    def _site(self, element: Element, index: int, place: int) -> None:
        self._pose(element, "site", index, place)

    def _tendon(self, element: Element, index: int, place: int) -> None:
        self._damping(element, "tendon", index, place)
        for name in ("stiffness", "armature", "frictionloss"):
            if self._differs(f"tendon_{name}", index, place):
                self._set(element, name, self.target[f"tendon_{name}"][index])
        if self._differs("tendon_lengthspring", index, place):
            self._set(element, "springlength", self.target["tendon_lengthspring"][index])
        if self._differs("tendon_range", index, place):
            self._set_range(element, "", self.target["tendon_range"][index])

    def _damping(self, element: Element, kind: str, index: int, place: int) -> None:
        """Write the damping of a joint (``dof``) or a tendon, with its polynomial if it has one."""
        columns = f"{kind}_damping", f"{kind}_dampingpoly"
        if not any(self._differs(column, index, place) for column in columns):
            return
        value = np.atleast_1d(self.target[columns[0]][index])
        if columns[1] in self.target:
            polynomial = self.target[columns[1]][index]
            # A polynomial that becomes 0 must be written over that of the element or its class.
            if polynomial.any() or self.present[columns[1]][place].any():
                value = np.concatenate([value, polynomial])
        self._set(element, "damping", value)

    def _actuator(self, element: Element, index: int, place: int) -> None:
        target, m = self.target, self.m
        if self._differs("actuator_gear", index, place):
            self._set_trimmed(element, "gear", "actuator_gear", index)
        for name in ("force", "ctrl"):
            column = f"actuator_{name}range"
            if self._differs(column, index, place):
                self._set_range(element, name, target[column][index])
        columns = ("gainprm", "biasprm", "dynprm")
        if not any(self._differs(f"actuator_{name}", index, place) for name in columns):
            return
        kinds = {
            "gaintype": self._kind("mjtGain", m.actuator_gaintype[place]),
            "biastype": self._kind("mjtBias", m.actuator_biastype[place]),
            "dyntype": self._kind("mjtDyn", m.actuator_dyntype[place]),
        }
        bias = target["actuator_biasprm"][index]
        if kinds["biastype"] == "none" and bias.any():
            kinds["biastype"] = "affine"
        drop(element, *SHORTCUTS)
        element.tag = "general"
        for name, kind in kinds.items():
            element.set(name, kind)
        for name in columns:
            self._set_trimmed(element, name, f"actuator_{name}", index)

    def _kind(self, enumeration: str, value: int) -> str:
        kinds = getattr(self.document.mujoco, enumeration)
        return kinds(int(value)).name.split("_", 1)[1].lower()


SIZES = {0: 3, 2: 1, 3: 2, 4: 3, 5: 2, 6: 3}
"""Number of sizes of a geom, by MuJoCo's type."""


def _in_degrees(document: Document) -> bool:
    compilers = document.root.findall("compiler")
    units = [compiler.get("angle") for compiler in compilers if compiler.get("angle")]
    return (units[-1] if units else "degree") == "degree"


def _equal(a: Any, b: Any) -> bool:
    first, second = np.asarray(a, float), np.asarray(b, float)
    largest = np.maximum(np.max(np.abs(first), initial=0.0), np.max(np.abs(second), initial=0.0))
    return bool(np.all(np.abs(first - second) <= ROUNDING * max(float(largest), 1e-12)))


def _product(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the composition of two poses: b, given in the frame a, in the frame in which a is
    given."""
    back = relative_frame(a, LEVEL)
    return relative_frame(back, b)
