"""Units of parameters, by their names."""

import re

from jaxccp.identify.parameters.parameter import Scalar
from jaxccp.identify.recordings.recording import KINDS
from jaxccp.identify.subject import Subject

AXES = {
    "damping": ("N s/m", "N m s/rad"),
    "friction": ("N", "N m"),
    "stribeck_friction": ("N", "N m"),
    "stribeck_velocity": ("m/s", "rad/s"),
    "armature": ("kg", "kg m²"),
    "stiffness": ("N/m", "N m/rad"),
    "rest": ("m", "rad"),
    "lower": ("m", "rad"),
    "upper": ("m", "rad"),
}
"""Units of numbers of slides, and of hinges and balls, by the name of the number."""
PLAIN = {
    "bodies.mass": "kg",
    "bodies.inertia": "kg m²",
    "shapes.position": "m",
    "shapes.size": "m",
    "shapes.radius": "m",
    "shapes.compliance": "m/N",
    "shapes.damping": "s",
    "shapes.rolling": "m",
    "joints.anchor": "m",
    "axes.point": "m",
    "activations.time_constant": "s",
    "sites.position": "m",
    "contact.margin": "m",
    "contact.recovery_speed": "m/s",
    "contact.min_bounce_speed": "m/s",
    "channels.delay": "s",
    "gravity": "m/s²",
}
"""Units of other numbers, by name."""
NAME = re.compile(r'^(?P<root>\w+)(?:\["(?P<row>.*)"\])?(?:\.(?P<leaf>\w+))?')


def unit_of(scalar: Scalar, subject: Subject) -> str:
    """Return the unit of a parameter; empty if it has none or the unit is unknown.

    Args:
        scalar: a parameter of the fit.
        subject: the model.
    """
    match = NAME.match(scalar.name)
    if match is None or not scalar.is_number:
        return ""
    root, row, leaf = match["root"], match["row"], match["leaf"] or ""
    if root == "axes" and leaf in AXES:
        linkage = subject.model.topology.linkage
        turns = row in linkage.axes and linkage.motions[linkage.axes.index(row)] != "slide"
        return AXES[leaf][int(turns)]
    if root == "channels" and leaf == "offset" and row is not None:
        kind, _, target = row.partition("[")
        linkage = subject.model.topology.linkage
        axis = target.strip('"]')
        if kind in KINDS and axis in linkage.axes:
            return KINDS[kind].axis_unit(linkage.motions[linkage.axes.index(axis)])
    return PLAIN.get(f"{root}.{leaf}" if leaf else root, "")
