"""Kinds of joints, one file each. To add one, write a file and add it here."""

from jaxccp.model.joints.axis import Axis, Ball, Hinge, Slide
from jaxccp.model.joints.compound import Compound
from jaxccp.model.joints.cylindrical import Cylindrical
from jaxccp.model.joints.fixed import Fixed
from jaxccp.model.joints.joint import Joint
from jaxccp.model.joints.planar import Planar
from jaxccp.model.joints.prismatic import Prismatic
from jaxccp.model.joints.revolute import Revolute
from jaxccp.model.joints.spherical import Spherical
from jaxccp.model.joints.universal import Universal

JOINTS = {
    joint.kind: joint
    for joint in (
        Fixed,
        Revolute,
        Prismatic,
        Spherical,
        Universal,
        Cylindrical,
        Planar,
        Compound,
    )
}
"""The kinds of joints by name."""

__all__ = [
    "JOINTS",
    "Axis",
    "Ball",
    "Compound",
    "Cylindrical",
    "Fixed",
    "Hinge",
    "Joint",
    "Planar",
    "Prismatic",
    "Revolute",
    "Slide",
    "Spherical",
    "Universal",
]
