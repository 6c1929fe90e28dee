"""Models with other numbers, written as the URDF that they were loaded from."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
from jaxtyping import Float

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements.registry import add_elements
from jaxccp.io.mjcf.files.document import commented, parsed, set_numbers
from jaxccp.io.mjcf.files.packages import Locator, MissingFileError
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.load import Loaded
from jaxccp.io.mjcf.urdf.urdf import UrdfOptions, read_urdf
from jaxccp.io.mjcf.write.file_numbers import FileNumbers, ModelWithLayout
from jaxccp.io.mjcf.write.write import differing_numbers, read_again
from jaxccp.io.output import write_file
from jaxccp.model.model import Model
from jaxccp.scene import ModelBuilder
from jaxccp.scene.frames import to_matrix
from jaxccp.sensors import Coordinates


def write_urdf(
    loaded: Loaded,
    model: Model,
    layout: Coordinates,
    out: Path,
    remarks: Sequence[str] = (),
) -> tuple[str, ...]:
    """Write a loaded model with other numbers as URDF: inertias of links, and origins, axes,
    limits, damping and friction of joints.

    Args:
        loaded: result of :func:`jaxccp.load` for a URDF.
        model: ``loaded.model`` with other numbers.
        layout: ``loaded.layout``, or the layout of the changed model's coordinates.
        out: the file to write.
        remarks: further sentences for the comment on top of the file.

    Returns:
        The remarks, and a sentence for each number that a URDF cannot hold.

    Raises:
        InputError: the model was not loaded from a URDF, or the file has changed since.
    """
    origin, options = loaded.reading.origin, loaded.reading.options
    if not origin.urdf:
        raise InputError(origin.label, "is no URDF", "write it as MJCF")
    fused = read_again(loaded)[0]
    # MuJoCo merges links that are fixed to each other; the URDF has numbers of each.
    spec = read_urdf(fused.mujoco, origin, options, ImportReport())
    spec.compiler.fusestatic = False
    links = Source(spec, UrdfOptions(), ImportReport())
    parts = add_elements(links, ModelBuilder(), loaded.reading.softness, ImportReport())
    nominal, changed = ModelWithLayout(loaded.model, loaded.layout), ModelWithLayout(model, layout)
    numbers = FileNumbers(links, replace(parts, shapes={}), nominal)
    root = parsed(origin.text)
    _write(root, numbers, changed)
    _place_meshes(root, Locator(origin.folder, options.packages))
    sentences = (*remarks, *differing_numbers(loaded, model, commented(root, ())))
    text = commented(root, sentences).encode()
    write_file(out, lambda file: file.write(text))
    return sentences


def _write(root: Element, numbers: FileNumbers, changed: ModelWithLayout) -> None:
    """Write the numbers that differ from the file's into the XML."""
    source, before, after = numbers.source, numbers.nominal, numbers.of(changed)
    m = source.m
    links = {link.get("name"): link for link in root.findall("link")}
    joints = {joint.get("name"): joint for joint in root.findall("joint")}
    placing = {
        child.get("link"): joint for joint in joints.values() for child in joint.findall("child")
    }

    def differ(name: str, index: int) -> bool:
        return not np.array_equal(before[name][index], after[name][index])

    for body in range(1, m.nbody):
        name = source.name("body", body)
        if name not in links:
            continue
        if any(differ(column, body) for column in ("body_mass", "body_ipos", "body_inertia")):
            mass, centre, inertia = (
                after[column][body] for column in ("body_mass", "body_ipos", "body_inertia")
            )
            _write_inertial(links[name], float(mass), centre, inertia)
        if name in placing and any(differ(column, body) for column in ("body_pos", "body_quat")):
            origin = _child(placing[name], "origin")
            set_numbers(origin, "xyz", after["body_pos"][body])
            set_numbers(origin, "rpy", _angles(to_matrix(after["body_quat"][body])))
    for joint in range(m.njnt):
        element = joints.get(source.name("joint", joint))
        if element is None:
            continue
        dof = int(m.jnt_dofadr[joint])
        if differ("jnt_axis", joint):
            set_numbers(_child(element, "axis"), "xyz", after["jnt_axis"][joint])
        for column, name in (("dof_damping", "damping"), ("dof_frictionloss", "friction")):
            if differ(column, dof):
                set_numbers(_child(element, "dynamics"), name, after[column][dof])
        if differ("jnt_range", joint):
            for name, value in zip(("lower", "upper"), after["jnt_range"][joint], strict=True):
                set_numbers(_child(element, "limit"), name, value)


def _write_inertial(
    link: Element, mass: float, centre: np.ndarray, inertia: Float[np.ndarray, "3 3"]
) -> None:
    inertial = _child(link, "inertial")
    origin = _child(inertial, "origin")
    set_numbers(origin, "xyz", centre)
    origin.attrib.pop("rpy", None)
    set_numbers(_child(inertial, "mass"), "value", mass)
    tensor = _child(inertial, "inertia")
    for row, column in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        set_numbers(tensor, f"i{'xyz'[row]}{'xyz'[column]}", inertia[row, column])


def _child(element: Element, tag: str) -> Element:
    """Return the child with this tag; it is added if it does not exist."""
    child = element.find(tag)
    return ElementTree.SubElement(element, tag) if child is None else child


def _angles(rotation: Float[np.ndarray, "3 3"]) -> Float[np.ndarray, "3"]:
    """Return roll, pitch and yaw of a rotation: successive rotations about the fixed axes x, y and
    z [rad]."""
    level = np.hypot(rotation[0, 0], rotation[1, 0])
    pitch = np.arctan2(-rotation[2, 0], level)
    if level < 1e-9:  # Roll and yaw turn about one axis.
        return np.array([np.arctan2(-rotation[1, 2], rotation[1, 1]), pitch, 0.0])
    roll = np.arctan2(rotation[2, 1], rotation[2, 2])
    return np.array([roll, pitch, np.arctan2(rotation[1, 0], rotation[0, 0])])


def _place_meshes(root: Element, locator: Locator) -> None:
    """Make the paths of mesh files independent of the place of the URDF."""
    compiler = root.find("mujoco/compiler")
    settings = {} if compiler is None else compiler.attrib
    meshdir = settings.get("meshdir", settings.get("assetdir", ""))
    stripped = settings.get("strippath", "true") == "true"
    for mesh in root.iter("mesh"):
        try:
            path = locator.path(mesh.get("filename", ""), meshdir, stripped)
            mesh.set("filename", str(path))
        except MissingFileError:
            continue  # It was missing before, and was reported when the model was loaded.
