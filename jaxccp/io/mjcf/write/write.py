"""Models with other numbers, written as the MJCF file that they were loaded from."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp

from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements.registry import Elements, add_elements
from jaxccp.io.mjcf.files.document import Document
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.load import Loaded, load
from jaxccp.io.mjcf.write.differences import differences
from jaxccp.io.mjcf.write.file_numbers import FileNumbers, ModelWithLayout
from jaxccp.io.mjcf.write.patch import patch
from jaxccp.io.output import write_file
from jaxccp.math import quaternion
from jaxccp.model.model import Model
from jaxccp.scene import ModelBuilder
from jaxccp.sensors import Coordinates


def write_model(
    loaded: Loaded,
    model: Model,
    layout: Coordinates,
    out: Path,
    remarks: Sequence[str] = (),
) -> tuple[str, ...]:
    """Write a loaded model with other numbers as MJCF.

    The file is the loaded one, with comments and classes, and with included files inserted; only
    numbers that differ are written. A changed inertia is divided among the parts of the body that
    are fixed to each other.

    Args:
        loaded: result of :func:`jaxccp.load`.
        model: ``loaded.model`` with other numbers.
        layout: ``loaded.layout``, or the layout of the changed model's coordinates.
        out: the file to write.
        remarks: further sentences for the comment on top of the file.

    Returns:
        The remarks, and a sentence for each number that a model file cannot hold.

    Raises:
        InputError: the model was not loaded from a file or its XML, the file has changed since, or
            MuJoCo rejects the numbers.
    """
    source, elements = read_again(loaded)
    numbers = FileNumbers(source, elements, ModelWithLayout(loaded.model, loaded.layout))
    document = Document(source)
    patch(document, numbers.of(ModelWithLayout(model, layout)))
    sentences = (*remarks, *differing_numbers(loaded, model, document.text(())))
    text = document.text(sentences).encode()
    write_file(out, lambda file: file.write(text))
    return sentences


def read_again(loaded: Loaded) -> tuple[Source, Elements]:
    """Return the compiled file of a model, and the parts of the model for its elements.

    Raises:
        InputError: the model was not loaded from a file or its XML, or the file cannot be read or
            describes another mechanism now.
    """
    reading, report = loaded.reading, ImportReport()
    origin = reading.origin
    if origin.kind not in ("file", "string"):
        what = f"an {origin.kind} cannot be written back"
        raise InputError(origin.label, what, "load the file or its XML")
    path = Path(origin.label) if origin.kind == "file" else origin.text.decode()
    source = Source(path, reading.options, report)
    builder = ModelBuilder()
    elements = add_elements(source, builder, reading.softness, report)
    topology = loaded.model.topology
    bodies = max(elements.body_map.body) + 1
    if bodies != len(topology.bodies) or len(elements.shapes) > len(topology.shapes):
        what = "describes another mechanism than when it was loaded"
        raise InputError(origin.label, what, "load it again")
    return source, elements


def differing_numbers(loaded: Loaded, expected: Model, text: str) -> list[str]:
    """Return a sentence for each number that differs when a written file is read again.

    Args:
        loaded: the model as it was loaded.
        expected: the model that was written.
        text: the file.
    """
    reading = loaded.reading
    options = vars(reading.options) if text.lstrip().startswith("<robot") else {}
    again = load(text, allow_unsupported=True, softness=reading.softness, **options).model
    double = jnp.asarray(again.bodies.mass).dtype == jnp.float64
    return differences(_levelled(expected), _levelled(again), 1e-9 if double else 1e-4)


def _levelled(model: Model) -> Model:
    """Return the model with the frames of joints aligned with their second bodies."""
    joints, axes, linkage = model.joints, model.axes, model.topology.linkage
    if not linkage.joints:
        return model
    first, second = joints.frame[:, 0], joints.frame[:, 1]
    relative = quaternion.multiply(first, quaternion.conjugate(second))
    level = jnp.zeros_like(second).at[:, 0].set(1.0)
    orientation = second[linkage.owner]
    return replace(
        model,
        joints=replace(joints, frame=jnp.stack([relative, level], axis=1)),
        axes=replace(
            axes,
            direction=quaternion.rotate(orientation, axes.direction),
            point=quaternion.rotate(orientation, axes.point),
        ),
    )
